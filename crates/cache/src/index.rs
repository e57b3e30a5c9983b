//! A hash table with slots of 32 bits that maps keys to the places of their entries.
//!
//! A bucket is a cache line: 15 slots, and a count of the keys that found it full and overflowed to
//! a later bucket. The count makes tombstones unnecessary, as in Facebook's F14. A slot holds the
//! place of an entry plus 1, and a tag in the bits above: as many bits of the key's hash as fit.
//! Few lookups therefore read an entry of another key.

use alloc::vec;
use alloc::vec::Vec;

const SLOTS: usize = 15;
/// The word behind the slots of a bucket: the number of keys that found no free slot here.
const OVERFLOWED: usize = SLOTS;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Bucket([u32; SLOTS + 1]);

const EMPTY: Bucket = Bucket([0; SLOTS + 1]);

impl Bucket {
    /// A bit set of the words that equal `value` under the mask; bit 0 is unused. All 16 words are
    /// compared, so that the compiler can vectorise the loop; [`first`] ignores the last, which is
    /// not a slot.
    #[inline]
    fn matches(&self, mask: u32, value: u32) -> u32 {
        (1..)
            .zip(&self.0)
            .fold(0, |bits, (bit, word)| bits | u32::from(word & mask == value) << bit)
    }

    /// The first slot with this content.
    #[inline]
    fn first(&mut self, content: u32) -> Option<&mut u32> {
        Some(&mut self.0[first(self.matches(u32::MAX, content))?])
    }
}

/// The first slot in a bit set of [`Bucket::matches`].
#[inline]
fn first(matches: u32) -> Option<usize> {
    let slot = matches.trailing_zeros() as usize - 1;
    (slot < SLOTS).then_some(slot)
}

/// The hash table.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    buckets: Vec<Bucket>,
    /// Number of bits of a slot that hold the place.
    bits: u32,
    /// Maximum number of keys: four fifths of the slots.
    capacity: usize,
}

/// Hashes a key, like wyhash: the two halves of a 128-bit product, combined.
#[inline]
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
    ((product >> 64) as u64) ^ (product as u64)
}

impl Index {
    /// An empty table for at least this number of keys.
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

    /// The tag of a key: the bits of a slot above the place.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash as u32) << self.bits
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// Brings the bucket of a key into the CPU cache. The caller must keep the result from being
    /// optimised away.
    #[inline]
    pub fn prefetch(&self, hash: u64) -> u32 {
        self.buckets[self.home(hash)].0[OVERFLOWED]
    }

    /// The place of the key: `is` decides whether a place with a matching tag is that of the key.
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
                // An empty slot also matches a tag of zero.
                if content != 0 && is((content & !mask) - 1) {
                    return Some((content & !mask) - 1);
                }
            }
            if bucket.0[OVERFLOWED] == 0 {
                return None;
            }
            at = self.after(at);
            // Every bucket may have overflowed at some time, so the search ends after one round.
            if at == home {
                return None;
            }
        }
    }

    /// Adds a key that is not in the table. The table must not be at its capacity.
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

    /// Removes a key that is in the table.
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
    fn a_search_ends_even_if_every_bucket_has_overflowed() {
        let mut index = Index::new(64);
        let mut keys = 0_u64..;
        let mut kept = Vec::new();
        let mut place = 0;
        for home in 0..index.buckets.len() {
            // Fill the bucket until a key overflows, then remove all keys but that one.
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
