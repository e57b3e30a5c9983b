//! The report of a survey. Keys are snake_case and end in their unit.

use crate::model::job::report::{MachineReport, ReferenceReport, Verdict};
use crate::model::paper::report::{DesignReport, OverBudget, Series};
use crate::trace::charge::Charge;
use crate::trace::report::{StorageReport, StreamReport, Timeline};
use serde::{Serialize, Serializer};

/// A choice of the model that has no published source.
#[derive(Clone, Debug, Serialize)]
pub struct Assumption {
    /// The parameter.
    pub key: String,
    /// The chosen value.
    pub value: String,
    /// The reason for the choice.
    pub why: String,
}

/// The results of a survey.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyReport {
    /// Version of the program.
    pub version: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Whether the processor time and cache misses of the machine or of the command were simulated.
    pub charge: Charge,
    /// The streams.
    pub traces: Vec<StreamReport>,
    /// How streams were spread over more nodes than there are streams.
    pub spread: Option<String>,
    /// The distinct storages.
    pub storages: Vec<StorageReport>,
    /// Number of designs within the budget.
    pub designs_total: u64,
    /// Designs within the budget, in the order of the space: the front, those with a name, those
    /// to keep, and others.
    pub designs: Vec<DesignReport>,
    /// The design that others are compared with, whatever its power.
    pub baseline: DesignReport,
    /// Ids of the designs on the Pareto front of sync time and energy, by time.
    pub front: Vec<String>,
    /// By name of the Gordon paper: id of the design; `None` without such a design.
    #[serde(serialize_with = "as_map")]
    pub named: Vec<(&'static str, Option<String>)>,
    /// Designs above the budget.
    pub over_budget: OverBudget,
    /// The job over time.
    pub series: Series,
    /// The traced nodes and the stages, if stages are reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The assumptions of the model.
    pub assumptions: Vec<Assumption>,
}

/// Serializes pairs as a map in their order.
fn as_map<S: Serializer>(
    pairs: &[(&'static str, Option<String>)],
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, id)| (name, id)))
}

/// The results of a survey of machines.
#[derive(Clone, Debug, Serialize)]
pub struct MachineSurveyReport {
    /// Version of the program.
    pub version: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Whether the processor time of the machine or of the command was simulated.
    pub charge: Charge,
    /// The traced machine.
    pub reference: ReferenceReport,
    /// Largest memory in use of any trace, without the page cache where it is apart; `None` if it
    /// is unknown.
    pub peak_memory_bytes: Option<u64>,
    /// Largest page cache of any trace; 0 if it is unknown.
    pub peak_cache_bytes: u64,
    /// The streams.
    pub traces: Vec<StreamReport>,
    /// The distinct storage parts.
    pub storages: Vec<StorageReport>,
    /// Number of designs: machines, each with each of its storages and networks.
    pub designs_total: u64,
    /// Designs in the order of the space: the front, those with a name, the recommended one, the
    /// traced machine, and others.
    pub machines: Vec<MachineReport>,
    /// Ids of the designs on the Pareto front of time, price and energy, by time.
    pub front: Vec<String>,
    /// By name: id of the design; `None` without such a design.
    #[serde(serialize_with = "as_map")]
    pub named: Vec<(&'static str, Option<String>)>,
    /// The recommended design; `None` if most of the time of the fastest one is `floor_s`, or if no
    /// machine is known to hold the job.
    pub verdict: Option<Verdict>,
    /// Time of the job in which it waits for what no machine shortens: its idle time on the fastest
    /// design.
    pub floor_s: f64,
    /// The traced nodes and the stages, if stages are reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The assumptions of the model.
    pub assumptions: Vec<Assumption>,
}
