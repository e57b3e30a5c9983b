//! The parameters of the device in an image: its array, translation layer and faults, as stored in
//! the superblock.
//!
//! A preset is resolved to a [`Layout`] and a [`Config`] once, when the image is created. From then
//! on the image contains all parameters itself. They are not validated here:
//! [`crate::resolved_device`].

use crate::faults::Faults;
use gordon_ftl::{Config, VictimPolicy};
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Size of a sector in bytes, the smallest addressable amount.
pub const SECTOR: u64 = 512;

/// A flash array with a translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceParams {
    /// Name of the preset from which the device was made.
    pub preset: String,
    /// Exported capacity.
    pub capacity: Bytes,
    /// Size of a logical page, the mapping unit.
    pub unit: Bytes,
    /// Seed of bad blocks, faults and random choices.
    pub seed: u64,
    /// Dimensions of the array.
    #[schemars(with = "BTreeMap<String, u32>")]
    pub geometry: Geometry,
    /// Shape of a super-page.
    #[schemars(with = "BTreeMap<String, u32>")]
    pub super_page: SuperPageShape,
    /// Parameters of the translation layer.
    pub ftl: FtlParams,
    /// Rates of faults.
    pub faults: Faults,
}

/// The parameters of the layer that an image can choose; see [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlParams {
    /// Number of write points.
    pub write_points: u32,
    /// Number of write points for copies only.
    pub copy_points: u32,
    /// Read bypassing.
    pub bypass: bool,
    /// Write combining.
    pub combine: bool,
    /// Logical pages in the write buffer.
    pub write_buffer: u32,
    /// Free blocks reserved for garbage collection.
    pub reserve: u32,
    /// Free blocks at which garbage collection starts.
    pub low_water: u32,
    /// Free blocks up to which garbage collection continues in idle time.
    pub idle_water: u32,
    /// Victim selection policy: greedy, fifo, random, d-choices or cost-benefit.
    pub victim: VictimPolicy,
    /// Number of random blocks to choose from with d-choices.
    pub choices: u32,
    /// Tolerated difference in erases before static wear levelling; 0 disables it.
    pub wear_spread: u32,
}

impl DeviceParams {
    /// The parameters of a device with this layout and configuration. `config` provides the unit
    /// and the tunable parameters. Settings that a store requires are added: contents, summaries,
    /// durable trims, and, if `config` has no write buffer, one of four super-pages for each write
    /// point.
    #[must_use]
    pub fn new(preset: &str, layout: &Layout, config: &Config, capacity: Bytes) -> Self {
        let (victim, choices) = VictimPolicy::of(config.victim);
        let buffer = config.slots.saturating_mul(config.points()).saturating_mul(4);
        Self {
            preset: preset.to_owned(),
            capacity,
            unit: Bytes(u64::from(config.sectors_per_page) * SECTOR),
            seed: config.seed,
            geometry: *layout.geometry(),
            super_page: layout.shape(),
            ftl: FtlParams {
                write_points: config.write_points,
                copy_points: config.copy_points,
                bypass: config.bypass,
                combine: config.combine,
                write_buffer: if config.write_buffer == 0 { buffer } else { config.write_buffer },
                reserve: config.reserve,
                low_water: config.low_water,
                idle_water: config.idle_water,
                victim,
                choices,
                wear_spread: config.wear_spread,
            },
            faults: Faults::default(),
        }
    }
}
