//! Configuration of a flash device: its TOML format, and checks of its consistency.

use super::error::SsdError;
use super::spare::Spare;
use super::startup::startup;
use super::timing::{LONGEST, TimingConfig};
use gordon_blockio::SECTOR;
use gordon_ftl::{Config, VictimPolicy};
use gordon_nand::{BLOCK_SURVIVAL, Endurance, Geometry, Layout, SuperPageShape, Timing};
use gordon_units::{BlockId, Bytes, Ns, Source, Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flash device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdConfig {
    /// One-line description of the part.
    pub summary: String,
    /// Price of the device: in US dollars in the shipped catalogue, in the currency of the space in
    /// a part of a space. The simulation does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Sourced<f64>>,
    /// Embodied carbon: kg of CO2-equivalent of manufacturing the device. The simulation does not
    /// use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embodied_kg: Option<Sourced<f64>>,
    /// Years of service that the manufacturer warrants, regardless of wear. The simulation does not
    /// use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rated_life_years: Option<Sourced<f64>>,
    /// Exported capacity in bytes. The rest of the array is over-provisioning.
    pub capacity: Sourced<Bytes>,
    /// Over-provisioning: the array has the exported capacity and this share of it, such as `18%`,
    /// rounded up to one super-block; `geometry.blocks_per_plane` has no effect then. Default: the
    /// array has `geometry.blocks_per_plane`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<Sourced<Spare>>,
    /// Flash array.
    pub geometry: GeometryConfig,
    /// Timing of flash operations and buses.
    pub timing: TimingConfig,
    /// Super-pages, striped over the array.
    pub super_page: SuperPage,
    /// Flash translation layer.
    #[serde(default)]
    pub ftl: FtlConfig,
    /// Host link. If it is left out, the link takes no time.
    #[serde(default, skip_serializing_if = "HostLink::is_empty")]
    pub host: HostLink,
    /// Endurance of the flash array.
    pub endurance: EnduranceConfig,
    /// Power consumption.
    pub power: Power,
}

/// Flash array: buses carry packages, packages contain dies, dies have planes, and planes have
/// blocks of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeometryConfig {
    /// Number of buses.
    pub buses: Sourced<u32>,
    /// Number of packages per bus.
    pub packages_per_bus: Sourced<u32>,
    /// Number of dies per package.
    pub dies_per_package: Sourced<u32>,
    /// Number of planes per die.
    pub planes_per_die: Sourced<u32>,
    /// Number of blocks per plane.
    pub blocks_per_plane: Sourced<u32>,
    /// Number of pages per block.
    pub pages_per_block: Sourced<u32>,
    /// Size of the data area of a page, in bytes.
    pub page: Sourced<Bytes>,
    /// Size of the out-of-band area of a page, in bytes.
    pub oob: Sourced<Bytes>,
    /// Number of super-blocks that are never used, one of a die group at most. It makes the raw
    /// capacity of a resized device exact, which would otherwise be a whole number of blocks in
    /// each plane. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_blocks: Option<Sourced<u32>>,
}

/// Super-pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuperPage {
    /// Size of the data area of a super-page, in bytes.
    pub size: Sourced<Bytes>,
    /// Buses, dies and planes that a super-page is striped over. If it is left out, a super-page is
    /// striped over buses first, then planes, then the dies of a bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeConfig>,
    /// Mapping unit: size of a logical page, in bytes. Default: the size of a super-page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Sourced<Bytes>>,
}

/// Buses, dies and planes that a super-page is striped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeConfig {
    /// Number of buses.
    pub buses: u32,
    /// Number of dies on each of these buses.
    pub dies_per_bus: u32,
    /// Number of planes of each of these dies.
    pub planes: u32,
}

/// Settings of the flash translation layer. Settings that are left out are derived from the array:
/// read bypassing and write combining on, and write points and free blocks in proportion to the die
/// groups, as far as the spare blocks allow. Spare blocks are those beyond the exported capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Number of write points. Default: one per die group, but at most a quarter of the spare
    /// blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_points: Option<Sourced<u32>>,
    /// Read bypassing: reads join a pending read of the same page, and the last page read is kept.
    /// Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Sourced<bool>>,
    /// Write combining: writes are merged into a pending write of the same page. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine: Option<Sourced<bool>>,
    /// Number of free blocks that only garbage collection may use. Default: the number of die
    /// groups, but at most 1/64 of the blocks and 1/16 of the spare blocks, and at least 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Sourced<u32>>,
    /// Low-water mark: number of free blocks at which garbage collection starts. The space left in
    /// open blocks counts as at most `low_water` - `reserve` free blocks. Default: twice the
    /// default of `reserve`, plus 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_water: Option<Sourced<u32>>,
    /// Number of free blocks up to which garbage collection runs in idle time, as long as the
    /// victim block is at most half valid. Default: four times the default of `reserve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_water: Option<Sourced<u32>>,
    /// Number of additional write points that only copies of garbage collection use; 0 to share the
    /// other write points. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_points: Option<Sourced<u32>>,
    /// Policy by which garbage collection selects its victim block. Default: `greedy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim: Option<Sourced<VictimPolicy>>,
    /// With victim policy `d-choices`: number of random blocks to compare. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Sourced<u32>>,
    /// Whether each block has a summary page, which records the logical pages in the block.
    /// Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Sourced<bool>>,
    /// Whether flushed data and trims survive a power cut: trims are logged on flash, and free
    /// blocks are kept for recovery. Requires `summary`. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<Sourced<bool>>,
    /// Memory of the controller, in bytes. Results have a warning if the mapping table (L2P) needs
    /// all of it or more; the simulation itself is not affected. Default: no check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_memory: Option<Sourced<Bytes>>,
    /// Size of the write buffer in bytes. Writes are acknowledged when they are in the buffer,
    /// before they are programmed. They are programmed when they fill a super-page, from half of
    /// the size on and in idle time; or when a flush or a durable write (FUA) demands it, or before
    /// a checkpoint. A full buffer takes a write when a program has made room. Default: no write
    /// buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<Sourced<Bytes>>,
    /// Power-loss protection: the write buffer keeps its content without power, so that flushes and
    /// durable writes are done when the data are in the buffer. Requires `write_buffer`; not
    /// together with `durable`. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<Sourced<bool>>,
    /// Number of super-pages of the write buffer that are programmed at a time, at most. Fewer
    /// leave more dies to reads. Default: as many as there are write points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Sourced<u32>>,
    /// Static wear levelling: maximum difference in erases between the most erased block and the
    /// least erased block that holds data. Beyond it, the latter block is emptied. 0 turns static
    /// wear levelling off. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_spread: Option<Sourced<u32>>,
}

/// Link between the host and the controller. A setting that is left out adds no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostLink {
    /// Bandwidth of the link in bytes per second. Requests are transferred sequentially. If it is
    /// left out, transfers take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Sourced<Bytes>>,
    /// Latency that the link and the controller add to each request. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Sourced<Ns>>,
}

impl HostLink {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Endurance of the flash array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnduranceConfig {
    /// Rated number of erases of a block.
    pub erase_budget: Sourced<u64>,
    /// Variation between blocks: relative standard deviation of the number of erases that a block
    /// endures. Nearly all blocks reach the rating. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Sourced<f64>>,
    /// Fraction of blocks that are bad from the factory. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factory_bad: Option<Sourced<f64>>,
}

/// Power consumption of the parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Power of an idle die.
    pub die_idle: Sourced<Watts>,
    /// Power of a die that reads, programs or erases.
    pub die_active: Sourced<Watts>,
    /// Power of the idle controller.
    pub controller_idle: Sourced<Watts>,
    /// Power of the active controller.
    pub controller_active: Sourced<Watts>,
    /// Power of the controller's idle DRAM.
    pub dram_idle: Sourced<Watts>,
    /// Power of the controller's active DRAM.
    pub dram_active: Sourced<Watts>,
}

/// Checked parameters from which the parts of a device are built.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub layout: Layout,
    pub ftl: Config,
    pub timing: Timing,
    pub endurance: Endurance,
    pub bad: Vec<BlockId>,
}

impl SsdConfig {
    /// Checks that the device is valid.
    pub fn validate(&self) -> Result<(), SsdError> {
        self.resolve(0).map(|_| ())
    }

    /// Number of dies in the array; each draws [`Power::die_idle`].
    pub fn dies(&self) -> u32 {
        let g = &self.geometry;
        *g.buses * *g.packages_per_bus * *g.dies_per_package
    }

    /// The geometry of the array, checked.
    fn array(&self) -> Result<Geometry, SsdError> {
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
            blocks_per_plane: self.rows()?.0,
            pages_per_block: *g.pages_per_block,
            page_bytes: bytes(&g.page, "page")?,
            oob_bytes: bytes(&g.oob, "oob")?,
        };
        geometry.validate()?;
        Ok(geometry)
    }

    /// The layout of super-pages on the array.
    pub fn layout(&self) -> Result<Layout, SsdError> {
        let geometry = self.array()?;
        let size = *self.super_page.size;
        let shape = match self.super_page.shape {
            None => SuperPageShape::of_size(size, &geometry)?,
            Some(ShapeConfig { buses, dies_per_bus, planes }) => {
                SuperPageShape { buses, dies_per_bus, planes }
            }
        };
        let layout = Layout::new(geometry, shape)?;
        let shape = layout.page_bytes();
        if shape == size { Ok(layout) } else { Err(SsdError::Shape { shape, size }) }
    }

    /// Raw data capacity of the array, without the blocks that are never used.
    ///
    /// # Errors
    /// Returns an error if the array is invalid.
    pub fn raw_capacity(&self) -> Result<Bytes, SsdError> {
        self.layout().map(|layout| self.raw_of(&layout))
    }

    /// The device with its over-provisioning as numbers of blocks.
    ///
    /// # Errors
    /// Returns an error if the array is invalid.
    pub fn in_blocks(mut self) -> Result<Self, SsdError> {
        if self.spare.is_some() {
            let (blocks, unused) = self.rows()?;
            self.geometry.blocks_per_plane = blocks.into();
            self.geometry.unused_blocks = (unused > 0).then(|| unused.into());
            self.spare = None;
        }
        Ok(self)
    }

    /// Blocks of a plane, and super-blocks that are never used.
    fn rows(&self) -> Result<(u32, u32), SsdError> {
        let g = &self.geometry;
        let Some(spare) = self.spare.as_ref().map(|spare| **spare) else {
            let unused = g.unused_blocks.as_ref().map_or(0, |blocks| **blocks);
            return Ok((*g.blocks_per_plane, unused));
        };
        let row = self.row()?;
        // Far below 2^53 for capacities of any practical size.
        #[allow(clippy::cast_precision_loss)]
        let blocks = self.capacity.0 as f64 * (1.0 + spare.0) / row.block_bytes().0 as f64;
        if blocks > f64::from(u32::MAX) {
            return Err(SsdError::MuchSpare(spare));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let blocks = (blocks.ceil() as u32).max(1);
        let rows = blocks.div_ceil(row.blocks());
        Ok((rows, rows.saturating_mul(row.blocks()) - blocks))
    }

    /// The array with one block in each plane.
    fn row(&self) -> Result<Layout, SsdError> {
        let mut row = self.clone();
        (row.spare, row.geometry.blocks_per_plane) = (None, 1.into());
        row.layout()
    }

    fn unused_blocks(&self) -> u32 {
        self.rows().map_or(0, |(_, unused)| unused)
    }

    pub(super) fn raw_of(&self, layout: &Layout) -> Bytes {
        let used = layout.blocks().saturating_sub(self.unused_blocks());
        layout.block_bytes() * u64::from(used)
    }

    /// The error of a device without room for garbage collection, in terms of its over-provisioning
    /// if that was given: the least share, in tenths of a per cent.
    fn no_room(&self, error: SsdError) -> SsdError {
        let Some(spare) = self.spare.as_ref().map(|spare| **spare) else { return error };
        let with = |tenths: u32| Self {
            spare: Some(Spare(f64::from(tenths) / 1000.0).into()),
            ..self.clone()
        };
        let can_be = |tenths: u32| with(tenths).resolve_parts(0).is_ok();
        let (mut small, mut enough) = (0, 1);
        while !can_be(enough) {
            if enough > 1 << 20 {
                return error;
            }
            (small, enough) = (enough, enough * 2);
        }
        while enough - small > 1 {
            let middle = small.midpoint(enough);
            *if can_be(middle) { &mut enough } else { &mut small } = middle;
        }
        let least = Spare(f64::from(enough) / 1000.0);
        SsdError::Spare { spare, capacity: *self.capacity, least }
    }

    /// Changes the capacity and keeps the fraction of over-provisioning: the number of blocks per
    /// plane scales with the capacity.
    ///
    /// # Errors
    /// Returns an error if the array is invalid.
    pub fn with_capacity(self, capacity: Bytes) -> Result<Self, SsdError> {
        let kept = self.provision_of(&self)?;
        Ok(self.scaled(&kept, capacity))
    }

    fn scaled(mut self, kept: &Provision, capacity: Bytes) -> Self {
        if self.spare.is_some() {
            self.capacity = capacity.into();
            return self;
        }
        let blocks = kept.blocks(capacity);
        let rows = blocks.div_ceil(kept.row_blocks.into()).max(1);
        self.geometry.blocks_per_plane = u32::try_from(rows).unwrap_or(u32::MAX).into();
        let unused = u64::from(kept.row_blocks) - 1 - (blocks - 1) % u64::from(kept.row_blocks);
        self.geometry.unused_blocks = (unused > 0).then(|| Sourced {
            // Less than a row.
            value: u32::try_from(unused).unwrap_or(u32::MAX),
            source: Source::Assumed(format!("the part needs {blocks} blocks for {capacity}")),
        });
        self.capacity = capacity.into();
        self
    }

    /// Applies the over-provisioning of `base` to this device, which is a changed copy of `base`.
    /// Without a `capacity`, the device exports the same fraction of its raw capacity as `base`.
    /// With a `capacity`, the array gets the blocks that this fraction requires, rounded up to one
    /// super-block. Planes have equal numbers of blocks; the surplus of the last row is unused.
    ///
    /// # Errors
    /// Returns an error if the array is invalid.
    pub fn provisioned_as(
        mut self,
        base: &Self,
        capacity: Option<Bytes>,
    ) -> Result<Self, SsdError> {
        if self.spare.is_some() {
            if let Some(capacity) = capacity {
                self.capacity = capacity.into();
            }
            return Ok(self);
        }
        let kept = self.provision_of(base)?;
        if let Some(capacity) = capacity {
            return Ok(self.scaled(&kept, capacity));
        }
        let raw = self.raw_capacity()?;
        if raw.0 != kept.raw {
            let unit = self.super_page.unit.as_ref().unwrap_or(&self.super_page.size).0;
            let value = Bytes(kept.exported(raw.0) / unit.max(1) * unit);
            let whole = Bytes(kept.raw);
            let why = format!("the part of {raw} raw that {} of {whole} is", *base.capacity);
            self.capacity = Sourced { value, source: Source::Assumed(why) };
        }
        Ok(self)
    }

    fn provision_of(&self, base: &Self) -> Result<Provision, SsdError> {
        let row = self.row()?;
        Ok(Provision {
            exported: base.capacity.0,
            raw: base.raw_capacity()?.0,
            block: row.block_bytes().0,
            row_blocks: row.blocks(),
        })
    }

    /// Checks that the device, [provisioned](Self::provisioned_as) as `base`, is valid.
    ///
    /// # Errors
    /// Returns the first error found. If the device is only too small, returns [`SsdError::Small`]
    /// with the least possible capacity.
    pub fn check_room(&self, base: &Self) -> Result<(), SsdError> {
        let Err(room @ SsdError::Room { .. }) = self.validate() else { return self.validate() };
        let (capacity, least) = (*self.capacity, self.least(&self.provision_of(base)?));
        Err(least.map_or(room, |least| SsdError::Small { capacity, least }))
    }

    /// Changes the capacity with [`Self::with_capacity`] and checks the result.
    ///
    /// # Errors
    /// Returns an error of [`Self::check_room`].
    pub fn resized(&self, capacity: Bytes) -> Result<Self, SsdError> {
        let resized = self.clone().with_capacity(capacity)?;
        resized.check_room(self)?;
        Ok(resized)
    }

    /// The least capacity, in steps of one super-block. It exists because write points and free
    /// blocks take space in the smallest device too.
    fn least(&self, kept: &Provision) -> Option<Bytes> {
        let part = |blocks: u32| {
            let bytes = kept.exported(kept.block.saturating_mul(blocks.into()));
            Bytes(bytes / SECTOR.0 * SECTOR.0)
        };
        let can_be = |capacity| self.clone().scaled(kept, capacity).validate().is_ok();
        let (mut small, mut enough) = (0, kept.row_blocks);
        // The layer's own blocks may outnumber the present blocks, so the upper bound is searched
        // first.
        while !can_be(part(enough)) {
            (small, enough) = (enough, enough.checked_mul(2)?);
        }
        while enough - small > 1 {
            let middle = small.midpoint(enough);
            *if can_be(part(middle)) { &mut enough } else { &mut small } = middle;
        }
        // Prefer a multiple of 1 MiB that needs the same number of blocks.
        let round = Bytes(part(enough).0 >> 20 << 20);
        Some(if can_be(round) { round } else { part(enough) })
    }

    /// The layout, the parameters of the translation layer and the timing, for programs that drive
    /// these parts without a device.
    pub fn parts(&self, seed: u64) -> Result<(Layout, Config, Timing), SsdError> {
        self.resolve(seed).map(|parts| (parts.layout, parts.ftl, parts.timing))
    }

    /// The time from power on until the map is rebuilt, computed from the part's timing.
    ///
    /// # Errors
    /// Returns an error if the device is invalid.
    pub fn startup(&self) -> Result<Ns, SsdError> {
        self.resolve(0).map(|parts| startup(&parts.layout, &parts.ftl, &parts.timing))
    }

    /// Checks the configuration and computes the parameters of all parts. Factory-bad blocks and
    /// random choices follow from the seed.
    pub(super) fn resolve(&self, seed: u64) -> Result<Resolved, SsdError> {
        self.resolve_parts(seed).map_err(|error| match error {
            SsdError::Room { .. } => self.no_room(error),
            other => other,
        })
    }

    /// Returns an error for a price, embodied carbon or rated life that no device has.
    fn check_ownership(&self) -> Result<(), SsdError> {
        for (key, amount) in [("price", &self.price), ("embodied_kg", &self.embodied_kg)] {
            if let Some(amount) = amount.as_ref().map(|amount| **amount)
                && !(amount.is_finite() && amount >= 0.0)
            {
                return Err(SsdError::Negative { key, value: amount });
            }
        }
        match self.rated_life_years.as_ref().map(|years| **years) {
            Some(years) if !(years.is_finite() && years > 0.0) => Err(SsdError::RatedLife(years)),
            _ => Ok(()),
        }
    }

    fn resolve_parts(&self, seed: u64) -> Result<Resolved, SsdError> {
        self.check_ownership()?;
        let capacity = *self.capacity;
        if capacity == Bytes::ZERO || !capacity.0.is_multiple_of(SECTOR.0) {
            return Err(SsdError::Capacity(capacity));
        }
        let e = &self.endurance;
        let spread = e.spread.as_ref().map_or(0.0, |spread| **spread);
        let endurance = Endurance::new(*e.erase_budget, spread, BLOCK_SURVIVAL)?;
        let factory_bad = e.factory_bad.as_ref().map_or(0.0, |part| **part);
        if !(0.0..1.0).contains(&factory_bad) {
            return Err(SsdError::FactoryBad(factory_bad.to_string()));
        }
        if self.host.link.as_ref().is_some_and(|link| **link < Bytes(1000)) {
            return Err(SsdError::Link);
        }
        self.timing.check().map_err(SsdError::Time)?;
        if self.timing.suspend.is_some() && !self.timing.resolve().modes.read_first {
            return Err(SsdError::Suspend);
        }
        if self.host.latency.as_ref().is_some_and(|latency| **latency > LONGEST) {
            return Err(SsdError::Time("host.latency"));
        }
        let layout = self.layout()?;
        let size = layout.page_bytes();
        let unit = self.super_page.unit.as_ref().map_or(size, |unit| **unit);
        let fits = unit.0 > 0 && unit.0.is_multiple_of(SECTOR.0) && size.0.is_multiple_of(unit.0);
        if !fits {
            return Err(SsdError::Unit { unit, size });
        }
        let raw = self.raw_of(&layout);
        let too_much = SsdError::Raw { exported: capacity, raw };
        let exported = u32::try_from(capacity.0.div_ceil(unit.0)).map_err(|_| too_much.clone())?;
        if capacity > raw {
            return Err(too_much);
        }
        let timing = self.timing.resolve();
        timing.validate()?;
        // A physical page has at most 2^19 bytes, and a super-page at most 2^36 physical pages.
        let sectors = u32::try_from(unit.0 / SECTOR.0).map_err(|_| SsdError::Page("page"))?;
        let mut ftl = Config::new(&layout, exported, sectors);
        ftl.slots = u32::try_from(size.0 / unit.0).map_err(|_| SsdError::Page("page"))?;
        (ftl.seed, ftl.contents) = (seed, false);
        let knobs = &self.ftl;
        if let Some(summary) = &knobs.summary {
            ftl.summary_pages = u32::from(**summary);
        }
        let row = layout.blocks() / layout.geometry().blocks_per_plane;
        if self.unused_blocks() >= row {
            return Err(SsdError::Unused { blocks: self.unused_blocks(), row });
        }
        let used = layout.blocks() - self.unused_blocks();
        ftl.fit_spare(used, &layout);
        set(&mut ftl.write_points, knobs.write_points.as_ref());
        set(&mut ftl.copy_points, knobs.copy_points.as_ref());
        set(&mut ftl.bypass, knobs.bypass.as_ref());
        set(&mut ftl.combine, knobs.combine.as_ref());
        set(&mut ftl.durable, knobs.durable.as_ref());
        set(&mut ftl.reserve, knobs.reserve.as_ref());
        set(&mut ftl.low_water, knobs.low_water.as_ref());
        set(&mut ftl.idle_water, knobs.idle_water.as_ref());
        set(&mut ftl.wear_spread, knobs.wear_spread.as_ref());
        let choices = knobs.choices.as_ref().map_or(2, |choices| **choices);
        ftl.victim =
            knobs.victim.as_ref().map(|policy| **policy).unwrap_or_default().victim(choices);
        let buffer = knobs.write_buffer.as_ref().map_or(Bytes::ZERO, |buffer| **buffer);
        if buffer > Bytes::ZERO && buffer < unit {
            return Err(SsdError::Buffer { buffer, unit });
        }
        ftl.write_buffer = u32::try_from(buffer.0 / unit.0).unwrap_or(u32::MAX);
        ftl.idle_drain = false;
        set(&mut ftl.protected, knobs.protected.as_ref());
        // A small array has fewer write points than dies.
        let most = ftl.write_points.max(layout.die_groups());
        let drain = knobs.drain.as_ref().map(|drain| **drain);
        ftl.drain =
            drain.map(|drain| if drain <= most { drain.min(ftl.write_points) } else { drain });
        if ftl.drain.is_some() && ftl.write_buffer == 0 {
            return Err(SsdError::NothingDrained);
        }
        let checked = ftl.validate(&layout).and_then(|()| ftl.check_room(used, &layout));
        checked.map_err(|error| SsdError::of(error, unit))?;
        if buffer > capacity {
            return Err(SsdError::LargeBuffer { buffer, capacity });
        }
        let mut bad = gordon_nand::factory_bad(&layout, factory_bad, seed);
        bad.extend(unused(&layout, self.unused_blocks()));
        bad.sort_unstable();
        bad.dedup();
        Ok(Resolved { layout, ftl, timing, endurance, bad })
    }
}

/// The ratio of exported to raw capacity of one device, and the blocks of another that gets the
/// same ratio.
struct Provision {
    exported: u64,
    raw: u64,
    /// Data capacity of a super-block.
    block: u64,
    /// Super-blocks of one row: one block in each plane.
    row_blocks: u32,
}

impl Provision {
    /// Capacity exported by a device with this raw capacity, rounded down.
    fn exported(&self, raw: u64) -> u64 {
        let bytes = u128::from(raw) * u128::from(self.exported) / u128::from(self.raw.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Super-blocks needed to export `capacity`, rounded up.
    fn blocks(&self, capacity: Bytes) -> u64 {
        let all = u128::from(capacity.0) * u128::from(self.raw);
        let each = u128::from(self.exported) * u128::from(self.block);
        u64::try_from(all.div_ceil(each.max(1))).unwrap_or(u64::MAX).max(1)
    }
}

/// Blocks that are never used: `count` of the last row, spread over the die groups.
fn unused(layout: &Layout, count: u32) -> impl Iterator<Item = BlockId> {
    let (blocks, rows) =
        (u64::from(layout.blocks()), u64::from(layout.geometry().blocks_per_plane));
    let (row, groups) = (blocks / rows, u64::from(layout.die_groups()));
    (0..u64::from(count)).map(move |n| {
        let at = n * row / u64::from(count);
        let (set, group) = (at / groups, at % groups);
        let block = (set * rows + rows - 1) * groups + group;
        BlockId(u32::try_from(block).unwrap_or(u32::MAX))
    })
}

fn set<T: Copy>(knob: &mut T, given: Option<&Sourced<T>>) {
    if let Some(given) = given {
        *knob = **given;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_an_array_without_capacity_names_no_maximum() {
        let text = |most| {
            SsdError::Room { exported: Bytes(9), raw: Bytes(9), most: Bytes(most) }.to_string()
        };
        assert!(text(4).contains("export at most 4B"), "{}", text(4));
        assert!(!text(0).contains("at most"), "{}", text(0));
    }
}
