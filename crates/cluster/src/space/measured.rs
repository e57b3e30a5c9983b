//! Storage that was measured: the time and latency of a request by pattern, size and queue depth.
//!
//! The points are those of `gordon storage characterise`. Between them, the logarithm of the time
//! is linear in the logarithms of size and depth. Larger requests than the largest have its
//! bandwidth, smaller ones than the smallest have its time; depths outside of the measured ones
//! have the times of the nearest. Each depth may have sizes of its own.
//!
//! Not modelled: reads and writes that slow each other down, and sizes that differ within a sample.

use crate::error::ClusterError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Measured storages, by the path of their file.
pub type MeasuredStorages = BTreeMap<String, MeasuredStorage>;

/// Storage that was measured.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredStorage {
    /// What was measured, when, and by which version of Gordon.
    pub source: String,
    /// The measured points, by pattern, depth and size.
    #[serde(deserialize_with = "sorted")]
    points: Vec<StoragePoint>,
}

/// One closed-loop load of requests of one size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePoint {
    /// Order of the addresses, and reads or writes.
    pub pattern: AccessPattern,
    /// Size of a request in bytes.
    pub size_bytes: u64,
    /// Number of outstanding requests.
    pub queue_depth: u32,
    /// Time of the load divided by its number of requests, in seconds.
    pub seconds_per_request: f64,
    /// Mean latency of a request in seconds.
    pub mean_latency_s: f64,
}

/// Order of the addresses of requests, and reads or writes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum AccessPattern {
    SequentialRead,
    RandomRead,
    SequentialWrite,
    RandomWrite,
}

impl fmt::Display for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequentialRead => "sequential-read",
            Self::RandomRead => "random-read",
            Self::SequentialWrite => "sequential-write",
            Self::RandomWrite => "random-write",
        })
    }
}

/// Sequential and random requests of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpPatterns {
    pub sequential: AccessPattern,
    pub random: AccessPattern,
}

pub(crate) const READS: OpPatterns =
    OpPatterns { sequential: AccessPattern::SequentialRead, random: AccessPattern::RandomRead };
pub(crate) const WRITES: OpPatterns =
    OpPatterns { sequential: AccessPattern::SequentialWrite, random: AccessPattern::RandomWrite };

/// Requests of one operation in a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpLoad {
    pub patterns: OpPatterns,
    /// Number of requests.
    pub requests: f64,
    pub bytes: f64,
    /// Share of the requests that are sequential.
    pub sequential: f64,
}

fn sorted<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<StoragePoint>, D::Error> {
    Vec::deserialize(d).map(in_order)
}

fn in_order(mut points: Vec<StoragePoint>) -> Vec<StoragePoint> {
    points.sort_by_key(StoragePoint::key);
    points
}

impl StoragePoint {
    fn key(&self) -> (AccessPattern, u32, u64) {
        (self.pattern, self.queue_depth, self.size_bytes)
    }
}

impl MeasuredStorage {
    /// Storage with these points, in any order.
    #[must_use]
    pub fn new(source: String, points: Vec<StoragePoint>) -> Self {
        Self { source, points: in_order(points) }
    }

    /// Returns an error if it has no points, the same point twice, or a value that is not above
    /// zero. `path` is its file.
    pub(crate) fn check(&self, path: &str) -> Result<(), ClusterError> {
        let impossible = |why: String| {
            Err(ClusterError::Impossible { what: format!("measured storage `{path}`"), why })
        };
        if self.points.is_empty() {
            return impossible("it has no points".into());
        }
        let mut last = None;
        for point in &self.points {
            let (pattern, depth, size) = point.key();
            let name = format!("{pattern} of {size} bytes, {depth} outstanding");
            let times = [point.seconds_per_request, point.mean_latency_s];
            let are_positive = times.iter().all(|time| time.is_finite() && *time > 0.0);
            if size == 0 || depth == 0 || !are_positive {
                return impossible(format!("{name}: a value is not above zero"));
            }
            if last.replace(point.key()) == Some(point.key()) {
                return impossible(format!("{name}: it is there twice"));
            }
        }
        Ok(())
    }

    /// Whether requests of this pattern were measured.
    pub(crate) fn has(&self, pattern: AccessPattern) -> bool {
        !self.of(pattern).is_empty()
    }

    /// Seconds that the device needs for the reads and then the writes of a sample, with a mean of
    /// `depth` requests outstanding.
    pub(crate) fn device_time(&self, loads: [OpLoad; 2], depth: f64) -> f64 {
        loads.iter().map(|load| self.sum(load, |points, size| time(points, size, depth))).sum()
    }

    /// Sum of the latencies of the requests of a sample, in seconds, at the smallest measured
    /// depth.
    pub(crate) fn unloaded_latency(&self, loads: [OpLoad; 2]) -> f64 {
        let latency = |points: &[StoragePoint], size: f64| {
            on_curve(at_depth(points, points[0].queue_depth), size, |p| p.mean_latency_s)
        };
        loads.iter().map(|load| self.sum(load, latency)).sum()
    }

    /// Bounds of the seconds of a request of this size, whatever the order of the addresses: the
    /// least time per request over the measured depths, and the most time of a request that is
    /// alone at the device, which is its latency at the smallest measured depth. `None` if the
    /// operation was not measured.
    pub(crate) fn bounds(&self, of: OpPatterns, size: f64) -> Option<[f64; 2]> {
        let mut bounds: Option<[f64; 2]> = None;
        for pattern in [of.sequential, of.random] {
            let points = self.of(pattern);
            let of_each_depth = points.chunk_by(|one, next| one.queue_depth == next.queue_depth);
            for (number, curve) in of_each_depth.enumerate() {
                let queued = on_curve(curve, size, |point| point.seconds_per_request);
                let alone = on_curve(curve, size, |point| point.mean_latency_s);
                let most = if number == 0 { alone.max(queued) } else { 0.0 };
                let [low, high] = bounds.unwrap_or([queued, most]);
                bounds = Some([low.min(queued), high.max(most)]);
            }
        }
        bounds
    }

    /// The sum of `value` over the requests of an operation; it gets the points of a pattern, at
    /// least one, and the size of a request. An operation that was not measured adds nothing.
    fn sum(&self, load: &OpLoad, value: impl Fn(&[StoragePoint], f64) -> f64) -> f64 {
        if !load.is_any() {
            return 0.0;
        }
        // Rounded counts may lose the only request of a sample, but not its bytes. Rates have
        // less than one request a second.
        let requests = if load.requests > 0.0 { load.requests } else { 1.0 };
        let size = load.bytes / requests;
        let OpPatterns { sequential, random } = load.patterns;
        let one = |pattern, other| match (self.of(pattern), self.of(other)) {
            ([], []) => 0.0,
            ([], points) | (points, _) => value(points, size),
        };
        let share = load.sequential;
        requests * (share * one(sequential, random) + (1.0 - share) * one(random, sequential))
    }

    /// The points of a pattern.
    fn of(&self, pattern: AccessPattern) -> &[StoragePoint] {
        equal_range(&self.points, |point| point.pattern.cmp(&pattern))
    }
}

impl OpLoad {
    /// No requests.
    pub(crate) fn none() -> Self {
        Self { patterns: WRITES, requests: 0.0, bytes: 0.0, sequential: 1.0 }
    }

    /// Whether the sample has such requests.
    pub(crate) fn is_any(&self) -> bool {
        self.requests > 0.0 || self.bytes > 0.0
    }
}

/// The part of sorted `points` that `order` calls equal.
fn equal_range(
    points: &[StoragePoint],
    order: impl Fn(&StoragePoint) -> std::cmp::Ordering,
) -> &[StoragePoint] {
    let start = points.partition_point(|point| order(point).is_lt());
    let end = points.partition_point(|point| order(point).is_le());
    &points[start..end]
}

/// Of the points of a pattern, those of a depth.
fn at_depth(points: &[StoragePoint], depth: u32) -> &[StoragePoint] {
    equal_range(points, |point| point.queue_depth.cmp(&depth))
}

/// Seconds per request of this size and queue depth, from the points of a pattern.
fn time(points: &[StoragePoint], size: f64, depth: f64) -> f64 {
    let next = points.partition_point(|point| f64::from(point.queue_depth) <= depth);
    let of_depth =
        |depth: u32| on_curve(at_depth(points, depth), size, |point| point.seconds_per_request);
    let above = points.get(next).map(|point| point.queue_depth);
    let below = next.checked_sub(1).map(|last| points[last].queue_depth);
    match (below, above) {
        (Some(low), Some(high)) => {
            let ends = [f64::from(low), f64::from(high)];
            between(depth, ends, [of_depth(low), of_depth(high)])
        }
        (Some(nearest), None) | (None, Some(nearest)) => of_depth(nearest),
        (None, None) => unreachable!("a pattern has points"),
    }
}

/// The value of a request of this size, from points of one depth, ascending in size.
#[allow(clippy::cast_precision_loss)]
fn on_curve(curve: &[StoragePoint], size: f64, value: fn(&StoragePoint) -> f64) -> f64 {
    let size_of = |point: &StoragePoint| point.size_bytes as f64;
    let next = curve.partition_point(|point| size_of(point) <= size);
    match (next.checked_sub(1).map(|last| &curve[last]), curve.get(next)) {
        (Some(low), Some(high)) => {
            between(size, [size_of(low), size_of(high)], [value(low), value(high)])
        }
        (Some(largest), None) => value(largest) * (size / size_of(largest)),
        (None, Some(smallest)) => value(smallest),
        (None, None) => unreachable!("a depth has points"),
    }
}

/// Interpolates linearly between two points on logarithmic axes.
fn between(x: f64, [low, high]: [f64; 2], [first, last]: [f64; 2]) -> f64 {
    let share = (x / low).ln() / (high / low).ln();
    first * (last / first).powf(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 4] = [4096, 16_384, 65_536, 1_048_576];
    const DEPTHS: [u32; 3] = [1, 4, 32];

    /// Storage with this time per request of each pattern, size and depth.
    fn storage(seconds: impl Fn(AccessPattern, f64, f64) -> f64) -> MeasuredStorage {
        let patterns = [READS, WRITES].map(|of| [of.random, of.sequential]).concat();
        let mut points = Vec::new();
        for pattern in patterns {
            for size_bytes in SIZES {
                for queue_depth in DEPTHS {
                    let depth = f64::from(queue_depth);
                    #[allow(clippy::cast_precision_loss)]
                    let seconds_per_request = seconds(pattern, size_bytes as f64, depth);
                    points.push(StoragePoint {
                        pattern,
                        size_bytes,
                        queue_depth,
                        seconds_per_request,
                        mean_latency_s: seconds_per_request * depth,
                    });
                }
            }
        }
        MeasuredStorage::new("a test".into(), points)
    }

    /// A disk-like device: writes are slower than reads, random requests than sequential ones.
    fn uneven() -> MeasuredStorage {
        storage(|pattern, size, depth| {
            let seek = match pattern {
                AccessPattern::SequentialRead => 1e-4,
                AccessPattern::RandomRead => 8e-3,
                AccessPattern::SequentialWrite => 2e-4,
                AccessPattern::RandomWrite => 9e-3,
            };
            seek / depth.sqrt() + size / 100e6
        })
    }

    fn reads(requests: f64, size: f64, sequential: f64) -> OpLoad {
        OpLoad { patterns: READS, requests, bytes: requests * size, sequential }
    }

    fn no_writes() -> OpLoad {
        OpLoad { patterns: WRITES, requests: 0.0, bytes: 0.0, sequential: 1.0 }
    }

    /// Device time of one read.
    fn one(storage: &MeasuredStorage, size: f64, depth: f64, sequential: f64) -> f64 {
        storage.device_time([reads(1.0, size, sequential), no_writes()], depth)
    }

    #[track_caller]
    fn near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn measured_points_are_exact() {
        let storage = uneven();
        for point in &storage.points {
            let of = |patterns: OpPatterns| OpLoad {
                patterns,
                requests: 3.0,
                bytes: 3.0 * point.size_bytes as f64,
                sequential: f64::from(u8::from(point.pattern == patterns.sequential)),
            };
            let is_read = [READS.sequential, READS.random].contains(&point.pattern);
            let load = of(if is_read { READS } else { WRITES });
            let time = storage.device_time([load, no_writes()], f64::from(point.queue_depth));
            near(time, 3.0 * point.seconds_per_request);
        }
    }

    #[test]
    fn bounds_are_of_both_orders_alone_and_at_the_best_depth() {
        let storage = uneven();
        for size in [1000.0, 4096.0, 5000.0, 1e7] {
            let [low, high] = storage.bounds(READS, size).expect("it was measured");
            near(low, one(&storage, size, 32.0, 1.0));
            near(high, one(&storage, size, 1.0, 0.0));
        }
        // A device whose best depth is not the largest.
        let seconds = |depth| if depth > 4.0 { 3e-3 } else { 4e-3 / depth };
        let thrashing = self::storage(|_, _, depth| seconds(depth));
        let [low, high] = thrashing.bounds(WRITES, 4096.0).expect("it was measured");
        near(low, 1e-3);
        near(high, 4e-3);
        let reads = MeasuredStorage::new("a test".into(), uneven().of(READS.random).to_vec());
        assert!(reads.bounds(READS, 4096.0).is_some());
        assert!(reads.bounds(WRITES, 4096.0).is_none());
    }

    #[test]
    fn times_rise_with_size_and_fall_with_depth() {
        let storage = uneven();
        for share in [0.0, 0.5, 1.0] {
            let mut depth = 0.5;
            while depth < 100.0 {
                let mut last = 0.0;
                let mut size = 512.0;
                while size < 1e8 {
                    let time = one(&storage, size, depth, share);
                    let deeper = one(&storage, size, depth * 1.1, share);
                    assert!(time >= last, "{size} bytes, depth {depth}");
                    assert!(deeper <= time * (1.0 + 1e-12), "{size} bytes, depth {depth}");
                    last = time;
                    size *= 1.1;
                }
                depth *= 1.1;
            }
        }
    }

    #[test]
    fn between_points_the_time_is_the_geometric_mean_of_the_middle() {
        let storage = uneven();
        let ends = [one(&storage, 4096.0, 1.0, 0.0), one(&storage, 16_384.0, 1.0, 0.0)];
        near(one(&storage, 8192.0, 1.0, 0.0), (ends[0] * ends[1]).sqrt());
        let ends = [one(&storage, 4096.0, 1.0, 0.0), one(&storage, 4096.0, 4.0, 0.0)];
        near(one(&storage, 4096.0, 2.0, 0.0), (ends[0] * ends[1]).sqrt());
    }

    #[test]
    fn larger_requests_keep_the_bandwidth_and_smaller_ones_the_time() {
        let storage = uneven();
        let largest = one(&storage, 1_048_576.0, 4.0, 1.0);
        near(one(&storage, 8.0 * 1_048_576.0, 4.0, 1.0), 8.0 * largest);
        let smallest = one(&storage, 4096.0, 4.0, 1.0);
        near(one(&storage, 512.0, 4.0, 1.0), smallest);
        near(one(&storage, 0.0, 4.0, 1.0), smallest);
    }

    #[test]
    fn depths_outside_have_the_times_of_the_nearest() {
        let storage = uneven();
        for size in [512.0, 10_000.0, 5e6] {
            near(one(&storage, size, 0.5, 0.0), one(&storage, size, 1.0, 0.0));
            near(one(&storage, size, 1000.0, 0.0), one(&storage, size, 32.0, 0.0));
        }
    }

    /// On logarithmic axes both regimes are straight lines, so that only the cell with the bend is
    /// not exact; there a convex function is below its interpolation.
    #[test]
    fn a_device_of_constant_bandwidth_and_latency_has_the_times_of_its_formula() {
        let (rate, latency) = (200e6, 1e-3);
        let bandwidth_only = storage(|_, size, _| size / rate);
        let latency_only = storage(|_, _, depth| latency / depth);
        let both = storage(|_, size, depth| (size / rate).max(latency / depth));
        let mut size = 4096.0;
        while size < 1e9 {
            let mut depth = 1.0;
            while depth <= 32.0 {
                let of = |storage| one(storage, size, depth, 0.3);
                near(of(&bandwidth_only), size / rate);
                if size <= 1_048_576.0 {
                    near(of(&latency_only), latency / depth);
                }
                let formula = (size / rate).max(latency / depth);
                let found = of(&both);
                // Steps of size and depth are at most 16 and 8 wide: at a bend in the middle, the
                // interpolation is too high by the fourth root of each.
                let bound = 16f64.powf(0.25) * 8f64.powf(0.25);
                assert!(found >= formula * (1.0 - 1e-12), "{size} bytes, depth {depth}");
                assert!(found <= formula * bound, "{size} bytes, depth {depth}");
                depth *= 1.3;
            }
            size *= 1.3;
        }
    }

    #[test]
    fn operations_add_up_and_patterns_are_weighted() {
        let storage = uneven();
        let random = one(&storage, 4096.0, 1.0, 0.0);
        let sequential = one(&storage, 4096.0, 1.0, 1.0);
        near(one(&storage, 4096.0, 1.0, 0.25), 0.75 * random + 0.25 * sequential);
        let writes =
            OpLoad { patterns: WRITES, requests: 5.0, bytes: 5.0 * 4096.0, sequential: 0.0 };
        let alone = storage.device_time([reads(0.0, 0.0, 1.0), writes], 1.0);
        let both = storage.device_time([reads(2.0, 4096.0, 0.0), writes], 1.0);
        near(both, 2.0 * random + alone);
        assert!(alone > 5.0 * random);
    }

    #[test]
    fn bytes_without_a_request_are_one_request() {
        let storage = uneven();
        let lost = OpLoad { requests: 0.0, ..reads(1.0, 8192.0, 1.0) };
        near(storage.device_time([lost, no_writes()], 1.0), one(&storage, 8192.0, 1.0, 1.0));
    }

    #[test]
    fn a_pattern_that_was_not_measured_has_the_times_of_the_other() {
        let mut storage = uneven();
        let random = one(&storage, 4096.0, 1.0, 0.0);
        storage.points.retain(|point| point.pattern != AccessPattern::SequentialRead);
        near(one(&storage, 4096.0, 1.0, 1.0), random);
        assert!(!storage.has(AccessPattern::SequentialRead));
    }

    #[test]
    fn latencies_are_those_of_the_smallest_depth() {
        let storage = uneven();
        let sum = storage.unloaded_latency([reads(10.0, 4096.0, 0.0), no_writes()]);
        near(sum, 10.0 * one(&storage, 4096.0, 1.0, 0.0));
    }

    #[test]
    fn impossible_points_are_refused() {
        let good = StoragePoint {
            pattern: AccessPattern::RandomRead,
            size_bytes: 4096,
            queue_depth: 1,
            seconds_per_request: 1e-4,
            mean_latency_s: 1e-4,
        };
        let check = |points: Vec<StoragePoint>| {
            MeasuredStorage::new("a test".into(), points).check("ssd.json").is_ok()
        };
        assert!(check(vec![good]));
        for bad in [
            vec![],
            vec![good, good],
            vec![StoragePoint { size_bytes: 0, ..good }],
            vec![StoragePoint { queue_depth: 0, ..good }],
            vec![StoragePoint { seconds_per_request: 0.0, ..good }],
            vec![StoragePoint { seconds_per_request: -1.0, ..good }],
            vec![StoragePoint { mean_latency_s: f64::NAN, ..good }],
        ] {
            assert!(!check(bad.clone()), "{bad:?}");
        }
    }
}
