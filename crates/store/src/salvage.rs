//! Salvage: which units of a damaged image are proved to be current.
//!
//! A page that is missing may have held a newer version of any unit, but for those of which a copy,
//! or a record of a trim, is newer than any missing page can have been. After an orderly shutdown
//! more is known: where the digest of a group of units is that of what was found, all of the group
//! is as it was.

use crate::engine::{Engine, Payload};
use crate::error::ImageError;
use crate::format::digest;
use crate::image::{Image, LastShutdown};
use crate::image_scan::{ImageScan, ScanError, proofs};
use crate::mount::MountReport;
use gordon_ftl::Ftl;
use gordon_nand::{BlockProgress, ProgramOrderChecker};
use gordon_units::BlockId;
use std::collections::VecDeque;

/// Units that cannot be proved to be current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unproven {
    /// By unit.
    units: Vec<bool>,
    /// Bytes of one.
    unit: u64,
}

impl Unproven {
    /// Whether a range of bytes, not empty and inside the device, has such a unit.
    pub fn overlaps(&self, offset: u64, length: u64) -> bool {
        let units = offset / self.unit..=(offset + length - 1) / self.unit;
        units.into_iter().any(|unit| usize::try_from(unit).is_ok_and(|unit| self.units[unit]))
    }

    /// Their numbers.
    pub fn units(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.units).filter(|(_, unproven)| **unproven).map(|(unit, _)| unit)
    }
}

/// What is found in an image, to read alone.
pub(crate) struct Salvaged {
    pub ftl: Ftl,
    pub scan: ImageScan,
    pub unproven: Unproven,
}

/// Finds what can be proved.
pub(crate) fn salvage(image: &Image) -> Result<Salvaged, ImageError> {
    let (mount, scan) = ImageScan::of(image)?;
    let io = |error| ImageError::io(&image.path, error);
    let evidence = mount.evidence();
    let ftl =
        mount.into_frozen_ftl(VecDeque::new()).map_err(|why| ScanError::Mount(why).of(image))?;
    // No sequence number is as high as what may be missing where anything may be.
    let missing = scan.missing.iter().map(|missing| missing.sequence).max();
    let all = scan.damage(image).len() > scan.missing.len();
    let newest = if all { Some(u64::MAX) } else { missing };
    let proofs = match image.last_shutdown {
        LastShutdown::Closed => proofs(image, &ftl).map_err(io)?,
        LastShutdown::Killed | LastShutdown::Crashed => Vec::new(),
    };
    let is_proved = |(unit, &evidence): (usize, &u64)| {
        let superseding = newest.map(|newest| evidence > newest);
        match proofs.get(unit / digest::GROUP as usize).copied().flatten() {
            Some(true) => true,
            Some(false) => superseding == Some(true),
            None => superseding != Some(false),
        }
    };
    let units = evidence.iter().enumerate().map(|unit| !is_proved(unit)).collect();
    let unproven = Unproven { units, unit: image.offsets().unit };
    Ok(Salvaged { ftl, scan, unproven })
}

/// Brings up an image to read what can be proved.
pub(crate) fn open<P: Payload>(image: Image) -> Result<Engine<P>, ImageError> {
    let Salvaged { ftl, scan, unproven } = salvage(&image)?;
    let mut rules = ProgramOrderChecker::new(image.resolved().layout);
    for (at, (&next, &erases)) in (0..).zip(scan.next.iter().zip(&scan.erases)) {
        rules.set(BlockId(at), BlockProgress { next, erases, bad: false });
    }
    Ok(Engine::with(image, ftl, rules, MountReport::default()).salvaging(unproven))
}
