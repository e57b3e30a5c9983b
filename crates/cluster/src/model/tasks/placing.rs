//! Where the tasks of a stage may run (Spark, "Data Locality"; `TaskSetManager` and
//! `MapOutputTracker` of Spark 4.1).
//!
//! A task whose block is cached runs on the node that has it, and the tasks of a shuffle run on
//! nodes that have at least a fifth of its data. Other nodes take them once the stage has left a
//! free slot unused for the locality wait: once for data on another node, twice if the data are in
//! the memory of an executor, because tasks wait for the executor first and then for its node.

use super::application::{AppStage, Application};
use std::collections::BTreeMap;
use std::ops::Range;

/// Share of the data of a shuffle from which tasks prefer a node.
const SHARE: f64 = 0.2;
/// Tasks of a stage, and of those whose data it reads, from which tasks prefer no node.
const MOST_TASKS: usize = 1000;

/// The tasks of a submitted stage that have not started.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Number of tasks.
    left: usize,
    /// By node: tasks whose cached blocks it has, the last one first.
    at_home: BTreeMap<u32, Vec<usize>>,
    /// The other tasks, the last one first; those that prefer no node.
    others: Others,
    /// Nodes that the other tasks prefer; none if they prefer no node.
    preferred: Vec<u32>,
    /// Seconds for which tasks wait for their nodes.
    patience: f64,
    patient: Patience,
}

/// Tasks without a node of their own.
#[derive(Clone, Debug)]
enum Others {
    All(Range<usize>),
    Some(Vec<usize>),
}

impl Default for Others {
    fn default() -> Self {
        Self::All(0..0)
    }
}

/// Whether tasks wait for their nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Patience {
    /// They wait, and have left no slot unused; when one started last.
    Since(f64),
    /// They wait until this time, because they have left a slot unused.
    Until(f64),
    /// They run anywhere.
    Over,
}

impl Default for Patience {
    fn default() -> Self {
        Self::Since(0.0)
    }
}

impl Waiting {
    /// The tasks of a stage that is submitted now. `ran_on` has the node of each task that has
    /// started, and `is_held` says whether a task's block is in memory.
    pub fn of(
        application: &Application,
        stage: &AppStage,
        ran_on: &[Option<u32>],
        is_held: impl Fn(usize) -> bool,
        now: f64,
    ) -> Self {
        let mut waiting = Self {
            left: stage.tasks.len(),
            others: Others::All(stage.tasks.clone()),
            patient: Patience::Since(now),
            ..Self::default()
        };
        let settings = &application.settings;
        if let (Some(cached), false) = (stage.cached, stage.blocks.is_empty()) {
            let made_by = &application.stages[application.cached[cached].made_by].tasks;
            let mut others = Vec::new();
            for (task, block) in stage.tasks.clone().zip(&stage.blocks).rev() {
                match ran_on[made_by.start + *block as usize].filter(|_| is_held(task)) {
                    Some(node) => waiting.at_home.entry(node).or_default().push(task),
                    None => others.push(task),
                }
            }
            waiting.others = Others::Some(others);
        }
        if settings.follows_shuffles {
            waiting.preferred = preferred(application, stage, ran_on);
        }
        let waits = &settings.locality_wait;
        waiting.patience = match waiting.at_home.is_empty() {
            true => waits.node.as_secs(),
            false => (waits.process + waits.node).as_secs(),
        };
        if waiting.patience == 0.0 {
            waiting.end_patience();
        }
        waiting
    }

    /// Whether a task has not started.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Whether all nodes are the same to all tasks.
    pub fn takes_any(&self) -> bool {
        self.patient == Patience::Over || self.at_home.is_empty() && self.preferred.is_empty()
    }

    /// Whether a task may start on a node.
    pub fn may_start_on(&self, node: u32) -> bool {
        self.takes_any() || self.at_home.contains_key(&node) || self.others_start_on(node)
    }

    fn others_start_on(&self, node: u32) -> bool {
        let is_preferred = self.preferred.is_empty() || self.preferred.contains(&node);
        is_preferred && !self.others.is_empty()
    }

    /// Takes the task that starts on a node: one whose block it has, or else the first of the
    /// others, or else one of the node that has the most.
    pub fn take(&mut self, node: u32, now: f64) -> usize {
        self.left -= 1;
        if let Patience::Since(last) = &mut self.patient {
            *last = now;
        }
        let most = || self.at_home.iter().max_by_key(|(_, tasks)| tasks.len()).map(|(at, _)| *at);
        let home = if self.at_home.contains_key(&node) {
            Some(node)
        } else if self.others.is_empty() {
            most()
        } else {
            None
        };
        let Some(home) = home else { return self.others.take() };
        let tasks = self.at_home.get_mut(&home).expect("a node that has blocks");
        let task = tasks.pop().expect("a node has tasks");
        if tasks.is_empty() {
            self.at_home.remove(&home);
        }
        task
    }

    /// Leaves a slot unused. Returns when tasks stop waiting for their nodes, if they wait since
    /// now.
    pub fn leave_unused(&mut self) -> Option<f64> {
        match self.patient {
            Patience::Since(last) => {
                let until = last + self.patience;
                self.patient = Patience::Until(until);
                Some(until)
            }
            Patience::Until(_) | Patience::Over => None,
        }
    }

    /// Ends the waiting for nodes.
    pub fn end_patience(&mut self) {
        self.patient = Patience::Over;
    }
}

impl Others {
    fn is_empty(&self) -> bool {
        match self {
            Self::All(tasks) => tasks.is_empty(),
            Self::Some(tasks) => tasks.is_empty(),
        }
    }

    fn take(&mut self) -> usize {
        let task = match self {
            Self::All(tasks) => tasks.next(),
            Self::Some(tasks) => tasks.pop(),
        };
        task.expect("a task that has not started")
    }
}

/// Nodes with at least a fifth of the tasks whose data a stage reads, as if each of them had
/// written as much.
#[allow(clippy::cast_precision_loss)]
fn preferred(application: &Application, stage: &AppStage, ran_on: &[Option<u32>]) -> Vec<u32> {
    let tasks = || stage.reads.iter().flat_map(|at| application.stages[*at].tasks.clone());
    let total = tasks().count();
    if total.max(stage.tasks.len()) >= MOST_TASKS {
        return Vec::new();
    }
    let mut by_node: BTreeMap<u32, usize> = BTreeMap::new();
    for task in tasks() {
        if let Some(node) = ran_on[task] {
            *by_node.entry(node).or_default() += 1;
        }
    }
    let is_preferred = |count: usize| count as f64 >= SHARE * total as f64;
    by_node.into_iter().filter(|(_, count)| is_preferred(*count)).map(|(node, _)| node).collect()
}
