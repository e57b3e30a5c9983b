//! Results of a run: latencies, a time series, and the activity of the device.
//!
//! [`Recorder`] observes a run with bounded memory: histograms and a series of at most
//! [`series::MOST`] intervals. [`report`] computes the summary, [`tables`] the columns.
//!
//! Every value is modelled: it comes from the simulated device, not from a real one.

pub mod disk;
pub mod flash;
pub mod json_tables;
pub mod latency;
pub mod log;
pub mod output;
mod recorder;
pub mod report;
pub mod requests;
pub mod responses;
pub mod series;
pub mod tables;

pub use recorder::{QueueRecord, Recorded, Recorder};

/// A ratio for reports.
#[allow(clippy::cast_precision_loss)]
pub fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// A ratio for reports; `None` if the divisor is zero.
pub fn share(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| ratio(a, b))
}

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
