//! What all connections share, and how requests are answered.

mod answer;
mod tracked;

pub(crate) use answer::{Answer, Served, found, hit, respond};
pub(crate) use tracked::Tracked;

use crate::body::Idle;
use crate::budget::Budget;
use crate::counters::Counters;
use crate::flight::Flights;
use crate::http::access_log::AccessLog;
use crate::limits::Limits;
use gordon_objectcache::{Cache, Recovery};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Instant, SystemTime};

/// The state of a server.
pub(crate) struct Site {
    pub cache: Cache,
    /// What was found when the cache was opened.
    pub recovery: Recovery,
    /// Objects up to this size are read whole.
    pub block: u64,
    pub flights: Arc<Flights>,
    pub counters: Counters,
    pub budget: Arc<Budget>,
    pub limits: Limits,
    pub log: Option<AccessLog>,
    pub started: Instant,
    /// Open connections.
    pub clients: AtomicUsize,
    /// The source, as a person gave it.
    pub source: String,
    pub power: crate::power::PowerModel,
}

impl Site {
    /// Whether a request for a key may start a fetch, or joins one. Fetches outlive their clients,
    /// so their number has a limit of its own, that of connections.
    pub fn may_fetch(&self, key: &[u8]) -> bool {
        self.flights.running() < self.limits.connections || self.flights.has(key)
    }

    /// Bytes by which the clients of one fetch may lag behind it: an object that is not read in
    /// blocks fits.
    pub fn window(&self) -> usize {
        usize::try_from(self.block).unwrap_or(usize::MAX).max(256 << 10)
    }
}

/// A request.
pub(crate) struct Asked {
    pub head: http::request::Parts,
    pub body: Option<Idle>,
    pub now: SystemTime,
    pub peer: IpAddr,
    pub is_tls: bool,
}
