//! Warm start: the first part of a trace fills the caches, and nothing of it is counted.

use super::load::Load;
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_units::{Ns, Progress};
use serde::{Deserialize, Serialize};

/// How much of a trace comes before anything is counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// Requests of the trace.
    Requests(u64),
    /// The part of the trace's requests, above 0 and below 1. The trace is read twice.
    Share(f64),
    /// Requests that come earlier than this after the first.
    Time(Ns),
}

/// What a result leaves out: requests of the trace, each of one page or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WarmUpReport {
    /// Requests of the trace before the first that is counted.
    pub requests: u64,
    /// Accesses of pages or objects that these made.
    pub accesses: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the first request to the first that is counted; null where the trace has no times and
    /// the replay no pace.
    pub time_s: Option<f64>,
}

/// Finds the first request that is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Warming {
    until: WarmUp,
    seen: u64,
    first: Option<Ns>,
}

impl Warming {
    /// # Errors
    /// No requests, a share that is not between 0 and 1, a trace that cannot be read twice.
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
                // The part of a trace that is too short for it is at least one request.
                WarmUp::Requests(((all as f64 * share) as u64).max(1))
            }
            other => other,
        };
        Ok(Self { until, seen: 0, first: None })
    }

    /// Whether a request of the trace that comes at this time is the first that is counted.
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

    /// Requests of the trace that came so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Time from the first request to this one.
    pub fn span(&self, at: Ns) -> Ns {
        at.saturating_sub(self.first.unwrap_or(at))
    }

    /// Whether it needs the times of the trace.
    pub fn needs_times(&self) -> bool {
        matches!(self.until, WarmUp::Time(_))
    }

    /// The error of a trace that ended before it was over.
    pub fn not_over(&self) -> ReplayError {
        let why =
            format!("the trace ends with it, after {} requests: nothing is counted", self.seen);
        ReplayError::impossible("warmup", why, "a shorter one, such as 20%")
    }
}

/// Requests of a trace.
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
