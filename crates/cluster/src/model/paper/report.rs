//! What a report says of the designs of a grid. Keys are snake_case and end in their unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Time, energy and power of the whole cluster.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct OutcomeReport {
    /// Execution time in seconds.
    pub time_s: f64,
    /// Energy of all nodes.
    pub energy_j: f64,
    /// Average power of all nodes.
    pub power_w: f64,
    /// Average power of one node.
    pub node_power_w: f64,
}

/// Wear of the flash of a design.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct FlashReport {
    /// Number of super-blocks erased during the job, on all nodes.
    pub erases: u64,
    /// Number of super-pages programmed on all nodes, for any cause.
    pub programs: u64,
    /// Programs in units of super-blocks: the erases that the writes of the job cause eventually.
    pub erase_equivalents: f64,
    /// Super-pages programmed divided by those programmed with host data; `None` if nothing was
    /// written.
    pub write_amplification: Option<f64>,
    /// The fraction of the rated endurance of the most written array that the job uses: bytes
    /// programmed divided by raw bytes times rated erases.
    pub endurance_used: f64,
    /// Duration of the workload: the sync time of the job.
    pub lifetime_span_s: f64,
    /// Years until the rated endurance of the most written array is used up, if the job repeats
    /// without a pause; `None` if nothing was written, or if the sync time is below a minute.
    pub lifetime_years: Option<f64>,
}

/// The results of a design.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct DesignReport {
    /// Name of the design.
    pub id: String,
    /// Name of the processor part.
    pub cpu: String,
    /// Number of processors.
    pub cpus: u32,
    /// Clock of the processors in GHz.
    pub ghz: f64,
    /// Name of the storage part.
    pub storage: String,
    /// Number of storage devices.
    pub storage_count: u32,
    /// Maximum power of a node.
    pub max_node_power_w: f64,
    /// Results with a barrier after each sample.
    pub sync: OutcomeReport,
    /// Results without barriers.
    pub nosync: OutcomeReport,
    /// Results with barriers at the ends of stages, if stages were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<OutcomeReport>,
    /// Fraction of execution time by limiting part.
    pub limits: BTreeMap<String, f64>,
    /// Energy by part, with barriers.
    pub energy_by_part_j: BTreeMap<String, f64>,
    /// Energy by part, without barriers.
    pub energy_by_part_nosync_j: BTreeMap<String, f64>,
    /// Wear, if the storage is flash.
    pub flash: Option<FlashReport>,
}

/// Designs above the budget.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct OverBudget {
    /// Their number.
    pub total: u64,
    /// Ids of the first of them.
    pub ids: Vec<String>,
    /// Least power of a node of any design, with all parts active.
    pub least_w: f64,
    /// By other overhead ratio: number of designs within the budget that would be above it.
    pub with_other_ratios: Vec<u64>,
}

/// Times of each sample of the first stream, for a chart of the job over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Series {
    /// Start of the sample on the traced machine.
    pub start_s: Vec<f64>,
    /// Processor seconds on the traced machine.
    pub cpu_s: Vec<f64>,
    /// Network seconds.
    pub network_s: Vec<f64>,
    /// By storage id: storage seconds.
    pub storages: BTreeMap<String, Vec<f64>>,
}

/// The keys of a report that only this model has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PaperExtras {
    /// How streams were spread over more nodes than there are streams.
    pub spread: Option<String>,
    /// The design that others are compared with, whatever its power.
    pub baseline: DesignReport,
    /// Designs above the budget.
    pub over_budget: OverBudget,
    /// The job over time.
    pub series: Series,
}
