//! Warm-up: the first part of a trace fills the caches and is not counted.

use super::load::Load;
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_units::{Ns, Progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// Number of requests of the trace.
    Requests(u64),
    /// Fraction of the requests of the trace, above 0 and below 1. The trace is read twice.
    Share(f64),
    /// Time after the first request.
    Time(Ns),
}

/// Requests that the results do not include; each has one or more accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WarmUpReport {
    /// Requests of the trace in the warm-up.
    pub requests: u64,
    /// Accesses of pages or objects in the warm-up.
    pub accesses: u64,
    /// Bytes accessed in the warm-up.
    pub bytes: u64,
    /// Time from the first request to the first counted one; `None` if the trace has no times and
    /// the replay does not set any.
    pub time_s: Option<f64>,
}

/// Detects the end of the warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarmUpProgress {
    until: WarmUp,
    seen: u64,
    first: Option<Ns>,
}

impl WarmUpProgress {
    /// # Errors
    /// Returns an error if the warm-up has no requests, its fraction is not between 0 and 1, or the
    /// trace cannot be read twice as a fraction requires.
    pub fn new(
        warmup: WarmUp,
        trace: &TraceLoad,
        objects: bool,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        let not = |why: &str| Err(ReplayError::impossible("warmup", why, "100k, 20% or 1h"));
        let until = match warmup {
            WarmUp::Requests(0) | WarmUp::Time(Ns::ZERO) => {
                return not("nothing comes before the first request");
            }
            WarmUp::Share(share) => {
                if !(share > 0.0 && share < 1.0) {
                    return not("not a part of the trace above 0 % and below 100 %");
                }
                if trace.is_stream() {
                    return not("a part of standard input is known when all of it has been read; \
                                give a number of requests or a time");
                }
                let all = requests(trace, objects, progress)?;
                // The fraction of a short trace is rounded up to one request.
                WarmUp::Requests(((all as f64 * share) as u64).max(1))
            }
            other => other,
        };
        Ok(Self { until, seen: 0, first: None })
    }

    /// Whether a request of the trace at this time is the first counted one.
    #[inline]
    pub fn ends(&mut self, at: Ns) -> bool {
        let first = *self.first.get_or_insert(at);
        self.seen += 1;
        match self.until {
            WarmUp::Requests(requests) => self.seen > requests,
            WarmUp::Time(time) => at.saturating_sub(first) >= time,
            WarmUp::Share(_) => unreachable!("a share is turned into requests"),
        }
    }

    /// Number of requests seen so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Time from the first request to `at`.
    pub fn span(&self, at: Ns) -> Ns {
        at.saturating_sub(self.first.unwrap_or(at))
    }

    /// Whether the warm-up needs the times of the trace.
    pub fn needs_times(&self) -> bool {
        matches!(self.until, WarmUp::Time(_))
    }

    /// The error for a trace that ends before the warm-up.
    pub fn not_over_error(&self) -> ReplayError {
        let why =
            format!("the trace ends with it, after {} requests: nothing is counted", self.seen);
        ReplayError::impossible("warmup", why, "a shorter one, such as 20%")
    }
}

/// Number of requests in a trace.
fn requests(trace: &TraceLoad, objects: bool, progress: &Progress) -> Result<u64, ReplayError> {
    let mut load = Load::open(trace, objects)?;
    load.stamps = Some(Vec::new());
    let (mut batch, mut all) = (Vec::new(), 0);
    while load.next_batch(&mut batch)? {
        progress.check()?;
        let stamps = load.stamps.iter().flatten();
        all += stamps.filter(|stamp| stamp.first).count() as u64;
    }
    Ok(all)
}
