//! The time of a block trace on storage that was measured, as a range.
//!
//! A measured storage has the times of requests of one kind at a time. How a mixed load queues, and
//! how far apart its addresses are for the device, is not known. Two bounds are. The device is not
//! faster than with sequential requests at its best measured depth, and a trace with arrivals does
//! not end before the last of them. The device is not slower than if each request were random and
//! waited for the one before, and all of them for the last arrival. Gaps of a trace after
//! completions add to both bounds.
//!
//! Not modelled: a device that slows down under a longer load than the measured one, as flash does
//! when its garbage collection starts.

use crate::error::ClusterError;
use crate::space::measured::{MeasuredStorage, OpPatterns, READS, WRITES};
use gordon_blockio::IoOp;
use gordon_replay::classes::{ClassifiedTrace, classify};
use gordon_replay::config::{HostConfig, PacingKind, TraceLoad};
use gordon_replay::results::report::TraceProvenance;
use gordon_units::Progress;
use schemars::JsonSchema;
use serde::Serialize;

/// The time of a block trace on measured storage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MeasuredTimes {
    /// Number of reads and writes.
    pub requests: u64,
    /// Number of trims, flushes and empty requests, which were not measured and take no time here.
    pub left_out: u64,
    /// Reads.
    pub read: OpTimes,
    /// Writes.
    pub write: OpTimes,
    /// Time from the first to the last arrival, or the sum of the gaps; 0 in a closed loop.
    pub host_s: f64,
    /// Least time of the trace.
    pub time_s_low: f64,
    /// Most time of the trace.
    pub time_s_high: f64,
    /// The trace.
    pub trace: TraceProvenance,
    /// What to know of the trace.
    pub warnings: Vec<String>,
}

/// The times of the requests of an operation.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct OpTimes {
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time at the best measured depth and order.
    pub time_s_low: f64,
    /// Their time if each is alone at the device, in the slower order.
    pub time_s_high: f64,
}

/// The time of a trace on a measured storage, which is in `file`.
///
/// # Errors
/// Returns an error if the trace cannot be read, if it has reads or writes that were not measured,
/// or if `progress` stops the scan.
pub fn measured_times(
    storage: &MeasuredStorage,
    file: &str,
    host: &HostConfig,
    load: &TraceLoad,
    progress: &Progress,
) -> Result<MeasuredTimes, ClusterError> {
    storage.check(file)?;
    let trace = classify(host, load, progress)?;
    let mut warnings = trace.warnings.clone();
    let mut times = |op, name, patterns| {
        let missing =
            || ClusterError::NotMeasured { file: file.into(), trace: load.path.clone(), op: name };
        let found = op_times(storage, &trace, op, patterns).ok_or_else(missing)?;
        if found.requests > 0 {
            warnings.extend(one_order(storage, name, patterns));
        }
        Ok::<_, ClusterError>(found)
    };
    let read = times(IoOp::Read, "reads", READS)?;
    let write = times(IoOp::Write, "writes", WRITES)?;
    let least = read.time_s_low + write.time_s_low;
    let (host, low) = match trace.pacing {
        PacingKind::Arrival => (trace.span.as_secs(), least.max(trace.span.as_secs())),
        PacingKind::Gaps => (trace.gaps.as_secs(), least + trace.gaps.as_secs()),
        PacingKind::Closed => (0.0, least),
    };
    Ok(MeasuredTimes {
        requests: read.requests + write.requests,
        left_out: trace.others,
        host_s: host,
        time_s_low: low,
        time_s_high: host + read.time_s_high + write.time_s_high,
        read,
        write,
        trace: trace.trace,
        warnings,
    })
}

/// The times of an operation; `None` if it was not measured and the trace has it.
#[allow(clippy::cast_precision_loss)]
fn op_times(
    storage: &MeasuredStorage,
    trace: &ClassifiedTrace,
    op: IoOp,
    patterns: OpPatterns,
) -> Option<OpTimes> {
    let mut sum = OpTimes::default();
    for (class, count) in trace.classes.iter().filter(|(class, _)| class.op == op) {
        let [low, high] = storage.bounds(patterns, class.len as f64)?;
        sum.requests += count;
        sum.bytes = sum.bytes.saturating_add(count.saturating_mul(class.len));
        sum.time_s_low += low * *count as f64;
        sum.time_s_high += high * *count as f64;
    }
    Some(sum)
}

/// A warning that the bounds are those of one order.
fn one_order(storage: &MeasuredStorage, name: &str, of: OpPatterns) -> Option<String> {
    let (missing, bound) = match (storage.has(of.sequential), storage.has(of.random)) {
        (true, false) => ("random", "upper"),
        (false, true) => ("sequential", "lower"),
        _ => return None,
    };
    Some(format!("{missing} {name} were not measured: the {bound} bound may be passed"))
}
