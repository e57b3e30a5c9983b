//! What the reports of jobs, tasks and services say of a design's hardware.

use crate::space::machines::{MachineDesign, MachineSpace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hardware of a design: a number of nodes, each a machine with one of its storages and
/// networks. Processors, memory, storage and network are those of a node.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Hardware {
    /// Name of the design, such as `2 x m5.large`.
    pub id: String,
    /// Name of the machine, with what was chosen from its lists: `framework-desktop/nvme-tlc-1tb`.
    pub machine: String,
    /// Number of nodes.
    pub nodes: u32,
    /// One-line description of the machine.
    pub summary: Option<String>,
    /// Number of logical processors.
    pub cores: u32,
    /// Speed of a logical processor, in the unit of the space.
    pub core_speed: f64,
    /// Size of main memory.
    pub memory_bytes: u64,
    /// Storage in words.
    pub storage: String,
    /// Name of the storage part; `None` if only limits are known.
    pub storage_part: Option<String>,
    /// Network bandwidth of each direction.
    pub network_bytes_per_s: f64,
    /// Price of an hour of a node; `None` if unknown.
    pub price_per_hour: Option<f64>,
    /// Price of all nodes with their volumes for a month of 730 hours, rented or bought: a machine
    /// that is bought costs the same in each month until it is replaced. `None` if unknown.
    pub price_per_month: Option<f64>,
}

impl Hardware {
    /// The hardware of a machine of `space`, with the name that its survey gives the design.
    pub(super) fn of(
        space: &MachineSpace<'_>,
        design: &MachineDesign<'_>,
        id: String,
        nodes: u32,
        price_per_month: Option<f64>,
    ) -> Self {
        let place = &space.places[design.place];
        let parts = design.machine;
        Self {
            id,
            machine: design.id(),
            nodes,
            summary: parts.summary.clone(),
            cores: *parts.cores,
            core_speed: *parts.core_speed,
            memory_bytes: parts.memory.0,
            storage: place.storage.label(),
            storage_part: place.storage.part.clone(),
            network_bytes_per_s: place.network,
            price_per_hour: parts.price_per_hour.as_ref().map(|price| **price),
            price_per_month,
        }
    }
}
