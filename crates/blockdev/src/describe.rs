//! From a part of the catalogue to what an image is of.

use crate::error::BlockError;
use gordon_ssd::SsdConfig;
use gordon_store::{DeviceParams, Faults};
use gordon_units::Bytes;

/// What is chosen beside the part.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part, its capacity what is to be exported.
    pub config: SsdConfig,
    /// Its name.
    pub name: String,
    /// Of bad blocks, faults and random choices.
    pub seed: u64,
    /// Beside what the part says of erase budgets and bad blocks.
    pub faults: Option<Faults>,
}

/// The largest unit that is chosen where the part does not say: what most file systems write.
const UNIT: Bytes = Bytes(4096);

/// The device that an image of the part holds. Where the part does not say, units of 4 KiB are
/// mapped, so that small writes do not cost a super-page each. A small device gets as many blocks
/// more as it takes to keep those that recovery needs.
pub fn describe(part: &Part) -> Result<DeviceParams, BlockError> {
    let mut config = part.config.clone();
    if config.super_page.unit.is_none() && *config.super_page.size > UNIT {
        config.super_page.unit = Some(UNIT.into());
    }
    let blocks = *config.geometry.blocks_per_plane;
    loop {
        let now = *config.geometry.blocks_per_plane;
        let more = now < 2 * blocks + 8;
        match fixed(&config, part) {
            Ok(device) => return Ok(device),
            Err(BlockError::Device(error)) if error.wants_room() && more => {}
            Err(BlockError::Part(error)) if error.wants_room() && more => {}
            Err(error) => return Err(error),
        }
        config.geometry.blocks_per_plane = (now + 1).into();
    }
}

fn fixed(config: &SsdConfig, part: &Part) -> Result<DeviceParams, BlockError> {
    let (layout, knobs, _) = config.parts(part.seed)?;
    let mut device = DeviceParams::new(&part.name, &layout, &knobs, *config.capacity);
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
