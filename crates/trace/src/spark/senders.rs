//! From whom tasks fetched shuffle data. The log does not say; it says what each executor wrote.

use super::log::EventLog;
use std::collections::BTreeMap;

/// The part of fetched bytes that an executor sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderShare {
    /// Index of the executor in the log.
    pub executor: usize,
    /// From 0 to 1.
    pub part: f64,
}

/// What each executor wrote for others to fetch.
pub(crate) struct Senders<'a> {
    executors: BTreeMap<&'a str, usize>,
    /// Shuffle bytes by stage and executor.
    written: BTreeMap<u32, BTreeMap<usize, f64>>,
    parents: BTreeMap<u32, &'a [u32]>,
}

impl<'a> Senders<'a> {
    pub fn new(log: &'a EventLog) -> Self {
        let ids = log.executors.iter().enumerate();
        let executors: BTreeMap<&str, usize> =
            ids.map(|(index, executor)| (executor.id.as_str(), index)).collect();
        let mut written: BTreeMap<u32, BTreeMap<usize, f64>> = BTreeMap::new();
        for task in &log.tasks {
            let Some(figures) = &task.figures else { continue };
            let executor = executors[log.text(task.executor)];
            *written.entry(task.stage).or_default().entry(executor).or_default() +=
                figures.shuffle_write.0 as f64;
        }
        let parents = log.stages.iter().map(|stage| (stage.id, stage.parents.as_slice()));
        Self { executors, written, parents: parents.collect() }
    }

    /// Index of the executor with this identifier, which a task in the log has.
    pub fn index(&self, id: &str) -> usize {
        self.executors[id]
    }

    /// The executors from which `executor` fetched data in `stage`, in proportion to what they
    /// wrote in the stages that it reads; in equal parts if that is unknown. Empty if no other
    /// executor is known.
    ///
    /// The parents' output may have been written by an earlier stage of the same plan, under
    /// another number.
    pub fn shares(&self, log: &EventLog, stage: u32, executor: usize) -> Vec<SenderShare> {
        let host = &log.executors[executor].host;
        let candidates = log.executors.iter().enumerate().filter(|(index, other)| {
            *index != executor && !(log.reads_host_local_disk && other.host == *host)
        });
        let candidates: Vec<usize> = candidates.map(|(index, _)| index).collect();
        let parents = self.parents.get(&stage).copied().unwrap_or_default();
        let of_stages = |stages: &mut dyn Iterator<Item = &u32>| {
            let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
            for written in stages.filter_map(|stage| self.written.get(stage)) {
                for &index in &candidates {
                    *weights.entry(index).or_default() += written.get(&index).unwrap_or(&0.0);
                }
            }
            weights
        };
        let sum = |weights: &BTreeMap<usize, f64>| weights.values().sum::<f64>();
        let mut weights = of_stages(&mut parents.iter());
        if sum(&weights) <= 0.0 {
            weights = of_stages(&mut self.written.keys());
        }
        if sum(&weights) <= 0.0 {
            weights = candidates.iter().map(|index| (*index, 1.0)).collect();
        }
        let total = sum(&weights);
        let share = |(executor, weight)| SenderShare { executor, part: weight / total };
        weights.into_iter().map(share).collect()
    }
}
