//! The report of a sort, phase by phase.

use crate::mechanism::Io;
use crate::plan::Plan;
use crate::queue::IoQueue;
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A phase of a sort: the data that it moved, and its cost.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Phase {
    /// Name of the phase.
    pub name: &'static str,
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// Processor time in seconds, over all cores, of user and system.
    pub cpu_s: f64,
    /// Bytes read from the input and temporary files.
    pub bytes_read: u64,
    /// Bytes written to temporary files and the output.
    pub bytes_written: u64,
}

/// The report of a sort. Times are measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SortReport {
    /// The memory limit in bytes.
    pub memory_bytes: u64,
    /// The plan of the sort.
    pub plan: Plan,
    /// Bytes of the records sorted.
    pub bytes: u64,
    /// Number of records sorted.
    pub records: u64,
    /// Number of records written: fewer than those sorted if duplicates are dropped.
    pub output_records: u64,
    /// Bytes of the records written.
    pub output_bytes: u64,
    /// Bytes of the longest record. The memory of a single record is not limited by `memory_bytes`.
    pub longest_record_bytes: u64,
    /// Number of times that each byte was written to temporary files or the output.
    pub passes: u32,
    /// Bytes of temporary files.
    pub temp_bytes: u64,
    /// Number of buckets that did not fit in memory and were sorted by merging.
    pub large_buckets: usize,
    /// Bytes of incomplete records that were kept or dropped.
    pub partial_bytes: u64,
    /// Whether all transfers bypassed the page cache.
    pub direct: bool,
    /// The mechanism that carried out transfers, never `auto`.
    pub io: Io,
    /// The phases in order.
    pub phases: Vec<Phase>,
}

/// Measures the phases.
pub struct Clock<'a> {
    queue: &'a IoQueue,
    at: Instant,
    cpu: f64,
    read: u64,
    written: u64,
    pub phases: Vec<Phase>,
}

/// Processor time of this process, in seconds.
fn cpu() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

impl<'a> Clock<'a> {
    pub fn start(queue: &'a IoQueue) -> Self {
        Self { queue, at: Instant::now(), cpu: cpu(), read: 0, written: 0, phases: Vec::new() }
    }

    /// Ends a phase; the next one starts.
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
