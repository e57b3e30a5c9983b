//! A resource that running tasks share: each has an equal part of it (processor sharing).
//!
//! All tasks of a station progress at one rate, so a task leaves when the sum of that rate over
//! time has grown by its demand: its place in the queue never changes.

use super::key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A shared resource with the tasks that use it.
#[derive(Debug, Default)]
pub(super) struct Station {
    /// What each task has got since the start, up to `at`.
    given: f64,
    at: f64,
    /// By task: the value of `given` at which it leaves.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Number of changes of the queue: an event of an earlier number is void.
    pub version: u32,
}

impl Station {
    /// Number of tasks.
    pub fn len(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    fn advance(&mut self, now: f64, rate: f64) {
        self.given += (now - self.at) * rate;
        self.at = now;
    }

    /// Adds a task; `rate` is what each task got a second until now.
    pub fn join(&mut self, now: f64, rate: f64, demand: f64, task: u32) {
        self.advance(now, rate);
        self.queue.push(Reverse((key(self.given + demand), task)));
        self.version += 1;
    }

    /// Removes the task that is done; `rate` is what each task got a second until now.
    pub fn leave(&mut self, now: f64, rate: f64) -> Option<u32> {
        self.advance(now, rate);
        self.version += 1;
        self.queue.pop().map(|Reverse((_, task))| task)
    }

    /// When the next task is done if each gets `rate` a second.
    pub fn next(&self, rate: f64) -> Option<f64> {
        let Reverse((given, _)) = self.queue.peek()?;
        Some(self.at + ((f64::from_bits(*given) - self.given) / rate).max(0.0))
    }
}
