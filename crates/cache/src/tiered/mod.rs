//! Caches of small objects in DRAM and flash, like CacheLib and Kangaroo.
//!
//! A request finds its object in DRAM, in flash, or misses; after a miss the object is inserted
//! into DRAM. DRAM evicts the least recently used object and offers it to flash. An [`Admission`]
//! decides whether flash admits it, and a [`Layout`] where it is stored. An object is in one tier:
//! an object that is found in flash stays there. The index of the objects in flash takes memory
//! from DRAM ([`Tiered::index_bytes`]), which then holds fewer objects.
//!
//! | layout | location of an object | unit of writes | eviction |
//! |---|---|---|---|
//! | [`Layout::Log`] | anywhere | a segment | oldest segment; requested objects may be rewritten |
//! | [`Layout::Sets`] | the set of its key, a page | its set | within a set, see `sets` |
//! | [`Layout::LogSets`] | a log, later its set | segments; sets, for several | as in sets |
//!
//! The third layout is that of McAllister and others, "Kangaroo: Caching Billions of Tiny Objects
//! on Flash", SOSP 2021.
//!
//! [`TieredMachine`] is DRAM and a log, with sets behind it if they are wanted, for a driver that
//! has the bytes. [`Tiered`] simulates all layouts, those with a log by that machine: each action
//! is carried out at once. Its caller gets the reads and writes of flash in order, as [`Io`].

mod admission;
mod dram;
mod flash_index;
mod journal;
mod machine;
mod sets;
mod simulated;
mod simulated_log;
mod vocabulary;

pub use admission::{Admission, Budget};
pub use journal::{JournalSettings, JournalShape};
pub use machine::TieredMachine;
pub use sets::SetShape;
pub use simulated::Tiered;
pub use vocabulary::{
    Action, DirectoryEntry, LogObject, LogShape, ObjectSize, Place, Removal, SetArrival, SetChoice,
    SetResident,
};

use alloc::vec::Vec;

/// The layout of objects in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A log.
    Log,
    /// Sets.
    Sets,
    /// A log in front of sets.
    LogSets,
}

/// The flash and its layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieredShape {
    /// Size of the flash in bytes.
    pub flash: u64,
    /// Layout of the objects.
    pub layout: Layout,
    /// Size of a set in bytes.
    pub set: u32,
    /// Size of a segment of the log in bytes: one erase block, or several.
    pub segment: u32,
    /// Fraction of the flash that is the log, with [`Layout::LogSets`].
    pub log_share: f64,
    /// Minimum number of objects that move to a set together, with [`Layout::LogSets`]. Fewer
    /// objects are dropped.
    pub threshold: u32,
    /// Size of the largest object that moves to a set, with [`Layout::LogSets`]: at most that of a
    /// set. Larger objects stay in the log.
    pub set_largest: u32,
    /// Bytes by which an object is smaller in a set than in the log, with [`Layout::LogSets`].
    pub set_saving: u32,
    /// Objects that were requested while they were in the log are written to it again when their
    /// segment is evicted.
    pub reinsert: bool,
    /// The journal of removals, which lies behind the flash of the objects. With [`Layout::Sets`]
    /// there is none.
    pub journal: Option<JournalSettings>,
}

impl TieredShape {
    /// Number of sets.
    pub fn sets(&self) -> u64 {
        match self.layout {
            Layout::Log => 0,
            Layout::Sets => self.flash / u64::from(self.set),
            Layout::LogSets => (self.flash - self.log()) / u64::from(self.set),
        }
    }

    /// Memory of the index of all sets in bytes, which does not depend on their content.
    pub fn filters(&self) -> u64 {
        self.sets() * sets::INDEX_BYTES
    }

    /// Size of the log in bytes, a multiple of the segment size.
    pub fn log(&self) -> u64 {
        let segment = u64::from(self.segment);
        let share = match self.layout {
            Layout::Log => self.flash,
            Layout::Sets => 0,
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )] // of the flash, far below 2^53
            // A share that was computed from a number of segments gives that number.
            Layout::LogSets => (self.flash as f64 * self.log_share + 0.5) as u64,
        };
        share / segment * segment
    }
}

/// A read or write of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Whether it is a write.
    pub write: bool,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
}

/// The tier in which an object was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierLookup {
    /// DRAM.
    Dram,
    /// Flash.
    Flash,
    /// Neither. The object is in DRAM now, if it fits.
    Miss,
}

/// Counts of what happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TieredCounts {
    /// Bytes that DRAM evicted and offered to flash.
    pub offered: u64,
    /// Bytes that flash admitted.
    pub admitted: u64,
    /// Bytes that would have been admitted, but no segment could be opened without waiting.
    pub refused: u64,
    /// Bytes written to flash.
    pub written: u64,
    /// Those of them that were written to the journal of removals.
    pub journal: u64,
    /// Bytes read from flash, for requests and to rewrite sets.
    pub read: u64,
    /// Reads for requests that did not find their object, because a filter gave a false positive.
    pub false_positives: u64,
    /// Objects evicted from flash.
    pub evicted: u64,
    /// Objects written to the log again.
    pub reinserted: u64,
    /// Objects dropped because they were too few for their set, or too large for flash.
    pub dropped: u64,
}

/// The reads and writes of flash that the caller has not collected, and the counts so far.
#[derive(Clone, Debug, Default)]
struct IoQueue {
    counts: TieredCounts,
    io: Vec<Io>,
}

impl IoQueue {
    fn read(&mut self, offset: u64, bytes: u32) {
        self.counts.read += u64::from(bytes);
        self.io.push(Io { write: false, offset, bytes });
    }

    fn write(&mut self, offset: u64, bytes: u32) {
        self.counts.written += u64::from(bytes);
        self.io.push(Io { write: true, offset, bytes });
    }
}
