//! Sets of one page each. An object is stored in the set of its key, and a set is written as a
//! whole.
//!
//! The objects that stay in a full set are chosen by RRIP (Jaleel and others, ISCA 2010), in the
//! variant of Kangaroo. Each object has a re-reference prediction value of three bits, which is
//! written with it, and a bit in memory that says whether it was requested since its set was last
//! written. When a set is written, requested objects get the value 0, soon. If not all objects fit,
//! the values of the old ones increase equally until the largest is 7, distant. Then objects stay
//! in the order of their values, old objects before new ones, as long as they fit. New objects have
//! the value 6, or 5 if they were requested in the log.

use super::{FlashStore, IoQueue};
use crate::index::hash;
use alloc::vec;
use alloc::vec::Vec;

/// Memory of the index for each set: a Bloom filter of 64 bits, in which an object sets four, and
/// 32 bits for requested objects.
pub(super) const INDEX_BYTES: u64 = 12;
const DISTANT: u8 = 7;

/// An object in a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetEntry {
    pub key: u64,
    pub size: u32,
    /// Whether it was requested since its set was last written.
    pub was_hit: bool,
    /// Re-reference prediction value, 0 to 7.
    pub rrpv: u8,
}

impl SetEntry {
    /// A new object, which may have been requested in the log.
    pub fn new(key: u64, size: u32, was_hit: bool) -> Self {
        Self { key, size, was_hit: false, rrpv: DISTANT - 1 - u8::from(was_hit) }
    }
}

#[derive(Clone, Debug, Default)]
struct Set {
    entries: Vec<SetEntry>,
    filter: u64,
}

pub(super) struct Sets {
    /// Offset of the first byte.
    base: u64,
    size: u32,
    sets: Vec<Set>,
}

/// The bits of a key in a Bloom filter.
fn bits(key: u64) -> u64 {
    let hash = hash(key);
    (0..4).fold(0, |bits, i| bits | 1 << (hash >> (6 * i) & 63))
}

impl Sets {
    /// Creates `sets` empty sets of `size` bytes.
    pub fn new(base: u64, sets: u64, size: u32) -> Self {
        assert!((1..1 << 31).contains(&sets), "{sets} sets");
        #[allow(clippy::cast_possible_truncation)] // see above
        Self { base, size, sets: vec![Set::default(); sets as usize] }
    }

    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The set of a key.
    pub fn set_of(&self, key: u64) -> usize {
        // The set must be independent of the bits of the filter.
        ((u128::from(hash(key.rotate_left(32))) * self.sets.len() as u128) >> 64) as usize
    }

    fn offset(&self, at: usize) -> u64 {
        self.base + at as u64 * u64::from(self.size)
    }

    /// Writes new objects into a set. Returns the new objects that did not fit.
    pub fn write(&mut self, at: usize, new: &[SetEntry], io_queue: &mut IoQueue) -> Vec<SetEntry> {
        let (offset, room) = (self.offset(at), u64::from(self.size));
        let set = &mut self.sets[at];
        if !set.entries.is_empty() {
            io_queue.read(offset, self.size);
        }
        for entry in &mut set.entries {
            if core::mem::take(&mut entry.was_hit) {
                entry.rrpv = 0;
            }
        }
        let bytes =
            |entries: &[SetEntry]| entries.iter().map(|entry| u64::from(entry.size)).sum::<u64>();
        if bytes(&set.entries) + bytes(new) > room {
            let farthest = set.entries.iter().map(|entry| entry.rrpv).max().unwrap_or(DISTANT);
            set.entries.iter_mut().for_each(|entry| entry.rrpv += DISTANT - farthest);
        }
        let olds = set.entries.len();
        let mut all: Vec<(usize, SetEntry)> =
            set.entries.drain(..).chain(new.iter().copied()).enumerate().collect();
        // The sort is stable, so old objects come before new ones with the same value.
        all.sort_by_key(|(_, entry)| entry.rrpv);
        let (mut held, mut out) = (0, Vec::new());
        let mut stays: Vec<(usize, SetEntry)> = Vec::with_capacity(all.len());
        for (from, entry) in all {
            if held + u64::from(entry.size) <= room {
                held += u64::from(entry.size);
                stays.push((from, entry));
            } else if from < olds {
                io_queue.counts.evicted += 1;
            } else {
                out.push(entry);
            }
        }
        // Restore the order in which they were inserted.
        stays.sort_by_key(|(from, _)| *from);
        set.entries.extend(stays.into_iter().map(|(_, entry)| entry));
        set.filter = set.entries.iter().fold(0, |filter, entry| filter | bits(entry.key));
        io_queue.write(offset, self.size);
        out
    }
}

impl FlashStore for Sets {
    fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool {
        let at = self.set_of(key);
        let (offset, bits) = (self.offset(at), bits(key));
        let set = &mut self.sets[at];
        if set.filter & bits != bits {
            return false;
        }
        io_queue.read(offset, self.size);
        match set.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.was_hit = true,
            None => {
                io_queue.counts.false_positives += 1;
                return false;
            }
        }
        true
    }

    fn insert(&mut self, key: u64, size: u32, io_queue: &mut IoQueue) {
        let at = self.set_of(key);
        let out = self.write(at, &[SetEntry::new(key, size, false)], io_queue);
        io_queue.counts.evicted += out.len() as u64;
    }

    fn index_bytes(&self) -> u64 {
        self.sets.len() as u64 * INDEX_BYTES
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.sets
            .iter()
            .flat_map(|set| &set.entries)
            .for_each(|entry| each(entry.key, entry.size.into()));
    }
}
