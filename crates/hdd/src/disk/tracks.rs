//! The layout of a disk as a list of runs of sectors, the form in which measured drives are
//! described.

use super::error::{DiskConfigError, at_most};
use gordon_units::Divisor;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Consecutive sectors of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackExtent {
    /// Number of the first sector.
    pub lba: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Cylinder, counted from the outermost.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Index of the first sector on the track.
    pub sector: u32,
    /// Sectors that fit on the track.
    pub sectors_per_track: u32,
    /// Angle at which sector 0 of the track begins, in 2^-32 revolutions.
    pub angle: u32,
}

impl TrackExtent {
    fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    fn track(&self) -> (u32, u32) {
        (self.cylinder, self.head)
    }

    /// Time at which a sector of the track begins, in nanoseconds from angle 0.
    fn time(&self, sector: u64, revolution: Divisor) -> u64 {
        let turn = u128::from(revolution.get());
        let along = u128::from(sector) * turn / u128::from(self.sectors_per_track.max(1));
        let begins = (u128::from(self.angle) * turn + (1 << 31)) >> 32;
        let time = begins + along;
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// All extents of a disk, by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracks {
    extents: Arc<[TrackExtent]>,
    cylinders: u32,
}

/// Only the number of extents is serialised, since there are as many as tracks.
impl Serialize for Tracks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Count {
            extents: usize,
        }
        Count { extents: self.extents.len() }.serialize(to)
    }
}

impl Tracks {
    /// Creates a layout from extents in any order.
    ///
    /// # Errors
    /// Returns an error if a sector is missing, occurs twice, or does not fit on its track.
    pub fn new(mut extents: Vec<TrackExtent>) -> Result<Self, DiskConfigError> {
        extents.sort_unstable_by_key(|extent| extent.lba);
        let mut next = 0;
        for extent in &extents {
            let fits = u64::from(extent.sector) + u64::from(extent.sectors);
            at_most("sectors of a track", fits, extent.sectors_per_track.into())?;
            if extent.lba != next {
                return Err(DiskConfigError::Layout(next.min(extent.lba)));
            }
            next = extent.end();
        }
        if next == 0 {
            return Err(DiskConfigError::Layout(0));
        }
        let cylinders = extents.iter().map(|extent| extent.cylinder + 1).max().unwrap_or(0);
        Ok(Self { extents: extents.into(), cylinders })
    }

    /// Total number of sectors.
    pub fn sectors(&self) -> u64 {
        self.extents.last().map_or(0, TrackExtent::end)
    }

    /// Number of cylinders up to the last one in use.
    pub(crate) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Number of surfaces up to the last one in use.
    pub(crate) fn heads(&self) -> u32 {
        self.extents.iter().map(|extent| extent.head + 1).max().unwrap_or(0)
    }

    pub(crate) fn get(&self, at: u32) -> &TrackExtent {
        &self.extents[at as usize]
    }

    /// Index and content of the extent with a sector.
    pub(crate) fn find(&self, lba: u64) -> (u32, &TrackExtent) {
        let at = self.extents.partition_point(|extent| extent.lba <= lba) - 1;
        // The extents fit in memory, so their number fits in 32 bits.
        (u32::try_from(at).unwrap_or(u32::MAX), &self.extents[at])
    }

    /// First sector and end of the track of an extent.
    pub(crate) fn track(&self, at: u32) -> (u64, u64) {
        let (at, track) = (at as usize, self.get(at).track());
        let same = |extent: &&TrackExtent| extent.track() == track;
        let first = self.extents[..=at].iter().rev().take_while(same).last();
        let last = self.extents[at..].iter().take_while(same).last();
        let (first, last) = (first.unwrap_or(&self.extents[at]), last.unwrap_or(&self.extents[at]));
        (first.lba, last.end())
    }

    /// Time at which a sector on the track of an extent begins.
    pub(crate) fn course(&self, at: u32, sector: u64, revolution: Divisor) -> u64 {
        self.get(at).time(sector, revolution)
    }

    /// The shortest skew from a track to the next of the same cylinder, or to the next cylinder.
    pub(crate) fn least_skew(&self, next_cylinder: bool, revolution: Divisor) -> Option<u64> {
        let step = |two: &[TrackExtent]| {
            let (one, next) = (two[0], two[1]);
            let far = one.cylinder.abs_diff(next.cylinder);
            (one.track() != next.track() && far == u32::from(next_cylinder)).then(|| {
                let ends = one.time(u64::from(one.sector) + u64::from(one.sectors), revolution);
                let begins = next.time(next.sector.into(), revolution);
                let turn = revolution.get();
                (revolution.rest(begins) + turn - revolution.rest(ends)) % turn
            })
        };
        self.extents.windows(2).filter_map(step).min()
    }
}
