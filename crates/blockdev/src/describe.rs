//! The device parameters of an image, derived from a part of the catalogue.

use crate::error::BlockError;
use gordon_ssd::SsdConfig;
use gordon_store::{DeviceParams, Faults};
use gordon_units::Bytes;

/// A part of the catalogue, and the choices for an image of it.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part. Its capacity is the size of the exported device.
    pub config: SsdConfig,
    /// Name of the part.
    pub name: String,
    /// Seed of bad blocks, faults and random choices.
    pub seed: u64,
    /// Injected faults. The erase budget, its spread and the factory bad blocks are those of the
    /// part in any case.
    pub faults: Option<Faults>,
}

/// Largest mapping unit that is chosen if the part does not set one: the block size of most file
/// systems.
const UNIT: Bytes = Bytes(4096);

/// The device parameters of an image of the part. If the part does not set the mapping unit, it is
/// 4 KiB at most, so that a small write does not take a whole super-page. A small device gets
/// additional blocks until there are enough for the recovery reserve. An image uses every block,
/// also those that [`GeometryConfig::unused_blocks`](gordon_ssd::GeometryConfig) leaves out.
pub fn describe(part: &Part) -> Result<DeviceParams, BlockError> {
    let mut config = part.config.clone().in_blocks()?;
    if config.super_page.unit.is_none() && *config.super_page.size > UNIT {
        config.super_page.unit = Some(UNIT.into());
    }
    config.geometry.unused_blocks = None;
    let blocks = *config.geometry.blocks_per_plane;
    loop {
        let now = *config.geometry.blocks_per_plane;
        let more = now < 2 * blocks + 8;
        match params(&config, part) {
            Ok(device) => return Ok(device),
            Err(BlockError::Device(error)) if error.wants_room() && more => {}
            Err(BlockError::Part(error)) if error.wants_room() && more => {}
            Err(error) => return Err(error),
        }
        config.geometry.blocks_per_plane = (now + 1).into();
    }
}

fn params(config: &SsdConfig, part: &Part) -> Result<DeviceParams, BlockError> {
    let (layout, ftl_config, _) = config.parts(part.seed)?;
    let mut device = DeviceParams::new(&part.name, &layout, &ftl_config, *config.capacity);
    let endurance = &config.endurance;
    device.faults = Faults {
        erase_budget: *endurance.erase_budget,
        spread: endurance.spread.as_ref().map_or(0.0, |spread| **spread),
        factory_bad: endurance.factory_bad.as_ref().map_or(0.0, |part| **part),
        ..part.faults.unwrap_or_default()
    };
    device.resolve()?;
    Ok(device)
}
