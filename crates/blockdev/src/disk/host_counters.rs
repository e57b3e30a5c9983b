//! Counters of the requests to a file.

use super::file_bytes::FinishedIo;
use crate::status::HostCounts;
use gordon_blockio::Command;
use gordon_nbd::{Op, Request};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Counters of the requests to a file.
pub(super) struct HostCounters {
    /// The counts, and when the last batch arrived.
    hosts: Mutex<(HostCounts, Instant)>,
    start: Instant,
}

impl HostCounters {
    pub fn new() -> Self {
        let start = Instant::now();
        Self { hosts: Mutex::new((HostCounts::default(), start)), start }
    }

    /// The counts so far.
    pub fn hosts(&self) -> HostCounts {
        self.lock().0.clone()
    }

    /// Seconds since the start.
    pub fn uptime_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn lock(&self) -> MutexGuard<'_, (HostCounts, Instant)> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the requests of a batch, which arrived together.
    pub fn record_batch(&self, batch: &[Request]) {
        let now = Instant::now();
        let mut counters = self.lock();
        let after = now.saturating_duration_since(std::mem::replace(&mut counters.1, now));
        let mut after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        for request in batch {
            counters.0.record(request, std::mem::take(&mut after));
        }
    }

    /// Answers a request and counts its end.
    pub fn answer(&self, finished: FinishedIo) {
        let mut counters = self.lock();
        counters.0.in_flight -= 1;
        counters.0.failed += u64::from(finished.result.is_err());
        drop(counters);
        finished.answer();
    }
}

impl HostCounts {
    fn record(&mut self, request: &Request, after_ns: u64) {
        self.arrivals_ns.add(after_ns);
        self.in_flight += 1;
        self.queue_depth.add(self.in_flight as u64);
        let bytes = request.data().len() as u64;
        let Op::Command(command) = request.op() else { return };
        match command {
            Command::Read { .. } => {
                self.reads += 1;
                self.host_bytes_read += bytes;
            }
            Command::Write { .. } => {
                self.writes += 1;
                self.host_bytes_written += bytes;
            }
            Command::Flush => self.flushes += 1,
            Command::Trim { length, .. } => {
                self.trims += 1;
                self.host_bytes_trimmed += length;
            }
            Command::WriteZeroes { length, .. } => {
                self.zeroes += 1;
                self.host_bytes_trimmed += length;
            }
        }
    }
}
