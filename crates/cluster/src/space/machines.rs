//! The designs of a list of machines: each machine with each of its storages and networks, and each
//! number of nodes, in the order of the space. The number of nodes changes fastest; a design's
//! number is its index.
//!
//! A place is a number of nodes with a distinct storage and network. Designs at the same place
//! differ only in their processors, power and price.

use crate::space::cores::Cores;
use crate::space::machine::{Machine, StorageTable, network_label};
use gordon_units::Sourced;
use std::collections::BTreeMap;

/// The most nodes of a cluster.
pub(crate) const MOST_NODES: u32 = 10_000;

/// A storage and a network of each of some nodes.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub storage: &'a StorageTable,
    /// Bytes a second, each way.
    pub network: f64,
    pub nodes: u32,
}

/// A number of nodes, each a machine with one of its storages and one of its networks.
#[derive(Clone, Copy)]
pub struct MachineDesign<'a> {
    pub machine: &'a Machine,
    /// Index of the machine in the space.
    pub index: usize,
    /// Index of the place.
    pub place: usize,
    /// Number of nodes.
    pub nodes: u32,
    storage: usize,
    network: usize,
}

/// All designs, and their places.
pub struct MachineSpace<'a> {
    pub designs: Vec<MachineDesign<'a>>,
    pub places: Vec<Place<'a>>,
    /// Whether the number of nodes is a part of a design's name.
    has_numbers: bool,
}

impl<'a> MachineSpace<'a> {
    /// The designs of `machines`, each on `nodes` nodes.
    pub fn new(machines: &'a [Machine], nodes: u32) -> Self {
        Self::of(machines, &[nodes], false)
    }

    /// The designs of `machines` on each of the numbers of `nodes`, which their names have.
    pub fn clusters(machines: &'a [Machine], nodes: &[u32]) -> Self {
        Self::of(machines, nodes, true)
    }

    fn of(machines: &'a [Machine], nodes: &[u32], has_numbers: bool) -> Self {
        let mut space = Self { designs: Vec::new(), places: Vec::new(), has_numbers };
        let mut known = BTreeMap::new();
        for (index, machine) in machines.iter().enumerate() {
            for (storage, table) in machine.storage.iter().enumerate() {
                for (network, rate) in machine.network.iter().enumerate() {
                    for &nodes in nodes {
                        let new = Place { storage: &table.0, network: rate.0, nodes };
                        let place = *known.entry(PlaceKey::new(&new)).or_insert_with(|| {
                            space.places.push(new);
                            space.places.len() - 1
                        });
                        space.designs.push(MachineDesign {
                            machine,
                            index,
                            place,
                            nodes,
                            storage,
                            network,
                        });
                    }
                }
            }
        }
        space
    }

    /// Name of a design.
    pub fn id(&self, design: &MachineDesign<'_>) -> String {
        self.numbered(design, design.id())
    }

    /// As [`id`](Self::id), for any storage and network.
    pub fn machine_id(&self, design: &MachineDesign<'_>) -> String {
        self.numbered(design, design.machine.id.clone())
    }

    fn numbered(&self, design: &MachineDesign<'_>, machine: String) -> String {
        if self.has_numbers { cluster_id(design.nodes, &machine) } else { machine }
    }

    /// The distinct storage parts and their numbers, in order.
    pub(crate) fn storage_parts(&self) -> Vec<(&'a str, u32)> {
        let mut parts: Vec<_> =
            self.places.iter().filter_map(|place| part_of(place.storage)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }
}

/// The storage part of a place and the number of devices; `None` if it is described by its limits.
pub(crate) fn part_of(storage: &StorageTable) -> Option<(&str, u32)> {
    Some((storage.part.as_deref()?, storage.devices()))
}

/// Name of a number of nodes.
pub fn cluster_id(nodes: u32, machine: &str) -> String {
    format!("{nodes} x {machine}")
}

impl MachineDesign<'_> {
    /// The cores of all nodes.
    pub fn cores(&self) -> Cores {
        let of_one = self.machine.all_cores();
        Cores { count: of_one.count.saturating_mul(self.nodes), ..of_one }
    }

    /// Name of a node: that of its machine, with the choices of storage and network if there are
    /// several.
    pub fn id(&self) -> String {
        let mut id = self.machine.id.clone();
        if self.machine.storage.len() > 1 {
            id = format!("{id}/{}", self.machine.storage[self.storage].0.short_label());
        }
        if self.machine.network.len() > 1 {
            id = format!("{id}/{}", network_label(self.machine.network[self.network].0));
        }
        id
    }

    /// Whether it has the first storage and network of its machine.
    pub fn is_first(&self) -> bool {
        self.storage == 0 && self.network == 0
    }
}

/// What distinguishes places; numbers by their bits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PlaceKey<'a> {
    part: Option<&'a str>,
    devices: u32,
    measured: Option<&'a str>,
    limits: [Option<u64>; 6],
    network: u64,
    nodes: u32,
}

impl<'a> PlaceKey<'a> {
    fn new(place: &Place<'a>) -> Self {
        let table = place.storage;
        let number = |value: &Option<Sourced<f64>>| value.as_ref().map(|value| value.to_bits());
        Self {
            part: table.part.as_deref(),
            devices: table.devices(),
            measured: table.measured.as_deref(),
            limits: [
                table.bandwidth.as_ref().map(|rate| rate.0.to_bits()),
                table.write_bandwidth.as_ref().map(|rate| rate.0.to_bits()),
                table.burst.as_ref().map(|rate| rate.0.to_bits()),
                number(&table.iops),
                number(&table.write_iops),
                table.latency.as_ref().map(|time| time.0),
            ],
            network: place.network.to_bits(),
            nodes: place.nodes,
        }
    }
}
