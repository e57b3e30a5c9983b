//! Partitions keys into ranges of about equal frequency.

use crate::format::PREFIX_BITS;

/// Cells of the lookup table for each range. A key is looked up in the table before it is compared
/// with bounds. Printable characters have 95 values; keys made of them use 37 % of the cells.
const CELLS: usize = 16;
/// Minimum and maximum number of cells: the table has at most 128 KiB, which fits the cache of a
/// core next to the data.
const FEWEST: usize = 1 << 8;
const MOST_CELLS: usize = 1 << 16;

/// Ranges of prefixes, each identified by its lowest prefix.
#[derive(Debug)]
pub struct Partition {
    /// The lowest prefix of each range except the first.
    bounds: Vec<u128>,
    /// By cell, each a power of two wide: the number of bounds at or below its lowest prefix; with
    /// one more entry at the end.
    cells: Vec<u16>,
    base: u128,
    shift: u32,
}

impl Partition {
    /// Maximum number of ranges.
    pub const MOST: usize = u16::MAX as usize;

    /// About `ranges` ranges, each with an equal share of `sample`. A prefix that alone fills a
    /// range gets a range of its own, so there may be up to twice as many.
    pub fn new(mut sample: Vec<u128>, ranges: usize) -> Self {
        sample.sort_unstable();
        let count = sample.len();
        let mut bounds: Vec<u128> = Vec::new();
        let ranges = ranges.min(Self::MOST / 2);
        for range in 1..ranges {
            let Some(&bound) = sample.get(range * count / ranges) else { break };
            match bounds.last() {
                // Two equal quantiles: this prefix fills a range.
                Some(&last) if last == bound => bounds.push(bound + 1),
                Some(&last) if last > bound => {}
                _ => bounds.push(bound),
            }
        }
        let base = sample.first().copied().unwrap_or(0);
        let width = sample.last().copied().unwrap_or(0) - base;
        let count = (CELLS * ranges).next_power_of_two().clamp(FEWEST, MOST_CELLS);
        let shift = (u128::BITS - width.leading_zeros()).saturating_sub(count.trailing_zeros());
        let mut cells = Vec::with_capacity(count + 1);
        let mut at = 0;
        for cell in 0..=count as u128 {
            let lowest = base.saturating_add(cell << shift);
            while bounds.get(at).is_some_and(|&bound| bound <= lowest) {
                at += 1;
            }
            cells.push(u16::try_from(at).unwrap_or(u16::MAX));
        }
        // A prefix beyond the last cell is searched in all remaining bounds.
        Self { bounds, cells, base, shift }
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The range of a prefix.
    #[inline]
    pub fn of(&self, prefix: u128) -> usize {
        let cell = prefix.saturating_sub(self.base) >> self.shift;
        let last = self.cells.len() - 2;
        let cell = if cell < last as u128 { cell as usize } else { last };
        let mut low = if prefix < self.base { 0 } else { usize::from(self.cells[cell]) };
        let mut high =
            if cell == last { self.bounds.len() } else { usize::from(self.cells[cell + 1]) };
        while low < high {
            let middle = low.midpoint(high);
            if self.bounds[middle] <= prefix {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether all keys of a range have the same prefix.
    pub fn is_single(&self, range: usize) -> bool {
        let low = if range == 0 { Some(0) } else { self.bounds.get(range - 1).copied() };
        let next = self.bounds.get(range).copied().unwrap_or(1 << PREFIX_BITS);
        low.is_some_and(|low| low + 1 == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_prefix_lies_in_the_range_of_its_bounds(
            mut sample in prop::collection::vec(0u128..1 << 80, 0..200),
            few in prop::collection::vec(0u128..5, 0..200),
            ranges in 1usize..60,
            looked_up in prop::collection::vec(0u128..1 << 80, 50),
        ) {
            sample.extend(few);
            let partition = Partition::new(sample.clone(), ranges);
            prop_assert!(partition.bounds.is_sorted());
            prop_assert!(partition.len() <= 2 * ranges);
            for prefix in looked_up.into_iter().chain(sample).chain(0..7).chain([(1 << 80) - 1]) {
                let expected = partition.bounds.iter().filter(|&&bound| bound <= prefix).count();
                prop_assert_eq!(partition.of(prefix), expected);
                let single = partition.is_single(expected);
                let alone = (prefix == 0 || partition.of(prefix - 1) != expected)
                    && (prefix + 1 == 1 << 80 || partition.of(prefix + 1) != expected);
                prop_assert_eq!(single, alone);
            }
        }
    }

    #[test]
    fn a_key_that_is_everywhere_has_a_range_of_its_own() {
        let mut sample: Vec<u128> = (0..100).map(|n| n * 1000).collect();
        sample.extend(std::iter::repeat_n(50_500, 100));
        let partition = Partition::new(sample, 10);
        assert!(partition.is_single(partition.of(50_500)));
        assert!(!partition.is_single(partition.of(50_501)));
    }
}
