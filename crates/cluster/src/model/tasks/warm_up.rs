//! What the first task of a slot in a stage takes on top of later ones: an executor loads and compiles
//! the code of a stage while it runs it for the first time.

use super::median;

/// CPU seconds of the first task if no later task shows what they are, and the share of the task that
/// they have at most. Assumed: on small clusters, jobs of Spark had 0.5 to 3 s, and half of a task.
const ASSUMED: f64 = 1.0;
const ASSUMED_SHARE: f64 = 0.5;
/// Share of a first task that its warm-up has at most.
const MOST_SHARE: f64 = 0.95;

/// The warm-up of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmUp {
    /// CPU seconds by which the first task of a slot is longer than later ones.
    pub cpu: f64,
    /// CPU seconds of a later task for each of `cpu`, if no later task showed what they are.
    pub assumed: Option<f64>,
}

impl WarmUp {
    /// The warm-up of a stage whose first tasks of slots, and other tasks, took these CPU seconds: the
    /// difference of the medians.
    pub fn measured(first: Vec<f64>, others: Vec<f64>) -> Self {
        let of_first = median(first);
        if !others.is_empty() {
            let cpu = (of_first - median(others)).clamp(0.0, of_first);
            return Self { cpu, assumed: None };
        }
        let cpu = ASSUMED.min(of_first * ASSUMED_SHARE);
        let later = if cpu > 0.0 { (of_first - cpu) / cpu } else { 0.0 };
        Self { cpu, assumed: Some(later) }
    }

    /// CPU seconds of the warm-up of a first task that took `cpu`.
    pub fn of_task(self, cpu: f64) -> f64 {
        self.cpu.min(cpu * MOST_SHARE)
    }

    /// What the time of a chain of tasks with these seconds of computing and of warm-up may lose and
    /// gain, because the warm-up is assumed: it may be nothing, or most of the first task.
    pub fn doubt(self, computing: f64, warm_up: f64) -> [f64; 2] {
        let Some(later) = self.assumed.filter(|later| *later > 0.0) else {
            return [0.0; 2];
        };
        // Without a warm-up, all tasks of the chain are as long as its first ones.
        let more = (computing / later - warm_up).max(0.0);
        [more * (MOST_SHARE - ASSUMED_SHARE) / ASSUMED_SHARE, more].map(|secs| secs.min(computing))
    }
}
