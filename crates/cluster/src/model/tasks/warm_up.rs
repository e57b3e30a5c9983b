//! What the first task of a slot in a stage takes on top of later ones: an executor loads and
//! compiles the code of a stage while it runs it for the first time, and much more in its first
//! stage.
//!
//! Seconds are core-seconds on a core of speed 1, of computing that the engine counts or not.

use super::median;

/// The warm-up where no later task shows what it is: the share of a first task, and the most
/// seconds. Assumed. On local nodes, first tasks of Spark's executors had 3 s, those of later
/// stages 0.5 to 3 s (docs/validation/cluster.md).
struct Assumed {
    share: f64,
    most: f64,
}

/// Of the first stage of an executor.
const COLD: Assumed = Assumed { share: 0.8, most: 3.0 };
/// Of its later stages.
const WARM: Assumed = Assumed { share: 0.5, most: 1.0 };
/// Share of a first task that its warm-up has at most.
const MOST_SHARE: f64 = 0.95;

/// Whether a task was the first one of its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// The slot had run a task of the stage before.
    #[default]
    No,
    /// The slot had run tasks of other stages alone.
    OfStage,
    /// The slot had run no task.
    OfExecutor,
}

/// The warm-up of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmUp {
    /// Seconds by which the first task of a slot is longer than later ones.
    pub secs: f64,
    /// Seconds of a later task, if none showed the warm-up.
    pub assumed: Option<f64>,
}

impl WarmUp {
    /// The warm-up of a stage whose tasks took these seconds: the difference of the medians of the
    /// first ones and of the others.
    pub fn of(tasks: impl Iterator<Item = (First, f64)>) -> Self {
        let (mut first, mut others, mut cold) = (Vec::new(), Vec::new(), 0);
        for (is_first, secs) in tasks {
            cold += usize::from(is_first == First::OfExecutor);
            if is_first == First::No { others.push(secs) } else { first.push(secs) }
        }
        let assumed = if 2 * cold >= first.len() { COLD } else { WARM };
        let of_first = median(first);
        if !others.is_empty() {
            return Self { secs: (of_first - median(others)).max(0.0), assumed: None };
        }
        let secs = assumed.most.min(of_first * assumed.share);
        Self { secs, assumed: Some(of_first - secs) }
    }

    /// The share of a first task of `secs` that is not warm-up.
    pub fn left(self, secs: f64) -> f64 {
        if secs > 0.0 { 1.0 - (self.secs / secs).min(MOST_SHARE) } else { 1.0 }
    }

    /// What a chain of tasks with these seconds of computing and of warm-up may lose and gain,
    /// because the warm-up is assumed: it may be nothing, or most of the first task.
    pub fn doubt(self, computing: f64, warm_up: f64) -> [f64; 2] {
        let Some(later) = self.assumed.filter(|later| *later > 0.0 && self.secs > 0.0) else {
            return [0.0; 2];
        };
        let share = self.secs / (self.secs + later);
        // Without a warm-up, all tasks of the chain are as long as its first ones.
        let more = (computing * self.secs / later - warm_up).max(0.0);
        let less = more * (MOST_SHARE / share - 1.0).max(0.0);
        [less.min(computing), more]
    }
}
