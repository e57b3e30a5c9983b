//! What an image is an image of: the array, its layer and its faults, as the superblock keeps them.
//!
//! Whoever makes an image resolves a preset to a [`Layout`] and a [`Config`] once; from then on the
//! image says all of it itself.

use crate::faults::Faults;
use crate::format::summary;
use gordon_ftl::{Config, FtlConfigError, Victim};
use gordon_nand::{Endurance, EnduranceError, Geometry, GeometryError, Layout, SuperPageShape};
use gordon_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The least that is addressed.
pub const SECTOR: u64 = 512;

/// An array with a translation layer on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceParams {
    /// The name of the preset it was made from.
    pub preset: String,
    /// Bytes exported.
    pub capacity: Bytes,
    /// What is mapped as one: the size of a logical page.
    pub unit: Bytes,
    /// Of bad blocks, faults and random choices.
    pub seed: u64,
    /// The array.
    pub geometry: GeometryParams,
    /// The rectangle of planes that makes a super-page.
    pub super_page: ShapeParams,
    /// The layer.
    pub ftl: FtlParams,
    /// What goes wrong.
    pub faults: Faults,
}

/// [`Geometry`], as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeometryParams {
    /// Buses.
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
    /// Out-of-band bytes of one page of the chip. (The image has its own: docs/SPEC.md.)
    pub oob_bytes: u32,
}

/// [`SuperPageShape`], as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeParams {
    /// Buses.
    pub buses: u32,
    /// Dies on each of these buses.
    pub dies_per_bus: u32,
    /// Planes of each of these dies.
    pub planes: u32,
}

/// The knobs of the layer that an image may choose: see [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtlParams {
    /// Write points.
    pub write_points: u32,
    /// Write points for copies alone.
    pub copy_points: u32,
    /// Read bypassing.
    pub bypass: bool,
    /// Write combining.
    pub combine: bool,
    /// Logical pages of the write buffer.
    pub write_buffer: u32,
    /// Free blocks only for garbage collection.
    pub reserve: u32,
    /// Free blocks at which garbage collection starts.
    pub low_water: u32,
    /// Free blocks up to which it continues in idle time.
    pub idle_water: u32,
    /// Which block it takes: greedy, fifo, random, d-choices or cost-benefit.
    pub victim: VictimPolicy,
    /// With d-choices: how many blocks are looked at.
    pub choices: u32,
    /// Static wear levelling; 0: none.
    pub wear_spread: u32,
}

/// [`Victim`], as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// The one with the fewest valid pages.
    Greedy,
    /// The one closed first.
    Fifo,
    /// Any.
    Random,
    /// Of some taken at random, the one with the fewest valid pages.
    DChoices,
    /// The one with the most to gain for what it costs.
    CostBenefit,
}

/// Why a device cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DeviceError {
    /// The array.
    #[error("flash array: {0}")]
    Geometry(#[from] GeometryError),
    /// The layer.
    #[error("translation layer: {0}")]
    Ftl(#[from] FtlConfigError),
    /// The erase budgets.
    #[error("faults: {0}")]
    Endurance(#[from] EnduranceError),
    /// A rate of faults.
    #[error("faults.{0} is not a probability; give a number from 0 to below 1")]
    Rate(&'static str),
    /// Bits cannot be corrected in codewords of that size.
    #[error("faults.codeword: {0} bytes do not divide the unit of {1}; give a power of two in it")]
    Codeword(u32, Bytes),
    /// The capacity.
    #[error("capacity: {0} is not a positive multiple of 512 bytes below 2^32 units; round it")]
    Capacity(Bytes),
    /// The unit.
    #[error("unit: {0} does not divide super-pages of {1} into whole sectors")]
    Unit(Bytes, Bytes),
}

impl DeviceError {
    /// Whether more blocks would do.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        matches!(self, Self::Ftl(FtlConfigError::NoRoom { .. }))
    }
}

/// What the parts of a store are made from.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedDevice {
    /// The array with its super-pages.
    pub layout: Layout,
    /// The layer's params.
    pub config: Config,
    /// How long blocks last, where that is modelled.
    pub endurance: Option<Endurance>,
}

impl DeviceParams {
    /// A device of that array and layer. `config` gives the unit and the knobs; what a store needs
    /// is set: contents, summaries, durable trims, and a write buffer of four super-pages a write
    /// point where there is none.
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

    /// Checks the numbers, and makes of them what the parts are made from.
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
        // So that one program is one vectored write.
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
