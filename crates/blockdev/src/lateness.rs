//! Measurement of how late answers are, compared with their simulated time.

use gordon_units::Ns;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// An hour in nanoseconds: the largest lateness that the histogram records.
const HOUR: u64 = 3_600_000_000_000;

/// How late answers were, compared with their simulated time. All values are measured.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Lateness {
    /// Number of answered requests.
    pub requests: u64,
    /// Sum of the simulated response times of these requests in ns. Its growth in an interval,
    /// divided by the interval, is the mean number of requests in flight in the simulation.
    pub asked_ns: u64,
    /// Sum of the measured response times in ns.
    pub got_ns: u64,
    /// Mean simulated response time in us.
    pub asked_mean_us: f64,
    /// Mean measured response time in us.
    pub got_mean_us: f64,
    /// Mean lateness in us.
    pub late_mean_us: f64,
    /// Median of the lateness in us.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness in us.
    pub late_p99_us: f64,
    /// Maximum of the lateness in us.
    pub late_max_us: f64,
}

/// Records the lateness of answers.
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

    /// Records an answer that is given `now` to a request that arrived at `arrived_at`.
    pub fn record(&mut self, arrived_at: Ns, due: Ns, now: Ns) {
        self.asked += u128::from(due.0.saturating_sub(arrived_at.0));
        self.got += u128::from(now.0.saturating_sub(arrived_at.0));
        self.late.saturating_record(now.0.saturating_sub(due.0));
    }

    // Sums of nanoseconds become means in us, for which 53 bits are enough.
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
