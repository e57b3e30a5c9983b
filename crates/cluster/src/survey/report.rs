//! The report of a survey. Keys are snake_case and end in their unit.

use crate::trace::charge::Charge;
use crate::trace::report::{StorageReport, StreamReport, Timeline};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A choice of the model that has no published source.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Assumption {
    /// The parameter.
    pub key: String,
    /// The chosen value.
    pub value: String,
    /// The reason for the choice.
    pub why: String,
}

/// The results of a survey. A design is what the model reports of it; `Extras` are the keys that
/// only this model has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SurveyReport<Design, Extras> {
    /// Version of the program.
    pub version: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Whether the processor time and cache misses of the machine or of the command were simulated.
    pub charge: Charge,
    /// The streams.
    pub traces: Vec<StreamReport>,
    /// The distinct storages on which they were replayed.
    pub storages: Vec<StorageReport>,
    /// Number of designs; of a grid, of those within the budget.
    pub designs_total: u64,
    /// Designs in the order of the space: the front, those with a name, those that the model adds,
    /// and others.
    pub designs: Vec<Design>,
    /// Ids of the designs on the Pareto front, by time.
    pub front: Vec<String>,
    /// By name: id of the design; `None` without such a design.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub named: Vec<(&'static str, Option<String>)>,
    /// The keys that only this model has.
    #[serde(flatten)]
    pub extras: Extras,
    /// The traced nodes and the stages, if stages are reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The assumptions of the model.
    pub assumptions: Vec<Assumption>,
}

/// Serializes pairs as a map in their order.
pub(crate) fn as_map<S: Serializer>(
    pairs: &[(&'static str, Option<String>)],
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, id)| (name, id)))
}
