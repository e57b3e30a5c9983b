//! Bandwidth against transfer size and queue depth.

use crate::latency::LatencySummary;
use crate::load::{ClosedLoopLoad, LoadLimits, Pattern, load};
use crate::{ProbeError, ProbeOp, Progress, TargetDescription, TestFile};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What is asked of storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacteriseConfig {
    /// A file, a block device, or a directory, in which a scratch file is made.
    pub path: PathBuf,
    /// What exists may be written to.
    #[serde(default)]
    pub write: bool,
    /// Bytes that it runs over; all there is, or of a scratch file 1 GiB.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// One after the other.
    pub points: Vec<CharacterisePoint>,
    /// Of each.
    pub time: Ns,
    /// Before each.
    pub warm_up: Ns,
    /// The most of each.
    pub bytes: Bytes,
    /// Random places follow from it.
    pub seed: u64,
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacterisePoint {
    /// In which order.
    pub pattern: Pattern,
    /// Reads or writes.
    pub op: ProbeOp,
    /// Bytes of a request.
    pub size: Bytes,
    /// Requests outstanding.
    pub depth: u32,
}

/// What they came to.
#[derive(Clone, Debug, Serialize)]
pub struct CharacteriseReport {
    /// What was asked.
    pub target: TargetDescription,
    /// It was a file of our own.
    pub scratch: bool,
    /// Bytes that it ran over.
    pub span_bytes: u64,
    /// In the order of the points.
    pub points: Vec<MeasuredPoint>,
}

/// What one load came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredPoint {
    /// In which order.
    pub pattern: Pattern,
    /// Reads or writes.
    pub op: ProbeOp,
    /// Bytes of a request.
    pub size_bytes: u64,
    /// Requests outstanding.
    pub queue_depth: u32,
    /// Bytes that it ran over.
    pub span_bytes: u64,
    /// Requests that count.
    pub requests: u64,
    /// From the first issue to the last completion, with the flush after writes.
    pub elapsed_s: f64,
    /// 10^6 bytes a second.
    pub bandwidth_mb_s: f64,
    /// Requests a second.
    pub iops: f64,
    /// Of each request, without the flush.
    pub latency_us: Option<LatencySummary>,
}

/// Carries out all points. What cannot be done is said before the first, and before anything is
/// written; `progress` counts points.
///
/// # Errors
/// Where there is no storage, room or leave, a point that cannot be, an answer that is an error, a
/// stop.
#[allow(clippy::cast_precision_loss)]
pub fn characterise(
    config: &CharacteriseConfig,
    progress: &Progress,
) -> Result<CharacteriseReport, ProbeError> {
    let exists = config.path.exists() && !config.path.is_dir();
    if exists && !config.write && config.points.iter().any(|point| point.op == ProbeOp::Write) {
        return Err(ProbeError::Kept(config.path.clone()));
    }
    progress.total.store(config.points.len() as u64, Ordering::Relaxed);
    let test_file = TestFile::open(&config.path, config.write, config.span.map(|span| span.0))?;
    let span = config.span.map_or(test_file.target.capacity(), |span| span.0);
    let limits = LoadLimits { time: config.time, bytes: config.bytes.0, warm_up: config.warm_up };
    let as_load = |point: &CharacterisePoint| ClosedLoopLoad {
        pattern: point.pattern,
        op: point.op,
        size: point.size.0,
        depth: point.depth,
        span: span.min(test_file.target.capacity()),
        seed: config.seed,
        limits,
    };
    let loads: Vec<ClosedLoopLoad> = config.points.iter().map(as_load).collect();
    loads.iter().try_for_each(|load| load.check(&test_file.target))?;
    test_file.fill(progress)?;
    let points = loads.iter().map(|one| {
        let loaded = load(&test_file.target, one, progress)?;
        progress.step(1);
        let seconds = loaded.elapsed.as_secs();
        Ok(MeasuredPoint {
            pattern: one.pattern,
            op: one.op,
            size_bytes: one.size,
            queue_depth: one.depth,
            span_bytes: one.span,
            requests: loaded.requests,
            elapsed_s: seconds,
            bandwidth_mb_s: loaded.bytes as f64 / seconds / 1e6,
            iops: loaded.requests as f64 / seconds,
            latency_us: loaded.latency.summary(),
        })
    });
    let points = points.collect::<Result<Vec<_>, ProbeError>>()?;
    let target = test_file.target.description().clone();
    Ok(CharacteriseReport { target, scratch: test_file.scratch, span_bytes: span, points })
}
