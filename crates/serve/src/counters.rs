//! Counters of requests and bytes.

use crate::http::status_field::{CacheResult, CacheStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a server counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: Counter,
    statuses: [Counter; 5],
    results: [Counter; 7],
    bytes_by_result: [Counter; 7],
    pub collapsed: Counter,
    pub aborted: Counter,
    pub origin_requests: Counter,
    pub origin_bytes: Counter,
    pub origin_failures: Counter,
    pub refused_connections: Counter,
    pub connections: Counter,
    pub refused_memory: Counter,
}

const RESULTS: [CacheResult; 7] = [
    CacheResult::Dram,
    CacheResult::Flash,
    CacheResult::Stale,
    CacheResult::Revalidated,
    CacheResult::Miss,
    CacheResult::Expired,
    CacheResult::Bypass,
];

fn place(result: CacheResult) -> usize {
    RESULTS.iter().position(|found| *found == result).unwrap_or(RESULTS.len() - 1)
}

impl Counters {
    /// Counts a request when its response begins.
    pub fn answered(&self, status: http::StatusCode, cache: Option<&CacheStatus>) {
        self.requests.add(1);
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.statuses[class].add(1);
        if let Some(cache) = cache {
            self.results[place(cache.result)].add(1);
            self.collapsed.add(u64::from(cache.is_collapsed));
        }
    }

    /// Counts the bytes of a body when it ends.
    pub fn sent(&self, bytes: u64, result: Option<CacheResult>) {
        self.bytes_by_result[place(result.unwrap_or(CacheResult::Bypass))].add(bytes);
    }

    pub fn counts(&self) -> Counts {
        let by = |counters: &[Counter; 7]| Results {
            dram: counters[0].get(),
            flash: counters[1].get(),
            stale: counters[2].get(),
            revalidated: counters[3].get(),
            miss: counters[4].get(),
            expired: counters[5].get(),
            bypass: counters[6].get(),
        };
        Counts {
            requests: self.requests.get(),
            statuses: std::array::from_fn(|class| self.statuses[class].get()),
            results: by(&self.results),
            bytes_sent: by(&self.bytes_by_result),
            collapsed: self.collapsed.get(),
            aborted: self.aborted.get(),
            origin_requests: self.origin_requests.get(),
            origin_bytes: self.origin_bytes.get(),
            origin_failures: self.origin_failures.get(),
            connections_accepted: self.connections.get(),
            connections_refused: self.refused_connections.get(),
            refused_for_memory: self.refused_memory.get(),
        }
    }
}

/// Counts by how requests were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ServeResults")]
pub struct Results {
    /// Fresh, from DRAM.
    pub dram: u64,
    /// Fresh, from flash.
    pub flash: u64,
    /// Stale, where that is allowed.
    pub stale: u64,
    /// From the cache, after the origin confirmed it.
    pub revalidated: u64,
    /// Not in the cache.
    pub miss: u64,
    /// In the cache, but no longer current.
    pub expired: u64,
    /// Not looked up: other methods, ranges that are not stored, answers without a body.
    pub bypass: u64,
}

/// What a server has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ServeCounts")]
pub struct Counts {
    /// Requests answered.
    pub requests: u64,
    /// Responses with statuses 1xx to 5xx.
    pub statuses: [u64; 5],
    /// Requests by result; pages of the server itself are in none.
    pub results: Results,
    /// Bytes of bodies by result.
    pub bytes_sent: Results,
    /// Requests that waited for the fetch of another one.
    pub collapsed: u64,
    /// Responses that ended early.
    pub aborted: u64,
    /// Requests to the origin, or reads of files.
    pub origin_requests: u64,
    /// Bytes of bodies from there.
    pub origin_bytes: u64,
    /// Requests to the origin that failed.
    pub origin_failures: u64,
    /// Connections of clients.
    pub connections_accepted: u64,
    /// Connections refused because there were too many.
    pub connections_refused: u64,
    /// Requests refused because memory for clients was exhausted.
    pub refused_for_memory: u64,
}
