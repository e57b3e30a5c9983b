//! What a report says of the traces: the traced machines, their replays, and the stages of the job.
//! Keys are snake_case and end in their unit.

use gordon_trace::{ColumnKind, DeviceSummary};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A stream, that is, a traced machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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

/// The traced nodes over time, and what limits each stage of the job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Timeline {
    /// Number of samples in a point of the series, the least with which each has at most
    /// [`POINTS`](crate::trace::timeline::POINTS) points.
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StageOnDesign {
    /// Id of the design.
    pub id: String,
    /// Time of the node that takes longest for its samples of the stage.
    pub time_s: f64,
    /// Fraction of the time by limiting part, as the `limits` of a design.
    pub limits: BTreeMap<String, f64>,
}
