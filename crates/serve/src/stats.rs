//! The figures of a running server.

use crate::counters::Counts;
use crate::power::Energy;
use crate::site::Site;
use gordon_objectcache::{Recovery, Stats};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// The figures of a server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServeStats {
    /// `serve-stats`.
    pub kind: &'static str,
    /// The version of Gordon.
    pub version: &'static str,
    /// Where the content comes from.
    pub source: String,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Requests and bytes.
    pub requests: Counts,
    /// Part of the requests that the cache answered; `None` before the first one.
    pub hit_ratio: Option<f64>,
    /// Part of the bytes that the cache answered.
    pub byte_hit_ratio: Option<f64>,
    /// Open connections.
    pub connections: usize,
    /// Connections that may be open.
    pub connections_limit: usize,
    /// Fetches that run.
    pub fetches: usize,
    /// Memory of bodies on their way to clients.
    pub client_memory: u64,
    /// Its limit.
    pub client_memory_limit: u64,
    /// Writes of the access log that failed.
    pub access_log_errors: u64,
    /// The modelled energy of DRAM and flash.
    pub energy: Energy,
    /// What was found when the cache was opened.
    pub recovery: Recovery,
    /// The cache.
    pub cache: Stats,
}

/// The result of `warm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warmed {
    /// Paths that were requested.
    pub requested: u64,
    /// Paths that are in the cache now.
    pub stored: u64,
    /// Paths that were not answered with success.
    pub failed: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

impl ServeStats {
    pub(crate) fn of(site: &Site) -> Self {
        let counts = site.counters.counts();
        let ratio = |of: &crate::counters::Results| {
            let hits = of.dram + of.flash + of.stale + of.revalidated;
            let all = hits + of.miss + of.expired;
            #[allow(clippy::cast_precision_loss)]
            (all > 0).then(|| hits as f64 / all as f64)
        };
        let uptime_s = site.started.elapsed().as_secs_f64();
        let cache = site.cache.stats();
        Self {
            kind: "serve-stats",
            version: env!("CARGO_PKG_VERSION"),
            source: site.source.clone(),
            uptime_s,
            hit_ratio: ratio(&counts.results),
            byte_hit_ratio: ratio(&counts.bytes_sent),
            recovery: site.recovery.clone(),
            energy: site.power.energy(uptime_s, &counts, &cache),
            requests: counts,
            connections: site.clients.load(Ordering::Relaxed),
            connections_limit: site.limits.connections,
            fetches: site.flights.len(),
            client_memory: site.budget.used(),
            client_memory_limit: site.budget.limit(),
            access_log_errors: site.log.as_ref().map_or(0, |log| log.lost()),
            cache,
        }
    }
}
