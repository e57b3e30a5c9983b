//! Miss-ratio curves: misses of LRU caches of many sizes, from a single pass over a trace.

use super::load::Load;
use super::{CacheTrace, warnings};
use gordon_cache::{Curve, Sample};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_trace::formats::InputNote;
use gordon_units::{Bytes, Progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of sizes per doubling, if no sizes are given.
const STEPS: u64 = 4;
/// Number of doublings below the footprint that are reported, if no sizes are given.
const DOUBLINGS: u32 = 10;

/// Configuration of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveConfig {
    /// The trace whose curve is computed.
    pub trace: TraceLoad,
    /// Sizes of the caches. If empty: from about the footprint of the trace down to a thousandth of
    /// it.
    #[serde(default)]
    pub dram: Vec<Bytes>,
    /// Whether each request of a block trace is one object, of the size of the request.
    #[serde(default)]
    pub objects: bool,
    /// Fraction of the objects to sample; `None` for all.
    #[serde(default)]
    pub sample: Option<f64>,
    /// Maximum number of objects to sample at a time; `None` for all.
    #[serde(default)]
    pub keep: Option<u64>,
}

/// Result of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurveReport {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// Name of the policy.
    pub policy: &'static str,
    /// Cached unit: `object`, `page` or `request`.
    pub unit: &'static str,
    /// Whether the misses are exactly those of a cache: all objects were sampled, and they have one
    /// size.
    pub exact: bool,
    /// Fraction of objects sampled, at the end.
    pub sample: f64,
    /// Number of requests for units.
    pub requests: u64,
    /// Number of requests for sampled units.
    pub sampled_requests: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// Number of objects tracked at the end.
    pub followed_objects: u64,
    /// Total size of all objects; an estimate if not all were sampled.
    pub footprint_bytes: u64,
    /// Memory of the computation in bytes.
    pub index_bytes: u64,
    /// The curve, by size of the cache.
    pub points: Vec<CurvePoint>,
    /// How the trace was read.
    pub input: InputNote,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Inputs from which the result was computed.
    pub provenance: CurveProvenance,
}

/// Misses of a cache of one size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// Capacity of the cache in bytes.
    pub dram_bytes: u64,
    /// Number of misses; an estimate if not all objects were sampled.
    pub misses: u64,
    /// Misses per request; `None` without requests.
    pub miss_ratio: Option<f64>,
    /// Bytes missed per byte requested; `None` without requests.
    pub byte_miss_ratio: Option<f64>,
}

/// Inputs of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurveProvenance {
    /// Version of the program.
    pub version: &'static str,
    /// Configuration of the curve.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub config: CurveConfig,
    /// Publication of the method.
    pub follows: &'static str,
    /// The replayed trace: its format, counters and checksum.
    pub trace: CacheTrace,
}

fn sample(config: &CurveConfig) -> Result<Sample, ReplayError> {
    match (config.sample, config.keep) {
        (Some(_), Some(_)) => {
            let why = "a share of the objects, or a number of them, not both";
            Err(ReplayError::impossible("sample", why, "--sample 0.01, or --keep 8192"))
        }
        (Some(rate), None) if rate > 0.0 && rate <= 1.0 => Ok(Sample::Rate(rate)),
        (Some(rate), None) => {
            let why = format!("{rate} is not a share of the objects");
            Err(ReplayError::impossible("sample", why, "more than 0, at most 1: --sample 0.01"))
        }
        (None, Some(0)) => {
            Err(ReplayError::impossible("keep", "a sample of 0 objects", "--keep 8192"))
        }
        (None, Some(most)) => Ok(Sample::Objects(usize::try_from(most).unwrap_or(usize::MAX))),
        (None, None) => Ok(Sample::All),
    }
}

/// Sizes for a curve of any trace: [`STEPS`] per doubling, from 512 bytes on.
fn ladder() -> Vec<u64> {
    (9..62_u32)
        .flat_map(|log| (0..STEPS).map(move |step| (1 << log) / STEPS * (STEPS + step)))
        .collect()
}

/// Computes a curve; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if the sample or a size is invalid, the trace cannot be read, or the run is
/// stopped.
pub fn curve(config: &CurveConfig, progress: &Progress) -> Result<CurveReport, ReplayError> {
    let sample = sample(config)?;
    if config.dram.iter().any(|size| size.0 == 0) {
        let why = "a cache of 0 bytes holds nothing";
        return Err(ReplayError::impossible("dram", why, "16MiB"));
    }
    let configured: Vec<u64> = config.dram.iter().map(|size| size.0).collect();
    let sizes = if configured.is_empty() { ladder() } else { configured.clone() };
    let mut load = Load::open(&config.trace, config.objects)?;
    let (mut curve, mut batch) = (Curve::new(sample, sizes), Vec::new());
    while load.next_batch(&mut batch)? {
        progress.check()?;
        curve.record(&batch);
        progress.step(batch.len() as u64);
    }
    if sample != Sample::All && curve.sampled() == 0 && curve.requests() > 0 {
        let why = "no object of the trace is in the sample";
        return Err(ReplayError::impossible("sample", why, "take a larger one, or none"));
    }
    let footprint = curve.footprint();
    let (requests, bytes) = (curve.requests(), curve.bytes());
    let ratio = |part: f64, of: u64| (of > 0).then(|| part / of as f64);
    let mut points: Vec<CurvePoint> = Vec::new();
    let smallest = footprint / 2_f64.powi(DOUBLINGS as i32);
    for point in curve.points() {
        let capacity = point.capacity as f64;
        if configured.is_empty() && capacity < smallest {
            continue;
        }
        points.push(CurvePoint {
            dram_bytes: point.capacity,
            misses: point.misses.round() as u64,
            miss_ratio: ratio(point.misses, requests),
            byte_miss_ratio: ratio(point.miss_bytes, bytes),
        });
        if configured.is_empty() && capacity >= footprint {
            break;
        }
    }
    let mut warnings = warnings(None, &load);
    let one_size = curve.has_one_size();
    if !one_size {
        warnings.push(
            "objects are of several sizes: caches of whole objects miss a little more than this"
                .into(),
        );
    }
    Ok(CurveReport {
        kind: "modelled: counted while the trace was read",
        policy: "lru",
        unit: load.unit(),
        exact: sample == Sample::All && one_size,
        sample: curve.rate(),
        requests,
        sampled_requests: curve.sampled(),
        bytes,
        followed_objects: curve.objects(),
        footprint_bytes: footprint.round() as u64,
        index_bytes: curve.memory() as u64,
        points,
        input: load.note().clone(),
        warnings,
        provenance: CurveProvenance {
            version: env!("CARGO_PKG_VERSION"),
            config: config.clone(),
            follows: match sample {
                Sample::All => {
                    "Mattson et al., Evaluation techniques for storage hierarchies, 1970"
                }
                _ => "Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015",
            },
            trace: load.provenance(),
        },
    })
}
