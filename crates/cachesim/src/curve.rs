//! What LRU caches of many sizes miss of a trace, from one reading.

use super::load::Load;
use super::{CacheTrace, warnings};
use gordon_cache::{Curve, Sample};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_trace::formats::InputNote;
use gordon_units::{Bytes, Progress};
use serde::{Deserialize, Serialize};

/// Sizes in each doubling, where none are asked for.
const STEPS: u64 = 4;
/// Doublings below the footprint that are told, where no sizes are asked for.
const DOUBLINGS: u32 = 10;

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveConfig {
    /// What the caches are asked for.
    pub trace: TraceLoad,
    /// Their sizes; none: those between what misses hardly anything and a thousandth of it.
    #[serde(default)]
    pub dram: Vec<Bytes>,
    /// Requests of a block trace are objects, each as long as it is.
    #[serde(default)]
    pub objects: bool,
    /// Only this share of the objects count; none: all.
    #[serde(default)]
    pub sample: Option<f64>,
    /// Only so many objects at a time count; none: all.
    #[serde(default)]
    pub keep: Option<u64>,
}

/// The curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveReport {
    /// What kind of values these are.
    pub kind: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// What is cached: `object`, `page` or `request`.
    pub unit: &'static str,
    /// All objects counted, and they were of one size: misses are those of a cache, to the last
    /// request.
    pub exact: bool,
    /// The share of objects that counted, at the end.
    pub sample: f64,
    /// Times that one of these was asked for.
    pub requests: u64,
    /// Of these, requests that counted.
    pub sampled_requests: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Objects that were followed, at the end.
    pub followed_objects: u64,
    /// Bytes of all objects, or what those that counted stand for.
    pub footprint_bytes: u64,
    /// Memory that it took.
    pub index_bytes: u64,
    /// By size.
    pub points: Vec<CurvePoint>,
    /// What the trace was read as.
    pub input: InputNote,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Where it comes from.
    pub provenance: CurveProvenance,
}

/// A cache of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The capacity.
    pub dram_bytes: u64,
    /// Requests that miss; an estimate if not all objects counted.
    pub misses: u64,
    /// Of each request; none without requests.
    pub miss_ratio: Option<f64>,
    /// Of each byte asked for.
    pub byte_miss_ratio: Option<f64>,
}

/// Where a curve comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveProvenance {
    /// Of the program.
    pub version: &'static str,
    /// What was asked for.
    pub config: CurveConfig,
    /// What it follows.
    pub follows: &'static str,
    /// The trace.
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

/// Sizes that a curve of any trace can be told at: [`STEPS`] in each doubling from 512 bytes on.
fn ladder() -> Vec<u64> {
    (9..62_u32)
        .flat_map(|log| (0..STEPS).map(move |step| (1 << log) / STEPS * (STEPS + step)))
        .collect()
}

/// Makes the curve, watched through `progress`.
///
/// # Errors
/// A sample or size that cannot be, a trace that cannot be read, a stop.
pub fn curve(config: &CurveConfig, progress: &Progress) -> Result<CurveReport, ReplayError> {
    let sample = sample(config)?;
    if config.dram.iter().any(|size| size.0 == 0) {
        let why = "a cache of 0 bytes holds nothing";
        return Err(ReplayError::impossible("dram", why, "16MiB"));
    }
    let asked: Vec<u64> = config.dram.iter().map(|size| size.0).collect();
    let sizes = if asked.is_empty() { ladder() } else { asked.clone() };
    let mut load = Load::open(&config.trace, config.objects)?;
    let (mut curve, mut batch) = (Curve::new(sample, sizes), Vec::new());
    while load.next_batch(&mut batch)? {
        progress.check()?;
        curve.record(&batch);
        progress.step(batch.len() as u64);
    }
    let footprint = curve.footprint();
    let (requests, bytes) = (curve.requests(), curve.bytes());
    let ratio = |part: f64, of: u64| (of > 0).then(|| part / of as f64);
    let mut points: Vec<CurvePoint> = Vec::new();
    let smallest = footprint / 2_f64.powi(DOUBLINGS as i32);
    for point in curve.points() {
        let told = point.capacity as f64;
        if asked.is_empty() && told < smallest {
            continue;
        }
        points.push(CurvePoint {
            dram_bytes: point.capacity,
            misses: point.misses.round() as u64,
            miss_ratio: ratio(point.misses, requests),
            byte_miss_ratio: ratio(point.miss_bytes, bytes),
        });
        if asked.is_empty() && told >= footprint {
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
    if sample != Sample::All && curve.sampled() == 0 && requests > 0 {
        warnings.push("no object of the trace is in the sample: take a larger one".into());
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
            trace: load.told(),
        },
    })
}
