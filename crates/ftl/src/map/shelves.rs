//! A number of so many bits for each slot that holds a page; other slots take no room.
//!
//! 128 slots have a shelf: their numbers side by side, in the order of the slots, in as many words as they
//! take. Which of the slots have one is for the caller to know: here numbers go by rank. Shelves of one length
//! lie side by side in segments; when one becomes free, the last of its length takes its place, so that no
//! segment but the last of each length has room left.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Slots of a shelf.
pub(super) const SLOTS: u32 = 128;
/// The length of a shelf is a multiple of so many words.
const STEP: usize = 2;
/// Words of a segment.
const SEGMENT: usize = 8192;
/// Bits before the first number.
const HEAD: usize = 32;
/// Of these, those that say which shelf it is; the others say how many numbers it has, less one.
const NUMBER: u32 = 25;

/// What stands before the numbers of a shelf.
struct Head {
    shelf: u32,
    count: u32,
}

impl Head {
    #[inline(always)]
    fn of(word: u64) -> Self {
        // The lower half.
        #[allow(clippy::cast_possible_truncation)]
        let bits = word as u32;
        Self { shelf: bits & ((1 << NUMBER) - 1), count: (bits >> NUMBER) + 1 }
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from((self.count - 1) << NUMBER | self.shelf)
    }
}

/// The shelves of one length.
#[derive(Clone, Debug, Default)]
struct Length {
    segments: Vec<u32>,
    /// How many are in the last segment.
    last: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Shelves {
    bits: usize,
    /// In a word: the lowest bit of each number, and how many numbers.
    each: u64,
    at_once: u32,
    /// Where each shelf starts, in [`STEP`]s of words; 0 for those that are empty.
    starts: Vec<u32>,
    words: Vec<u64>,
    /// By steps, less one.
    lengths: Vec<Length>,
    /// Segments that no length has, and how many were ever had, the first of them by none.
    free: Vec<u32>,
    had: u32,
}

impl Shelves {
    /// For so many slots and numbers up to a maximum. Room for `most` numbers is taken from the system
    /// where it is used.
    pub fn new(slots: u32, max: u32, most: u32) -> Self {
        let bits = (32 - max.leading_zeros()).max(1) as usize;
        let starts = vec![0; slots.div_ceil(SLOTS) as usize];
        let steps = (HEAD + SLOTS as usize * bits).div_ceil(64 * STEP);
        // Each has a head, and less than a step is left over.
        let over = starts.len().min(most as usize) * (HEAD.div_ceil(64) + STEP);
        let used = (most as usize * bits).div_ceil(64) + over;
        let segments = used.div_ceil(SEGMENT - STEP * steps) + steps + 1;
        Self {
            bits,
            each: (0..64 / bits).fold(0, |all, field| all | 1 << (field * bits)),
            // At most 64.
            #[allow(clippy::cast_possible_truncation)]
            at_once: (64 / bits) as u32,
            starts,
            // A number is read with the word after its first.
            words: vec![0; segments * SEGMENT + 1],
            lengths: vec![Length::default(); steps],
            free: Vec::new(),
            had: 1,
        }
    }

    /// How long a shelf of so many numbers is, in steps.
    #[inline(always)]
    fn steps(&self, count: u32) -> usize {
        if count == 0 { 0 } else { (HEAD + count as usize * self.bits).div_ceil(64 * STEP) }
    }

    /// The first word of a shelf.
    #[inline(always)]
    fn start(&self, shelf: u32) -> usize {
        self.starts[shelf as usize] as usize * STEP
    }

    /// How many numbers are in a shelf.
    #[inline(always)]
    pub fn count(&self, shelf: u32) -> u32 {
        match self.start(shelf) {
            0 => 0,
            start => Head::of(self.words[start]).count,
        }
    }

    /// The word in which a number starts, of the shelf that starts there, and at which bit.
    #[inline(always)]
    fn place(&self, start: usize, rank: u32) -> (usize, usize) {
        let bit = HEAD + rank as usize * self.bits;
        (start + bit / 64, bit % 64)
    }

    /// The first word that none of so many numbers is in.
    #[inline(always)]
    fn end(&self, start: usize, count: u32) -> usize {
        start + (HEAD + count as usize * self.bits).div_ceil(64)
    }

    /// The 64 bits from there on.
    #[inline(always)]
    fn window(&self, (word, bit): (usize, usize)) -> u64 {
        let [low, high] = [self.words[word], self.words[word + 1]];
        // What is shifted out.
        #[allow(clippy::cast_possible_truncation)]
        {
            ((u128::from(high) << 64 | u128::from(low)) >> bit) as u64
        }
    }

    /// The lowest bits, as many as a number has.
    #[inline(always)]
    fn cut(&self, word: u64) -> u32 {
        // A number has at most 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            (word & ((1 << self.bits) - 1)) as u32
        }
    }

    /// A number of a shelf, by its rank there.
    #[inline]
    pub fn get(&self, shelf: u32, rank: u32) -> u32 {
        self.cut(self.window(self.place(self.start(shelf), rank)))
    }

    /// The numbers of a shelf.
    pub fn numbers(&self, shelf: u32) -> impl Iterator<Item = u32> {
        let start = self.start(shelf);
        (0..self.count(shelf)).map(move |rank| self.cut(self.window(self.place(start, rank))))
    }

    /// Puts a number into a shelf, where it has this rank from now on.
    #[inline]
    pub fn insert(&mut self, shelf: u32, rank: u32, value: u32) {
        let count = self.count(shelf);
        let start = self.resize(shelf, count, count + 1);
        let (word, bit) = self.place(start, rank);
        if rank < count {
            // Those after it make room, the last word first.
            for at in (word + 1..self.end(start, count + 1)).rev() {
                let [low, high] = [self.words[at - 1], self.words[at]];
                self.words[at] = high << self.bits | low >> (64 - self.bits);
            }
            let (first, below) = (self.words[word], (1 << bit) - 1);
            self.words[word] = first & below | (first & !below) << self.bits;
        }
        let wide = u128::from(value) << bit;
        let mask = u128::from((1u64 << self.bits) - 1) << bit;
        // Its two halves.
        #[allow(clippy::cast_possible_truncation)]
        for (at, shift) in [(word, 0), (word + 1, 64)] {
            let mask = (mask >> shift) as u64;
            self.words[at] = self.words[at] & !mask | (wide >> shift) as u64;
        }
    }

    /// Takes a number from a shelf: those after it move up.
    #[inline]
    pub fn remove(&mut self, shelf: u32, rank: u32) -> u32 {
        let (start, count) = (self.start(shelf), self.count(shelf));
        let (word, bit) = self.place(start, rank);
        let value = self.cut(self.window((word, bit)));
        let (end, shift) = (self.end(start, count), self.bits);
        let words = &mut self.words[word..=end];
        let (first, below) = (words[0], (1 << bit) - 1);
        for at in 1..words.len() {
            words[at - 1] = words[at - 1] >> shift | words[at] << (64 - shift);
        }
        words[0] = words[0] & !below | first & below;
        self.resize(shelf, count, count - 1);
        value
    }

    /// Puts numbers into a shelf that has none.
    pub fn fill(&mut self, shelf: u32, values: &[u32]) {
        if values.is_empty() {
            return;
        }
        let count = u32::try_from(values.len()).expect("at most a shelf's");
        let (mut at, mut shift) = (self.resize(shelf, 0, count), HEAD);
        let mut word = self.words[at] & ((1 << HEAD) - 1);
        for &value in values {
            word |= u64::from(value) << shift;
            shift += self.bits;
            if shift >= 64 {
                self.words[at] = word;
                (at, shift) = (at + 1, shift - 64);
                word = u64::from(value) >> (self.bits - shift);
            }
        }
        if shift > 0 {
            self.words[at] = word;
        }
    }

    /// The first of some ranks whose number this is.
    #[inline]
    pub fn find(&self, shelf: u32, ranks: Range<u32>, value: u32) -> Option<u32> {
        // As many as fill a word are compared at once: a field of the difference that is 0 is the one that
        // borrows from its top bit, or lies above one that is 0.
        let wanted = u64::from(value) * self.each;
        let tops = self.each << (self.bits - 1);
        let (mut word, mut bit) = self.place(self.start(shelf), ranks.start);
        let mut rank = ranks.start;
        while rank < ranks.end {
            let apart = self.window((word, bit)) ^ wanted;
            let found = apart.wrapping_sub(self.each) & !apart & tops;
            if found != 0 {
                // A place in a word.
                #[allow(clippy::cast_possible_truncation)]
                let at = rank + found.trailing_zeros() / self.bits as u32;
                return (at < ranks.end).then_some(at);
            }
            rank += self.at_once;
            bit += self.at_once as usize * self.bits;
            (word, bit) = (word + bit / 64, bit % 64);
        }
        None
    }

    /// The memory of a shelf of so many numbers.
    #[inline]
    pub fn memory_of(&self, shelf: u32, count: u32) -> &[u64] {
        let start = self.start(shelf);
        &self.words[start..start + self.steps(count) * STEP]
    }

    /// The memory that says where a shelf is.
    #[inline]
    pub fn start_of(&self, shelf: u32) -> &[u32] {
        &self.starts[shelf as usize..]
    }

    /// Makes a shelf as long as is right for so many numbers, says where it starts, and counts them there.
    #[inline(always)]
    fn resize(&mut self, shelf: u32, count: u32, new: u32) -> usize {
        let (from, to) = (self.steps(count), self.steps(new));
        if from != to {
            self.move_to(shelf, count.min(new), from, to);
        }
        let start = self.start(shelf);
        if new > 0 {
            let head = Head { shelf, count: new }.bits();
            self.words[start] = self.words[start] >> HEAD << HEAD | head;
        }
        start
    }

    /// Gives a shelf another length, and it keeps the first `kept` of its numbers.
    #[inline(never)]
    fn move_to(&mut self, shelf: u32, kept: u32, from: usize, to: usize) {
        let old = self.start(shelf);
        self.starts[shelf as usize] = 0;
        if to > 0 {
            let new = self.take(to);
            if from > 0 {
                let end = self.end(old, kept);
                self.words.copy_within(old..end, new);
            }
            self.starts[shelf as usize] = in_steps(new);
        }
        if from > 0 {
            self.give_back(old, from);
        }
    }

    /// Room for a shelf.
    fn take(&mut self, steps: usize) -> usize {
        let length = &mut self.lengths[steps - 1];
        if length.segments.is_empty() || (length.last + 1) * steps * STEP > SEGMENT {
            length.segments.push(self.free.pop().unwrap_or(self.had));
            length.last = 0;
        }
        let segment = length.segments[length.segments.len() - 1];
        length.last += 1;
        let at = segment as usize * SEGMENT + (length.last - 1) * steps * STEP;
        if segment == self.had {
            self.had += 1;
            if self.words.len() <= self.had as usize * SEGMENT {
                self.words.resize(self.had as usize * SEGMENT * 5 / 4 + 1, 0);
            }
        }
        at
    }

    /// The room of a shelf is free: the last of its length takes it.
    fn give_back(&mut self, at: usize, steps: usize) {
        let length = &mut self.lengths[steps - 1];
        length.last -= 1;
        let segment = length.segments[length.segments.len() - 1];
        let last = segment as usize * SEGMENT + length.last * steps * STEP;
        if length.last == 0 {
            self.free.extend(length.segments.pop());
            length.last = SEGMENT / (steps * STEP);
        }
        if last != at {
            self.words.copy_within(last..last + steps * STEP, at);
            let moved = Head::of(self.words[at]).shelf;
            self.starts[moved as usize] = in_steps(at);
        }
    }

    /// The words of all shelves, and where each starts.
    pub fn tables(&self) -> (&[u64], &[u32]) {
        (&self.words, &self.starts)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        u64::from(self.had) * SEGMENT as u64 * 8 + self.starts.len() as u64 * 4
    }
}

/// A word's number in steps.
#[inline]
fn in_steps(word: usize) -> u32 {
    u32::try_from(word / STEP).expect("fewer words than pages that can be numbered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Beside plain lists, numbers of all widths, with segments that come and go.
    #[test]
    fn they_hold_what_lists_hold() {
        const SHELVES: u32 = 600;
        let mut random = Random(1);
        for bits in 1..=32 {
            let most = u32::MAX >> (32 - bits);
            // More than was said.
            let mut held = Shelves::new(SHELVES * SLOTS, most, 100);
            let mut lists = vec![Vec::new(); SHELVES as usize];
            let mut segments = 0;
            for round in 0..4_000 {
                // First more come than go, then fewer.
                let comes = random.below(10) < if round % 2_000 < 1_000 { 8 } else { 2 };
                let shelf = random.below(SHELVES);
                let list: &mut Vec<u32> = &mut lists[shelf as usize];
                if list.is_empty() && comes {
                    list.extend((0..=random.below(SLOTS - 1)).map(|_| random.below(most)));
                    held.fill(shelf, list);
                }
                for _ in 0..random.below(60) {
                    let count = u32::try_from(list.len()).unwrap();
                    if comes && count < SLOTS {
                        let (rank, value) = (random.below(count + 1), random.below(most) + 1);
                        list.insert(rank as usize, value);
                        held.insert(shelf, rank, value);
                    } else if !comes && count > 0 {
                        let rank = random.below(count);
                        assert_eq!(held.remove(shelf, rank), list.remove(rank as usize));
                    }
                }
                segments = segments.max(held.had);
            }
            assert!(segments > bits / 4, "{segments} segments, {bits} bits");
            for (shelf, list) in (0..).zip(&lists) {
                assert!(held.numbers(shelf).eq(list.iter().copied()), "{shelf}, {bits} bits");
                let end = held.count(shelf);
                for (rank, &value) in (0..).zip(list) {
                    assert_eq!(held.get(shelf, rank), value, "{rank} of {shelf}, {bits} bits");
                    for ranks in [0..end, rank..end, rank + 1..end, 0..rank] {
                        let same = |&at: &u32| list[at as usize] == value;
                        let found = held.find(shelf, ranks.clone(), value);
                        assert_eq!(found, ranks.clone().find(same), "{value} in {ranks:?}");
                    }
                }
            }
        }
    }
}
