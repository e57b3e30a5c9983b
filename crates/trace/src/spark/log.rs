//! An event log that has been read.

use super::error::EventLogError;
use super::model::{Executor, NamedStage, Stage, Task, TaskFigures, TaskStatus};
use super::settings::Settings;
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Times of damaged logs are thousands of years apart.
const LONGEST: Ns = Ns(366 * 86_400 * Ns::SECOND.0);

/// What an event log records of an application. The tasks are in memory, 300 bytes each.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// Version of Spark; empty if the log does not have its start.
    pub version: String,
    /// Name of the application.
    pub name: String,
    /// Identifier of the application.
    pub id: String,
    /// When the application started, or the first event, since 1970.
    pub start: Ns,
    /// When the application ended; `None` if the log does not have its end.
    pub end: Option<Ns>,
    /// The latest time of an event.
    pub last: Ns,
    /// Whether executors read the shuffle data of others on their host from its disks, so that
    /// remote bytes are those of other hosts.
    pub reads_host_local_disk: bool,
    /// What the application's settings say of its executors.
    pub settings: Settings,
    /// Accelerators that the application may use, whose work the log does not have.
    pub accelerators: Vec<String>,
    /// Tasks whose CPU time is an estimate, because Spark recorded none: their run time.
    pub estimated_cpu: u64,
    /// Whether a file of the log ends within an event.
    pub is_cut_short: bool,
    /// All executors, in the order in which they joined.
    pub executors: Vec<Executor>,
    /// All attempts of stages, by submission.
    pub stages: Vec<Stage>,
    /// All attempts of tasks, in the order of their ends; unfinished ones last.
    pub tasks: Vec<Task>,
    /// Number of events.
    pub events: u64,
    /// Number of events that were not needed, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Malformed lines that were left out.
    pub skipped: u64,
    /// What is missing or unusual, one sentence each.
    pub warnings: Vec<String>,
    pub(super) names: Vec<String>,
}

/// What an event log records, without its tasks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventLogSummary<'a> {
    /// Version of Spark; empty if the log does not have its start.
    pub version: &'a str,
    /// Name of the application.
    pub name: &'a str,
    /// Identifier of the application.
    pub id: &'a str,
    /// When the application started.
    pub start_unix_ns: u64,
    /// When it ended; `None` if the log does not have its end.
    pub end_unix_ns: Option<u64>,
    /// All executors, in the order in which they joined.
    pub executors: Vec<ExecutorSummary<'a>>,
    /// Name, start and end of the stages.
    pub stages: Vec<NamedStage>,
    /// Number of tasks that had not ended at the start, failed and unfinished ones included.
    pub tasks: u64,
    /// Sums over these tasks, by the names of columns; the memory is the largest of a task.
    pub totals: BTreeMap<&'static str, u64>,
    /// Number of events.
    pub events: u64,
    /// Number of events that were not needed, by name.
    pub ignored: &'a BTreeMap<String, u64>,
    /// Malformed lines that were left out.
    pub skipped: u64,
    /// What is missing or unusual.
    pub warnings: &'a [String],
}

/// An executor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExecutorSummary<'a> {
    /// Its identifier; `driver` in local mode.
    pub id: &'a str,
    /// Name or address of its host.
    pub host: &'a str,
    /// Tasks that it runs at a time.
    pub cores: u32,
    /// When it joined.
    pub added_unix_ns: u64,
    /// When it was removed; `None` if it stayed to the end.
    pub removed_unix_ns: Option<u64>,
    /// The reason of its removal; empty if it stayed.
    pub reason: &'a str,
    /// The peak of its memory; 0 if Spark recorded none.
    pub peak_memory_bytes: u64,
}

impl<'a> ExecutorSummary<'a> {
    fn of(executor: &'a Executor) -> Self {
        Self {
            id: &executor.id,
            host: &executor.host,
            cores: executor.cores,
            added_unix_ns: executor.added.0,
            removed_unix_ns: executor.removed.map(|at| at.0),
            reason: &executor.reason,
            peak_memory_bytes: executor.peak_memory.0,
        }
    }
}

impl EventLog {
    /// Takes the run time as the CPU time of tasks that have none: those with these indices, and
    /// all tasks if none of them has any, as on Java machines that do not count it. What waited for
    /// shuffle blocks is left out. A warning says so.
    pub(super) fn estimate_cpu(&mut self, without: &[usize]) {
        let figures = || self.tasks.iter().filter_map(|task| task.figures);
        let has_none = figures().all(|figures| figures.cpu == Ns::ZERO)
            && figures().map(|figures| figures.run).sum::<Ns>() >= Ns::SECOND;
        let indices: Vec<usize> = match has_none {
            true => (0..self.tasks.len()).collect(),
            false => without.to_vec(),
        };
        for index in indices {
            if let Some(figures) = &mut self.tasks[index].figures {
                figures.cpu = figures.run.saturating_sub(figures.fetch_wait);
                self.estimated_cpu += 1;
            }
        }
        if self.estimated_cpu > 0 {
            self.warnings.push(format!(
                "cpu: Spark recorded no CPU time of {} tasks (it does since 2.1); their run time \
                 without waiting for shuffle data is taken, an upper bound",
                self.estimated_cpu
            ));
        }
    }

    /// Finds the partitions of tasks of later attempts of stages, which have only a number in their
    /// attempt: an attempt has the partitions that have not succeeded, in order. Where an attempt
    /// has more tasks than that, it also has partitions whose output was lost, and its tasks keep
    /// their numbers.
    pub(super) fn find_partitions(&mut self, stages: &BTreeMap<(u32, u32), Stage>) {
        let mut by_attempt: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (index, task) in self.tasks.iter().enumerate() {
            by_attempt.entry((task.stage, task.stage_attempt)).or_default().push(index);
        }
        // By stage: the partitions that have succeeded.
        let mut done: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for ((stage, attempt), indices) in by_attempt {
            let done = done.entry(stage).or_default();
            let partitions = stages.get(&(stage, 0)).map_or(0, |first| first.partitions);
            let missing = (0..partitions).filter(|partition| !done.contains(partition));
            let in_order: Vec<u32> = missing.take(self.tasks.len()).collect();
            let of = |task: &Task| in_order.get(task.partition as usize).copied();
            let is_known = indices.iter().all(|index| of(&self.tasks[*index]).is_some());
            for index in indices {
                let task = &mut self.tasks[index];
                if attempt > 0 && is_known {
                    task.partition = of(task).unwrap_or(task.partition);
                }
                if task.status == TaskStatus::Success {
                    done.insert(task.partition);
                }
            }
        }
    }

    /// Checks that the log, which was read from `path`, says what its tasks did.
    ///
    /// # Errors
    /// Returns an error if no task has figures, or if the times are those of a damaged log.
    pub fn check(&self, path: &Path) -> Result<(), EventLogError> {
        let content = |why: String| {
            let hint = "spark.eventLog.enabled=true, and a log of an application that ran";
            Err(EventLogError::Content { path: path.to_owned(), why, hint })
        };
        if !self.tasks.iter().any(|task| task.figures.is_some()) {
            let why = "no task in it ended with figures, so nothing is known of its hosts";
            if self.is_cut_short {
                let why = format!("{why}; it is cut short");
                let hint = "a whole copy of the log";
                return Err(EventLogError::Content { path: path.to_owned(), why, hint });
            }
            return content(why.to_owned());
        }
        if self.duration() > LONGEST {
            let years = self.duration().as_secs() / LONGEST.as_secs();
            return content(format!("its times are {years:.0} years apart"));
        }
        Ok(())
    }

    /// The text of an index of a [`Task`].
    pub fn text(&self, index: u32) -> &str {
        self.names.get(index as usize).map_or("", String::as_str)
    }

    /// Length of the application, or of what is known of it.
    pub fn duration(&self) -> Ns {
        self.end.unwrap_or(self.last).max(self.last).saturating_sub(self.start)
    }

    /// A summary, with the stages in seconds after `start` (since 1970) or, without it, after the
    /// start of the application. Stages and tasks that ended before `start` are left out.
    pub fn summary(&self, start: Option<Ns>) -> EventLogSummary<'_> {
        let is_counted =
            |task: &&Task| start.is_none_or(|start| task.ended.is_none_or(|ended| ended > start));
        let mut tasks = 0;
        let mut totals = TaskFigures::default();
        for task in self.tasks.iter().filter(is_counted) {
            tasks += 1;
            if let Some(figures) = &task.figures {
                totals.add(figures);
            }
        }
        EventLogSummary {
            version: &self.version,
            name: &self.name,
            id: &self.id,
            start_unix_ns: self.start.0,
            end_unix_ns: self.end.map(|end| end.0),
            executors: self.executors.iter().map(ExecutorSummary::of).collect(),
            stages: self.named_stages(start.unwrap_or(self.start)),
            tasks,
            totals: totals.named(),
            events: self.events,
            ignored: &self.ignored,
            skipped: self.skipped,
            warnings: &self.warnings,
        }
    }

    /// The stages in seconds after `start` (since 1970), for `gordon survey --stages`.
    ///
    /// Stages that ended before `start` or never started are left out; one that started before is
    /// cut. One that is unfinished ends with the log. Stages may overlap.
    pub fn named_stages(&self, start: Ns) -> Vec<NamedStage> {
        let named = |stage: &Stage| {
            let from = stage.submitted.or(stage.started)?.max(start);
            let to = stage.ended.unwrap_or(self.last);
            if to <= start {
                return None;
            }
            let named = NamedStage::of(stage.id, &stage.name, stage.attempt);
            Some(named.between(from - start, to - start))
        };
        self.stages.iter().filter_map(named).collect()
    }
}
