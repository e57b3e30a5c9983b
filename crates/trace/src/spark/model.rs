//! What is known of an application: executors, stages and tasks.

use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// An executor: a process that runs tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// Its identifier; `driver` in local mode.
    pub id: String,
    /// Name or address of its host.
    pub host: String,
    /// Tasks that it runs at a time, by its number of cores.
    pub cores: u32,
    /// When it joined, since 1970.
    pub added: Ns,
    /// When it was removed, since 1970; `None` if it stayed to the end.
    pub removed: Option<Ns>,
    /// The reason of its removal; empty if it stayed.
    pub reason: String,
    /// The peak of its memory; 0 if Spark recorded none.
    pub peak_memory: Bytes,
}

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageStatus {
    /// All of its tasks succeeded.
    Complete,
    /// The stage was given up, to be tried again or with its job.
    Failed,
    /// The log does not have its end.
    Unfinished,
}

impl StageStatus {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
        }
    }
}

/// One attempt of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Number of the stage.
    pub id: u32,
    /// Number of the attempt, from 0.
    pub attempt: u32,
    /// What it does: the operators of a SQL query that it runs, as `scan text, filter, exchange`.
    /// Spark's name, if it is not of a query or its operators are unknown.
    pub name: String,
    /// Spark's name, which is the place in the program that started it.
    pub spark_name: String,
    /// How it ended.
    pub status: StageStatus,
    /// When it was submitted, since 1970; `None` if unknown.
    pub submitted: Option<Ns>,
    /// When its first task started, since 1970; `None` if none has.
    pub started: Option<Ns>,
    /// When it ended, since 1970; `None` if unknown.
    pub ended: Option<Ns>,
    /// Number of partitions; each needs one successful task.
    pub partitions: u32,
    /// The stages whose output it reads.
    pub parents: Vec<u32>,
    /// The RDDs that it computes or reads, and that the program caches in memory.
    pub cached: Vec<CachedRdd>,
    /// The jobs that need the stage. A later job may find its output and skip it.
    pub jobs: Vec<u32>,
    /// Sums over its tasks, failed ones included.
    pub totals: StageTotals,
}

/// An RDD that the program caches in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedRdd {
    /// Its number.
    pub id: u32,
    /// Whether blocks that do not fit in memory are kept on disk, and not computed again.
    pub moves_to_disk: bool,
}

/// Sums over the tasks of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageTotals {
    /// Tasks that started.
    pub tasks: u32,
    /// Tasks that failed.
    pub failed: u32,
    /// Tasks that were stopped because another one was first or their stage had ended.
    pub killed: u32,
    /// The amounts of all tasks; the memory is the largest of a task.
    pub figures: TaskFigures,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// The task succeeded.
    Success,
    /// The task failed, or its executor was lost.
    Failed,
    /// The task was stopped because another one was first or its stage had ended.
    Killed,
    /// The log does not have its end.
    Unfinished,
}

/// One attempt of a task. Texts are indices of the log's list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number in the application.
    pub id: u64,
    /// Its stage.
    pub stage: u32,
    /// The attempt of its stage.
    pub stage_attempt: u32,
    /// Its partition.
    pub partition: u32,
    /// Number of the attempt at its partition, from 0.
    pub attempt: u32,
    /// Its executor.
    pub executor: u32,
    /// Its host.
    pub host: u32,
    /// How near it ran to its input: `PROCESS_LOCAL`, `NODE_LOCAL`, `RACK_LOCAL`, `ANY`.
    pub locality: u32,
    /// How it ended.
    pub status: TaskStatus,
    /// Spark's reason of its end: `Success`, `ExceptionFailure`, `ExecutorLostFailure` and others.
    pub reason: u32,
    /// Whether it repeats a slow task that is still running.
    pub is_speculative: bool,
    /// When it was sent to its executor, since 1970.
    pub started: Ns,
    /// When its result was known, since 1970; `None` if it did not end.
    pub ended: Option<Ns>,
    /// What it used; `None` if the executor was lost, or the task did not end.
    pub figures: Option<TaskFigures>,
}

/// What a task used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskFigures {
    /// CPU time of its thread, deserialisation included.
    pub cpu: Ns,
    /// Time of its run on the executor, without deserialisation.
    pub run: Ns,
    /// Time of deserialisation.
    pub deserialize: Ns,
    /// Time in which the JVM collected garbage during its run.
    pub gc: Ns,
    /// Time in which it waited for shuffle blocks.
    pub fetch_wait: Ns,
    /// Time of its writes of shuffle data.
    pub shuffle_write_time: Ns,
    /// Bytes read of files and of cached data.
    pub input: Bytes,
    /// Bytes written to files.
    pub output: Bytes,
    /// Shuffle bytes read of its own executor or host.
    pub shuffle_local: Bytes,
    /// Shuffle bytes fetched from others.
    pub shuffle_remote: Bytes,
    /// The part of `shuffle_remote` that was stored on disk before it was read.
    pub shuffle_to_disk: Bytes,
    /// Shuffle bytes written.
    pub shuffle_write: Bytes,
    /// Spilled data, as they were in memory.
    pub spill_memory: Bytes,
    /// Spilled data, as they were written.
    pub spill_disk: Bytes,
    /// Size of the result that was sent to the driver.
    pub result: Bytes,
    /// The peak of its execution memory.
    pub peak_memory: Bytes,
}

/// One amount of what a task used.
pub(super) type Figure = fn(&TaskFigures) -> u64;

/// What tasks used, by the names of columns.
pub(super) const FIGURES: [(&str, Figure); 16] = [
    ("cpu_ns", |f| f.cpu.0),
    ("run_ns", |f| f.run.0),
    ("deserialize_ns", |f| f.deserialize.0),
    ("gc_ns", |f| f.gc.0),
    ("fetch_wait_ns", |f| f.fetch_wait.0),
    ("shuffle_write_ns", |f| f.shuffle_write_time.0),
    ("input_bytes", |f| f.input.0),
    ("output_bytes", |f| f.output.0),
    ("shuffle_read_local_bytes", |f| f.shuffle_local.0),
    ("shuffle_read_remote_bytes", |f| f.shuffle_remote.0),
    ("shuffle_read_to_disk_bytes", |f| f.shuffle_to_disk.0),
    ("shuffle_write_bytes", |f| f.shuffle_write.0),
    ("spill_memory_bytes", |f| f.spill_memory.0),
    ("spill_disk_bytes", |f| f.spill_disk.0),
    ("result_bytes", |f| f.result.0),
    ("peak_memory_bytes", |f| f.peak_memory.0),
];

impl TaskFigures {
    /// All amounts by the names that they have in tables and JSON.
    pub(super) fn named(&self) -> BTreeMap<&'static str, u64> {
        FIGURES.iter().map(|(name, of)| (*name, of(self))).collect()
    }

    /// Adds the amounts of a task.
    pub(super) fn add(&mut self, more: &Self) {
        let times = [
            (&mut self.cpu, more.cpu),
            (&mut self.run, more.run),
            (&mut self.deserialize, more.deserialize),
            (&mut self.gc, more.gc),
            (&mut self.fetch_wait, more.fetch_wait),
            (&mut self.shuffle_write_time, more.shuffle_write_time),
        ];
        for (sum, time) in times {
            sum.0 = sum.0.saturating_add(time.0);
        }
        let bytes = [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.shuffle_local, more.shuffle_local),
            (&mut self.shuffle_remote, more.shuffle_remote),
            (&mut self.shuffle_to_disk, more.shuffle_to_disk),
            (&mut self.shuffle_write, more.shuffle_write),
            (&mut self.spill_memory, more.spill_memory),
            (&mut self.spill_disk, more.spill_disk),
            (&mut self.result, more.result),
        ];
        for (sum, bytes) in bytes {
            sum.0 = sum.0.saturating_add(bytes.0);
        }
        self.peak_memory = self.peak_memory.max(more.peak_memory);
    }
}

/// A stage as `gordon survey --stages` reads it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NamedStage {
    /// Number and name of the stage; the attempt if it is not the first.
    pub name: String,
    /// Start in seconds after a given time.
    pub start_s: f64,
    /// End in seconds after that time.
    pub end_s: f64,
}

/// The shortest stage of a list for the survey, which needs an end after the start. Spark's times
/// are in milliseconds.
const SHORTEST: Ns = Ns(1_000_000);

impl NamedStage {
    /// A stage whose times are not set yet.
    pub(super) fn of(stage: u32, name: &str, attempt: u32) -> Self {
        let attempt = match attempt {
            0 => String::new(),
            attempt => format!(", attempt {attempt}"),
        };
        Self { name: format!("{stage}: {name}{attempt}"), start_s: 0.0, end_s: 0.0 }
    }

    /// The stage between these times.
    pub(super) fn between(self, from: Ns, to: Ns) -> Self {
        let to = to.max(from + SHORTEST);
        Self { start_s: from.as_secs(), end_s: to.as_secs(), ..self }
    }
}
