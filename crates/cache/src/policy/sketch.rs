//! Approximate recent request counts of keys: the sketch of TinyLFU (Einziger, Friedman, Manes,
//! "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4), 2017,
//! section 3), with the layout of Caffeine 3.
//!
//! A key has four counters of 4 bits in one cache line. Their minimum is the estimate, and only the
//! counters that equal the minimum are incremented. After ten requests for each word of the sketch,
//! all counters are halved. The sketch grows with the number of objects; growing does not change
//! estimates.

use crate::index::hash;
use alloc::vec;
use alloc::vec::Vec;

/// Sixteen counters.
type Word = u64;
/// Words of a cache line.
const LINE_WORDS: usize = 8;
/// Minimum number of words. There is a word for each object.
const MIN_WORDS: usize = 4096;
/// Number of requests for each word between halvings.
const SAMPLE_PER_WORD: u64 = 10;
const MAX_COUNT: Word = 15;

#[derive(Debug)]
pub(crate) struct Sketch {
    words: Vec<Word>,
    added: u64,
}

impl Sketch {
    pub fn new() -> Self {
        Self { words: vec![0; MIN_WORDS], added: 0 }
    }

    pub fn memory(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
    }

    /// Grows the sketch for this number of objects.
    #[inline]
    pub fn grow(&mut self, objects: u64) {
        while (self.words.len() as u64) < objects {
            // Low bits of the hash select the line of a key, so the counters of each key must be in
            // both halves.
            self.words.reserve_exact(self.words.len());
            self.words.extend_from_within(..);
        }
    }

    /// The word and the shift of each counter of a key.
    #[inline]
    fn counters(&self, key: u64) -> [(usize, u32); 4] {
        let hash = hash(key);
        let line = (hash as usize & (self.words.len() / LINE_WORDS - 1)) * LINE_WORDS;
        // Five bits for each counter, from the half of the hash that does not select the line: one
        // selects one of two words, four select one of sixteen counters.
        [0, 1, 2, 3].map(|row| {
            let bits = (hash >> (40 + 5 * row)) as u32;
            (line + 2 * row + (bits & 1) as usize, (bits >> 1 & 15) * 4)
        })
    }

    #[inline]
    pub fn estimate(&self, key: u64) -> u64 {
        let of = |(word, shift): (usize, u32)| self.words[word] >> shift & MAX_COUNT;
        self.counters(key).map(of).into_iter().fold(MAX_COUNT, u64::min)
    }

    #[inline]
    pub fn increment(&mut self, key: u64) {
        let least = self.estimate(key);
        if least < MAX_COUNT {
            for (word, shift) in self.counters(key) {
                if self.words[word] >> shift & MAX_COUNT == least {
                    self.words[word] += 1 << shift;
                }
            }
        }
        self.added += 1;
        if self.added >= SAMPLE_PER_WORD * self.words.len() as u64 {
            self.added /= 2;
            self.words.iter_mut().for_each(|word| *word = *word >> 1 & 0x7777_7777_7777_7777);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_exact_up_to_fifteen_for_few_keys() {
        let mut sketch = Sketch::new();
        (0..100_u64).for_each(|key| (0..key).for_each(|_| sketch.increment(key)));
        assert!((0..100).all(|key| sketch.estimate(key) == key.min(MAX_COUNT)));
        sketch.grow(MIN_WORDS as u64 * 8);
        assert_eq!(sketch.words.len(), MIN_WORDS * 8);
        assert!((0..100).all(|key| sketch.estimate(key) == key.min(MAX_COUNT)));
    }

    #[test]
    fn counters_are_halved_after_a_sample() {
        let mut sketch = Sketch::new();
        (0..9).for_each(|_| sketch.increment(1));
        let others = SAMPLE_PER_WORD * MIN_WORDS as u64 - 9;
        (0..others).for_each(|_| sketch.increment(2));
        assert_eq!((sketch.estimate(1), sketch.estimate(2)), (4, 7));
        // A halving also halves the count of the sample, so the next one comes after half as many.
        (0..SAMPLE_PER_WORD * MIN_WORDS as u64 / 2).for_each(|_| sketch.increment(2));
        assert_eq!((sketch.estimate(1), sketch.estimate(2)), (2, 7));
    }

    #[test]
    fn few_estimates_are_too_high_with_one_object_a_word() {
        let mut sketch = Sketch::new();
        (0..MIN_WORDS as u64).for_each(|key| sketch.increment(key));
        let over = (0..MIN_WORDS as u64).filter(|key| sketch.estimate(*key) > 1).count();
        assert!(over < MIN_WORDS / 100, "{over}");
        let unknown =
            (MIN_WORDS as u64..2 * MIN_WORDS as u64).filter(|key| sketch.estimate(*key) > 0);
        assert!(unknown.count() < MIN_WORDS / 20);
    }
}
