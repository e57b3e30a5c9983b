//! Measures bandwidth and latency by transfer size, queue depth and pattern.

use crate::load::{ClosedLoopLoad, LoadLimits, Pattern, load};
use crate::{ProbeError, ProbeOp, Progress, TargetDescription, TestFile};
use gordon_blockio::LatencySummary;
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Configuration of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacteriseConfig {
    /// A file, a block device, or a directory in which a scratch file is created.
    pub path: PathBuf,
    /// Whether an existing file or device may be overwritten.
    #[serde(default)]
    pub write: bool,
    /// Number of bytes that the requests cover, from the first one on; `None` for the whole target,
    /// or 1 GiB in a scratch file.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// The points, which are measured sequentially.
    pub points: Vec<CharacterisePoint>,
    /// Time limit of each point.
    pub time: Ns,
    /// Warm-up before each point.
    pub warm_up: Ns,
    /// Maximum number of bytes of each point.
    pub bytes: Bytes,
    /// Random seed of the addresses.
    pub seed: u64,
}

/// A point: one closed-loop load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacterisePoint {
    /// Sequential or random addresses.
    pub pattern: Pattern,
    /// Reads or writes.
    pub op: ProbeOp,
    /// Bytes of a request.
    pub size: Bytes,
    /// Number of outstanding requests.
    pub depth: u32,
}

/// Result of a measurement.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CharacteriseReport {
    /// The storage that was measured.
    pub target: TargetDescription,
    /// Whether it was a scratch file.
    pub scratch: bool,
    /// Number of bytes that the requests covered.
    pub span_bytes: u64,
    /// The results, in the order of the points.
    pub points: Vec<MeasuredPoint>,
}

/// Result of one point.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredPoint {
    /// Sequential or random addresses.
    pub pattern: Pattern,
    /// Reads or writes.
    pub op: ProbeOp,
    /// Bytes of a request.
    pub size_bytes: u64,
    /// Number of outstanding requests.
    pub queue_depth: u32,
    /// Number of bytes that the requests covered.
    pub span_bytes: u64,
    /// Number of requests measured, without the warm-up.
    pub requests: u64,
    /// Time from the first issue to the last completion, including the flush after writes.
    pub elapsed_s: f64,
    /// Bandwidth in 10^6 bytes per second.
    pub bandwidth_mb_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// Latency of the requests, without the flush.
    pub latency_us: LatencySummary,
}

/// Measures all points. The configuration is checked before the first one, and before anything is
/// written. `progress` counts points.
///
/// # Errors
/// When the target or the scratch file cannot be used, the configuration does not fit it, a request
/// fails, or `progress` stops the measurement.
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
