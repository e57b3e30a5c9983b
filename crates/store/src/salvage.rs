//! Salvage: determines which units of a damaged image are proved to be current.
//!
//! A missing page may have held a newer version of any unit, except units with a copy or a trim
//! record newer than any missing page can have been. After an orderly shutdown there is more
//! evidence: if the digest of a group of units matches the contents found, the whole group is
//! current.

use crate::error::ImageError;
use crate::format::digest;
use crate::image::{Image, LastShutdown};
use crate::image_scan::{ImageScan, ScanError, proofs};
use gordon_ftl::Ftl;
use std::collections::VecDeque;

/// The units that cannot be proved to be current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unproven {
    /// By unit: whether it is unproven.
    units: Vec<bool>,
    /// Bytes of a unit.
    unit: u64,
}

impl Unproven {
    /// Whether a byte range contains an unproven unit; the range must be non-empty and inside the
    /// device.
    pub fn overlaps(&self, offset: u64, length: u64) -> bool {
        let units = offset / self.unit..=(offset + length - 1) / self.unit;
        units.into_iter().any(|unit| usize::try_from(unit).is_ok_and(|unit| self.units[unit]))
    }

    /// The numbers of the unproven units.
    pub fn units(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.units).filter(|(_, unproven)| **unproven).map(|(unit, _)| unit)
    }
}

/// A read-only layer on the contents found in an image.
pub(crate) struct Salvaged {
    pub ftl: Ftl,
    pub scan: ImageScan,
    pub unproven: Unproven,
}

/// Determines which units can be proved.
pub(crate) fn salvage(image: &Image) -> Result<Salvaged, ImageError> {
    let (mount, scan) = ImageScan::of(image)?;
    let io = |error| ImageError::io(&image.path, error);
    let evidence = mount.evidence();
    let ftl =
        mount.into_frozen_ftl(VecDeque::new()).map_err(|why| ScanError::Mount(why).of(image))?;
    // If arbitrary data may be missing, no sequence number is high enough to prove a unit.
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
