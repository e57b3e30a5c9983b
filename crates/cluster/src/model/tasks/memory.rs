//! What the memory of a node holds while tasks run.
//!
//! Tasks and cached blocks share the working memory of an executor (Spark, "Tuning", unified
//! memory). Tasks evict blocks, but not below the share of `spark.memory.storageFraction`; blocks
//! do not evict what tasks use. Shuffle data are files. What the executors leave of the node's
//! memory is page cache, in which they stay until they are read.

use super::application::Application;
use super::demand::TaskDemand;
use super::executor::Executor;

/// Share of missing blocks at most: some were found.
const MOST_MISSED: f64 = 0.99;

/// What an application would keep in memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Needs {
    /// Cached blocks of all executors.
    pub cached: f64,
    /// Execution memory of a task: the largest of the means of the stages.
    pub task: f64,
    /// Shuffle data of all nodes: the most that a stage wrote.
    pub shuffled: f64,
    /// Share of the working memory of an executor that tasks leave to cached blocks.
    pub protected: f64,
}

impl Needs {
    #[allow(clippy::cast_precision_loss)]
    pub fn of(application: &Application, demands: &[TaskDemand]) -> Self {
        let mean = |stage: &super::application::AppStage| {
            let tasks = &demands[stage.tasks.clone()];
            tasks.iter().map(|task| task.memory).sum::<f64>() / tasks.len().max(1) as f64
        };
        Self {
            cached: application.most_cached(),
            task: application.stages.iter().map(mean).fold(0.0, f64::max),
            shuffled: application.most_shuffled,
            protected: application.settings.storage_fraction,
        }
    }
}

/// What the memory of a node holds of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Bytes of execution memory of each task, while all slots are busy.
    pub execution: f64,
    /// Share of the cached blocks that no executor holds.
    pub missing: f64,
    /// The same if tasks take all that they can.
    pub most_missing: f64,
    /// Share of the shuffle data that is read from storage.
    pub shuffle_on_disk: f64,
}

impl Held {
    /// What `nodes` nodes with these executors hold. `memory` are the bytes of a node; unlimited if
    /// unknown.
    pub(super) fn of(needs: &Needs, executor: &Executor, nodes: u32, memory: Option<f64>) -> Self {
        let Executor { count, slots, working, whole, .. } = *executor;
        let (nodes, count, slots) = (f64::from(nodes), f64::from(count), f64::from(slots));
        let cached = needs.cached / nodes / count;
        let protected = working * needs.protected;
        let execution = working - cached.min(protected);
        let free = (working - slots * needs.task).max(protected);
        let shuffled = needs.shuffled / nodes;
        let page_cache = memory.map_or(f64::INFINITY, |memory| (memory - count * whole).max(0.0));
        Self {
            execution: execution / slots,
            missing: lacking(cached, free),
            most_missing: lacking(cached, protected),
            shuffle_on_disk: lacking(shuffled, page_cache),
        }
    }
}

impl Needs {
    /// The needs with which the recorded executors hold what they did: the share `missed` of the
    /// reads of cached blocks did not find them, and no shuffle data were read again.
    pub fn as_recorded(
        self,
        executor: &Executor,
        nodes: u32,
        memory: Option<f64>,
        missed: f64,
    ) -> Self {
        let held = Held::of(&self, executor, nodes, memory);
        let fit = |bytes: f64, lacking: f64, lacked: f64| match lacking > 0.0 || lacked > 0.0 {
            true => bytes * (1.0 - lacking) / (1.0 - lacked),
            false => bytes,
        };
        Self {
            cached: fit(self.cached, held.missing, missed.min(MOST_MISSED)),
            shuffled: fit(self.shuffled, held.shuffle_on_disk, 0.0),
            ..self
        }
    }
}

impl TaskDemand {
    /// Bytes that it spills to storage where nodes hold `held`.
    pub(super) fn spilled(&self, held: &Held) -> f64 {
        (self.memory - held.execution).max(0.0) * self.spill_ratio
    }

    /// Whether the cached block that it reads is evicted where nodes hold `held`.
    pub(super) fn is_evicted(&self, held: &Held) -> bool {
        self.recompute.from < held.missing
    }
}

/// Share of `bytes` that a memory of `capacity` bytes does not hold.
fn lacking(bytes: f64, capacity: f64) -> f64 {
    if bytes > capacity { 1.0 - capacity / bytes } else { 0.0 }
}
