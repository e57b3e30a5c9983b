//! Latencies by operation and cause.

use gordon_blockio::{Cause, IoOp, LatencyHistogram};
use gordon_units::Ns;

/// Operations and their names, in the order of reports.
pub const OPS: [(IoOp, &str); 4] =
    [(IoOp::Read, "read"), (IoOp::Write, "write"), (IoOp::Discard, "trim"), (IoOp::Flush, "flush")];

/// Causes and their names, in the order of reports.
pub const CAUSES: [(Cause, &str); 4] = [
    (Cause::Buffer, "buffer"),
    (Cause::Medium, "medium"),
    (Cause::Merge, "merge"),
    (Cause::Collection, "collection"),
];

/// Latencies by operation and cause. Histograms are allocated when they are first used.
#[derive(Clone, Debug, Default)]
pub struct Latencies([[Option<Box<LatencyHistogram>>; 4]; 4]);

impl Latencies {
    /// Adds a latency.
    #[inline(always)]
    pub fn record(&mut self, op: IoOp, cause: Cause, latency: Ns) {
        match &mut self.0[op as usize][cause as usize] {
            Some(one) => one.record(latency),
            none => Self::record_first(none, latency),
        }
    }

    #[cold]
    fn record_first(one: &mut Option<Box<LatencyHistogram>>, latency: Ns) {
        one.get_or_insert_default().record(latency);
    }

    /// Sum of all latencies, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.0.as_flattened().iter().flatten().map(|one| one.sum()).sum()
    }

    /// Latencies of one operation and cause; `None` if there were none.
    pub fn get(&self, op: IoOp, cause: Cause) -> Option<&LatencyHistogram> {
        self.0[op as usize][cause as usize].as_deref()
    }

    /// Latencies of one operation, for all causes.
    pub fn of(&self, op: IoOp) -> LatencyHistogram {
        self.0[op as usize].iter().flatten().fold(LatencyHistogram::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_blockio::LatencySummary;

    #[test]
    fn percentiles_of_a_known_set() {
        let mut latencies = Latencies::default();
        // 1 us to 1 ms, each once, alternating between two causes.
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
            // Accurate to three digits.
            assert!((is / expected - 1.0).abs() < 0.001, "{is}, not {expected}");
        }
        assert_eq!(latencies.get(IoOp::Read, Cause::Medium).unwrap().count(), 500);
        assert_eq!(latencies.of(IoOp::Write).summary(), LatencySummary::default());
        assert_eq!(all.buckets().map(|(.., count)| count).sum::<u64>(), 1000);
    }
}
