//! Configuration of a cache.

use crate::error::Error;
use crate::format::PAGE;
use crate::format::object::UNIT;
use crate::format::superblock::Superblock;
use crate::nand::NandShape;
use gordon_cache::tiered::{Admission as Rule, Budget};
use gordon_units::Bytes;
use std::path::PathBuf;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Seconds of a year.
pub(crate) const YEAR_S: f64 = 365.25 * DAY_S;
/// Rated erases of a block of TLC flash, as `gordon cache tiered` assumes.
const ENDURANCE: u64 = 3000;
/// Smallest segment in bytes.
const SMALLEST_SEGMENT: u32 = 16 << 10;
/// Largest segment in bytes. An offset in a segment has 32 bits.
const LARGEST_SEGMENT: u32 = 1 << 30;

/// Configuration of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// DRAM in bytes for objects and for the index of those in flash. Segments that are being
    /// filled, written or read come on top, and one segment of objects that wait for the flash: at
    /// most six.
    pub dram: u64,
    /// The flash; `None` for a cache in DRAM only.
    pub flash: Option<Flash>,
    /// Size of a block in bytes. The body of a larger object is cached as blocks. At most a quarter
    /// of a segment; a larger value is reduced to that.
    pub block: u32,
    /// Seed of the random draws of admission, and of the hash of keys when the cache is created.
    pub seed: u64,
    /// File for a trace of the requests, which `gordon cache tiered` and `replay` read
    /// (`oracleGeneral`).
    pub trace: Option<PathBuf>,
}

impl Config {
    /// A cache of `dram` bytes in DRAM only, with blocks of 256 KiB.
    #[must_use]
    pub fn new(dram: u64) -> Self {
        Self { dram, flash: None, block: 256 << 10, seed: 1, trace: None }
    }
}

/// The flash of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// A file, a folder in which the file `cache.flash` is used, a block device, or a NAND image of
    /// `gordon block create`. A NAND image is used without a translation layer.
    pub path: PathBuf,
    /// Size in bytes. The cache never takes more. `None` for all of a NAND image, or the size with
    /// which its cache was created.
    pub size: Option<u64>,
    /// Size of a segment in bytes: the unit of writes and of eviction, one or several erase
    /// blocks. A multiple of 4 KiB; of an erase block of a NAND image. `None` for 256 KiB to 1 MiB:
    /// at least 256 segments, if possible, and at least an erase block.
    pub segment: Option<u32>,
    /// Admission of objects that DRAM evicts.
    pub admission: Admission,
    /// How long the flash must last. Admission keeps the bytes written within the budget; it
    /// cannot be combined with an admission other than [`Admission::All`].
    pub lifetime: Option<Lifetime>,
    /// Whether objects that were requested since they were written are written again when their
    /// segment is evicted. It costs writes, and reads of whole segments.
    pub reinsert: bool,
    /// Part of the flash for sets, from 0 to 1; `None` for a log only, or what the cache was
    /// created with. Objects of at most 1 KiB move from the log to a set of 4 KiB, and the index
    /// then takes 12 bytes a set instead of 10 an object. Not on a NAND image, nor with a lifetime.
    pub sets: Option<f64>,
}

impl Flash {
    /// A log that admits all objects.
    #[must_use]
    pub fn new(path: PathBuf, size: u64) -> Self {
        Self { size: Some(size), ..Self::image(path) }
    }

    /// A log that admits all objects, in all of a NAND image.
    #[must_use]
    pub fn image(path: PathBuf) -> Self {
        let admission = Admission::All;
        let (segment, lifetime, sets) = (None, None, None);
        Self { path, size: None, segment, admission, lifetime, reinsert: false, sets }
    }
}

/// Admission to flash of the objects that DRAM evicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// All objects.
    All,
    /// Each object with this probability.
    Random(f64),
    /// Objects with at least this number of requests in DRAM, including the one that stored them.
    Hits(u32),
    /// Objects that were offered before, within the last this many bytes of offers.
    Ghost(u64),
}

/// A promise of how long the flash lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// Years.
    pub years: f64,
    /// Rated erases of a block.
    pub endurance: u64,
}

/// What follows from a configuration.
pub(crate) struct Plan {
    pub admission: Rule,
    pub reinsert: bool,
    pub block: usize,
    pub endurance: u64,
    pub bytes_per_day: Option<f64>,
}

fn wrong<T>(key: &'static str, why: String, hint: &str) -> Result<T, Error> {
    Err(Error::Config { key, why, hint: hint.into() })
}

/// Number of sets that are this part of the flash.
pub(crate) fn sets(share: f64, superblock: &Superblock) -> Result<u32, Error> {
    if superblock.blocks.is_some() {
        let why = "sets are written a page at a time, which a NAND image does not allow".into();
        return wrong("sets", why, "no sets, or a file or block device");
    }
    if !(share > 0.0 && share < 1.0) {
        let why = format!("{share} is not a part of the flash above 0 and below 1");
        return wrong("sets", why, "0.9");
    }
    let space = superblock.size.saturating_sub(superblock.segments_at());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    // a part of the space, far below 2^53
    let count = (space as f64 * share) as u64 / PAGE as u64;
    match u32::try_from(count) {
        Ok(count) if (1..1 << 31).contains(&count) => Ok(count),
        _ => wrong("sets", format!("{count} sets of 4 KiB"), "from 1 to 2^31 of them"),
    }
}

impl Config {
    /// The superblock of a new cache on a file, or on NAND of this shape, with an identity and a
    /// time of 0. Checks the configuration.
    pub(crate) fn superblock(
        &self,
        flash: &Flash,
        nand: Option<NandShape>,
    ) -> Result<Superblock, Error> {
        let blocks = nand.map(|nand| nand.blocks);
        let capacity = nand.map(|nand| nand.capacity());
        let size = match (flash.size, capacity) {
            (Some(size), Some(len)) if size > len => {
                return Err(Error::DeviceTooSmall { path: flash.path.clone(), len, size });
            }
            (Some(size), _) | (None, Some(size)) => size,
            (None, None) => {
                let why = "a file or block device needs a size".into();
                return wrong("flash", why, "a size, or a NAND image");
            }
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // A part of the size.
        let log = (size as f64 * (1.0 - flash.sets.unwrap_or(0.0))) as u64;
        let share = u32::try_from(log / 256).unwrap_or(u32::MAX).clamp(256 << 10, 1 << 20);
        let block = blocks.map_or(1, |blocks| blocks.block);
        let segment = match flash.segment {
            None => (1 << share.ilog2()).max(block).next_multiple_of(block),
            Some(segment) if segment.is_multiple_of(block) => segment,
            Some(segment) => {
                let (segment, block) = (Bytes(segment.into()), Bytes(block.into()));
                let why = format!("{segment} is not whole erase blocks of {block}");
                return wrong("segment", why, &block.to_string());
            }
        };
        let seed = self.seed;
        let erases = 0;
        let new = Superblock { id: 0, size, segment, seed, created: 0, blocks, erases, sets: 0 };
        // Sets are a part of a flash that is large enough for a log.
        self.plan(&new)?;
        let sets = flash.sets.map_or(Ok(0), |share| sets(share, &new))?;
        let new = Superblock { sets, ..new };
        self.plan(&new)?;
        Ok(new)
    }

    /// Checks the configuration, for a cache with this superblock.
    pub(crate) fn plan(&self, superblock: &Superblock) -> Result<Plan, Error> {
        let block = usize::try_from(self.block).unwrap_or(usize::MAX) / UNIT * UNIT;
        if block == 0 {
            let why = format!("{} bytes is less than a unit of {UNIT}", self.block);
            return wrong("block", why, "256KiB");
        }
        let Some(flash) = &self.flash else {
            // All objects are offered to flash, and none is admitted.
            let admission = Rule::Random(0.0);
            let (reinsert, bytes_per_day, endurance) = (false, None, ENDURANCE);
            return Ok(Plan { admission, reinsert, block, endurance, bytes_per_day });
        };
        let Superblock { size, segment, .. } = *superblock;
        if !(SMALLEST_SEGMENT..=LARGEST_SEGMENT).contains(&segment) || !segment.is_multiple_of(4096)
        {
            let why = format!(
                "{} is not whole pages of 4 KiB from 16 KiB to 1 GiB",
                Bytes(segment.into())
            );
            return wrong("segment", why, "1MiB");
        }
        let segments = superblock.segments();
        if !(2..1 << 30).contains(&segments) {
            let (sets, remedy) = match superblock.sets {
                0 => (String::new(), "a smaller segment, or more flash"),
                sets => (format!(" and {sets} sets"), "a smaller part for sets, or more flash"),
            };
            let why = format!(
                "{} has {segments} segments of {} after the journal{sets}; one is filled as another \
                 is emptied",
                Bytes(size),
                Bytes(segment.into())
            );
            return wrong("flash", why, remedy);
        }
        if superblock.sets > 0 {
            if flash.lifetime.is_some() {
                let why =
                    "sets are written in any order, and what the flash copies then is not known";
                return wrong("lifetime", why.into(), "no lifetime, or no sets");
            }
            let filters = u64::from(superblock.sets) * 98 / 8;
            if self.dram <= filters {
                let (dram, filters) = (Bytes(self.dram), Bytes(filters));
                let why = format!("{dram}: the filters of {} sets take {filters}", superblock.sets);
                return wrong("dram", why, "more DRAM, or fewer sets");
            }
        }
        // Four blocks fill a segment, with their headers and entries.
        let quarter = (segment as usize / 4 - 1024) / UNIT * UNIT;
        let budget = self.budget(flash, segments * u64::from(segment))?;
        let admission = match (flash.admission, budget) {
            (Admission::All, Some(bytes_per_s)) => {
                // As in `gordon cache tiered`: about a hundred times per fill of the flash.
                Rule::Budget(Budget { bytes_per_s, every: size / 128 })
            }
            (_, Some(_)) => {
                let why = "a lifetime chooses what is admitted".into();
                return wrong("admission", why, "no admission with a lifetime");
            }
            (Admission::All, None) => Rule::All,
            (Admission::Random(part), None) if (0.0..=1.0).contains(&part) => Rule::Random(part),
            (Admission::Random(part), None) => {
                return wrong("admission", format!("{part} is not a probability"), "random:0.5");
            }
            (Admission::Hits(least), None) => Rule::Hits(least),
            (Admission::Ghost(bytes), None) => Rule::Ghost(bytes),
        };
        Ok(Plan {
            admission,
            reinsert: flash.reinsert,
            block: block.min(quarter),
            endurance: flash.lifetime.map_or(ENDURANCE, |lifetime| lifetime.endurance),
            bytes_per_day: budget.map(|bytes| bytes * DAY_S),
        })
    }

    /// Bytes a second that keep the lifetime. The flash programs what the cache writes: segments
    /// are whole erase blocks, which it need not copy (`assumed`).
    fn budget(&self, flash: &Flash, capacity: u64) -> Result<Option<f64>, Error> {
        let Some(Lifetime { years, endurance }) = flash.lifetime else { return Ok(None) };
        if !(years > 0.0 && years.is_finite()) || endurance == 0 {
            let why = format!("{years} years with {endurance} erases is not a lifetime");
            return wrong("lifetime", why, "5 years with 3000 erases");
        }
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let bytes = capacity as f64 * endurance as f64;
        Ok(Some(bytes / (years * YEAR_S)))
    }
}
