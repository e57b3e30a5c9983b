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
//!
//! [`Sets`] simulates sets with their objects. [`SetIndex`] is what a cache with bytes has in
//! memory.

use super::IoQueue;
use crate::index::hash;
use alloc::vec;
use alloc::vec::Vec;

/// Memory of the index for each set: a Bloom filter of 64 bits, in which an object sets four, and
/// 32 bits for requested objects.
pub(super) const INDEX_BYTES: u64 = 12;
const DISTANT: u8 = 7;

/// An object in a set, or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetEntry {
    /// Hash of its key.
    pub key: u64,
    /// Size in its set in bytes.
    pub size: u32,
    /// Whether it was requested since its set was last written.
    pub was_hit: bool,
    /// Re-reference prediction value, 0 to 7.
    pub rrpv: u8,
}

impl SetEntry {
    /// A new object, which may have been requested in the log.
    #[must_use]
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
    pub fn new(sets: u64, size: u32) -> Self {
        assert!((1..1 << 31).contains(&sets), "{sets} sets");
        #[allow(clippy::cast_possible_truncation)] // see above
        Self { size, sets: vec![Set::default(); sets as usize] }
    }

    /// The set of a key.
    fn set_of(&self, key: u64) -> usize {
        // The set must be independent of the bits of the filter.
        ((u128::from(hash(key.rotate_left(32))) * self.sets.len() as u128) >> 64) as usize
    }

    fn offset(&self, at: usize) -> u64 {
        at as u64 * u64::from(self.size)
    }

    /// Looks an object up, and reads its set if the filter matches. Returns whether it is there.
    pub fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool {
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

    /// Inserts an object that is not there.
    pub fn insert(&mut self, key: u64, size: u32, io_queue: &mut IoQueue) {
        let at = self.set_of(key);
        self.write(at, SetEntry::new(key, size, false), io_queue);
    }

    /// Memory in bytes that the index of a real implementation takes.
    pub fn index_bytes(&self) -> u64 {
        self.sets.len() as u64 * INDEX_BYTES
    }

    /// Calls `each` with the key and size of every object.
    pub fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.sets
            .iter()
            .flat_map(|set| &set.entries)
            .for_each(|entry| each(entry.key, entry.size.into()));
    }

    /// Writes a set with a new object.
    fn write(&mut self, at: usize, new: SetEntry, io_queue: &mut IoQueue) {
        let offset = self.offset(at);
        let set = &mut self.sets[at];
        if !set.entries.is_empty() {
            io_queue.read(offset, self.size);
        }
        let olds = set.entries.len();
        set.entries.push(new);
        let mut stays = choose(&mut set.entries, olds, self.size).into_iter();
        let before = set.entries.len();
        set.entries.retain(|_| stays.next() == Some(true));
        io_queue.counts.evicted += (before - set.entries.len()) as u64;
        set.filter = set.entries.iter().fold(0, |filter, entry| filter | bits(entry.key));
        io_queue.write(offset, self.size);
    }
}

/// Chooses the objects that stay in a set of `capacity` bytes, and updates their values. The first
/// `olds` objects are in the set already.
fn choose(entries: &mut [SetEntry], olds: usize, capacity: u32) -> Vec<bool> {
    for entry in entries.iter_mut() {
        if core::mem::take(&mut entry.was_hit) {
            entry.rrpv = 0;
        }
    }
    let bytes = entries.iter().map(|entry| u64::from(entry.size)).sum::<u64>();
    let old = &mut entries[..olds];
    if bytes > capacity.into() {
        let farthest = old.iter().map(|entry| entry.rrpv).max().unwrap_or(DISTANT);
        old.iter_mut().for_each(|entry| entry.rrpv += DISTANT - farthest);
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    // The sort is stable, so old objects come before new ones with the same value.
    order.sort_by_key(|number| entries[*number].rrpv);
    let mut stays = vec![false; entries.len()];
    let mut held = 0;
    for number in order {
        let size = u64::from(entries[number].size);
        if held + size <= capacity.into() {
            held += size;
            stays[number] = true;
        }
    }
    stays
}

/// Sets for small objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetShape {
    /// Number of sets.
    pub sets: u32,
    /// Bytes that a write of a set takes.
    pub bytes: u32,
    /// Bytes of a set for objects.
    pub capacity: u32,
    /// Bytes in the log of the largest object that moves to a set.
    pub largest: u32,
    /// Minimum number of objects that move to a set together.
    pub threshold: u32,
}

/// What is in memory of sets whose objects are elsewhere: for each a filter of its objects, and a
/// bit for each of 32 objects that says whether it was requested.
pub(super) struct SetIndex {
    pub shape: SetShape,
    filters: Vec<u64>,
    hits: Vec<u32>,
    /// A bit for each set whose filter is that of its content. The others were not read since the
    /// start, and their filters match every object.
    known: Vec<u64>,
    /// Objects in known sets.
    pub objects: u64,
}

impl SetIndex {
    /// The index of sets whose content is not known.
    pub fn new(shape: SetShape) -> Self {
        let sets = shape.sets as usize;
        let (filters, hits) = (vec![u64::MAX; sets], vec![0; sets]);
        Self { shape, filters, hits, known: vec![0; sets.div_ceil(64)], objects: 0 }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.shape.sets) * INDEX_BYTES + self.known.len() as u64 * 8
    }

    pub fn is_known(&self, set: u32) -> bool {
        self.known[set as usize / 64] >> (set % 64) & 1 == 1
    }

    /// Whether a set may have an object.
    pub fn may_have(&self, set: u32, key: u64) -> bool {
        let bits = bits(key);
        self.filters[set as usize] & bits == bits
    }

    /// Marks the object at a position of a set as requested.
    pub fn mark_hit(&mut self, set: u32, position: usize) {
        self.hits[set as usize] |= 1 << (position % 32);
    }

    /// Whether the object at a position of a set was requested since its set was last written.
    pub fn was_hit(&self, set: u32, position: usize) -> bool {
        self.hits[set as usize] >> (position % 32) & 1 == 1
    }

    /// Chooses the objects that stay in a set, and updates their values. The first `olds` objects
    /// are in the set already.
    pub fn choose(&mut self, set: u32, entries: &mut [SetEntry], olds: usize) -> Vec<bool> {
        self.hits[set as usize] = 0;
        choose(entries, olds, self.shape.capacity)
    }

    /// A set may have these objects as well from now on.
    pub fn extend(&mut self, set: u32, keys: &[u64]) {
        self.filters[set as usize] |= keys.iter().fold(0, |filter, key| filter | bits(*key));
    }

    /// A set has these objects. `before` is the number of objects that it had, if it was known.
    pub fn know(&mut self, set: u32, keys: &[u64], before: u64) {
        if self.is_known(set) {
            self.objects -= before;
        }
        self.known[set as usize / 64] |= 1 << (set % 64);
        self.filters[set as usize] = keys.iter().fold(0, |filter, key| filter | bits(*key));
        self.objects += keys.len() as u64;
    }

    /// A set may have any objects. `before` is the number of objects that it had, if it was known.
    pub fn forget(&mut self, set: u32, before: u64) {
        if self.is_known(set) {
            self.objects -= before;
        }
        self.known[set as usize / 64] &= !(1 << (set % 64));
        self.filters[set as usize] = u64::MAX;
    }
}
