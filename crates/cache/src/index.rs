//! Where the entry of a key is: a hash table of 32 bits a slot.
//!
//! Buckets are cache lines: 15 slots, and how many keys whose home this is, or that passed on their
//! way, lie further on. So nothing is marked or moved when a key goes (as in Facebook's F14). A
//! slot has the place of an entry, from 1, and in the bits above as much of the key's hash as there
//! is room for: an entry is hardly ever looked at in vain.

use alloc::vec;
use alloc::vec::Vec;

const SLOTS: usize = 15;
/// The word of a bucket behind its slots: keys that found no slot here.
const OVERFLOWED: usize = SLOTS;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Bucket([u32; SLOTS + 1]);

const EMPTY: Bucket = Bucket([0; SLOTS + 1]);

impl Bucket {
    /// The words that are like this one under the mask: a bit each, above the lowest. All of them
    /// are compared matches, so that compilers do it with vectors; what is not a slot is told by
    /// [`first`].
    #[inline]
    fn matches(&self, mask: u32, like: u32) -> u32 {
        (1..).zip(&self.0).fold(0, |bits, (bit, word)| bits | u32::from(word & mask == like) << bit)
    }

    /// The first slot that has this content.
    #[inline]
    fn first(&mut self, content: u32) -> Option<&mut u32> {
        Some(&mut self.0[first(self.matches(u32::MAX, content))?])
    }
}

/// The first slot of the words matches.
#[inline]
fn first(matches: u32) -> Option<usize> {
    let slot = matches.trailing_zeros() as usize - 1;
    (slot < SLOTS).then_some(slot)
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    buckets: Vec<Bucket>,
    /// Bits of a slot that have the place.
    bits: u32,
    /// Keys it has room for: four in five slots.
    capacity: usize,
}

/// Both halves of the product of 128 bits are used: as in wyhash.
#[inline]
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
    ((product >> 64) as u64) ^ (product as u64)
}

impl Index {
    /// With room for at least so many keys.
    pub fn new(keys: usize) -> Self {
        let buckets = (keys * 5).div_ceil(SLOTS * 4).max(1);
        let capacity = (buckets * SLOTS * 4 / 5).min(1 << 31);
        Self {
            buckets: vec![EMPTY; buckets],
            bits: usize::BITS - capacity.leading_zeros(),
            capacity,
        }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn memory(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    /// The part of a slot that is not the place.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash as u32) << self.bits
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// Asks memory for the bucket of a key.
    #[inline]
    pub fn prefetch(&self, hash: u64) -> u32 {
        self.buckets[self.home(hash)].0[OVERFLOWED]
    }

    /// The place that `is` the key's.
    #[inline]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (tag, mask) = (self.tag(hash), u32::MAX << self.bits);
        let home = self.home(hash);
        let mut at = home;
        loop {
            let bucket = &self.buckets[at];
            let mut matches = bucket.matches(mask, tag);
            while let Some(slot) = first(matches) {
                let content = bucket.0[slot];
                matches &= matches - 1;
                // An empty slot is like a tag of zeros.
                if content != 0 && is((content & !mask) - 1) {
                    return Some((content & !mask) - 1);
                }
            }
            if bucket.0[OVERFLOWED] == 0 {
                return None;
            }
            at = self.after(at);
            // Keys can have passed every bucket, while each has free slots since.
            if at == home {
                return None;
            }
        }
    }

    /// Adds a key that is not there; there is room for it.
    #[inline]
    pub fn insert(&mut self, hash: u64, place: u32) {
        let slot = self.tag(hash) | (place + 1);
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(free) = bucket.first(0) {
                *free = slot;
                return;
            }
            bucket.0[OVERFLOWED] += 1;
            at = self.after(at);
        }
    }

    /// Takes a key out that is there.
    #[inline]
    pub fn remove(&mut self, hash: u64, place: u32) {
        let slot = self.tag(hash) | (place + 1);
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(found) = bucket.first(slot) {
                *found = 0;
                return;
            }
            bucket.0[OVERFLOWED] -= 1;
            at = self.after(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_there_is_not_looked_for_for_ever() {
        let mut index = Index::new(64);
        let mut keys = 0_u64..;
        let mut kept = Vec::new();
        let mut place = 0;
        for home in 0..index.buckets.len() {
            // One more key than there is room for in its bucket; all but that one go again.
            let mut here = Vec::new();
            while index.buckets[home].0[OVERFLOWED] == 0 {
                let key = keys.find(|key| index.home(hash(*key)) == home).expect("there is one");
                index.insert(hash(key), place);
                here.push((key, place));
                place += 1;
            }
            kept.extend(here.pop());
            here.iter().for_each(|(key, at)| index.remove(hash(*key), *at));
        }
        assert!(index.buckets.iter().all(|bucket| bucket.0[OVERFLOWED] > 0));
        assert!(keys.take(1000).all(|key| index.find(hash(key), |_| false).is_none()));
        for (key, at) in &kept {
            assert_eq!(index.find(hash(*key), |found| found == *at), Some(*at));
        }
    }
}
