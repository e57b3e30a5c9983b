//! Repair: makes a damaged image servable again, and lists the data lost.

use crate::check::{CheckReport, check, joined};
use crate::engine::Engine;
use crate::error::{ImageError, IoError};
use crate::image::Image;
use crate::media::Backend;
use crate::salvage;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RepairReport {
    /// Byte ranges that cannot be proved to be current: they hold the newest version found, or
    /// zeros if there was none.
    pub unproven_ranges: Vec<Range<u64>>,
    /// Byte ranges that were unreadable and hold zeros now.
    pub zeroed_ranges: Vec<Range<u64>>,
    /// The findings of a check before the repair.
    pub before: CheckReport,
    /// The findings of a check after the repair.
    pub after: CheckReport,
}

/// Repairs an image in a file, accepting the loss of data.
pub fn repair(path: &Path, backend: Backend) -> Result<RepairReport, ImageError> {
    repair_on(|| Image::open(path, backend, true))
}

/// Repairs an image on a medium; `open` is called several times.
pub fn repair_on(open: impl Fn() -> Result<Image, ImageError>) -> Result<RepairReport, ImageError> {
    let image = open()?;
    let path = image.path.clone();
    let before = check(&image)?;
    let unit = image.offsets().unit;
    let capacity = image.device().capacity.0;
    let range = |unit_number: u32| {
        let from = u64::from(unit_number) * unit;
        from..(from + unit).min(capacity)
    };
    let unproven_ranges = joined(salvage::salvage(&image)?.unproven.units().map(range));
    let mut engine: Engine<Vec<u8>> = Engine::open_with_loss(image, &before.damaged_blocks)?;
    let fail = |fault: IoError| ImageError::io(&path, io::Error::other(fault));
    let zeroed_ranges = joined(engine.zeroed().map(range));
    engine.close().map_err(fail)?;
    drop(engine);
    let after = check(&open()?)?;
    Ok(RepairReport { unproven_ranges, zeroed_ranges, before, after })
}
