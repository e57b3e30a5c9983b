//! A bitmap that finds the n-th set bit, and counts the set bits before one, in constant
//! time if the set bits are spread evenly over any few thousand bits.

use alloc::vec::Vec;

/// Words between two counts: a count for each 256 bits.
const GROUP: usize = 4;
/// Logarithm to base 2 of the number of set bits between two hints.
const HINT: u32 = 12;

/// An immutable bitmap of fewer than 2^32 set bits.
#[derive(Debug)]
pub(super) struct RankedBits {
    words: Vec<u64>,
    /// By group of words: the number of set bits before it.
    before: Vec<u32>,
    /// For each 2^12th set bit, its group, and then the last group.
    hints: Vec<u32>,
}

impl RankedBits {
    pub fn new(words: Vec<u64>) -> Self {
        let mut before = Vec::with_capacity(words.len().div_ceil(GROUP));
        let (mut count, mut hints) = (0, Vec::new());
        for (at, group) in (0..).zip(words.chunks(GROUP)) {
            before.push(count);
            count += group.iter().map(|word| word.count_ones()).sum::<u32>();
            if hints.len() < (count.div_ceil(1 << HINT)) as usize {
                hints.push(at);
            }
        }
        hints.push(u32::try_from(before.len().saturating_sub(1)).expect("fewer groups than bits"));
        Self { words, before, hints }
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of set bits before a bit that is set; `None` if it is clear.
    pub fn rank(&self, bit: usize) -> Option<u32> {
        let (word, shift) = (bit / 64, bit % 64);
        if self.words[word] >> shift & 1 == 0 {
            return None;
        }
        let group = word / GROUP;
        let whole = self.words[group * GROUP..word].iter().map(|word| word.count_ones());
        let part = self.words[word] & ((1 << shift) - 1);
        Some(self.before[group] + whole.sum::<u32>() + part.count_ones())
    }

    /// The memory that [`select`](Self::select) is likely to read, for a prefetch: counts and
    /// words.
    pub fn memory_near(&self, rank: u32) -> (&[u32], &[u64]) {
        let group = self.likely_group(rank);
        (&self.before[group..], &self.words[group * GROUP..])
    }

    /// The group of a set bit if the set bits between two hints are spread evenly.
    fn likely_group(&self, rank: u32) -> usize {
        let hint = (rank >> HINT) as usize;
        let [first, last] = [hint, hint + 1].map(|at| self.hints[at] as usize);
        let within = (rank % (1 << HINT)) as usize;
        first + (((last - first) * within) >> HINT)
    }

    /// The set bit that has `rank` set bits before it.
    ///
    /// # Panics
    /// May panic if there is none.
    pub fn select(&self, rank: u32) -> usize {
        let mut group = self.likely_group(rank);
        while self.before[group] > rank {
            group -= 1;
        }
        while self.before.get(group + 1).is_some_and(|&before| before <= rank) {
            group += 1;
        }
        let mut left = rank - self.before[group];
        let mut at = group * GROUP;
        while left >= self.words[at].count_ones() {
            left -= self.words[at].count_ones();
            at += 1;
        }
        let mut word = self.words[at];
        for _ in 0..left {
            word &= word - 1;
        }
        at * 64 + word.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_units::SplitMix64;

    #[test]
    fn ranks_and_set_bits_are_those_of_a_scan() {
        let mut random = SplitMix64(3);
        for (words, sparse) in [(1, 0), (3, 0), (7, 1), (300, 0), (1_000, 3), (5_000, 1)] {
            // Each bit is set with probability 2^-(sparse + 1), and some runs of words are empty.
            let mut word = |at: usize| match at / 50 % 3 {
                1 => 0,
                _ => (0..sparse).fold(random.next_u64(), |word, _| word & random.next_u64()),
            };
            let bits = RankedBits::new((0..words).map(&mut word).collect());
            let is_set = |bit: usize| bits.words()[bit / 64] >> (bit % 64) & 1 == 1;
            let mut rank = 0;
            for bit in 0..words * 64 {
                if is_set(bit) {
                    assert_eq!((bits.rank(bit), bits.select(rank)), (Some(rank), bit));
                    rank += 1;
                } else {
                    assert_eq!(bits.rank(bit), None);
                }
            }
        }
    }
}
