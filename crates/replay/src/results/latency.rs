//! Latencies as histograms of high dynamic range: three significant digits from a nanosecond to
//! centuries (G. Tene's HdrHistogram). Mean, least and greatest are exact.

use super::ratio;
use gordon_device::{Cause, Op};
use gordon_units::Ns;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies of one kind of request.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum: u128,
    min: Ns,
    max: Ns,
}

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::MAX >> 1, 3);
        Self {
            histogram: histogram.expect("the bounds are right"),
            sum: 0,
            min: Ns::MAX,
            max: Ns::ZERO,
        }
    }
}

impl Latency {
    /// Adds one.
    #[inline]
    pub fn record(&mut self, latency: Ns) {
        self.histogram.saturating_record(latency.0);
        self.sum += u128::from(latency.0);
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("histograms of one shape");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The summary.
    pub fn summary(&self) -> LatencySummary {
        if self.count() == 0 {
            return LatencySummary::default();
        }
        let us = |ns: u64| Some(ratio(ns, 1000));
        // A bucket's highest value may lie above the greatest one seen.
        let quantile = |q| us(self.histogram.value_at_quantile(q).min(self.max.0));
        #[allow(clippy::cast_precision_loss)]
        let mean = self.sum as f64 / self.count() as f64 / 1e3;
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
        self.histogram.iter_recorded().map(|bucket| {
            let to = bucket.value_iterated_to();
            (self.histogram.lowest_equivalent(to), to, bucket.count_at_value())
        })
    }
}

/// Microseconds; none of it where nothing was recorded.
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

/// The operations, in the order of reports.
pub const OPS: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

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
    #[inline]
    pub fn record(&mut self, op: Op, cause: Cause, latency: Ns) {
        self.0[op as usize][cause as usize].get_or_insert_default().record(latency);
    }

    /// Of one operation and cause.
    pub fn get(&self, op: Op, cause: Cause) -> Option<&Latency> {
        self.0[op as usize][cause as usize].as_deref()
    }

    /// Of one operation, whatever the cause.
    pub fn of(&self, op: Op) -> Latency {
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
            latencies.record(Op::Read, cause, Ns(i * 1000));
        }
        let all = latencies.of(Op::Read);
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
        assert_eq!(latencies.get(Op::Read, Cause::Medium).unwrap().count(), 500);
        assert_eq!(latencies.of(Op::Write).summary(), LatencySummary::default());
        assert_eq!(all.buckets().map(|(.., count)| count).sum::<u64>(), 1000);
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
