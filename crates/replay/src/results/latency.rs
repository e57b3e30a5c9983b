//! Latencies as histograms of high dynamic range: three significant digits from a nanosecond to
//! centuries (G. Tene's HdrHistogram). Mean, least and greatest are exact.

use super::ratio;
use gordon_blockio::{Cause, IoOp};
use gordon_units::Ns;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Buckets of the histogram: 1024 for each power of two, twice as many for the first.
const BUCKETS: usize = 54 << 10;

/// The bucket of a latency: that of the histogram of three digits that [`Latency::histogram`]
/// makes, without what a general histogram asks itself for every value. Past the end, the last one
/// counts.
#[inline]
fn bucket(latency: Ns) -> usize {
    let power = (latency.0 | 2047).ilog2() - 10;
    #[allow(clippy::cast_possible_truncation)] // below 2048
    let place = (latency.0 >> power) as usize;
    ((power as usize) << 10).wrapping_add(place)
}

/// The least latency of a bucket.
fn least(bucket: usize) -> u64 {
    let power = (bucket >> 10).saturating_sub(1);
    ((bucket - (power << 10)) as u64) << power
}

/// Latencies of one kind of request.
#[derive(Clone, Debug)]
pub struct Latency {
    /// By [`bucket`].
    counts: Vec<u64>,
    sum: u128,
    min: Ns,
    max: Ns,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], sum: 0, min: Ns::MAX, max: Ns::ZERO }
    }
}

impl Latency {
    /// Adds one.
    #[inline(always)]
    pub fn record(&mut self, latency: Ns) {
        // Fewer than 2^64 requests of less than 2^64 ns each: nothing wraps.
        match self.counts.get_mut(bucket(latency)) {
            Some(count) => *count = count.wrapping_add(1),
            None => self.counts[BUCKETS - 1] += 1,
        }
        self.sum = self.sum.wrapping_add(latency.0.into());
        if latency < self.min {
            self.min = latency;
        }
        if latency > self.max {
            self.max = latency;
        }
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn histogram(&self) -> Histogram<u64> {
        let histogram = Histogram::new_with_bounds(1, u64::MAX >> 1, 3);
        let mut histogram = histogram.expect("the bounds are right");
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(least(bucket), *count);
        }
        histogram
    }

    /// The summary.
    pub fn summary(&self) -> LatencySummary {
        let histogram = self.histogram();
        let count = histogram.len();
        if count == 0 {
            return LatencySummary::default();
        }
        let us = |ns: u64| Some(ratio(ns, 1000));
        // A bucket's highest value may lie above the greatest one seen.
        let quantile = |q| us(histogram.value_at_quantile(q).min(self.max.0));
        #[allow(clippy::cast_precision_loss)]
        let mean = self.sum as f64 / count as f64 / 1e3;
        LatencySummary {
            mean: Some(mean),
            min: us(self.min.0),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: us(self.max.0),
        }
    }

    /// The buckets that hold something: from, to (both included, nanoseconds), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        // Up to the next bucket's least.
        let recorded = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        recorded.map(|(bucket, count)| (least(bucket), least(bucket + 1) - 1, *count))
    }
}

/// Microseconds, where its key does not say otherwise; none of it where nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// The mean, exact.
    pub mean: Option<f64>,
    /// The least, exact.
    pub min: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// 90 % are not above it.
    pub p90: Option<f64>,
    /// 99 % are not above it.
    pub p99: Option<f64>,
    /// 99.9 % are not above it.
    pub p999: Option<f64>,
    /// 99.99 % are not above it.
    pub p9999: Option<f64>,
    /// The greatest, exact.
    pub max: Option<f64>,
}

impl LatencySummary {
    /// The same in milliseconds.
    #[must_use]
    pub fn ms(self) -> Self {
        let Self { mean, min, p50, p90, p99, p999, p9999, max } = self;
        let [mean, min, p50, p90, p99, p999, p9999, max] =
            [mean, min, p50, p90, p99, p999, p9999, max].map(|us| us.map(|us| us / 1e3));
        Self { mean, min, p50, p90, p99, p999, p9999, max }
    }
}

/// The operations, in the order of reports.
pub const OPS: [(IoOp, &str); 4] =
    [(IoOp::Read, "read"), (IoOp::Write, "write"), (IoOp::Discard, "trim"), (IoOp::Flush, "flush")];

/// The causes, in the order of reports.
pub const CAUSES: [(Cause, &str); 4] = [
    (Cause::Buffer, "buffer"),
    (Cause::Medium, "medium"),
    (Cause::Merge, "merge"),
    (Cause::Collection, "collection"),
];

/// Latencies by operation and cause. Histograms are made when they are first needed.
#[derive(Clone, Debug, Default)]
pub struct Latencies([[Option<Box<Latency>>; 4]; 4]);

impl Latencies {
    /// Adds one.
    #[inline(always)]
    pub fn record(&mut self, op: IoOp, cause: Cause, latency: Ns) {
        match &mut self.0[op as usize][cause as usize] {
            Some(one) => one.record(latency),
            none => Self::record_first(none, latency),
        }
    }

    #[cold]
    fn record_first(one: &mut Option<Box<Latency>>, latency: Ns) {
        one.get_or_insert_default().record(latency);
    }

    /// The sum of all.
    pub fn sum(&self) -> u128 {
        self.0.as_flattened().iter().flatten().map(|one| one.sum).sum()
    }

    /// Of one operation and cause.
    pub fn get(&self, op: IoOp, cause: Cause) -> Option<&Latency> {
        self.0[op as usize][cause as usize].as_deref()
    }

    /// Of one operation, whatever the cause.
    pub fn of(&self, op: IoOp) -> Latency {
        self.0[op as usize].iter().flatten().fold(Latency::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_set() {
        let mut latencies = Latencies::default();
        // 1 us to 1 ms, each once, over two causes.
        for i in 1..=1000 {
            let cause = if i % 2 == 0 { Cause::Medium } else { Cause::Collection };
            latencies.record(IoOp::Read, cause, Ns(i * 1000));
        }
        let all = latencies.of(IoOp::Read);
        let summary = all.summary();
        assert_eq!(all.count(), 1000);
        assert_eq!(summary.mean, Some(500.5));
        assert_eq!((summary.min, summary.max), (Some(1.0), Some(1000.0)));
        for (is, expected) in [
            (summary.p50, 500.0),
            (summary.p90, 900.0),
            (summary.p99, 990.0),
            (summary.p999, 999.0),
        ] {
            let is = is.unwrap();
            // Three digits.
            assert!((is / expected - 1.0).abs() < 0.001, "{is}, not {expected}");
        }
        assert_eq!(latencies.get(IoOp::Read, Cause::Medium).unwrap().count(), 500);
        assert_eq!(latencies.of(IoOp::Write).summary(), LatencySummary::default());
        assert_eq!(all.buckets().map(|(.., count)| count).sum::<u64>(), 1000);
    }

    /// The buckets are those of the general histogram, from end to end.
    #[test]
    fn buckets_are_those_of_the_histogram() {
        let (mut latency, mut histogram) = (Latency::default(), Latency::default().histogram());
        let borders = (0..64).map(|power| 1u64 << power);
        let around = borders.flat_map(|at| [at - 1, at, at + 1, at + at / 3, at + at / 1024]);
        for ns in around.chain([2046, 2047, 2048, 4095, 4096, u64::MAX >> 1, u64::MAX]) {
            latency.record(Ns(ns));
            histogram.saturating_record(ns);
        }
        let expected = histogram.iter_recorded().map(|bucket| {
            let to = bucket.value_iterated_to();
            (histogram.lowest_equivalent(to), to, bucket.count_at_value())
        });
        assert_eq!(latency.buckets().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(latency.count(), histogram.len());
        for quantile in [0.0, 0.1, 0.5, 0.9, 0.999, 1.0] {
            let of = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
            assert_eq!(of(&latency.histogram()), of(&histogram));
        }
    }

    #[test]
    fn the_extremes_are_taken() {
        let mut latency = Latency::default();
        latency.record(Ns::ZERO);
        latency.record(Ns(u64::MAX >> 2));
        assert_eq!(latency.count(), 2);
        assert_eq!(latency.summary().min, Some(0.0));
    }
}
