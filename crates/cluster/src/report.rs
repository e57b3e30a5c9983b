//! The report of a survey. Keys are snake_case and end in their unit.

use crate::config::Charge;
use crate::job::RangeSource;
use gordon_trace::{ColumnKind, DeviceSummary};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A stream, that is, a traced machine.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Folder of the trace.
    pub path: String,
    /// The traced command.
    pub command: Vec<String>,
    /// Number of samples in the trace.
    pub samples: usize,
    /// Duration of the trace in seconds.
    pub span_s: f64,
    /// Simulated instructions, of the machine or of the command.
    pub instructions: f64,
    /// Simulated last-level cache misses, of the machine or of the command.
    pub llc_misses: f64,
    /// If instructions are estimated: instructions a cycle of the traced processor.
    pub estimated_ipc: Option<f64>,
    /// Processor seconds of the traced machine.
    pub cpu_s: f64,
    /// Processor seconds of the command; `None` if they were not measured.
    pub command_cpu_s: Option<f64>,
    /// The fraction of the processor seconds used by others than the command; `None` if unknown.
    pub other_cpu_share: Option<f64>,
    /// Processor seconds that the hypervisor gave to others; `None` if they were not measured.
    pub steal_s: Option<f64>,
    /// Seconds in which the node or the command was throttled by its quota; `None` if they were not
    /// measured.
    pub throttled_s: Option<f64>,
    /// Number of requests in the block log.
    pub block_ios: u64,
    /// Bytes read according to the block log.
    pub read_bytes: u64,
    /// Bytes written according to the block log.
    pub write_bytes: u64,
    /// Bytes received from the network.
    pub rx_bytes: f64,
    /// Bytes sent to the network.
    pub tx_bytes: f64,
    /// The block devices that served requests, with the kernel's settings.
    pub devices: Vec<DeviceSummary>,
    /// A lower bound of the bytes fetched from storage for each byte that the command requested;
    /// `None` if unknown.
    pub read_amplification: Option<f64>,
    /// By value: whether it was measured or estimated.
    pub kinds: BTreeMap<String, ColumnKind>,
}

/// A distinct storage; figures are sums over its replays.
#[derive(Clone, Debug, Serialize)]
pub struct StorageReport {
    /// Name and count, as `part x count`.
    pub id: String,
    /// Name of the part.
    pub part: String,
    /// Number of devices.
    pub count: u32,
    /// Number of streams replayed on it.
    pub replays: usize,
    /// Number of requests replayed.
    pub requests: u64,
    /// Simulated storage time of the replays.
    pub simulated_s: f64,
    /// Counters of the device.
    pub device: BTreeMap<String, u64>,
}

/// Time, energy and power of the whole cluster.
#[derive(Clone, Copy, Debug, Serialize)]
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
#[derive(Clone, Copy, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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

/// The traced nodes over time, and what limits each stage of the job.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// Number of samples in a point of the series, the least with which each has at most
    /// [`POINTS`](crate::timeline::POINTS) points.
    pub samples_per_point: usize,
    /// Start of each point in seconds after the start of the first trace.
    pub start_s: Vec<f64>,
    /// End of the last point.
    pub end_s: f64,
    /// The traced nodes, in the order of the traces.
    pub nodes: Vec<NodeSeries>,
    /// The stages, as given.
    pub stages: Vec<StageReport>,
}

/// What a traced node did; a point has the mean of its samples, and `None` if the node has none.
#[derive(Clone, Debug, Serialize)]
pub struct NodeSeries {
    /// Name of the node, or the folder of its trace.
    pub name: String,
    /// Folder of the trace.
    pub trace: String,
    /// Number of cores that it may use; `None` if it is unknown.
    pub cores: Option<f64>,
    /// Share of its cores that was busy, to 0.0001; `None` without the number of cores.
    pub cpu_share: Option<Vec<Option<f64>>>,
    /// Bytes a second read from and written to its disks; `None` if the trace has none.
    pub disk_bytes_per_s: Option<Vec<Option<f64>>>,
    /// Bytes a second received and sent; `None` if the trace has none.
    pub network_bytes_per_s: Option<Vec<Option<f64>>>,
}

/// A stage of the job, and what limits it.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// Name of the stage.
    pub name: String,
    /// Start in seconds after the start of the first trace.
    pub start_s: f64,
    /// End in seconds after the start of the first trace.
    pub end_s: f64,
    /// Number of samples that it covers; below 1 if it is shorter than a sample, 0 outside of the
    /// traces.
    pub samples: f64,
    /// On the traced nodes; `None` if no sample is covered.
    pub recorded: Option<RecordedStage>,
    /// On the designs with a name, and of machines on the recommended one and the traced one;
    /// empty if no sample is covered.
    pub designs: Vec<StageOnDesign>,
}

/// A stage on the traced nodes.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedStage {
    /// Mean share of the cores that was busy; `None` if a node has none.
    pub cpu_share: Option<f64>,
    /// Bytes a second of a node, from and to disks; `None` if a node has none.
    pub disk_bytes_per_s: Option<f64>,
    /// Bytes a second of a node, received and sent; `None` if a node has none.
    pub network_bytes_per_s: Option<f64>,
    /// Shares of the nodes' time by the `job` model: `cpu`, `storage`, and `idle` for the rest,
    /// in which a node waits for the network, for other nodes or for a timer. `None` if a trace
    /// lacks the number of cores or the busy time of disks.
    pub limits: Option<BTreeMap<String, f64>>,
    /// Whether the time that threads waited for storage was not counted on all nodes, so that the
    /// busy time of disks stands for it.
    pub is_estimated: bool,
}

/// A stage on a design.
#[derive(Clone, Debug, Serialize)]
pub struct StageOnDesign {
    /// Id of the design.
    pub id: String,
    /// Time of the node that takes longest for its samples of the stage.
    pub time_s: f64,
    /// Fraction of the time by limiting part, as [`DesignReport::limits`] or
    /// [`MachineReport::limits`].
    pub limits: BTreeMap<String, f64>,
}

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

/// Time of one job on a machine.
#[derive(Clone, Debug, Serialize)]
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
}

/// The results of a machine with one of its storages and networks.
#[derive(Clone, Debug, Serialize)]
pub struct MachineReport {
    /// Name of the design: that of the machine, and of what was chosen from lists.
    pub id: String,
    /// Name of the machine.
    pub machine: String,
    /// One-line description.
    pub summary: Option<String>,
    /// Number of logical processors.
    pub cores: u32,
    /// Speed of a logical processor, in the unit of the space.
    pub core_speed: f64,
    /// Size of main memory.
    pub memory_bytes: u64,
    /// Its storage in words.
    pub storage: String,
    /// Name of its storage part; `None` if only limits are known.
    pub storage_part: Option<String>,
    /// Network bandwidth of each direction.
    pub network_bytes_per_s: f64,
    /// Price of an hour; `None` if unknown.
    pub price_per_hour: Option<f64>,
    /// Whether the trace was recorded on this machine.
    pub is_reference: bool,
    /// Whether its memory holds the job; `None` if that is unknown.
    pub memory_fits: Option<bool>,
    /// Time, energy and price.
    pub job: JobReport,
    /// Fraction of the time by what takes it, 0 to 1: `cpu`, `storage`, `network`, `idle`.
    pub limits: BTreeMap<String, f64>,
}

/// The machine on which the traces were recorded.
#[derive(Clone, Debug, Serialize)]
pub struct ReferenceReport {
    /// Its name; `None` if it is unknown.
    pub machine: Option<String>,
    /// Its `core_speed` in the unit of the space; 1 if the machine is unknown.
    pub core_speed: f64,
    /// Whether the speed is assumed, because the machine is unknown.
    pub is_assumed: bool,
}

/// Serializes pairs as a map in their order.
fn as_map<S: Serializer>(
    pairs: &[(&'static str, Option<String>)],
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, id)| (name, id)))
}

/// What a recommendation goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictBy {
    /// The lowest price.
    Price,
    /// The least energy, because no design has a price.
    Energy,
    /// The least time, because neither prices nor powers are known.
    Time,
}

/// The recommended design: of those that are nearly as fast as the fastest, the cheapest or the one
/// of least energy.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Id of the design.
    pub machine: String,
    /// Id of the fastest design.
    pub fastest: String,
    /// How much longer than the fastest the recommended one may take, as a fraction, by the upper
    /// ends of their ranges.
    pub slack: f64,
    /// What was compared.
    pub by: VerdictBy,
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
