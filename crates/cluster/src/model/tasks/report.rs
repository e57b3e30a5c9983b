//! What a report says of clusters. Keys are snake_case and end in their unit.

use super::application::LeftOut;
use super::executor::Refusal;
use super::range::TasksSource;
use crate::model::bill::BillReport;
use crate::model::cost::Objective;
use crate::model::hardware::Hardware;
use crate::model::job::report::ReferenceReport;
use crate::space::operation::Operation;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time of the application on a cluster.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TasksTime {
    /// Best estimate in seconds.
    pub time_s: f64,
    /// Lower end of the 80 % range.
    pub time_s_low: f64,
    /// Upper end of the 80 % range.
    pub time_s_high: f64,
    /// By source of doubt: the time if this source alone is at the lower and at the upper end of
    /// its range. Sources without doubt are left out.
    pub range_by_s: BTreeMap<TasksSource, [f64; 2]>,
    /// What the chain of tasks that ended last is made of; adds up to the time.
    pub parts_s: BTreeMap<String, f64>,
    /// Seconds that no number of such nodes removes.
    pub floor_s: f64,
    /// Energy of all nodes; `None` if the power of the machine is unknown.
    pub energy_j: Option<f64>,
    /// Price of all nodes; `None` if the price of the machine is unknown.
    pub price: Option<f64>,
    /// Price at the upper end of the range.
    pub price_high: Option<f64>,
}

/// The results of a number of machines.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TasksReport {
    /// The design, and its nodes.
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Whether the application was recorded on these nodes.
    pub is_reference: bool,
    /// Whether a node's memory holds an executor: machines that hold none are refused.
    pub memory_fits: Option<bool>,
    /// Executors of a node.
    pub executors_per_node: u32,
    /// Tasks that a node runs at a time.
    pub slots_per_node: u32,
    /// Time, energy and price.
    pub tasks: TasksTime,
    /// What a run costs in all; `None` if it is not said how machines are used.
    pub bill: Option<BillReport>,
    /// Fraction of the time by what takes it, 0 to 1.
    pub limits: BTreeMap<String, f64>,
    /// The stages on the cluster; only of designs that are named or recommended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageOnCluster>,
}

/// What limits a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageLimit {
    /// There are more tasks than slots: more nodes shorten it.
    Slots,
    /// Its longest task.
    Skew,
    /// The driver, before it was submitted.
    Driver,
    /// Shuffle data of other nodes.
    Network,
    /// Reads and writes.
    Disk,
    /// Spilled data and garbage collection.
    Memory,
}

/// A stage on a cluster.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StageOnCluster {
    /// Spark's number.
    pub id: u32,
    /// What it does.
    pub name: String,
    /// Number of its tasks.
    pub tasks: usize,
    /// When its tasks could start.
    pub start_s: f64,
    /// When the last one ended.
    pub end_s: f64,
    /// Its longest task.
    pub longest_s: f64,
    /// Seconds of the driver before it.
    pub driver_s: f64,
    /// What limits it most.
    pub limit: StageLimit,
}

/// A stage as it was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StageRecorded {
    /// Spark's number.
    pub id: u32,
    /// What it does.
    pub name: String,
    /// Number of its tasks.
    pub tasks: usize,
    /// When it was submitted.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// Its median task.
    pub median_s: f64,
    /// Its longest task.
    pub longest_s: f64,
    /// CPU seconds of its tasks.
    pub cpu_s: f64,
    /// Seconds of the driver before it.
    pub driver_s: f64,
    /// The stages that it waits for.
    pub after: Vec<u32>,
}

/// The application.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ApplicationReport {
    /// Its name.
    pub name: String,
    /// Its recorded length.
    pub time_s: f64,
    /// When its first executor had started.
    pub startup_s: f64,
    /// Seconds of the driver outside of stages.
    pub driver_s: f64,
    /// Core-seconds at a speed of 1 by which the first task of a slot in a stage is longer; the
    /// mean.
    pub warm_up_s: f64,
    /// Number of tasks that are simulated.
    pub tasks: usize,
    /// What is not simulated.
    pub left_out: LeftOut,
    /// Executors that ran it.
    pub executors: u32,
    /// Hosts that ran a task.
    pub nodes: u32,
    /// Tasks that an executor ran at a time.
    pub slots_per_executor: u32,
    /// The recorded stages.
    pub stages: Vec<StageRecorded>,
}

/// The recommended cluster: the cheapest, or the one of least energy, of those that end within the
/// deadline by the upper ends of their ranges; without a deadline, of those that are nearly as fast
/// as the fastest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TasksVerdict {
    /// Id of the design.
    pub id: String,
    /// Its machine, with what was chosen from its lists.
    pub machine: String,
    /// Its number of nodes.
    pub nodes: u32,
    /// Id of the fastest design.
    pub fastest: String,
    /// The deadline; `None` without one.
    pub deadline_s: Option<f64>,
    /// What was compared.
    pub by: Objective,
}

/// The keys of a report that only this model has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TasksExtras {
    /// The machine that ran the application.
    pub reference: ReferenceReport,
    /// The application.
    pub application: ApplicationReport,
    /// Machines that hold no executor.
    pub refused: Vec<Refusal>,
    /// How machines are used; `None` if that is not said.
    pub operation: Option<Operation>,
    /// What the front compares.
    pub objectives: Vec<Objective>,
    /// The recommended cluster; `None` if none meets the deadline and the limits.
    pub verdict: Option<TasksVerdict>,
    /// Seconds that no number of nodes of any machine removes.
    pub floor_s: f64,
}
