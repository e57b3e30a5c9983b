//! The summary of a run: one JSON object, keys in snake_case with their units. MB are 10^6 bytes.

use super::latency::{CAUSES, OPS};
use super::recorder::{QueueRecord, Recorded};
use super::series::RunSeries;
use super::{ratio, share};
use crate::host::Outcome;
use gordon_blockio::IoOp;
use gordon_blockio::LatencySummary;
use gordon_trace::formats::{InputNote, ReadCounts};
use serde::Serialize;
use std::collections::BTreeMap;

/// One run on a device that has so much more to tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report<D> {
    /// What kind of values these are.
    pub kind: &'static str,
    /// Host requests, before splitting, those that failed included.
    pub requests: u64,
    /// Of these, requests that the device refused: it is worn out. They count neither in latencies
    /// nor in bytes and rates.
    pub failed_requests: u64,
    /// Requests of no bytes among them, which asked the device for nothing.
    pub empty_requests: u64,
    /// Requests to the device, after splitting.
    pub device_requests: u64,
    /// From the first arrival to the last completion.
    pub simulated_s: f64,
    /// Bytes read and written, in all.
    pub bytes: u64,
    /// Of reads and writes together; none where no time went by.
    pub bandwidth_mb_s: Option<f64>,
    /// Of all requests that did not fail; none where no time went by.
    pub iops: Option<f64>,
    /// Reads.
    pub read: OpReport,
    /// Writes.
    pub write: OpReport,
    /// Trims.
    pub trim: OpReport,
    /// Flushes.
    pub flush: OpReport,
    /// Requests that had come and were not complete.
    pub outstanding: Outstanding,
    /// By queue, where there are several.
    pub queues: Vec<QueueReport>,
    /// What the device did.
    #[serde(flatten)]
    pub device: D,
    /// What the trace was read as, if the load is one.
    pub input: Option<InputNote>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Requests of one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpReport {
    /// How many completed.
    pub requests: u64,
    /// How many failed.
    pub failed: u64,
    /// Bytes of those that completed.
    pub bytes: u64,
    /// Over the whole run; none where no time went by.
    pub bandwidth_mb_s: Option<f64>,
    /// Over the whole run; none where no time went by.
    pub iops: Option<f64>,
    /// From arrival to completion.
    pub latency_us: LatencySummary,
    /// By what they waited for: `medium`, `buffer` (no operation of the medium), `merge` (a page
    /// read because the write covers part of it), `collection` (garbage collection).
    pub by_cause: BTreeMap<&'static str, CauseReport>,
}

/// Requests that waited for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CauseReport {
    /// How many.
    pub requests: u64,
    /// From arrival to completion.
    pub latency_us: LatencySummary,
}

/// Requests of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueReport {
    /// Its number.
    pub queue: u32,
    /// How many it issues in its turn.
    pub weight: u32,
    /// How many there were.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// When its last one completed, from the run's first arrival; none where there were none. A
    /// queue that has its turn more often is done earlier.
    pub finished_s: Option<f64>,
    /// Up to then; none where no time went by.
    pub bandwidth_mb_s: Option<f64>,
    /// Up to then; none where no time went by.
    pub iops: Option<f64>,
    /// From arrival to completion.
    pub latency_us: LatencySummary,
}

/// Requests outstanding, over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outstanding {
    /// The mean; none where no time went by.
    pub mean: Option<f64>,
    /// The most.
    pub max: u64,
}

/// Where a result comes from: the same version, seed and inputs give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Of the program.
    pub version: &'static str,
    /// Of all random numbers.
    pub seed: u64,
    /// What was asked for, device parameters included.
    pub config: serde_json::Value,
    /// The trace, if the load is one.
    pub trace: Option<TraceProvenance>,
}

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceProvenance {
    /// What it was read as: format, how that was chosen, units.
    #[serde(skip)]
    pub input: InputNote,
    /// What it was read as.
    pub format: &'static str,
    /// Requests in it, once through.
    pub requests: u64,
    /// Where the last byte lies that it asks for: the capacity it needs.
    pub end_bytes: u64,
    /// What was left out of it.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// CRC-32 of their times, operations and ranges, in hexadecimal digits.
    pub crc32: String,
}

/// What of a trace was left out, or not taken as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeftOut {
    /// Malformed lines or records left out.
    pub skipped: u64,
    /// What was wrong with the first of them.
    pub first_skipped: Option<String>,
    /// Requests earlier than the one before them, given its time.
    pub clamped: u64,
    /// Requests extended to whole sectors.
    pub extended: u64,
    /// Requests of no bytes, left out.
    pub empty: u64,
    /// Requests to devices not asked for, or virtual, left out.
    pub other_devices: u64,
    /// Entries that are no requests, left out.
    pub other_kinds: u64,
    /// Keys of objects that are text, hashed to 64 bits.
    pub hashed_keys: u64,
}

impl LeftOut {
    /// As a reader counted them.
    pub fn new(counts: &ReadCounts, first_skipped: Option<&str>) -> Self {
        Self {
            skipped: counts.skipped,
            first_skipped: first_skipped.map(str::to_owned),
            clamped: counts.clamped,
            extended: counts.extended,
            empty: counts.empty,
            other_devices: counts.other_devices,
            other_kinds: counts.other_kinds,
            hashed_keys: counts.hashed_keys,
        }
    }
}

/// Bytes over a time, in 10^6 a second.
pub(crate) fn mb_s(bytes: u64, ns: u64) -> Option<f64> {
    share(bytes, ns).map(|per_ns| per_ns * 1e3)
}

/// Requests over a time, a second.
pub(crate) fn per_s(count: u64, ns: u64) -> Option<f64> {
    share(count, ns).map(|per_ns| per_ns * 1e9)
}

impl<D> Report<D> {
    /// The summary of a run.
    pub fn new(
        outcome: &Outcome,
        run: &RunSeries,
        recorded: &Recorded,
        weights: &[u32],
        device: D,
        warnings: Vec<String>,
        provenance: Provenance,
    ) -> Self {
        let ns = outcome.simulated.0;
        let one = |op: IoOp| {
            let latency = recorded.latencies.of(op);
            let bytes = recorded.bytes[op as usize];
            let causes = CAUSES.iter().filter_map(|&(cause, name)| {
                let latency = recorded.latencies.get(op, cause)?;
                let latency_us = latency.summary();
                Some((name, CauseReport { requests: latency.count(), latency_us }))
            });
            OpReport {
                requests: latency.count(),
                failed: recorded.failed[op as usize],
                bytes,
                bandwidth_mb_s: mb_s(bytes, ns),
                iops: per_s(latency.count(), ns),
                latency_us: latency.summary(),
                by_cause: causes.collect(),
            }
        };
        let [read, write, trim, flush] = OPS.map(|(op, _)| one(op));
        let bytes = read.bytes + write.bytes;
        #[allow(clippy::cast_precision_loss)]
        let area = run.intervals.iter().map(|i| i.outstanding).sum::<u128>() as f64;
        let queue = |(queue, (of, weight)): (u32, (&QueueRecord, &u32))| {
            let (requests, until) = (of.latency.count(), of.finished.0);
            QueueReport {
                queue,
                weight: *weight,
                requests,
                bytes: of.bytes,
                finished_s: (requests > 0).then(|| of.finished.as_secs()),
                bandwidth_mb_s: mb_s(of.bytes, until),
                iops: per_s(requests, until),
                latency_us: of.latency.summary(),
            }
        };
        Self {
            kind: "modelled: every value comes from the simulated device",
            requests: outcome.requests,
            failed_requests: outcome.failed,
            empty_requests: outcome.empty,
            device_requests: outcome.device_requests,
            simulated_s: outcome.simulated.as_secs(),
            bytes,
            bandwidth_mb_s: mb_s(bytes, ns),
            iops: per_s(outcome.requests - outcome.failed, ns),
            read,
            write,
            trim,
            flush,
            outstanding: Outstanding {
                mean: (ns > 0).then(|| area / ratio(ns, 1)),
                max: run.deepest,
            },
            queues: (0..).zip(recorded.queues.iter().zip(weights)).map(queue).collect(),
            device,
            input: provenance.trace.as_ref().map(|trace| trace.input.clone()),
            warnings,
            provenance,
        }
    }
}
