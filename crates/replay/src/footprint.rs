//! The ranges that a load reads, and that must hold data before it starts.
//!
//! A footprint is a sparse bitmap with one bit per 4 KiB. Its size is bounded by the span that is
//! read (2 MiB per 64 GiB), not by the length of the load.

use std::collections::BTreeMap;

/// Bytes per bit.
const GRAIN: u64 = 4096;

/// Bits in a piece of the bitmap: 128 MiB of addresses.
const BITS: u64 = 1 << 15;

const WORDS: usize = (BITS / 64) as usize;

/// A set of ranges.
#[derive(Clone, Debug, Default)]
pub struct Footprint(BTreeMap<u64, Box<[u64; WORDS]>>);

impl Footprint {
    /// Adds `len` bytes from `start` on, extended to whole grains.
    pub fn add(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        let (first, last) = (start / GRAIN, (start + len - 1) / GRAIN);
        let mut at = first;
        while at <= last {
            let piece = at / BITS;
            let end = last.min((piece + 1) * BITS - 1);
            let words = self.0.entry(piece).or_insert_with(|| Box::new([0; WORDS]));
            while at <= end {
                // Sets up to a word's worth of bits at a time.
                let (word, bit) = (at % BITS / 64, at % 64);
                let bits = (end - at + 1).min(64 - bit);
                let mask = if bits == 64 { u64::MAX } else { ((1 << bits) - 1) << bit };
                words[usize::try_from(word).expect("within a piece")] |= mask;
                at += bits;
            }
        }
    }

    /// The ranges in ascending order, as start and end; adjacent ranges are merged.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (piece, words) in &self.0 {
            for (word, mut bits) in (0u64..).zip(words.iter().copied()) {
                let base = piece * BITS + word * 64;
                let mut shift = 0;
                while bits != 0 {
                    let zeros = u64::from(bits.trailing_zeros());
                    let ones = u64::from((bits >> zeros).trailing_ones());
                    let start = (base + shift + zeros) * GRAIN;
                    let end = start + ones * GRAIN;
                    match ranges.last_mut() {
                        Some(last) if last.1 == start => last.1 = end,
                        _ => ranges.push((start, end)),
                    }
                    if zeros + ones == 64 {
                        break;
                    }
                    bits >>= zeros + ones;
                    shift += zeros + ones;
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_join_over_pieces() {
        let mut footprint = Footprint::default();
        let border = BITS * GRAIN;
        footprint.add(border - 10, 20);
        footprint.add(5, 1);
        footprint.add(0, 0);
        let joined = (border - GRAIN, border + GRAIN);
        assert_eq!(footprint.ranges(), [(0, GRAIN), joined]);
        footprint.add(0, 2 * border);
        assert_eq!(footprint.ranges(), [(0, 2 * border)]);
    }

    proptest! {
        #[test]
        fn ranges_are_the_grains_added(
            adds in prop::collection::vec((0u64..BITS * GRAIN * 2, 0u64..GRAIN * 200), 0..20)
        ) {
            let mut footprint = Footprint::default();
            let mut grains = BTreeSet::new();
            for (start, len) in adds {
                footprint.add(start, len);
                if len > 0 {
                    grains.extend(start / GRAIN..=(start + len - 1) / GRAIN);
                }
            }
            let ranges = footprint.ranges();
            let found: Vec<u64> =
                ranges.iter().flat_map(|(a, b)| a / GRAIN..b / GRAIN).collect();
            prop_assert_eq!(found, grains.into_iter().collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
