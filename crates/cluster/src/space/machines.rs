//! The designs of a list of machines: each machine with each of its storages and networks, in the
//! order of the space. The network changes fastest; a design's number is its index.
//!
//! A place is a distinct storage with a network. Designs at the same place differ only in their
//! processors, power and price.

use crate::space::machine::{Machine, StorageTable, network_label};
use gordon_units::Sourced;
use std::collections::BTreeMap;

/// A storage and a network.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub storage: &'a StorageTable,
    /// Bytes a second, each way.
    pub network: f64,
}

/// A machine with one of its storages and one of its networks.
#[derive(Clone, Copy)]
pub struct MachineDesign<'a> {
    pub machine: &'a Machine,
    /// Index of the machine in the space.
    pub index: usize,
    /// Index of the place.
    pub place: usize,
    storage: usize,
    network: usize,
}

/// All designs, and their places.
pub struct MachineSpace<'a> {
    pub designs: Vec<MachineDesign<'a>>,
    pub places: Vec<Place<'a>>,
}

impl<'a> MachineSpace<'a> {
    /// The designs of `machines`.
    pub fn new(machines: &'a [Machine]) -> Self {
        let mut space = Self { designs: Vec::new(), places: Vec::new() };
        let mut known = BTreeMap::new();
        for (index, machine) in machines.iter().enumerate() {
            for (storage, table) in machine.storage.iter().enumerate() {
                for (network, rate) in machine.network.iter().enumerate() {
                    let place =
                        *known.entry(PlaceKey::new(&table.0, rate.0)).or_insert_with(|| {
                            space.places.push(Place { storage: &table.0, network: rate.0 });
                            space.places.len() - 1
                        });
                    space.designs.push(MachineDesign { machine, index, place, storage, network });
                }
            }
        }
        space
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

impl MachineDesign<'_> {
    /// Name of the design: that of its machine, with the choices of storage and network if there
    /// are several.
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
    limits: [Option<u64>; 5],
    network: u64,
}

impl<'a> PlaceKey<'a> {
    fn new(table: &'a StorageTable, network: f64) -> Self {
        let number = |value: &Option<Sourced<f64>>| value.as_ref().map(|value| value.to_bits());
        Self {
            part: table.part.as_deref(),
            devices: table.devices(),
            measured: table.measured.as_deref(),
            limits: [
                table.bandwidth.as_ref().map(|rate| rate.0.to_bits()),
                table.write_bandwidth.as_ref().map(|rate| rate.0.to_bits()),
                number(&table.iops),
                number(&table.write_iops),
                table.latency.as_ref().map(|time| time.0),
            ],
            network: network.to_bits(),
        }
    }
}
