//! What hosts asked of a file, counted.

use super::bytes::Moved;
use crate::block::status::Hosts;
use crate::export::{Op, Request};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What hosts asked.
pub(super) struct Asked {
    /// And when the last of it came.
    hosts: Mutex<(Hosts, Instant)>,
    start: Instant,
}

impl Asked {
    pub fn new() -> Self {
        let start = Instant::now();
        Self { hosts: Mutex::new((Hosts::default(), start)), start }
    }

    /// All of it.
    pub fn hosts(&self) -> Hosts {
        self.lock().0.clone()
    }

    /// Seconds since the start.
    pub fn uptime_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn lock(&self) -> MutexGuard<'_, (Hosts, Instant)> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts requests that came together.
    pub fn come(&self, batch: &[Request]) {
        let now = Instant::now();
        let mut asked = self.lock();
        let after = now.saturating_duration_since(std::mem::replace(&mut asked.1, now));
        let mut after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        for request in batch {
            asked.0.come(request, std::mem::take(&mut after));
        }
    }

    /// Answers a request, and counts that.
    pub fn answer(&self, moved: Moved) {
        let mut asked = self.lock();
        asked.0.in_flight -= 1;
        asked.0.failed += u64::from(moved.result.is_err());
        drop(asked);
        moved.answer();
    }
}

impl Hosts {
    fn come(&mut self, request: &Request, after_ns: u64) {
        self.arrivals_ns.add(after_ns);
        self.in_flight += 1;
        self.queue_depth.add(self.in_flight as u64);
        let bytes = request.data().len() as u64;
        match request.op() {
            Op::Read { .. } => {
                self.reads += 1;
                self.host_bytes_read += bytes;
            }
            Op::Write { .. } => {
                self.writes += 1;
                self.host_bytes_written += bytes;
            }
            Op::Flush => self.flushes += 1,
            Op::Trim { length, .. } => {
                self.trims += 1;
                self.host_bytes_trimmed += length;
            }
            Op::WriteZeroes { length, .. } => {
                self.zeroes += 1;
                self.host_bytes_trimmed += length;
            }
            Op::Cache { .. } | Op::Status { .. } => {}
        }
    }
}
