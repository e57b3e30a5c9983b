//! The parameters of the device in an image: its array, translation layer and faults, as stored in
//! the superblock.
//!
//! A preset is resolved to a [`Layout`] and a [`Config`] once, when the image is created. From then
//! on the image contains all parameters itself.

use crate::faults::Faults;
use crate::format::summary;
use gordon_ftl::{Config, FtlConfigError, Victim};
use gordon_nand::{Endurance, EnduranceError, Geometry, GeometryError, Layout, SuperPageShape};
use gordon_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Size of a sector in bytes, the smallest addressable amount.
pub const SECTOR: u64 = 512;

/// A flash array with a translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub geometry: GeometryParams,
    /// Shape of a super-page.
    pub super_page: ShapeParams,
    /// Parameters of the translation layer.
    pub ftl: FtlParams,
    /// Rates of faults.
    pub faults: Faults,
}

/// [`Geometry`] in serialisable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeometryParams {
    /// Buses between the controller and the packages.
    pub buses: u32,
    /// Packages on one bus.
    pub packages_per_bus: u32,
    /// Dies in one package.
    pub dies_per_package: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Data bytes of one page.
    pub page_bytes: u32,
    /// Out-of-band bytes of one page of the chip. The image has its own out-of-band area:
    /// docs/SPEC.md.
    pub oob_bytes: u32,
}

/// [`SuperPageShape`] in serialisable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeParams {
    /// Number of buses.
    pub buses: u32,
    /// Dies on each of the buses.
    pub dies_per_bus: u32,
    /// Planes of each of the dies.
    pub planes: u32,
}

/// The parameters of the layer that an image can choose; see [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// [`Victim`] in serialisable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// The block with the fewest valid pages.
    Greedy,
    /// The block that was closed first.
    Fifo,
    /// A random block.
    Random,
    /// Of several random blocks, the one with the fewest valid pages.
    DChoices,
    /// The block with the highest ratio of benefit to cost.
    CostBenefit,
}

/// Why device parameters are invalid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DeviceError {
    /// The array is impossible.
    #[error("flash array: {0}")]
    Geometry(#[from] GeometryError),
    /// The configuration of the layer is invalid.
    #[error("translation layer: {0}")]
    Ftl(#[from] FtlConfigError),
    /// The endurance parameters are invalid.
    #[error("faults: {0}")]
    Endurance(#[from] EnduranceError),
    /// A fault rate is not a probability.
    #[error("faults.{0} is not a probability; give a number from 0 to below 1")]
    Rate(&'static str),
    /// The codeword size does not divide the unit into a power of two of codewords.
    #[error("faults.codeword: {0} bytes do not divide the unit of {1}; give a power of two in it")]
    Codeword(u32, Bytes),
    /// The capacity is not a positive multiple of a sector, or too large.
    #[error("capacity: {0} is not a positive multiple of 512 bytes below 2^32 units; round it")]
    Capacity(Bytes),
    /// The unit does not divide super-pages into whole sectors.
    #[error("unit: {0} does not divide super-pages of {1} into whole sectors")]
    Unit(Bytes, Bytes),
}

impl DeviceError {
    /// Whether the parameters would be valid with more blocks.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        matches!(self, Self::Ftl(FtlConfigError::NoRoom { .. }))
    }
}

/// The device in the form that the parts of a store use.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedDevice {
    /// Layout of the array.
    pub layout: Layout,
    /// Configuration of the layer.
    pub config: Config,
    /// Distribution of the erase budgets; `None` if blocks never wear out.
    pub endurance: Option<Endurance>,
}

impl DeviceParams {
    /// The parameters of a device with this layout and configuration. `config` provides the unit
    /// and the tunable parameters. Settings that a store requires are added: contents, summaries,
    /// durable trims, and, if `config` has no write buffer, one of four super-pages for each write
    /// point.
    #[must_use]
    pub fn new(preset: &str, layout: &Layout, config: &Config, capacity: Bytes) -> Self {
        let (g, s) = (layout.geometry(), layout.shape());
        let (victim, choices) = match config.victim {
            Victim::Greedy => (VictimPolicy::Greedy, 2),
            Victim::Fifo => (VictimPolicy::Fifo, 2),
            Victim::Random => (VictimPolicy::Random, 2),
            Victim::DChoices(choices) => (VictimPolicy::DChoices, choices),
            Victim::CostBenefit => (VictimPolicy::CostBenefit, 2),
        };
        let buffer = config.slots.saturating_mul(config.points()).saturating_mul(4);
        Self {
            preset: preset.to_owned(),
            capacity,
            unit: Bytes(u64::from(config.sectors_per_page) * SECTOR),
            seed: config.seed,
            geometry: GeometryParams {
                buses: g.buses,
                packages_per_bus: g.packages_per_bus,
                dies_per_package: g.dies_per_package,
                planes_per_die: g.planes_per_die,
                blocks_per_plane: g.blocks_per_plane,
                pages_per_block: g.pages_per_block,
                page_bytes: g.page_bytes,
                oob_bytes: g.oob_bytes,
            },
            super_page: ShapeParams {
                buses: s.buses,
                dies_per_bus: s.dies_per_bus,
                planes: s.planes,
            },
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

    /// Validates the parameters and converts them to the form that the parts of a store use.
    pub fn resolve(&self) -> Result<ResolvedDevice, DeviceError> {
        let Self { geometry: g, super_page: s, ftl: params, .. } = self;
        let geometry = Geometry {
            buses: g.buses,
            packages_per_bus: g.packages_per_bus,
            dies_per_package: g.dies_per_package,
            planes_per_die: g.planes_per_die,
            blocks_per_plane: g.blocks_per_plane,
            pages_per_block: g.pages_per_block,
            page_bytes: g.page_bytes,
            oob_bytes: g.oob_bytes,
        };
        let shape =
            SuperPageShape { buses: s.buses, dies_per_bus: s.dies_per_bus, planes: s.planes };
        let layout = Layout::new(geometry, shape)?;
        let (unit, page) = (self.unit, layout.page_bytes());
        let whole = unit.0 > 0 && unit.0.is_multiple_of(SECTOR) && page.0.is_multiple_of(unit.0);
        // The limit keeps a program a single vectored write.
        if !whole || page.0 / unit.0 > 1024 {
            return Err(DeviceError::Unit(unit, page));
        }
        let refuse = |_| DeviceError::Capacity(self.capacity);
        if self.capacity == Bytes::ZERO || !self.capacity.0.is_multiple_of(SECTOR) {
            return Err(DeviceError::Capacity(self.capacity));
        }
        let exported = u32::try_from(self.capacity.0.div_ceil(unit.0)).map_err(refuse)?;
        let sectors = u32::try_from(unit.0 / SECTOR).map_err(refuse)?;
        let slots = u32::try_from(page.0 / unit.0).map_err(refuse)?;
        let config = Config {
            slots,
            write_points: params.write_points,
            copy_points: params.copy_points,
            bypass: params.bypass,
            combine: params.combine,
            summary_pages: summary::pages(layout.pages_per_block(), slots, page),
            durable: true,
            write_buffer: params.write_buffer,
            reserve: params.reserve,
            low_water: params.low_water,
            idle_water: params.idle_water,
            victim: match params.victim {
                VictimPolicy::Greedy => Victim::Greedy,
                VictimPolicy::Fifo => Victim::Fifo,
                VictimPolicy::Random => Victim::Random,
                VictimPolicy::DChoices => Victim::DChoices(params.choices),
                VictimPolicy::CostBenefit => Victim::CostBenefit,
            },
            wear_spread: params.wear_spread,
            seed: self.seed,
            contents: true,
            ..Config::new(&layout, exported, sectors)
        };
        config.validate(&layout)?;
        let endurance = self.faults.validate(unit)?;
        Ok(ResolvedDevice { layout, config, endurance })
    }
}
