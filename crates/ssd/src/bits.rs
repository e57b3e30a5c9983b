//! Bitmaps of pages.

use std::ops::Range;

/// Indices of the set bits from `start` on.
pub(crate) fn bits_from(words: &[u64], start: u32) -> impl Iterator<Item = u32> {
    let first = start / 64;
    let words = (first..).zip(words.iter().skip(first as usize));
    let some = words.filter(|(_, word)| **word != 0);
    some.flat_map(move |(at, &word)| {
        let before = if at == first { (1 << (start % 64)) - 1 } else { 0 };
        let mut word = word & !before;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(at * 64 + bit)
        })
    })
}

/// The first bit from `start` on that is clear; bits beyond the words are.
pub(crate) fn first_clear(words: &[u64], start: u32) -> u32 {
    let mut at = start;
    while let Some(word) = words.get(at as usize / 64) {
        let set = (word >> (at % 64)).trailing_ones();
        at += set;
        if set == 0 || !at.is_multiple_of(64) {
            break;
        }
    }
    at
}

/// Sets a range of bits.
pub(crate) fn set_bits(words: &mut [u64], range: Range<usize>) {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min((at / 64 + 1) * 64);
        words[at / 64] |= (u64::MAX >> (64 - (end - at))) << (at % 64);
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: usize = 200;

    /// A bitmap of the ranges, set bit by bit.
    fn bitmap(ranges: &[Range<usize>]) -> Vec<u64> {
        let mut words = vec![0; BITS.div_ceil(64)];
        for bit in ranges.iter().cloned().flatten() {
            words[bit / 64] |= 1 << (bit % 64);
        }
        words
    }

    #[test]
    fn ranges_of_any_alignment_are_set() {
        for start in 0..BITS {
            for end in start..BITS {
                let mut words = bitmap(&[3..5, 150..160]);
                set_bits(&mut words, start..end);
                assert_eq!(words, bitmap(&[3..5, 150..160, start..end]), "{start}..{end}");
            }
        }
    }

    #[test]
    fn set_bits_are_listed_from_any_bit_on() {
        let set = |bit: &u32| (10..70).contains(bit) || (128..192).contains(bit);
        let words = bitmap(&[10..70, 128..192]);
        for start in 0..300 {
            assert!(bits_from(&words, start).eq((start..192).filter(set)), "from {start}");
        }
    }

    #[test]
    fn the_first_clear_bit_is_found() {
        let words = bitmap(&[10..70, 128..256]);
        for start in 0..300 {
            let first = match start {
                10..70 => 70,
                128..256 => 256,
                _ => start,
            };
            assert_eq!(first_clear(&words, start), first, "from {start}");
        }
    }
}
