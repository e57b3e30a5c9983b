//! Configuration of parts, designs and surveys. Each number is [`Sourced`]: it can carry its
//! source.

use crate::space::machine::{KeySource, Machine, NotModelled, Ownership, SpeedReference};
use crate::space::supply::{NodeSupply, PowerSupply};
use gordon_hdd as disk;
use gordon_ssd as ssd;
use gordon_units::{Bytes, Hertz, Sourced, Volts, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A processor. Power is that of one processor at `clock_max`. Dynamic power, the part above idle
/// power, scales with f v^2, where the voltage rises linearly from `volt_min` at `clock_min` to
/// `volt_max` at `clock_max` (section 5.2 of the Gordon paper).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// One-line description of the part.
    pub summary: String,
    /// Power when idle.
    pub idle: Sourced<Watts>,
    /// Power when it executes without pause.
    pub active: Sourced<Watts>,
    /// Lowest clock.
    pub clock_min: Sourced<Hertz>,
    /// Highest clock.
    pub clock_max: Sourced<Hertz>,
    /// Voltage at the lowest clock.
    pub volt_min: Sourced<Volts>,
    /// Voltage at the highest clock.
    pub volt_max: Sourced<Volts>,
    /// Instructions per cycle.
    pub ipc: Sourced<f64>,
    /// Names of such processors, or parts of the names, as in the `model name` lines of
    /// `/proc/cpuinfo`. Traces recorded on one of them without hardware counters are estimated with
    /// `ipc`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// Main memory of a node. Its utilization is the fraction of its bandwidth that last-level cache
/// misses use: misses x `line` / `bandwidth`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// One-line description of the part.
    pub summary: String,
    /// Power when idle.
    pub idle: Sourced<Watts>,
    /// Power when it transfers without pause.
    pub active: Sourced<Watts>,
    /// Bytes transferred per cache miss.
    pub line: Sourced<Bytes>,
    /// Bandwidth in bytes per second.
    pub bandwidth: Sourced<Bytes>,
}

/// A machine whose energy the meter `model` computes from its parts. The numbers of cores, memory
/// modules and disks are those of the machine on which the meter runs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteredMachine {
    /// One-line description of the machine. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Name of the processor part, one for each processor that Linux counts.
    pub core: String,
    /// Main memory.
    pub memory: MeteredMemory,
    /// Name of the storage part, one for each disk.
    pub storage: String,
    /// Name of the overhead part.
    pub overhead: String,
}

/// Main memory of a machine whose energy is computed from its parts.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteredMemory {
    /// Name of the memory part.
    pub part: String,
    /// Size of one module; there are as many as make up the memory of the machine.
    pub size: Bytes,
}

/// Network link of a node. The link draws no power in this model, because Table 3 of the Gordon
/// paper has no figure for it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// One-line description of the part.
    pub summary: String,
    /// Bandwidth of each direction in bytes per second.
    pub bandwidth: Sourced<Bytes>,
    /// Whether both directions transfer at the same time.
    pub duplex: Sourced<bool>,
}

/// Power overhead of a node, in addition to its parts: power supply, board, fans. Its ratio to the
/// power of the node is the same for all designs (section 5.2 of the Gordon paper), so that the
/// overhead multiplies the energy of the parts. Give either `ratio`, or `anchors` to which the
/// ratio is fitted.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// One-line description of the overhead.
    pub summary: String,
    /// Ratio of the power of a node to the power of its parts; at least 1. If it is left out, the
    /// ratio is fitted to `anchors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Sourced<f64>>,
    /// Machines with known power, to which the ratio is fitted. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// Power supply of the node, whose loss is then not in `ratio`. Default: `ratio` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supply: Option<NodeSupply>,
}

/// A machine whose power was published. The overhead ratio is fitted to such machines.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Name of the machine.
    pub what: String,
    /// Name of its processor in the catalogue of parts.
    pub cpu: Sourced<String>,
    /// Clock of its processors.
    pub clock: Sourced<Hertz>,
    /// Number of processors.
    pub cpus: Sourced<u32>,
    /// Name of its memory in the catalogue of parts.
    pub memory: Sourced<String>,
    /// Name of its storage device in the catalogue of parts.
    pub storage: Sourced<String>,
    /// Number of storage devices.
    pub count: Sourced<u32>,
    /// Power of the whole machine with all parts active.
    pub total: Sourced<Watts>,
}

/// The catalogue of parts, by kind and name.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parts {
    /// Processors.
    pub cpu: BTreeMap<String, Cpu>,
    /// Main memories.
    pub memory: BTreeMap<String, Memory>,
    /// Network links.
    pub network: BTreeMap<String, Network>,
    /// Power overheads of nodes.
    pub overhead: BTreeMap<String, Overhead>,
    /// Flash devices.
    pub flash: BTreeMap<String, ssd::SsdConfig>,
    /// Hard disks.
    pub disk: BTreeMap<String, disk::DiskConfig>,
    /// Power supplies.
    pub supply: BTreeMap<String, PowerSupply>,
}

/// Unit that has one memory: a node or a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryPer {
    /// One memory per node, for all of its processors.
    Node,
    /// One memory per processor, which runs its own instance of the job.
    Processor,
}

/// Settings that all designs of a space share.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeCommon {
    /// Name of the main memory in the catalogue of parts.
    pub memory: String,
    /// Whether each node or each processor has such a memory.
    pub memory_per: Sourced<MemoryPer>,
    /// Name of the network link in the catalogue of parts.
    pub network: String,
    /// Name of the power overhead in the catalogue of parts.
    pub overhead: String,
}

/// One point of a design space.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Name of the design.
    pub id: String,
    /// Name of the processor in the catalogue of parts.
    pub cpu: String,
    /// Clock of the processors, within the range of the part.
    pub clock: Hertz,
    /// Number of processors. A job runs as that number of instances, and its time is divided by it
    /// (section 5.3).
    pub cpus: u32,
    /// Name of the flash device or disk in the catalogue of parts.
    pub storage: String,
    /// Number of storage devices, striped.
    pub count: u32,
}

/// A single node.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeAlone {
    /// Processors, clock and storage of the node.
    pub design: Design,
    /// Settings that all designs of its space share.
    pub node: NodeCommon,
    /// Catalogue of its parts.
    pub parts: Parts,
}

/// Processors of a design space: each clock is combined with each count.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpaceProcessors {
    /// Name of the processor in the catalogue of parts.
    pub part: String,
    /// Clocks to try.
    pub clocks: Vec<Hertz>,
    /// Numbers of processors per node to try.
    pub counts: Vec<u32>,
}

/// Storage of a design space.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpaceStorage {
    /// Name of the storage device in the catalogue of parts.
    pub part: String,
    /// Name of the storage in the id of a design, such as `flash` or `disk`. If there are several
    /// counts, the count is appended.
    pub label: String,
    /// Numbers of storage devices per node to try.
    pub counts: Vec<u32>,
}

/// Design that the other designs are compared with.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Name of the processor in the catalogue of parts.
    pub cpu: String,
    /// Clock of the processors, within the range of the part.
    pub clock: Hertz,
    /// Number of processors.
    pub cpus: u32,
    /// Name of the storage device in the catalogue of parts.
    pub storage: String,
    /// Number of storage devices.
    pub count: u32,
}

/// A space of node designs or of machines, or both. Of the designs, each choice of processors is
/// combined with each choice of storage; they need all of `budget`, `baseline`, `node`,
/// `processors` and `storage`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Name of the space. Default: that of its file.
    #[serde(default)]
    pub name: String,
    /// One-line description of the space. Default: none.
    #[serde(default)]
    pub summary: String,
    /// Maximum power of a node with all parts active. Designs above it are excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Sourced<Watts>>,
    /// Design to which times and energies are normalized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Settings that all designs share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeCommon>,
    /// Processors to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Vec<SpaceProcessors>>,
    /// Storage devices to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Vec<SpaceStorage>>,
    /// Machines to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<Vec<Machine>>,
    /// Unit of the machines' speeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<SpeedReference>,
    /// Sources of the machines' values, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, KeySource>,
    /// Region of the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Currency of the prices. Default: USD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Use of machines that are bought, which turns `purchase_price` into `price_per_hour`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    /// Families of machines that the space leaves out, with the reason. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_modelled: Vec<NotModelled>,
    /// Parts that extend the catalogue, or replace its parts of the same name. Default: none.
    #[serde(default)]
    pub parts: Parts,
}
