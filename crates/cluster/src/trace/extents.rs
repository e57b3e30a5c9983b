//! Sets of 1 MiB extents of several devices: bitmaps of the extents of each GiB, in a tree.

use std::collections::BTreeMap;
use std::ops::Range;

/// Size of an extent in bytes.
pub(crate) const EXTENT: u64 = 1 << 20;

const WORDS: usize = 16;
/// Number of extents in a bitmap.
const BITMAP: u64 = 64 * WORDS as u64;

type Bitmap = [u64; WORDS];

/// (device, extent / `BITMAP`).
type Place = (u32, u64);

/// A set of extents.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtentSet {
    bitmaps: BTreeMap<Place, Bitmap>,
}

fn split(extent: u64) -> (u64, usize, u64) {
    let bit = extent % BITMAP;
    (extent / BITMAP, (bit / 64) as usize, 1 << (bit % 64))
}

/// The extents of a bitmap, in order.
fn extents(first: u64, bitmap: &Bitmap) -> impl Iterator<Item = u64> {
    (first..).step_by(64).zip(bitmap).flat_map(|(first, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(first + u64::from(bit))
        })
    })
}

impl ExtentSet {
    /// Adds the extents in a range.
    pub fn insert(&mut self, device: u32, range: Range<u64>) {
        for extent in range {
            let (place, word, bit) = split(extent);
            self.bitmaps.entry((device, place)).or_default()[word] |= bit;
        }
    }

    /// The extents of both sets.
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        for (place, bitmap) in &other.bitmaps {
            let words = union.bitmaps.entry(*place).or_default();
            words.iter_mut().zip(bitmap).for_each(|(word, other)| *word |= other);
        }
        union
    }

    /// Number of extents.
    pub fn len(&self) -> u64 {
        self.bitmaps.values().flatten().map(|word| u64::from(word.count_ones())).sum()
    }

    /// All (device, extent), in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.bitmaps.iter().flat_map(|(&(device, place), bitmap)| {
            extents(place * BITMAP, bitmap).map(move |extent| (device, extent))
        })
    }

    /// The extents of a device in a range, in order.
    pub fn within(&self, device: u32, range: Range<u64>) -> impl Iterator<Item = u64> {
        let places = (device, range.start / BITMAP)..(device, range.end.div_ceil(BITMAP));
        self.bitmaps
            .range(places)
            .flat_map(|(&(_, place), bitmap)| extents(place * BITMAP, bitmap))
            .filter(move |extent| range.contains(extent))
    }
}

/// A set whose extents are numbered in their order.
#[derive(Clone, Debug)]
pub(crate) struct ExtentRanks {
    set: ExtentSet,
    /// Number of extents before each bitmap.
    before: BTreeMap<Place, u64>,
}

impl ExtentRanks {
    pub fn of(set: ExtentSet) -> Self {
        let mut sum = 0;
        let mut before = BTreeMap::new();
        for (place, bitmap) in &set.bitmaps {
            before.insert(*place, sum);
            sum += bitmap.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        Self { set, before }
    }

    pub fn set(&self) -> &ExtentSet {
        &self.set
    }

    /// The number of an extent; `None` if it is not in the set.
    pub fn rank(&self, device: u32, extent: u64) -> Option<u64> {
        let (place, word, bit) = split(extent);
        let bitmap = self.set.bitmaps.get(&(device, place))?;
        if bitmap[word] & bit == 0 {
            return None;
        }
        let below = bitmap[..word].iter().map(|word| word.count_ones()).sum::<u32>()
            + (bitmap[word] & (bit - 1)).count_ones();
        Some(self.before[&(device, place)] + u64::from(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_units::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_agrees_with_a_tree_of_extents() {
        let mut random = SplitMix64(7);
        let mut halves = [ExtentSet::default(), ExtentSet::default()];
        let mut tree = BTreeSet::new();
        let spread = [1 << 8, 1 << 13, 1 << 42];
        for nth in 0..2000 {
            let device = random.below(3) as u32;
            let start = random.below(spread[device as usize]);
            let range = start..start + random.below(4);
            halves[nth % 2].insert(device, range.clone());
            tree.extend(range.map(|extent| (device, extent)));
        }
        let set = halves[0].union(&halves[1]);
        assert_eq!(set.iter().collect::<Vec<_>>(), tree.iter().copied().collect::<Vec<_>>());
        assert_eq!(set.len(), tree.len() as u64);
        let ranks = ExtentRanks::of(set.clone());
        for (rank, &(device, extent)) in (0..).zip(&tree) {
            assert_eq!(ranks.rank(device, extent), Some(rank));
            let next = ranks.rank(device, extent + 1);
            assert_eq!(next.is_some(), tree.contains(&(device, extent + 1)));
        }
        assert_eq!(ranks.rank(9, 0), None);
        for (start, end) in [(0, 1 << 43), (1000, 1100), (1024, 2048), (5, 6), (3, 3)] {
            for device in 0..4 {
                let expected: Vec<u64> =
                    tree.range((device, start)..(device, end)).map(|(_, extent)| *extent).collect();
                assert_eq!(set.within(device, start..end).collect::<Vec<_>>(), expected);
            }
        }
    }
}
