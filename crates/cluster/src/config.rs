//! What a user writes about parts and designs. Each number is [`Sourced`]: it has its address.

use gordon_device::{disk, ssd};
use gordon_units::{Bytes, Hertz, Sourced, Volts, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A processor. Power is of one processor at `clock_max`; what activity adds to idle power scales
/// with f v^2, the voltage going linearly from `volt_min` at `clock_min` to `volt_max` at
/// `clock_max` (section 5.2 of the Gordon paper).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// One line about the part.
    pub summary: String,
    /// Power when it does nothing.
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
    /// Names of such processors, or parts of them, as `/proc/cpuinfo` has them (`model name`): a
    /// trace without hardware counters that was recorded on one of them takes `ipc` for its
    /// estimates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// Main memory of a node. Its activity is the share of its bandwidth that last-level cache misses
/// take: misses x `line` / `bandwidth`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// One line about the part.
    pub summary: String,
    /// Power when it does nothing.
    pub idle: Sourced<Watts>,
    /// Power when it transfers without pause.
    pub active: Sourced<Watts>,
    /// Bytes a cache miss moves.
    pub line: Sourced<Bytes>,
    /// Bytes a second.
    pub bandwidth: Sourced<Bytes>,
}

/// A node's link to the others. It draws no power of its own here: Table 3 has none for it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// One line about the part.
    pub summary: String,
    /// Bytes a second each way.
    pub bandwidth: Sourced<Bytes>,
    /// Whether both ways run at once.
    pub duplex: Sourced<bool>,
}

/// What a node draws beside its parts: supply, board, fans. Its idle power stands in a fixed ratio
/// to average power (section 5.2), so it multiplies the energy of the parts. Either the `ratio` is
/// given, or machines to fit it to.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// One line about it.
    pub summary: String,
    /// Node power over the power of its parts; at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Sourced<f64>>,
    /// Machines whose power is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
}

/// A machine whose power somebody printed: the overhead ratio is fitted to such machines.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Which machine it is.
    pub what: String,
    /// Its processors: a part's name.
    pub cpu: Sourced<String>,
    /// Their clock.
    pub clock: Sourced<Hertz>,
    /// How many.
    pub cpus: Sourced<u32>,
    /// Its memory: a part's name.
    pub memory: Sourced<String>,
    /// Its storage: a part's name.
    pub storage: Sourced<String>,
    /// How many of it.
    pub count: Sourced<u32>,
    /// What the whole machine draws with all parts active.
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
    /// System overheads.
    pub overhead: BTreeMap<String, Overhead>,
    /// Flash arrays.
    pub flash: BTreeMap<String, ssd::SsdConfig>,
    /// Hard disks.
    pub disk: BTreeMap<String, disk::DiskConfig>,
}

/// What there is one memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryPer {
    /// A node, however many processors it has.
    Node,
    /// A processor: each runs an instance of the job of its own.
    Processor,
}

/// What every design of a space has.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeCommon {
    /// Main memory: a part's name.
    pub memory: String,
    /// What there is one of it for: `node` or `processor`.
    pub memory_per: Sourced<MemoryPer>,
    /// Network link: a part's name.
    pub network: String,
    /// System overhead: a part's name.
    pub overhead: String,
}

/// One point of a design space.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Its name.
    pub id: String,
    /// Its processors: a part's name.
    pub cpu: String,
    /// Their clock.
    pub clock: Hertz,
    /// How many; a job runs as that many instances, and its time is divided by it (section 5.3).
    pub cpus: u32,
    /// Its storage: a flash or disk part's name.
    pub storage: String,
    /// How many of it, striped.
    pub count: u32,
}

/// One node, by itself.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeAlone {
    /// Its choices.
    pub design: Design,
    /// What all designs of its space share.
    pub node: NodeCommon,
    /// The parts it is made of.
    pub parts: Parts,
}

/// Whose processor time and cache misses a survey simulates. Network and block I/O are always the
/// machine's: a trace does not know them by command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Charge {
    /// The whole machine's.
    #[default]
    Machine,
    /// The traced command's and those of all it started.
    Command,
}

/// The speed of the processor on which traces were recorded that have no hardware counters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// What it is: a part's name.
    pub name: String,
    /// Instructions per cycle.
    pub ipc: Sourced<f64>,
    /// It holds for traces of processors whose name has one of these in it; without any, for all
    /// traces.
    #[serde(default)]
    pub models: Vec<String>,
}

/// A survey to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Survey")]
pub struct SurveyConfig {
    /// Folders of the traces.
    pub traces: Vec<String>,
    /// Nodes of the cluster.
    pub nodes: u32,
    /// Where there are fewer traces than nodes, the copies of one are shifted over this share of
    /// its length: 0, all nodes march in step; 1, all phases of the job run at any time.
    pub shift: Sourced<f64>,
    /// Whose processor time and cache misses are simulated.
    #[serde(default)]
    pub charge: Charge,
    /// Speeds of traced processors, for traces without hardware counters. The first that holds for
    /// a trace is taken.
    #[serde(default)]
    pub references: Vec<Reference>,
    /// The designs.
    pub designs: Vec<Design>,
    /// What all designs share.
    pub node: NodeCommon,
    /// The parts they are made of.
    pub parts: Parts,
}

/// Processors of a design space: each clock with each count.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpaceProcessors {
    /// A part's name.
    pub part: String,
    /// Clocks to try.
    pub clocks: Vec<Hertz>,
    /// Processors a node to try.
    pub counts: Vec<u32>,
}

/// Storage of a design space.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpaceStorage {
    /// A part's name.
    pub part: String,
    /// How it is named in a design's id (`flash`, `disk`); where several counts are tried the
    /// count follows it.
    pub label: String,
    /// How many a node to try.
    pub counts: Vec<u32>,
}

/// The design that others are compared with.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// A part's name.
    pub cpu: String,
    /// Its clock.
    pub clock: Hertz,
    /// How many.
    pub cpus: u32,
    /// A part's name.
    pub storage: String,
    /// How many.
    pub count: u32,
}

/// A space of node designs: every processor choice with every storage choice.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Most power a node may draw with all parts active; designs over it are left out.
    pub budget: Sourced<Watts>,
    /// The design that times and energies are normalised to.
    pub baseline: Baseline,
    /// What all designs share.
    pub node: NodeCommon,
    /// Processor choices.
    pub processors: Vec<SpaceProcessors>,
    /// Storage choices.
    pub storage: Vec<SpaceStorage>,
    /// Parts that add to the catalogue, or stand in for those of its names.
    #[serde(default)]
    pub parts: Parts,
}
