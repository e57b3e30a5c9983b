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
//! on Flash", SOSP 2021. The caller gets the reads and writes of flash in order, as [`Io`]; the
//! cache itself holds no data.

mod admission;
mod log;
mod log_sets;
mod sets;

pub use admission::{Admission, Budget};

use crate::store::{List, Store};
use admission::AdmissionPolicy;
use alloc::boxed::Box;
use alloc::vec::Vec;
use gordon_units::Ns;
use log::Log;
use log_sets::LogSets;
use sets::Sets;

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
    /// Objects that were requested while they were in the log are written to it again when their
    /// segment is evicted.
    pub reinsert: bool,
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
            Layout::LogSets => (self.flash as f64 * self.log_share) as u64,
        };
        share / segment * segment
    }

    /// Size of the largest object that fits into flash.
    pub fn largest(&self) -> u32 {
        match self.layout {
            Layout::Log => self.segment,
            Layout::Sets => self.set,
            Layout::LogSets => self.set.min(self.segment),
        }
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
    /// Bytes written to flash.
    pub written: u64,
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

/// The objects in flash, in some layout.
trait FlashStore: Send {
    /// Looks an object up, and reads it if it is there. Returns whether it is.
    fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool;

    /// Inserts an object that is not there.
    fn insert(&mut self, key: u64, size: u32, io_queue: &mut IoQueue);

    /// Memory in bytes that the index of a real implementation takes.
    fn index_bytes(&self) -> u64;

    /// Calls `each` with the key and size of every object.
    fn residents(&self, each: &mut dyn FnMut(u64, u64));
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

/// A cache in DRAM and flash.
pub struct Tiered {
    dram: u64,
    largest: u32,
    store: Store,
    list: List,
    admission: AdmissionPolicy,
    flash_store: Box<dyn FlashStore>,
    io_queue: IoQueue,
}

impl Tiered {
    /// Creates an empty cache with `dram` bytes of DRAM. `seed` determines the random draws.
    ///
    /// # Panics
    /// A layout with sets has no set, or a layout with a log has fewer than two segments.
    pub fn new(dram: u64, shape: &TieredShape, admission: Admission, seed: u64) -> Self {
        let flash_store: Box<dyn FlashStore> = match shape.layout {
            Layout::Log => Box::new(Log::new(0, shape.log(), shape)),
            Layout::Sets => Box::new(Sets::new(0, shape.sets(), shape.set)),
            Layout::LogSets => Box::new(LogSets::new(shape)),
        };
        Self {
            dram,
            largest: shape.largest(),
            store: Store::new(),
            list: List::new(),
            admission: AdmissionPolicy::new(admission, seed),
            flash_store,
            io_queue: IoQueue::default(),
        }
    }

    /// Serves a request that arrives at `at`, for an object of `size` bytes.
    pub fn access(&mut self, at: Ns, key: u64, size: u64) -> TierLookup {
        self.admission.advance(at, &self.io_queue.counts);
        if let Some(place) = self.store.find(key) {
            let entry = self.store.at_mut(place);
            entry.mark = (entry.mark + 1).min(u32::from(u16::MAX));
            self.list.move_to_front(&mut self.store, place);
            return TierLookup::Dram;
        }
        if self.flash_store.find(key, &mut self.io_queue) {
            return TierLookup::Flash;
        }
        let room = self.dram.saturating_sub(self.flash_store.index_bytes());
        if size <= room {
            let place = self.store.insert(key, size, 1);
            self.list.push(&mut self.store, place);
        }
        // Objects that DRAM evicts to flash make the index grow.
        while self.list.bytes > self.dram.saturating_sub(self.flash_store.index_bytes()) {
            self.evict();
        }
        TierLookup::Miss
    }

    /// Evicts the least recently used object from DRAM, and offers it to flash.
    fn evict(&mut self) {
        let place = self.list.oldest;
        let (entry, size) = (*self.store.at(place), self.store.size(place));
        self.list.unlink(&mut self.store, place);
        self.store.remove(place);
        self.io_queue.counts.offered += size;
        match u32::try_from(size) {
            Ok(fits) if fits <= self.largest => {
                if self.admission.admit(entry.key, size, entry.mark) {
                    self.io_queue.counts.admitted += size;
                    self.flash_store.insert(entry.key, fits, &mut self.io_queue);
                }
            }
            _ => self.io_queue.counts.dropped += 1,
        }
    }

    /// Sets the number of bytes that flash programs for each byte written to it. A [`Budget`]
    /// limits the bytes programmed.
    pub fn set_write_amplification(&mut self, factor: f64) {
        self.admission.write_amplification = factor;
    }

    /// The counts so far.
    pub fn counts(&self) -> TieredCounts {
        self.io_queue.counts
    }

    /// The reads and writes of flash since the last call, in order.
    pub fn io(&mut self) -> alloc::vec::Drain<'_, Io> {
        self.io_queue.io.drain(..)
    }

    /// The probability with which an offered object is admitted now, if the admission is random.
    pub fn admission_rate(&self) -> f64 {
        self.admission.rate()
    }

    /// Memory of the index of flash in bytes.
    pub fn index_bytes(&self) -> u64 {
        self.flash_store.index_bytes()
    }

    /// Number of objects in DRAM, and their bytes.
    pub fn in_dram(&self) -> (u64, u64) {
        (self.list.len, self.list.bytes)
    }

    /// Calls `each` with the tier, key and size of every object.
    pub fn residents(&self, each: &mut dyn FnMut(TierLookup, u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(TierLookup::Dram, key, size));
        self.flash_store.residents(&mut |key, size| each(TierLookup::Flash, key, size));
    }
}
