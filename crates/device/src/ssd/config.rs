//! A flash device on paper: what its TOML says, and whether it can exist.

use super::timing::TimingConfig;
use crate::SECTOR;
use gordon_ftl::{Config, ConfigError, Victim};
use gordon_nand::{Geometry, GeometryError, Layout, Shape, Timing};
use gordon_units::{Bytes, Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A flash device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdConfig {
    /// One line about the part.
    pub summary: String,
    /// Bytes exported.
    pub capacity: Sourced<Bytes>,
    /// The array.
    pub geometry: GeometryConfig,
    /// Its speed.
    pub timing: TimingConfig,
    /// The super-pages laid over it.
    pub super_page: SuperPage,
    /// The translation layer.
    #[serde(default)]
    pub ftl: FtlConfig,
    /// How long it lasts.
    pub endurance: Endurance,
    /// What it draws.
    pub power: Power,
}

/// The array: buses carry packages, packages hold dies, dies have planes of blocks of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeometryConfig {
    /// Buses.
    pub buses: Sourced<u32>,
    /// Packages on one bus.
    pub packages_per_bus: Sourced<u32>,
    /// Dies in one package.
    pub dies_per_package: Sourced<u32>,
    /// Planes of one die.
    pub planes_per_die: Sourced<u32>,
    /// Blocks of one plane.
    pub blocks_per_plane: Sourced<u32>,
    /// Pages of one block.
    pub pages_per_block: Sourced<u32>,
    /// Data of one page.
    pub page: Sourced<Bytes>,
    /// Out-of-band data of one page.
    pub oob: Sourced<Bytes>,
}

/// The super-pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuperPage {
    /// Data of one.
    pub size: Sourced<Bytes>,
    /// Over what it is striped; without it, over buses, then planes, then the dies of a bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeConfig>,
}

/// The rectangle of dies that a super-page is striped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeConfig {
    /// Buses.
    pub buses: u32,
    /// Dies of each of these buses.
    pub dies_per_bus: u32,
    /// Planes of each of these dies.
    pub planes: u32,
}

/// The knobs of the translation layer. What is left out follows from the array: a write point a
/// lane, bypassing and combining on, free blocks kept in proportion to the lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Write points; one a lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_points: Option<Sourced<u32>>,
    /// Read bypassing; on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Sourced<bool>>,
    /// Write combining; on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine: Option<Sourced<bool>>,
    /// Free blocks only for garbage collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Sourced<u32>>,
    /// Free blocks at which garbage collection starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_water: Option<Sourced<u32>>,
    /// Free blocks up to which it goes on in idle time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_water: Option<Sourced<u32>>,
}

/// How long the array lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endurance {
    /// Erases that a block lasts for.
    pub erase_budget: Sourced<u64>,
}

/// What the parts draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// One die at rest.
    pub die_idle: Sourced<Watts>,
    /// One die reading, programming or erasing.
    pub die_active: Sourced<Watts>,
    /// The controller at rest.
    pub controller_idle: Sourced<Watts>,
    /// The controller at work.
    pub controller_active: Sourced<Watts>,
    /// The controller's memory at rest.
    pub dram_idle: Sourced<Watts>,
    /// The controller's memory at work.
    pub dram_active: Sourced<Watts>,
}

/// Why a flash device cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SsdError {
    /// The array or its super-pages.
    #[error("flash array: {0}")]
    Geometry(#[from] GeometryError),
    /// The translation layer.
    #[error("flash translation layer: {0}")]
    Ftl(#[from] ConfigError),
    /// The capacity is not a positive multiple of the sector.
    #[error("capacity: {0} is not a positive multiple of {SECTOR}; round it")]
    Capacity(Bytes),
    /// More is exported than there is.
    #[error("capacity: {exported} exceed the array's {raw}; export less, for garbage needs room")]
    Raw {
        /// Bytes to be exported.
        exported: Bytes,
        /// Bytes there are.
        raw: Bytes,
    },
    /// The shape of the super-page has another size.
    #[error("super_page: a shape of {shape} is not its size, {size}; leave one out or correct it")]
    Shape {
        /// Size of the shape.
        shape: Bytes,
        /// Size given.
        size: Bytes,
    },
    /// A page is larger than any.
    #[error("geometry.{0}: more than 512KiB; give the size of one page")]
    Page(&'static str),
    /// The erase budget is zero.
    #[error("endurance.erase_budget: 0 erases; give at least 1")]
    Endurance,
}

impl SsdConfig {
    /// Checks that the device can exist.
    pub fn validate(&self) -> Result<(), SsdError> {
        self.resolve().map(|_| ())
    }

    /// Dies of the array: the parts that draw [`Power::die_idle`].
    pub fn dies(&self) -> u32 {
        let g = &self.geometry;
        *g.buses * *g.packages_per_bus * *g.dies_per_package
    }

    /// The array with its super-pages.
    pub fn layout(&self) -> Result<Layout, SsdError> {
        let g = &self.geometry;
        let bytes = |size: &Sourced<Bytes>, what| {
            let fits = u32::try_from(size.0).ok().filter(|&bytes| bytes <= 1 << 19);
            fits.ok_or(SsdError::Page(what))
        };
        let geometry = Geometry {
            buses: *g.buses,
            packages_per_bus: *g.packages_per_bus,
            dies_per_package: *g.dies_per_package,
            planes_per_die: *g.planes_per_die,
            blocks_per_plane: *g.blocks_per_plane,
            pages_per_block: *g.pages_per_block,
            page_bytes: bytes(&g.page, "page")?,
            oob_bytes: bytes(&g.oob, "oob")?,
        };
        geometry.validate()?;
        let size = *self.super_page.size;
        let shape = match self.super_page.shape {
            None => Shape::of_size(size, &geometry)?,
            Some(ShapeConfig { buses, dies_per_bus, planes }) => {
                Shape { buses, dies_per_bus, planes }
            }
        };
        let layout = Layout::new(geometry, shape)?;
        let shape = layout.page_bytes();
        if shape == size { Ok(layout) } else { Err(SsdError::Shape { shape, size }) }
    }

    /// What the parts of the device are made from.
    pub(super) fn resolve(&self) -> Result<(Layout, Config, Timing), SsdError> {
        let capacity = *self.capacity;
        if capacity == Bytes::ZERO || !capacity.0.is_multiple_of(SECTOR.0) {
            return Err(SsdError::Capacity(capacity));
        }
        if *self.endurance.erase_budget == 0 {
            return Err(SsdError::Endurance);
        }
        let layout = self.layout()?;
        let page = layout.page_bytes();
        let raw = layout.geometry().capacity();
        let too_much = SsdError::Raw { exported: capacity, raw };
        let exported = u32::try_from(capacity.0.div_ceil(page.0)).map_err(|_| too_much.clone())?;
        if capacity > raw {
            return Err(too_much);
        }
        let timing = self.timing.resolve();
        timing.validate()?;
        // At most 2^19 bytes a physical page, and 2^36 of these in a super-page.
        let sectors = u32::try_from(page.0 / SECTOR.0).map_err(|_| SsdError::Page("page"))?;
        let mut ftl = Config { victim: Victim::Greedy, ..Config::new(&layout, exported, sectors) };
        set(&mut ftl.write_points, self.ftl.write_points.as_ref());
        set(&mut ftl.bypass, self.ftl.bypass.as_ref());
        set(&mut ftl.combine, self.ftl.combine.as_ref());
        set(&mut ftl.reserve, self.ftl.reserve.as_ref());
        set(&mut ftl.low_water, self.ftl.low_water.as_ref());
        set(&mut ftl.idle_water, self.ftl.idle_water.as_ref());
        ftl.validate(&layout)?;
        Ok((layout, ftl, timing))
    }
}

fn set<T: Copy>(knob: &mut T, given: Option<&Sourced<T>>) {
    if let Some(given) = given {
        *knob = **given;
    }
}
