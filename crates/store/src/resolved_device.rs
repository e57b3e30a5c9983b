//! The device of an image in the form that the parts of a store use: the stored parameters
//! ([`DeviceParams`]), validated and completed with what the image format determines.

use crate::device::{DeviceParams, SECTOR};
use crate::faults::Faults;
use crate::format::summary;
use gordon_ftl::{Config, FtlConfigError};
use gordon_nand::{BLOCK_SURVIVAL, Endurance, EnduranceError, GeometryError, Layout};
use gordon_units::Bytes;
use thiserror::Error;

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
    #[error("capacity: {0} is {hint}", hint = capacity_hint(*.0))]
    Capacity(Bytes),
    /// The unit does not divide super-pages into whole sectors.
    #[error("unit: {0} does not divide super-pages of {1} into whole sectors")]
    Unit(Bytes, Bytes),
}

/// What is wrong with a capacity, and what to do.
fn capacity_hint(capacity: Bytes) -> String {
    if capacity == Bytes::ZERO || !capacity.0.is_multiple_of(SECTOR) {
        let nearest = (capacity.0.saturating_add(SECTOR / 2) / SECTOR).max(1) * SECTOR;
        return format!("not a positive multiple of 512 bytes; the nearest is {}", Bytes(nearest));
    }
    "2^32 units or more; give less, or a larger unit".into()
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
    /// Validates the parameters and converts them to the form that the parts of a store use.
    pub fn resolve(&self) -> Result<ResolvedDevice, DeviceError> {
        let params = &self.ftl;
        let layout = Layout::new(self.geometry, self.super_page)?;
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
            victim: params.victim.victim(params.choices),
            wear_spread: params.wear_spread,
            seed: self.seed,
            contents: true,
            ..Config::new(&layout, exported, sectors)
        };
        config.validate(&layout)?;
        let endurance = endurance(&self.faults, unit)?;
        Ok(ResolvedDevice { layout, config, endurance })
    }
}

/// Validates the rates of faults; returns the distribution of erase budgets if wear is modelled.
fn endurance(faults: &Faults, unit: Bytes) -> Result<Option<Endurance>, DeviceError> {
    for (rate, name) in [
        (faults.factory_bad, "factory_bad"),
        (faults.program_failures, "program_failures"),
        (faults.erase_failures, "erase_failures"),
        (faults.bit_errors, "bit_errors"),
    ] {
        if !(0.0..1.0).contains(&rate) {
            return Err(DeviceError::Rate(name));
        }
    }
    if !(0.0..1e6).contains(&faults.bit_error_growth) {
        return Err(DeviceError::Rate("bit_error_growth"));
    }
    let word = u64::from(faults.codeword);
    if !word.is_power_of_two() || word > unit.0 || !unit.0.is_multiple_of(word) {
        return Err(DeviceError::Codeword(faults.codeword, unit));
    }
    if faults.erase_budget == 0 {
        return Ok(None);
    }
    Ok(Some(Endurance::new(faults.erase_budget, faults.spread, BLOCK_SURVIVAL)?))
}
