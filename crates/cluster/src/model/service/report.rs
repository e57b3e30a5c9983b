//! What a report says of the load of a service and of designs. Keys are snake_case and end in their
//! unit.

use super::resource::PerResource;
use crate::model::bill::BillReport;
use crate::model::cost::Objective;
use crate::model::hardware::Hardware;
use crate::model::job::report::ReferenceReport;
use crate::space::operation::Operation;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A machine with one of its storages and networks, and a number of such nodes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceReport {
    /// The design, and its nodes.
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Mean power of all nodes; `None` if unknown.
    pub power_w: Option<f64>,
    /// What a month of 730 hours costs in all: the bill of a run of that length, after which the
    /// next one follows. `None` if it is not said how machines are used.
    pub bill: Option<BillReport>,
    /// Whether the load was recorded on this design.
    pub is_reference: bool,
    /// Whether the design keeps up; `None` if the record leaves it open.
    pub keeps_up: Option<bool>,
    /// Resources without which it keeps up: those that do not suffice, or for which that is
    /// unknown.
    pub short_of: Vec<&'static str>,
    /// The resource with the highest use relative to what is allowed, of `short_of` if it is not
    /// empty.
    pub limited_by: &'static str,
    /// The greatest use of a resource relative to what is allowed, by the upper ends that are
    /// known: what the front compares with the cost. A design with at most 1 keeps up if all uses
    /// are known.
    pub relative_use: f64,
    /// By resource: the use that is not exceeded in 99 % of the time; `None` if it is unknown.
    #[serde(rename = "use")]
    pub used: PerResource<Option<f64>>,
    /// By resource: the highest use of a sample.
    pub peak: PerResource<Option<f64>>,
    /// By resource whose use the record leaves open: the ends of `use`; the upper end is
    /// `None` if nothing bounds it.
    pub range: BTreeMap<&'static str, [Option<f64>; 2]>,
    /// By resource: the recorded load times this number is the most with which it keeps up. Memory
    /// is left out, as its use is not in proportion to the load, and so are resources of unknown
    /// use or of none.
    pub load_factor: BTreeMap<&'static str, f64>,
    /// By resource with a `range`, but memory: `load_factor` at the upper end of the use, `None` if
    /// nothing bounds it, and at the lower end, `None` if that is 0.
    pub load_factor_range: BTreeMap<&'static str, [Option<f64>; 2]>,
    /// By resource: number of samples that do not leave the headroom.
    pub samples_over_headroom: PerResource<Option<usize>>,
    /// By resource: number of samples that exceed the capacity.
    pub samples_over_capacity: PerResource<Option<usize>>,
}

/// Mean, percentile and peak of a demand.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Demand {
    /// Mean over the time.
    pub mean: f64,
    /// Not exceeded in 99 % of the time.
    pub p99: f64,
    /// Greatest of a sample.
    pub peak: f64,
}

/// The recorded load, over all nodes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadReport {
    /// Recorded nodes.
    pub nodes: usize,
    /// Samples that are used.
    pub samples: usize,
    /// Their length together.
    pub span_s: f64,
    /// Their usual length.
    pub interval_s: f64,
    /// Samples that are left out, because a node has no record of them, or without a length.
    pub samples_left_out: usize,
    /// Their length together.
    pub left_out_s: f64,
    /// Busy cores, with demand that was not served.
    pub cpu_cores: Demand,
    /// Memory of a node in use, without the page cache where it is apart; `None` if it is unknown.
    pub memory_bytes: Option<Demand>,
    /// As `memory_bytes`, with the page cache.
    pub memory_with_cache_bytes: Option<Demand>,
    /// `reads_per_s`, `writes_per_s`, `read_bytes_per_s`, `write_bytes_per_s`; `None` if unknown.
    pub disk: Option<BTreeMap<&'static str, Demand>>,
    /// `rx_bytes_per_s`, `tx_bytes_per_s`; `None` if unknown.
    pub network: Option<BTreeMap<&'static str, Demand>>,
    /// Share of the time in which a recorded node was at the limit of a resource, so that its
    /// demand may have been higher; resources that never were are left out.
    pub hidden: BTreeMap<&'static str, f64>,
    /// The load over time.
    pub series: LoadSeries,
}

/// The load over time; a point has the mean of its samples, or the greatest.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LoadSeries {
    /// Samples of a point.
    pub samples_per_point: usize,
    /// Start of each point in seconds.
    pub start_s: Vec<f64>,
    /// Mean number of busy cores.
    pub cpu_cores: Vec<f64>,
    /// Busy cores of the sample with most.
    pub cpu_cores_peak: Vec<f64>,
    /// Memory of the node with most, as `memory_bytes` of the load.
    pub memory_bytes: Vec<f64>,
    /// Bytes read and written a second.
    pub disk_bytes_per_s: Vec<f64>,
    /// Bytes received and sent a second, of the busier direction.
    pub network_bytes_per_s: Vec<f64>,
}

/// What a recommendation goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceVerdictBy {
    /// The lowest price of a month.
    Price,
    /// The least power, because no design that keeps up has a price.
    Power,
    /// The fewest cores, because neither prices nor powers are known.
    Cores,
    /// The lowest cost of a month in all.
    Tco,
    /// The least carbon.
    Carbon,
    /// The longest life of flash.
    Life,
}

/// A design that is named.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NamedService {
    /// Its id.
    pub id: String,
    /// Name of the machine, with what was chosen from its lists.
    pub machine: String,
    /// Number of nodes.
    pub nodes: u32,
}

/// The recommended design.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceVerdict {
    /// The design.
    #[serde(flatten)]
    pub design: NamedService,
    /// What was compared.
    pub by: ServiceVerdictBy,
}

/// A design that does not keep up, or for which the record leaves it open.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NearService {
    /// The design.
    #[serde(flatten)]
    pub design: NamedService,
    /// The resource that limits it, or for which it is unknown whether it suffices.
    pub resource: &'static str,
    /// Use of that resource that is not exceeded in 99 % of the time; `None` if it is unknown.
    #[serde(rename = "use")]
    pub used: Option<f64>,
}

/// The keys of a report that only this model has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServiceExtras {
    /// The recorded machine.
    pub reference: ReferenceReport,
    /// Share of each resource that is to be free.
    pub headroom: f64,
    /// The recorded load.
    pub load: LoadReport,
    /// How machines are used; a run is a month. `None` if that is not said.
    pub operation: Option<Operation>,
    /// What the choices go by, if that is given.
    pub objectives: Vec<Objective>,
    /// The recommended design; `None` if none is known to keep up.
    pub verdict: Option<ServiceVerdict>,
    /// The best design for which the record leaves open whether it keeps up, if it is better than
    /// the recommended one.
    pub maybe: Option<NearService>,
    /// The design that lacks least, if none keeps up.
    pub nearest: Option<NearService>,
}
