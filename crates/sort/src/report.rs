//! What a sort did, phase by phase.

use crate::plan::Plan;
use crate::queue::{Io, IoQueue};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A part of a sort: what it moved, and what that cost.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// Time by the clock.
    pub seconds: f64,
    /// Time of all processors, of the program and the system.
    pub cpu_s: f64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// What a sort did. Times are measured.
#[derive(Clone, Debug, Serialize)]
pub struct SortReport {
    /// The most memory that it was to take.
    pub memory_bytes: u64,
    /// What was planned.
    pub plan: Plan,
    /// Bytes of records sorted.
    pub bytes: u64,
    /// How many records that is.
    pub records: u64,
    /// Records written: fewer than those sorted where equal ones are left out.
    pub output_records: u64,
    /// Bytes of the records written.
    pub output_bytes: u64,
    /// Bytes of the longest record. The memory of a record is not bounded by `memory_bytes`.
    pub longest_record_bytes: u64,
    /// How often each byte was written, temporary files and output.
    pub passes: u32,
    /// Bytes that temporary files took.
    pub temp_bytes: u64,
    /// Buckets that did not fit in memory and were merged.
    pub large_buckets: usize,
    /// Bytes of parts of records, kept or left out.
    pub partial_bytes: u64,
    /// Whether input, temporary files and output went past the page cache.
    pub direct: bool,
    /// Who carried transfers out; never `auto`.
    pub io: Io,
    /// In order.
    pub phases: Vec<Phase>,
}

/// Times phases.
pub struct Clock<'a> {
    queue: &'a IoQueue,
    at: Instant,
    cpu: f64,
    read: u64,
    written: u64,
    pub phases: Vec<Phase>,
}

/// Seconds that all processors spent on this process.
fn cpu() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

impl<'a> Clock<'a> {
    pub fn start(queue: &'a IoQueue) -> Self {
        Self { queue, at: Instant::now(), cpu: cpu(), read: 0, written: 0, phases: Vec::new() }
    }

    /// A phase ends, the next begins.
    pub fn end(&mut self, name: &'static str) {
        let (at, cpu) = (Instant::now(), cpu());
        let [read, written] =
            [&self.queue.read, &self.queue.written].map(|n| n.load(Ordering::Relaxed));
        self.phases.push(Phase {
            name,
            seconds: (at - self.at).as_secs_f64(),
            cpu_s: cpu - self.cpu,
            bytes_read: read - self.read,
            bytes_written: written - self.written,
        });
        (self.at, self.cpu, self.read, self.written) = (at, cpu, read, written);
    }
}
