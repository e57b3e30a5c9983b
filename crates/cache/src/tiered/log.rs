//! The simulated log in front of sets. A segment is written when it is full, and the oldest segment
//! is evicted to make space. Unlike the log of [`TieredMachine`](super::TieredMachine), its index has
//! an entry for each object, since all objects of a set move to it together.

use super::machine::INDEX_BYTES;
use super::{IoQueue, TieredShape};
use crate::store::{List, NONE, Store};
use alloc::vec;
use alloc::vec::Vec;

/// The bit of a mark that is set by a hit. The lower bits are the number of the segment.
const WAS_HIT: u32 = 1 << 30;

/// An object that was removed from the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removed {
    pub key: u64,
    pub size: u32,
    /// Whether it was requested since it was written to the log.
    pub was_hit: bool,
}

/// A log in a part of the flash.
pub(super) struct Log {
    /// Offset of its first byte.
    base: u64,
    segment: u32,
    reinsert: bool,
    pub store: Store,
    segments: Vec<List>,
    /// The segment that is being filled, in memory.
    open: usize,
    objects: u64,
}

impl Log {
    /// Creates an empty log of `bytes` bytes.
    pub fn new(base: u64, bytes: u64, shape: &TieredShape) -> Self {
        let segments = bytes / u64::from(shape.segment);
        assert!((2..1 << 30).contains(&segments), "a log of {segments} segments");
        Self {
            base,
            segment: shape.segment,
            reinsert: shape.reinsert,
            store: Store::new(),
            #[allow(clippy::cast_possible_truncation)] // see above
            segments: vec![List::new(); segments as usize],
            open: 0,
            objects: 0,
        }
    }

    fn offset(&self, segment: usize) -> u64 {
        self.base + segment as u64 * u64::from(self.segment)
    }

    /// Whether an object fits into the open segment.
    pub fn fits(&self, size: u32) -> bool {
        self.segments[self.open].bytes + u64::from(size) <= u64::from(self.segment)
    }

    /// Appends an object to the open segment, into which it must fit. Returns its entry.
    pub fn append(&mut self, key: u64, size: u32) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // fewer than 2^30 segments
        let place = self.store.insert(key, size.into(), self.open as u32);
        self.segments[self.open].push(&mut self.store, place);
        self.objects += 1;
        place
    }

    /// Removes an object. Its space is not reused until its segment is evicted.
    pub fn remove(&mut self, place: u32) -> Removed {
        let (key, mark) = (self.store.at(place).key, self.store.at(place).mark);
        let removed = Removed { key, size: self.size(place), was_hit: mark & WAS_HIT != 0 };
        let list = &mut self.segments[(mark & !WAS_HIT) as usize];
        let bytes = list.bytes;
        list.unlink(&mut self.store, place);
        list.bytes = bytes;
        self.store.remove(place);
        self.objects -= 1;
        removed
    }

    fn size(&self, place: u32) -> u32 {
        u32::try_from(self.store.size(place)).expect("an object fits a segment")
    }

    /// Writes the open segment and opens the oldest one. Its objects must be removed, from the
    /// [`oldest`](Self::oldest) on, before [`reinsert`](Self::reinsert) makes it usable.
    pub fn next_segment(&mut self, io_queue: &mut IoQueue) {
        io_queue.write(self.offset(self.open), self.segment);
        self.open = (self.open + 1) % self.segments.len();
    }

    /// The object that has been in the open segment for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        Some(self.segments[self.open].oldest).filter(|place| *place != NONE)
    }

    /// Empties the open segment. The removed objects in `again` are then reinserted as long as an
    /// object of `size` bytes still fits; `each` is called with the new place of each of them.
    pub fn reinsert(
        &mut self,
        again: &[Removed],
        size: u32,
        io_queue: &mut IoQueue,
        mut each: impl FnMut(u64, u32),
    ) {
        self.segments[self.open] = List::new();
        for entry in again {
            if self.fits(entry.size.saturating_add(size)) {
                each(entry.key, self.append(entry.key, entry.size));
                io_queue.counts.reinserted += 1;
            } else {
                io_queue.counts.evicted += 1;
            }
        }
    }

    /// Whether an object that was removed must be written to the log again.
    pub fn should_reinsert(&self, object: &Removed) -> bool {
        self.reinsert && object.was_hit
    }

    /// Looks an object up, and reads it if it is there. Returns whether it is.
    pub fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool {
        let Some(place) = self.store.find(key) else { return false };
        let size = self.size(place);
        let entry = self.store.at_mut(place);
        let segment = (entry.mark & !WAS_HIT) as usize;
        entry.mark |= WAS_HIT;
        // The open segment is in memory.
        if segment != self.open {
            io_queue.read(self.offset(segment), size);
        }
        true
    }

    /// Memory in bytes that the index of a real implementation takes.
    pub fn index_bytes(&self) -> u64 {
        self.objects * INDEX_BYTES
    }

    /// Calls `each` with the key and size of every object.
    pub fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(key, size));
    }
}
