//! The entries of a large table that differ from the computed ones.

use alloc::vec;
use alloc::vec::Vec;

/// Logarithm to base 2 of the initial size.
const BITS: u32 = 10;
/// Odd, and 2^64 divided by the golden ratio: the high bits of a product are spread evenly.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash table of entries by index, with linear probing; at most half full.
#[derive(Clone, Debug)]
pub(super) struct ChangedEntries {
    /// The index + 1 in the upper half and the entry in the lower half; 0 if the place is free.
    places: Vec<u64>,
    len: usize,
}

impl ChangedEntries {
    pub fn new() -> Self {
        Self { places: vec![0; 1 << BITS], len: 0 }
    }

    pub fn get(&self, index: u32) -> Option<u32> {
        match self.places[self.place_of(index)] {
            0 => None,
            found => Some(entry(found)),
        }
    }

    pub fn set(&mut self, index: u32, value: u32) {
        let place = self.place_of(index);
        let added = self.places[place] == 0;
        self.places[place] = key(index) | u64::from(value);
        if added {
            self.len += 1;
            if self.len > self.places.len() / 2 {
                self.grow();
            }
        }
    }

    /// The indices and their entries.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let taken = self.places.iter().filter(|&&place| place != 0);
        taken.map(|&place| (index(place), entry(place)))
    }

    /// The memory from the first possible place of an index on, for a prefetch.
    pub fn memory_of(&self, index: u32) -> &[u64] {
        &self.places[self.first_place(index)..]
    }

    fn grow(&mut self) {
        let larger = vec![0; self.places.len() * 2];
        for place in core::mem::replace(&mut self.places, larger) {
            if place != 0 {
                let to = self.place_of(index(place));
                self.places[to] = place;
            }
        }
    }

    /// The place of an index, or the free place where it belongs.
    fn place_of(&self, index: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.first_place(index);
        while self.places[place] != 0 && self.places[place] & KEY != key(index) {
            place = (place + 1) & mask;
        }
        place
    }

    /// The place of an index unless another took it. Eight consecutive indices share a cache line.
    fn first_place(&self, index: u32) -> usize {
        let mask = self.places.len() - 1;
        let hash = u64::from(index / 8).wrapping_mul(MULTIPLIER);
        // The shift leaves as many bits as the mask has.
        #[allow(clippy::cast_possible_truncation)]
        let line = (hash >> (64 - mask.count_ones())) as usize & !7;
        line + index as usize % 8
    }
}

/// The bits of a place that hold the key.
const KEY: u64 = !0 << 32;

fn key(index: u32) -> u64 {
    (u64::from(index) + 1) << 32
}

fn index(place: u64) -> u32 {
    // Half of the bits.
    #[allow(clippy::cast_possible_truncation)]
    {
        (place >> 32) as u32 - 1
    }
}

fn entry(place: u64) -> u32 {
    // The lower half.
    #[allow(clippy::cast_possible_truncation)]
    {
        place as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use gordon_units::SplitMix64;

    #[test]
    fn entries_are_those_of_a_map() {
        let (mut changed, mut model) = (ChangedEntries::new(), BTreeMap::new());
        let mut random = SplitMix64(11);
        for step in 0..20_000 {
            let index = match step % 3 {
                0 => random.below_u32(500),
                1 => step,
                _ => u32::MAX - 1 - random.below_u32(9_000),
            };
            let value = random.below_u32(u32::MAX);
            assert_eq!(changed.get(index), model.get(&index).copied());
            changed.set(index, value);
            model.insert(index, value);
        }
        assert!(model.iter().all(|(&index, &value)| changed.get(index) == Some(value)));
        let mut all: Vec<_> = changed.iter().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(model));
    }
}
