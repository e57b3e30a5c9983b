//! The `tasks` model: an application of Spark, recorded by its event log, on any number of any
//! machines. docs/design/cluster.md, "Tasks", has the equations.
//!
//! `application` reads the log, `blocks` which stages share cached data, `warm_up` the first tasks
//! of a stage, `demand` what tasks need on any machine, `split` their number. `executor` is how a
//! machine holds the executors, `memory` what fits in them and in the page cache, `place` makes a
//! node of both, `node` has what a task takes there, and `simulate` schedules all tasks on a
//! cluster. `range` has the doubts, `durations` those of the tasks' times. `evaluate` answers the
//! designs, `rows` tabulates and `report` describes them, `notes` lists warnings and assumptions.

pub mod application;
mod blocks;
pub mod cached;
pub mod demand;
mod durations;
mod evaluate;
mod executor;
pub mod memory;
pub mod node;
mod notes;
mod place;
mod placing;
mod range;
pub mod report;
mod rows;
mod scattered;
pub mod simulate;
mod slots;
pub mod speeds;
mod split;
mod station;
mod survey;
#[cfg(test)]
mod tests;
mod traced;
pub mod warm_up;

use crate::error::ClusterError;
use crate::model::cost::Goals;
use crate::space::catalogue::MachineCatalogue;
use crate::space::machines::{MOST_NODES, MachineDesign, MachineSpace};
use crate::survey::{Settings, Survey};
use crate::trace::charge::Charge;
use crate::trace::job_stream::JobStream;
use crate::trace::replays::Replays;
use application::{Application, Window};
use evaluate::TasksModel;
use executor::{Executor, Refusal, executor_of};
use gordon_trace::spark::EventLog;
use gordon_units::{Bytes, Ns, Progress};
use report::{TasksExtras, TasksReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Partitions of a stage at most: the memory and the time of a survey are in proportion to them.
const MOST_PARTITIONS: u32 = 100_000;
/// Spark refuses executors of less: one and a half times its reserved 300 MiB.
const LEAST_HEAP: Bytes = Bytes(450 << 20);

/// A survey of machines and numbers of nodes for an application of Spark.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksSurvey {
    /// The event log of the application: a file, or the folder of a rolled log.
    pub event_log: PathBuf,
    /// The part of the log that is simulated, with executors that had started before. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<LogWindow>,
    /// Traces of the nodes that ran it. Default: none.
    #[serde(default)]
    pub traces: Vec<String>,
    /// Number of samples by which each trace starts after the first one of its run.
    #[serde(default)]
    pub lags: Vec<usize>,
    /// Bytes a second to which the storage of each recorded node was limited, reads and writes
    /// each. Default: that of `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_rate: Option<f64>,
    /// Share of the run in which the machine of which the recorded nodes are parts had no idle
    /// core.
    #[serde(default)]
    pub full_share: f64,
    /// Whether the files that the tasks read lie on the disks of all nodes, so that tasks read the
    /// disks of others as well as their own.
    #[serde(default)]
    pub scattered_input: bool,
    /// Numbers of nodes to compare. Default: 12 numbers from 1 to 64, and the recorded number.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// The machines to compare, and the recorded one.
    pub catalogue: MachineCatalogue,
    /// The executors. Default: as recorded.
    #[serde(default)]
    pub executor: ExecutorSettings,
    /// Speed of the driver relative to the recorded one, if it does not run on a machine such as
    /// the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_speed: Option<f64>,
    /// Number of tasks of the stages that read shuffle data. Default: as recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// Nodes that keep each byte of the files that it writes, if there are as many. Default: as
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_replicas: Option<u32>,
    /// What the choices go by.
    #[serde(default)]
    pub goals: Goals,
    /// Number of designs in the report, unless more are notable.
    pub rows: usize,
    /// Parquet file to write, with a row for each design. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

/// A part of a log, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogWindow {
    /// Its start.
    pub start_unix_ns: u64,
    /// Its end.
    pub end_unix_ns: u64,
}

/// Settings of executors that differ from those recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorSettings {
    /// Cores of an executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Heap of an executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
}

/// Numbers of nodes that are compared unless they are given.
const NODES: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// The application, and the clusters that can run it.
pub struct TasksSpace<'a> {
    /// The machines with their storages and networks.
    machines: MachineSpace<'a>,
    /// Those that hold an executor, with it.
    held: Vec<(usize, Executor)>,
    /// Those that do not.
    refused: Vec<Refusal>,
    /// Numbers of nodes, ascending.
    nodes: Vec<u32>,
    /// The log.
    application: Application,
    /// What the log warns of.
    log_warnings: Vec<String>,
}

impl TasksSpace<'_> {
    fn design(&self, held: usize) -> &MachineDesign<'_> {
        &self.machines.designs[self.held[held].0]
    }
}

impl Survey for TasksSurvey {
    type Space<'a> = TasksSpace<'a>;
    type Trace = JobStream;
    type Model<'a> = TasksModel<'a>;
    type Design = TasksReport;
    type Extras = TasksExtras;

    fn settings(&self) -> Settings<'_> {
        Settings {
            traces: &self.traces,
            nodes: self.nodes.first().copied().unwrap_or(1),
            parts: &self.catalogue.parts,
            rows: self.rows,
            report_stages: &[],
            lags: &self.lags,
            table: self.table.as_deref(),
        }
    }

    fn candidates(&self, progress: &Progress) -> Result<TasksSpace<'_>, ClusterError> {
        check_survey(self)?;
        let log = EventLog::read(&self.event_log, false, progress)?;
        log.check(&self.event_log)?;
        let window = self
            .window
            .map(|window| Window { start: Ns(window.start_unix_ns), end: Ns(window.end_unix_ns) });
        let application = Application::of(&log, window);
        if application.tasks.is_empty() {
            return Err(ClusterError::Impossible {
                what: format!("event log {}", self.event_log.display()),
                why: application.left_out.why_empty(),
            });
        }
        let hosts = application.executors.hosts;
        let mut nodes = match self.nodes.is_empty() {
            true => NODES.into_iter().chain([hosts]).collect(),
            false => self.nodes.clone(),
        };
        nodes.sort_unstable();
        nodes.dedup();
        let machines = MachineSpace::new(&self.catalogue.machines, 1);
        let (mut held, mut refused) = (Vec::new(), Vec::new());
        for (at, design) in machines.designs.iter().enumerate() {
            match executor_of(self, &application, design) {
                Ok(executor) => held.push((at, executor)),
                Err(why) => refused.push(Refusal { machine: design.id(), why }),
            }
        }
        if held.is_empty() {
            let size = |at: &usize| {
                let machine = machines.designs[*at].machine;
                (machine.memory.0, *machine.cores)
            };
            if let Some(Refusal { machine, why }) =
                (0..refused.len()).max_by_key(size).map(|at| &refused[at])
            {
                return Err(ClusterError::Impossible {
                    what: "executor".into(),
                    why: format!("no machine holds one; the largest is {machine}: {why}"),
                });
            }
        }
        Ok(TasksSpace { machines, held, refused, nodes, application, log_warnings: log.warnings })
    }

    /// Traces are not replayed: bytes on storage are those of tasks.
    fn storages<'s>(_space: &'s TasksSpace<'_>) -> Vec<(&'s str, u32)> {
        Vec::new()
    }

    fn open(&self, path: &str) -> Result<JobStream, ClusterError> {
        JobStream::open(path, Charge::Machine)
    }

    fn prepare<'s, 'a: 's>(
        &'a self,
        space: &'s TasksSpace<'a>,
        traces: &'s [JobStream],
        _replays: &'s Replays<'_>,
    ) -> Result<TasksModel<'s>, ClusterError> {
        TasksModel::new(self, space, traces)
    }
}

/// Checks all values that need no log.
fn check_survey(survey: &TasksSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if let Some(bad) = survey.nodes.iter().find(|nodes| !(1..=MOST_NODES).contains(nodes)) {
        return impossible("nodes", format!("{bad} is not 1 to {MOST_NODES}"));
    }
    let zero = [
        ("executor.cores", survey.executor.cores == Some(0)),
        ("executor.memory", survey.executor.memory == Some(Bytes(0))),
        ("partitions", survey.partitions == Some(0)),
        ("output.replicas", survey.output_replicas == Some(0)),
    ];
    if let Some((key, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
        return impossible(key, "0 is not above zero".into());
    }
    if let Some(bad) = survey.partitions.filter(|partitions| *partitions > MOST_PARTITIONS) {
        return impossible("partitions", format!("{bad} is above {MOST_PARTITIONS}"));
    }
    if let Some(bad) = survey.executor.memory.filter(|memory| *memory < LEAST_HEAP) {
        return impossible(
            "executor.memory",
            format!("{bad} is below {LEAST_HEAP}, Spark's least"),
        );
    }
    let above_zero = [("driver.speed", survey.driver_speed), ("storage_rate", survey.storage_rate)];
    for (key, value) in above_zero {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return impossible(key, format!("{value} is not above zero"));
        }
    }
    if !(0.0..=1.0).contains(&survey.full_share) {
        return impossible("full_share", format!("{} is not from 0 to 1", survey.full_share));
    }
    survey.goals.check()?;
    survey.catalogue.check()
}

/// The order of times, which are not negative, as integers.
fn key(secs: f64) -> u64 {
    secs.max(0.0).to_bits()
}

/// A number from 0 to 1 for each task: those of tasks that follow one another are spread evenly, by
/// the golden ratio.
fn turn(task: u32) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    (f64::from(task) * GOLDEN).fract()
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[length / 2],
        length => f64::midpoint(values[length / 2 - 1], values[length / 2]),
    }
}
