//! Where the entry of a key is: a hash table of 32 bits a slot.
//!
//! Buckets are cache lines: 15 slots, and how many keys whose home this is, or that passed on their
//! way, lie further on. So nothing is marked or moved when a key goes (as in Facebook's F14). A slot has the
//! place of an entry, from 1, and in the bits above as much of the key's hash as there is room
//! for: an entry is hardly ever looked at in vain.

use alloc::vec;
use alloc::vec::Vec;

const SLOTS: usize = 15;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Bucket {
    slots: [u32; SLOTS],
    /// Keys that found no slot here.
    passed: u32,
}

const EMPTY: Bucket = Bucket { slots: [0; SLOTS], passed: 0 };

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    buckets: Vec<Bucket>,
    /// Bits of a slot that have the place.
    bits: u32,
    /// Keys it has room for: four in five slots.
    room: usize,
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
        let room = (buckets * SLOTS * 4 / 5).min(1 << 31);
        Self { buckets: vec![EMPTY; buckets], bits: usize::BITS - room.leading_zeros(), room }
    }

    pub fn room(&self) -> usize {
        self.room
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
    pub fn touch(&self, hash: u64) -> u32 {
        self.buckets[self.home(hash)].passed
    }

    /// The place that `is` the key's.
    #[inline]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (tag, mask) = (self.tag(hash), u32::MAX << self.bits);
        let home = self.home(hash);
        let mut at = home;
        loop {
            let bucket = &self.buckets[at];
            let mut alike = 0_u32;
            for (i, slot) in bucket.slots.iter().enumerate() {
                alike |= u32::from(slot & mask == tag) << i;
            }
            while alike != 0 {
                let slot = bucket.slots[alike.trailing_zeros() as usize];
                alike &= alike - 1;
                // An empty slot is like a tag of zeros.
                if slot != 0 && is((slot & !mask) - 1) {
                    return Some((slot & !mask) - 1);
                }
            }
            if bucket.passed == 0 {
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
            if let Some(free) = bucket.slots.iter_mut().find(|slot| **slot == 0) {
                *free = slot;
                return;
            }
            bucket.passed += 1;
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
            if let Some(found) = bucket.slots.iter_mut().find(|s| **s == slot) {
                *found = 0;
                return;
            }
            bucket.passed -= 1;
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
            while index.buckets[home].passed == 0 {
                let key = keys.find(|key| index.home(hash(*key)) == home).expect("there is one");
                index.insert(hash(key), place);
                here.push((key, place));
                place += 1;
            }
            kept.extend(here.pop());
            here.iter().for_each(|(key, at)| index.remove(hash(*key), *at));
        }
        assert!(index.buckets.iter().all(|bucket| bucket.passed > 0));
        assert!(keys.take(1000).all(|key| index.find(hash(key), |_| false).is_none()));
        for (key, at) in &kept {
            assert_eq!(index.find(hash(*key), |found| found == *at), Some(*at));
        }
    }
}
