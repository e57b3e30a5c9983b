//! The summary of a run: a JSON object with keys in snake_case that include units. MB are 10^6
//! bytes.

use super::latency::{CAUSES, OPS};
use super::recorder::{QueueRecord, Recorded};
use super::series::RunSeries;
use super::{ratio, share};
use crate::host::Outcome;
use gordon_blockio::IoOp;
use gordon_blockio::LatencySummary;
use gordon_trace::formats::{InputNote, ReadCounts};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Report of a run; `D` is the part that depends on the device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report<D> {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// Host requests, before splitting, including failed ones.
    pub requests: u64,
    /// Requests that the device refused because it is worn out. They are not included in latencies,
    /// bytes and rates.
    pub failed_requests: u64,
    /// Requests of zero bytes, which were not sent to the device.
    pub empty_requests: u64,
    /// Requests to the device, after splitting.
    pub device_requests: u64,
    /// Time from the first arrival to the last completion, in seconds.
    pub simulated_s: f64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Bandwidth of reads and writes together; `None` if the run took no time.
    pub bandwidth_mb_s: Option<f64>,
    /// Requests per second without failed ones; `None` if the run took no time.
    pub iops: Option<f64>,
    /// Reads.
    pub read: OpReport,
    /// Writes.
    pub write: OpReport,
    /// Trims.
    pub trim: OpReport,
    /// Flushes.
    pub flush: OpReport,
    /// Number of outstanding requests over time.
    pub outstanding: Outstanding,
    /// Reports by queue; empty if there is only one queue.
    pub queues: Vec<QueueReport>,
    /// Results of the device.
    #[serde(flatten)]
    pub device: D,
    /// How the trace was read; `None` for a synthetic load.
    pub input: Option<InputNote>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Inputs from which the result was computed.
    pub provenance: Provenance,
}

/// Requests of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpReport {
    /// Number of requests that completed.
    pub requests: u64,
    /// Number of requests that failed.
    pub failed: u64,
    /// Bytes of the completed requests.
    pub bytes: u64,
    /// Bandwidth over the whole run; `None` if it took no time.
    pub bandwidth_mb_s: Option<f64>,
    /// Requests per second over the whole run; `None` if it took no time.
    pub iops: Option<f64>,
    /// Latency from arrival to completion.
    pub latency_us: LatencySummary,
    /// By what the requests waited for: `medium`, `buffer` (no operation of the medium), `merge` (a
    /// page read because the write covers only a part of it), `collection` (garbage collection).
    pub by_cause: BTreeMap<&'static str, CauseReport>,
}

/// Requests that waited for the same cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CauseReport {
    /// Number of requests.
    pub requests: u64,
    /// Latency from arrival to completion.
    pub latency_us: LatencySummary,
}

/// Requests of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueReport {
    /// Number of the queue.
    pub queue: u32,
    /// Requests that the queue issues per turn.
    pub weight: u32,
    /// Number of requests.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time of the last completion, from the first arrival of the run; `None` without requests. A
    /// queue with a larger weight finishes earlier.
    pub finished_s: Option<f64>,
    /// Bandwidth up to that time; `None` if no time had passed.
    pub bandwidth_mb_s: Option<f64>,
    /// Requests per second up to that time; `None` if no time had passed.
    pub iops: Option<f64>,
    /// Latency from arrival to completion.
    pub latency_us: LatencySummary,
}

/// Number of outstanding requests over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outstanding {
    /// Time-weighted mean; `None` if the run took no time.
    pub mean: Option<f64>,
    /// Maximum.
    pub max: u64,
}

/// Inputs of a result: the same version, seed and inputs give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Provenance {
    /// Version of the program.
    pub version: &'static str,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The configuration of the run, including device parameters.
    pub config: serde_json::Value,
    /// The trace; `None` for a synthetic load.
    pub trace: Option<TraceProvenance>,
}

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceProvenance {
    /// How the trace was read: its format, how that was determined, its units.
    #[serde(skip)]
    pub input: InputNote,
    /// Name of the format.
    pub format: &'static str,
    /// Requests in the trace, without repetitions.
    pub requests: u64,
    /// End of the highest address: the capacity that the trace needs.
    pub end_bytes: u64,
    /// Records that were skipped or changed.
    #[serde(flatten)]
    pub left_out: LeftOut,
    /// CRC-32 of times, operations and ranges, in hexadecimal digits.
    pub crc32: String,
}

/// Numbers of records of a trace that were skipped or changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Malformed lines or records that were skipped.
    pub skipped: u64,
    /// Error of the first of them.
    pub first_skipped: Option<String>,
    /// Requests earlier than their predecessor, which were given its time.
    pub clamped: u64,
    /// Requests extended to whole sectors.
    pub extended: u64,
    /// Requests of zero bytes, skipped.
    pub empty: u64,
    /// Requests to devices that were not selected, or to virtual devices, skipped.
    pub other_devices: u64,
    /// Entries that are not requests, skipped.
    pub other_kinds: u64,
    /// Object keys that are text, hashed to 64 bits.
    pub hashed_keys: u64,
}

impl LeftOut {
    /// Converts the counters of a reader.
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

/// Bytes per time, in 10^6 bytes per second.
pub(crate) fn mb_s(bytes: u64, ns: u64) -> Option<f64> {
    share(bytes, ns).map(|per_ns| per_ns * 1e3)
}

/// Requests per time, in requests per second.
pub(crate) fn per_s(count: u64, ns: u64) -> Option<f64> {
    share(count, ns).map(|per_ns| per_ns * 1e9)
}

impl<D> Report<D> {
    /// Creates the report of a run.
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
