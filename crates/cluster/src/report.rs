//! What a survey answers, as its users read it: keys are snake_case and carry their unit.

use crate::config::Charge;
use gordon_trace::Kind;
use serde::Serialize;
use std::collections::BTreeMap;

/// A stream as the result reports it.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// The trace's folder.
    pub path: String,
    /// The traced command.
    pub command: Vec<String>,
    /// Samples in it.
    pub samples: usize,
    /// Its length on the traced machine.
    pub span_s: f64,
    /// Instructions that are simulated: the machine's, or the command's.
    pub instructions: f64,
    /// Last-level cache misses, of the same.
    pub llc_misses: f64,
    /// Where instructions are estimated: instructions a cycle of the traced processor.
    pub estimated_ipc: Option<f64>,
    /// Processor seconds of the traced machine.
    pub cpu_s: f64,
    /// Of these, the command's; `None` where they were not measured.
    pub command_cpu_s: Option<f64>,
    /// The share of the processor seconds that was not the command's; `None` where it is not known.
    pub other_cpu_share: Option<f64>,
    /// Requests in its block log.
    pub block_ios: u64,
    /// Bytes the log reads.
    pub read_bytes: u64,
    /// Bytes the log writes.
    pub write_bytes: u64,
    /// Bytes received.
    pub rx_bytes: f64,
    /// Bytes sent.
    pub tx_bytes: f64,
    /// Which values were measured and which estimated.
    pub kinds: BTreeMap<String, Kind>,
}

/// A distinct storage as the result reports it; figures are sums over its replays.
#[derive(Clone, Debug, Serialize)]
pub struct StorageReport {
    /// `part x count`.
    pub id: String,
    /// The part's name.
    pub part: String,
    /// How many of it.
    pub count: u32,
    /// Streams replayed on it.
    pub replays: usize,
    /// Requests replayed.
    pub requests: u64,
    /// Time they took.
    pub simulated_s: f64,
    /// The device's own counters.
    pub device: BTreeMap<String, u64>,
}

/// Time, energy and power of the whole cluster.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutcomeReport {
    /// Seconds.
    pub time_s: f64,
    /// Joules of all nodes.
    pub energy_j: f64,
    /// Average watts of all nodes.
    pub power_w: f64,
    /// Average watts of one node.
    pub node_power_w: f64,
}

/// What a design's flash goes through.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FlashReport {
    /// Super-blocks erased during the job, all nodes.
    pub erases: u64,
    /// Super-pages programmed, all nodes and causes.
    pub programs: u64,
    /// Super-blocks' worth of programs: the erases that the job's writes cost sooner or later.
    pub erase_equivalents: f64,
    /// Super-pages programmed for each one of host data; `None` where none was written.
    pub write_amplification: Option<f64>,
    /// The part of the rated endurance of the most written array that the job uses: bytes
    /// programmed, over raw bytes times rated erases.
    pub endurance_used: f64,
    /// The span of the load: the job's sync time.
    pub lifetime_span_s: f64,
    /// Years until the rated endurance of the most written array is used up, the job running again
    /// and again in its sync time; `None` where nothing was written, or that time is below a
    /// minute.
    pub lifetime_years: Option<f64>,
}

/// A design's results.
#[derive(Clone, Debug, Serialize)]
pub struct DesignReport {
    /// Its name.
    pub id: String,
    /// Processor part.
    pub cpu: String,
    /// Processors.
    pub cpus: u32,
    /// Their clock in GHz.
    pub ghz: f64,
    /// Storage part.
    pub storage: String,
    /// How many.
    pub storage_count: u32,
    /// Most a node can draw.
    pub max_node_power_w: f64,
    /// With a barrier after each sample.
    pub sync: OutcomeReport,
    /// With none.
    pub nosync: OutcomeReport,
    /// Share of execution time by what limits it.
    pub limits: BTreeMap<String, f64>,
    /// Joules by part, sync.
    pub energy_by_part_j: BTreeMap<String, f64>,
    /// Joules by part, nosync.
    pub energy_by_part_nosync_j: BTreeMap<String, f64>,
    /// Wear, where the storage is flash.
    pub flash: Option<FlashReport>,
}

/// Seconds of each sample of the first stream, for a picture of the job over time.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// When the sample started on the traced machine.
    pub start_s: Vec<f64>,
    /// Processor seconds there.
    pub cpu_s: Vec<f64>,
    /// Network seconds.
    pub network_s: Vec<f64>,
    /// Storage seconds, by storage id.
    pub storages: BTreeMap<String, Vec<f64>>,
}

/// A choice of the model's that nobody printed.
#[derive(Clone, Debug, Serialize)]
pub struct Assumption {
    /// What it is about.
    pub key: String,
    /// What was chosen.
    pub value: String,
    /// Why.
    pub why: String,
}

/// A survey's results.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyReport {
    /// Version that made it.
    pub version: String,
    /// Nodes.
    pub nodes: u32,
    /// Whose processor time and cache misses were simulated.
    pub charge: Charge,
    /// Streams.
    pub traces: Vec<StreamReport>,
    /// How streams were spread over more nodes than there are of them.
    pub spread: Option<String>,
    /// Distinct storages.
    pub storages: Vec<StorageReport>,
    /// Designs, in the order asked for.
    pub designs: Vec<DesignReport>,
    /// The job over time.
    pub series: Series,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// What the model assumes.
    pub assumptions: Vec<Assumption>,
}
