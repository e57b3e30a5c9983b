//! Latencies as histograms with high dynamic range: three significant digits from a nanosecond to
//! centuries (G. Tene's HdrHistogram). Mean, minimum and maximum are exact.

use gordon_units::Ns;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// Number of buckets: 1024 for each power of two, and twice as many for the first.
const BUCKETS: usize = 54 << 10;

/// The bucket of a latency. It equals that of the three-digit histogram which
/// [`LatencyHistogram::histogram`] creates, but skips the checks of a general histogram. Latencies
/// beyond the end count in the last bucket.
#[inline]
fn bucket(latency: Ns) -> usize {
    let power = (latency.0 | 2047).ilog2() - 10;
    #[allow(clippy::cast_possible_truncation)] // below 2048
    let place = (latency.0 >> power) as usize;
    ((power as usize) << 10).wrapping_add(place)
}

/// The smallest latency in a bucket.
fn least(bucket: usize) -> u64 {
    let power = (bucket >> 10).saturating_sub(1);
    ((bucket - (power << 10)) as u64) << power
}

/// Histogram of latencies.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    /// Indexed by [`bucket`].
    counts: Vec<u64>,
    sum: u128,
    min: Ns,
    max: Ns,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], sum: 0, min: Ns::MAX, max: Ns::ZERO }
    }
}

impl LatencyHistogram {
    /// Adds a latency.
    #[inline(always)]
    pub fn record(&mut self, latency: Ns) {
        // Nothing overflows with fewer than 2^64 requests of less than 2^64 ns each.
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

    /// Adds all latencies of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all latencies, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    fn histogram(&self) -> Histogram<u64> {
        let histogram = Histogram::new_with_bounds(1, u64::MAX >> 1, 3);
        let mut histogram = histogram.expect("the bounds are right");
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(least(bucket), *count);
        }
        histogram
    }

    /// Mean, extremes and percentiles; all are `None` if nothing was recorded.
    pub fn summary(&self) -> LatencySummary {
        let histogram = self.histogram();
        let count = histogram.len();
        if count == 0 {
            return LatencySummary::default();
        }
        #[allow(clippy::cast_precision_loss)]
        let us = |ns: u64| Some(ns as f64 / 1e3);
        // The highest value of a bucket may exceed the maximum recorded.
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

    /// The non-empty buckets: first and last value in nanoseconds, and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        // Each bucket ends before the smallest value of the next one.
        let recorded = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        recorded.map(|(bucket, count)| (least(bucket), least(bucket + 1) - 1, *count))
    }
}

/// Latencies in microseconds, unless the key has another unit; `None` if nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// Mean; exact.
    pub mean: Option<f64>,
    /// Minimum; exact.
    pub min: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// 99.99th percentile.
    pub p9999: Option<f64>,
    /// Maximum; exact.
    pub max: Option<f64>,
}

impl LatencySummary {
    /// Converts microseconds to milliseconds.
    #[must_use]
    pub fn ms(self) -> Self {
        let Self { mean, min, p50, p90, p99, p999, p9999, max } = self;
        let [mean, min, p50, p90, p99, p999, p9999, max] =
            [mean, min, p50, p90, p99, p999, p9999, max].map(|us| us.map(|us| us / 1e3));
        Self { mean, min, p50, p90, p99, p999, p9999, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_two_halves_is_that_of_the_whole() {
        let mut halves = [LatencyHistogram::default(), LatencyHistogram::default()];
        for us in 1..=1000u64 {
            halves[usize::from(us % 3 == 0)].record(Ns(us * 1000));
        }
        let [mut all, more] = halves;
        all.add(&more);
        let found = all.summary();
        assert_eq!((all.count(), found.mean, found.max), (1000, Some(500.5), Some(1000.0)));
        let quantiles = [(found.p50, 500.0), (found.p99, 990.0), (found.p999, 999.0)];
        for (is, expected) in quantiles {
            // The histogram has three significant digits.
            assert!((is.unwrap() / expected - 1.0).abs() < 0.001, "{is:?}, not {expected}");
        }
        assert_eq!(LatencyHistogram::default().summary(), LatencySummary::default());
    }

    /// The buckets equal those of the general histogram over the whole range.
    #[test]
    fn buckets_equal_those_of_the_general_histogram() {
        let (mut latency, mut histogram) =
            (LatencyHistogram::default(), LatencyHistogram::default().histogram());
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
    fn the_extremes_are_recorded() {
        let mut latency = LatencyHistogram::default();
        latency.record(Ns::ZERO);
        latency.record(Ns(u64::MAX >> 2));
        assert_eq!(latency.count(), 2);
        assert_eq!(latency.summary().min, Some(0.0));
    }
}
