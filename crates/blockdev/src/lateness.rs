//! How far answers were from the time asked for.

use gordon_units::Ns;
use hdrhistogram::Histogram;
use serde::Serialize;

/// In nanoseconds: what is later counts as that late.
const HOUR: u64 = 3_600_000_000_000;

/// How far answers were from the time asked for: measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lateness {
    /// Requests answered.
    pub requests: u64,
    /// Simulated response times, summed over those, in ns. A total: its growth in a stretch of time
    /// over that stretch is how many were on their way, on average.
    pub asked_ns: u64,
    /// Times from request to answer, summed.
    pub got_ns: u64,
    /// Mean simulated response time, in us.
    pub asked_mean_us: f64,
    /// Mean time from request to answer, in us.
    pub got_mean_us: f64,
    /// Late by, in us: mean, half of them at most, 99 of 100 at most, all at most.
    pub late_mean_us: f64,
    /// The median.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The worst.
    pub late_max_us: f64,
}

/// Counts it.
pub(super) struct LatenessRecorder {
    asked: u128,
    got: u128,
    late: Histogram<u64>,
}

impl LatenessRecorder {
    pub fn new() -> Self {
        let late = Histogram::new_with_bounds(1, HOUR, 3).expect("three digits");
        Self { asked: 0, got: 0, late }
    }

    /// A request came, its answer was due, and is given now.
    pub fn note(&mut self, came: Ns, due: Ns, now: Ns) {
        self.asked += u128::from(due.0.saturating_sub(came.0));
        self.got += u128::from(now.0.saturating_sub(came.0));
        self.late.saturating_record(now.0.saturating_sub(due.0));
    }

    // Sums of nanoseconds, as means in us.
    #[allow(clippy::cast_precision_loss)]
    pub fn lateness(&self) -> Lateness {
        let requests = self.late.len();
        let mean = |sum: u128| if requests == 0 { 0.0 } else { sum as f64 / requests as f64 / 1e3 };
        let at = |quantile| self.late.value_at_quantile(quantile) as f64 / 1e3;
        let total = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        Lateness {
            requests,
            asked_ns: total(self.asked),
            got_ns: total(self.got),
            asked_mean_us: mean(self.asked),
            got_mean_us: mean(self.got),
            late_mean_us: self.late.mean() / 1e3,
            late_p50_us: at(0.5),
            late_p99_us: at(0.99),
            late_max_us: self.late.max() as f64 / 1e3,
        }
    }
}
