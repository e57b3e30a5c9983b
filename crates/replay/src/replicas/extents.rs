//! A set of ranges of bytes.

use std::collections::BTreeMap;

/// Disjoint ranges; adjacent ones are merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    /// End of each range by its start.
    ranges: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Extents {
    /// Number of bytes in the set.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the set has no ranges.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a range.
    pub fn add(&mut self, start: u64, len: u64) {
        let (mut first, mut last) = (start, start + len);
        // Ranges that overlap the new one or touch it, from the last to the first.
        while let Some((&from, &to)) = self.ranges.range(..=last).next_back()
            && to >= first
        {
            self.ranges.remove(&from);
            self.bytes -= to - from;
            first = first.min(from);
            last = last.max(to);
        }
        self.ranges.insert(first, last);
        self.bytes += last - first;
    }

    /// Removes the first `most` bytes of the first range, or all of it, and returns its start and
    /// its length.
    pub fn take(&mut self, most: u64) -> Option<(u64, u64)> {
        let (start, end) = self.ranges.pop_first()?;
        let len = most.min(end - start);
        if start + len < end {
            self.ranges.insert(start + len, end);
        }
        self.bytes -= len;
        Some((start, len))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_adjacent_ranges_are_merged() {
        let mut extents = Extents::default();
        for (start, len) in [(10, 10), (40, 10), (20, 5), (15, 2), (5, 3), (8, 60)] {
            extents.add(start, len);
        }
        assert_eq!((extents.take(1000), extents.bytes()), (Some((5, 63)), 0));
        assert!(extents.is_empty());
    }

    #[test]
    fn ranges_are_taken_in_pieces_from_the_first_address_on() {
        let mut extents = Extents::default();
        extents.add(100, 25);
        extents.add(0, 5);
        let pieces: Vec<_> = std::iter::from_fn(|| extents.take(10)).collect();
        assert_eq!(pieces, [(0, 5), (100, 10), (110, 10), (120, 5)]);
    }
}
