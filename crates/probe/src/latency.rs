//! Latency histograms with three significant digits (G. Tene's HdrHistogram). Mean and maximum are
//! exact.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies of requests of one kind.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::MAX >> 1, 3);
        Self { histogram: histogram.expect("the bounds are right"), sum: 0, max: 0 }
    }
}

impl LatencyHistogram {
    /// Records a latency in nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    /// Adds the latencies of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("their bounds are the same");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The summary; `None` if nothing was recorded.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn summary(&self) -> Option<LatencySummary> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // The highest value of a bucket may be above the maximum.
        let us = |quantile| self.histogram.value_at_quantile(quantile).min(self.max) as f64 / 1e3;
        Some(LatencySummary {
            mean: self.sum as f64 / count as f64 / 1e3,
            p50: us(0.5),
            p99: us(0.99),
            p999: us(0.999),
            max: self.max as f64 / 1e3,
        })
    }
}

/// Summary of latencies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Mean, exact.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum, exact.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_two_halves_is_that_of_the_whole() {
        let mut halves = [LatencyHistogram::default(), LatencyHistogram::default()];
        for us in 1..=1000u64 {
            halves[usize::from(us % 3 == 0)].record(us * 1000);
        }
        let [mut all, more] = halves;
        all.add(&more);
        let found = all.summary().unwrap();
        assert_eq!((all.count(), found.mean, found.max), (1000, 500.5, 1000.0));
        for (is, expected) in [(found.p50, 500.0), (found.p99, 990.0), (found.p999, 999.0)] {
            // The histogram has three significant digits.
            assert!((is / expected - 1.0).abs() < 0.001, "{is}, not {expected}");
        }
        assert_eq!(LatencyHistogram::default().summary(), None);
    }
}
