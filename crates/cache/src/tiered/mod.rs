//! Objects in DRAM and, below it, in flash: caches of small objects, as CacheLib and Kangaroo are.
//!
//! A request finds its object in DRAM (least recently used goes), in flash, or nowhere: then it is
//! let into DRAM. What leaves DRAM is offered to flash; an [`Admission`] takes it or not; a
//! [`Layout`] keeps it there. An object is in one place: one found in flash stays there. What
//! knowing the places in flash takes of memory is taken from DRAM ([`Tiered::index_bytes`]), so
//! that DRAM holds that much less of objects.
//!
//! | layout | where an object lies | what is written at a time | what goes |
//! |---|---|---|---|
//! | [`Layout::Log`] | anywhere | a segment | the oldest segment; what was asked for may be written again |
//! | [`Layout::Sets`] | in the set of its key, a page | its set | by set, see `sets` |
//! | [`Layout::LogSets`] | in a log first, then in its set | segments, and sets for several objects at once | as sets |
//!
//! The third is that of McAllister and others, "Kangaroo: Caching Billions of Tiny Objects on
//! Flash", SOSP 2021. The reads and writes of the io_queue that follow are handed out, in order, as
//! [`Io`].

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

/// Where objects lie in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One log.
    Log,
    /// Sets.
    Sets,
    /// A log before sets.
    LogSets,
}

/// The flash and what is done with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieredShape {
    /// Bytes of it.
    pub flash: u64,
    /// Where objects lie.
    pub layout: Layout,
    /// Bytes of a set.
    pub set: u32,
    /// Bytes of a segment of a log: of an erase block, or several.
    pub segment: u32,
    /// Of [`Layout::LogSets`], the part that is the log.
    pub log_share: f64,
    /// Of the same: as many objects as go to a set at once, at least; fewer are dropped.
    pub threshold: u32,
    /// What was asked for since it came into the log is written again when its segment goes.
    pub reinsert: bool,
}

impl TieredShape {
    /// Sets.
    pub fn sets(&self) -> u64 {
        match self.layout {
            Layout::Log => 0,
            Layout::Sets => self.flash / u64::from(self.set),
            Layout::LogSets => (self.flash - self.log()) / u64::from(self.set),
        }
    }

    /// Bytes of memory that all sets take, whatever lies in them.
    pub fn filters(&self) -> u64 {
        self.sets() * sets::INDEX_BYTES
    }

    /// Bytes of the log: whole segments.
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

    /// The largest object that fits.
    pub fn largest(&self) -> u32 {
        match self.layout {
            Layout::Log => self.segment,
            Layout::Sets => self.set,
            Layout::LogSets => self.set.min(self.segment),
        }
    }
}

/// Something that the medium does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// It writes.
    pub write: bool,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u32,
}

/// Where an object was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierLookup {
    /// In DRAM.
    Dram,
    /// In flash.
    Flash,
    /// Nowhere; it is in DRAM now, if it fits.
    Miss,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TieredCounts {
    /// Bytes that left DRAM: offered to flash.
    pub offered: u64,
    /// Of these, admitted.
    pub admitted: u64,
    /// Bytes written to flash.
    pub written: u64,
    /// Bytes read from it, for requests and to write sets again.
    pub read: u64,
    /// Reads for requests that found nothing: a filter was wrong.
    pub false_positives: u64,
    /// Objects that went from flash.
    pub evicted: u64,
    /// Objects written to the log again.
    pub reinserted: u64,
    /// Objects that were too few for their set, or too large for flash.
    pub dropped: u64,
}

/// What all layouts do.
trait FlashStore: Send {
    /// Whether an object is there.
    fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool;

    /// Takes an object that is not there.
    fn insert(&mut self, key: u64, size: u32, io_queue: &mut IoQueue);

    /// Bytes of memory that a real one takes to find them.
    fn index_bytes(&self) -> u64;

    /// Key and size of each.
    fn residents(&self, each: &mut dyn FnMut(u64, u64));
}

/// What is asked of the io_queue, and what was.
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

/// A cache of two levels.
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
    /// An empty one with so many bytes of DRAM; random draws follow from `seed`.
    ///
    /// # Panics
    /// Where there is not one set, or there are not two segments, in parts that have them.
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

    /// Serves a request that comes at `at` for an object of `size` bytes.
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
        // The index may have grown meanwhile.
        while self.list.bytes > self.dram.saturating_sub(self.flash_store.index_bytes()) {
            self.evict();
        }
        TierLookup::Miss
    }

    /// The least recently used leaves DRAM.
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

    /// Number of bytes that the medium programs for each byte written: a [`Budget`] is of what is
    /// programmed.
    pub fn set_write_amplification(&mut self, factor: f64) {
        self.admission.write_amplification = factor;
    }

    /// What was done so far.
    pub fn counts(&self) -> TieredCounts {
        self.io_queue.counts
    }

    /// What the medium has to do since this was last asked for.
    pub fn io(&mut self) -> alloc::vec::Drain<'_, Io> {
        self.io_queue.io.drain(..)
    }

    /// The part of offers that is admitted now, if it is drawn by lot.
    pub fn admission_rate(&self) -> f64 {
        self.admission.rate()
    }

    /// Bytes of memory that the places in flash take.
    pub fn index_bytes(&self) -> u64 {
        self.flash_store.index_bytes()
    }

    /// Objects in DRAM and their bytes.
    pub fn in_dram(&self) -> (u64, u64) {
        (self.list.len, self.list.bytes)
    }

    /// Calls `each` with level, key and size of all objects.
    pub fn residents(&self, each: &mut dyn FnMut(TierLookup, u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(TierLookup::Dram, key, size));
        self.flash_store.residents(&mut |key, size| each(TierLookup::Flash, key, size));
    }
}
