//! What a report says of machines. Keys are snake_case and end in their unit.

use super::range::RangeSource;
use crate::model::bill::BillReport;
pub use crate::model::cost::Objective;
use crate::model::hardware::Hardware;
use crate::space::operation::Operation;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time of one job on a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobReport {
    /// Best estimate in seconds.
    pub time_s: f64,
    /// Lower end of the 80 % range.
    pub time_s_low: f64,
    /// Upper end of the 80 % range.
    pub time_s_high: f64,
    /// By source of doubt: the time if this source alone is at the lower and at the upper end of
    /// its range. Sources without doubt are left out.
    pub range_by_s: BTreeMap<RangeSource, [f64; 2]>,
    /// Energy of all nodes; `None` if the power of the machine is unknown.
    pub energy_j: Option<f64>,
    /// Price of all nodes; `None` if the price of the machine is unknown.
    pub price: Option<f64>,
    /// Price at the upper end of the range.
    pub price_high: Option<f64>,
    /// What standby of its disks saves and costs; left out if their standby state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_down: Option<SpinDownReport>,
}

/// Disks that sleep inside a job: what it saves and costs in a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SpinDownReport {
    /// Whether the disks are put in standby; otherwise what it would save and cost.
    pub is_used: bool,
    /// Time without requests after which a disk is put in standby.
    pub after_s: f64,
    /// Starts of the spindle of each disk.
    pub starts: u32,
    /// Starts for which a disk is rated; `None` if that is unknown.
    pub rated_starts: Option<u64>,
    /// Time of each disk in standby.
    pub asleep_s: f64,
    /// Time for which the job waits for disks to wake up; `time_s` has it if the disks are put in
    /// standby.
    pub waiting_s: f64,
    /// Energy that all nodes save, below zero if they use more; `None` if the power of the machine
    /// is unknown.
    pub saved_j: Option<f64>,
}

/// The results of a machine with one of its storages and networks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MachineReport {
    /// The design, and its nodes.
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Whether the trace was recorded on this machine.
    pub is_reference: bool,
    /// Whether its memory holds the job; `None` if that is unknown.
    pub memory_fits: Option<bool>,
    /// Whether it has less memory than the job and its page cache used, so that the range includes
    /// that cached data are read again.
    pub reads_again: bool,
    /// Time, energy and price.
    pub job: JobReport,
    /// What a run costs in all; `None` if it is not said how machines are used.
    pub bill: Option<BillReport>,
    /// Fraction of the time by what takes it, 0 to 1: `cpu`, `storage`, `network`, `idle`.
    pub limits: BTreeMap<String, f64>,
}

/// The machine on which the traces were recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReferenceReport {
    /// Its name; `None` if it is unknown.
    pub machine: Option<String>,
    /// Its `core_speed` in the unit of the space; 1 if the machine is unknown.
    pub core_speed: f64,
    /// Whether the speed is assumed, because the machine is unknown.
    pub is_assumed: bool,
}

/// The recommended design: of those that are nearly as fast as the fastest, or meet the deadline,
/// the cheapest or the one of least energy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Verdict {
    /// Id of the design.
    pub id: String,
    /// Its machine, with what was chosen from lists.
    pub machine: String,
    /// Its number of nodes.
    pub nodes: u32,
    /// Id of the fastest design.
    pub fastest: String,
    /// Without a deadline: how much longer than the fastest the recommended one may take, as a
    /// fraction, by the upper ends of their ranges.
    pub slack: f64,
    /// The deadline, which the upper end of its range meets; `None` without one.
    pub deadline_s: Option<f64>,
    /// What was compared.
    pub by: Objective,
}

/// The keys of a report that only this model has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobExtras {
    /// The traced machine.
    pub reference: ReferenceReport,
    /// Largest memory in use of any trace, without the page cache where it is apart; `None` if it
    /// is unknown.
    pub peak_memory_bytes: Option<u64>,
    /// Largest page cache of any trace; 0 if it is unknown.
    pub peak_cache_bytes: u64,
    /// How machines are used; `None` if that is not said.
    pub operation: Option<Operation>,
    /// What the front compares.
    pub objectives: Vec<Objective>,
    /// The recommended design; `None` if no design meets the deadline and the limits, if there is
    /// no deadline and most of the time of the fastest design is `floor_s`, or if no machine is
    /// known to hold the job.
    pub verdict: Option<Verdict>,
    /// Time of the job in which it waits for what no machine shortens: its idle time on the fastest
    /// design.
    pub floor_s: f64,
}
