//! A number of so many bits for each slot that holds a page; other slots take next to no room.
//!
//! 256 slots have a shelf: which of them hold a page, and the numbers of these side by side, in as many words
//! as they take. Shelves of one length lie side by side in segments; when one becomes free, the last of its
//! length takes its place, so that no segment but the last of each length has room left. While slots are
//! filled one after the other their shelf is as long as it can become.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Slots of a shelf.
pub(super) const SLOTS: u32 = 256;
/// Words of a segment.
const SEGMENT: usize = 8192;
/// Words before that with the head: a bit for each slot.
pub(super) const FILLED: usize = SLOTS as usize / 64;
/// Bits before the first number.
const BEFORE: usize = FILLED * 64 + 32;
/// Bits of a head that say which shelf it is; the others say how many numbers it has, less one.
const NUMBER: u32 = 24;

/// What stands before the numbers of a shelf, in half a word.
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
    fn put_into(self, word: u64) -> u64 {
        word >> 32 << 32 | u64::from((self.count - 1) << NUMBER | self.shelf)
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
    /// The first word of each shelf. Of those that are empty it is 0, and the first words are never written.
    starts: Vec<u32>,
    words: Vec<u64>,
    /// By words.
    lengths: Vec<Length>,
    /// By segment: how long its shelves are.
    words_each: Vec<u8>,
    /// Segments that no length has any more.
    free: Vec<u32>,
}

impl Shelves {
    /// For so many slots and numbers up to a maximum. Room for `most` numbers is taken from the system
    /// where it is used.
    pub fn new(slots: u32, max: u32, most: u32) -> Self {
        let bits = (32 - max.leading_zeros()).max(1) as usize;
        let starts = vec![0; slots.div_ceil(SLOTS) as usize];
        let longest = (BEFORE + SLOTS as usize * bits).div_ceil(64);
        // Less than a word of each is left over.
        let over = starts.len().min(most as usize) * (BEFORE.div_ceil(64) + 1);
        let used = (most as usize * bits).div_ceil(64) + over;
        let segments = used.div_ceil(SEGMENT - longest) + longest + 1;
        Self {
            bits,
            each: (0..64 / bits).fold(0, |all, field| all | 1 << (field * bits)),
            // At most 64.
            #[allow(clippy::cast_possible_truncation)]
            at_once: (64 / bits) as u32,
            starts,
            // A number is read with the word after its first.
            words: vec![0; segments * SEGMENT + 1],
            lengths: vec![Length::default(); longest + 1],
            words_each: vec![0],
            free: Vec::new(),
        }
    }

    /// The first word of a shelf.
    #[inline(always)]
    fn start(&self, shelf: u32) -> usize {
        self.starts[shelf as usize] as usize
    }

    /// How many numbers are in the shelf that starts there.
    #[inline(always)]
    fn count(&self, start: usize) -> u32 {
        if start == 0 { 0 } else { Head::of(self.words[start + FILLED]).count }
    }

    /// How many words so many numbers take.
    #[inline(always)]
    fn need(&self, count: u32) -> usize {
        if count == 0 { 0 } else { (BEFORE + count as usize * self.bits).div_ceil(64) }
    }

    /// How long the shelf is that starts there.
    #[inline(always)]
    fn len(&self, start: usize) -> usize {
        self.words_each[start / SEGMENT].into()
    }

    /// The word in which a number starts, of the shelf that starts there, and at which bit.
    #[inline(always)]
    fn place(&self, start: usize, rank: u32) -> (usize, usize) {
        let bit = BEFORE + rank as usize * self.bits;
        (start + bit / 64, bit % 64)
    }

    /// How many slots before one hold a page, in the shelf that starts there.
    #[inline(always)]
    fn rank(&self, start: usize, slot: u32) -> u32 {
        let word = start + (slot % SLOTS / 64) as usize;
        let before = self.words[start..word].iter().map(|word| word.count_ones()).sum::<u32>();
        before + (self.words[word] & ((1 << (slot % 64)) - 1)).count_ones()
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

    /// A bit for each of 64 slots: it holds a page.
    #[inline(always)]
    pub fn filled(&self, slots: usize) -> u64 {
        self.words[self.starts[slots / FILLED] as usize + slots % FILLED]
    }

    /// The number of a slot that holds a page.
    #[inline]
    pub fn get(&self, slot: u32) -> u32 {
        let start = self.start(slot / SLOTS);
        self.cut(self.window(self.place(start, self.rank(start, slot))))
    }

    /// The numbers of a shelf.
    pub fn numbers(&self, shelf: u32) -> impl Iterator<Item = u32> {
        let start = self.start(shelf);
        (0..self.count(start)).map(move |rank| self.cut(self.window(self.place(start, rank))))
    }

    /// A slot that held none holds a page, with this number.
    #[inline]
    pub fn insert(&mut self, slot: u32, value: u32) {
        let shelf = slot / SLOTS;
        let mut start = self.start(shelf);
        let count = self.count(start);
        let at = start + (slot % SLOTS / 64) as usize;
        let after = self.words[at + 1..start + FILLED].iter().fold(0, |all, word| all | word);
        let after = after | self.words[at] >> (slot % 64);
        let rank = if after == 0 { count } else { self.rank(start, slot) };
        let need = self.need(count + 1);
        if need > self.len(start) {
            start = self.move_to(shelf, if after == 0 { self.lengths.len() - 1 } else { need });
        }
        self.set_head(start, shelf, count + 1);
        let (word, bit) = self.place(start, rank);
        if after != 0 {
            // Those after it make room, the last word first.
            for at in (word + 1..start + need).rev() {
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
        self.words[start + (slot % SLOTS / 64) as usize] |= 1 << (slot % 64);
    }

    /// A slot that held a page, and had this number, holds none.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> u32 {
        let shelf = slot / SLOTS;
        let start = self.start(shelf);
        let count = self.count(start);
        debug_assert!(self.filled(slot as usize / 64) >> (slot % 64) & 1 == 1, "it held none");
        self.words[start + (slot % SLOTS / 64) as usize] &= !(1 << (slot % 64));
        let (word, bit) = self.place(start, self.rank(start, slot));
        let value = self.cut(self.window((word, bit)));
        let (end, shift) = (start + self.need(count), self.bits);
        let words = &mut self.words[word..=end];
        let (first, below) = (words[0], (1 << bit) - 1);
        for at in 1..words.len() {
            words[at - 1] = words[at - 1] >> shift | words[at] << (64 - shift);
        }
        words[0] = words[0] & !below | first & below;
        let need = self.need(count - 1);
        let start = if need == self.len(start) { start } else { self.move_to(shelf, need) };
        if count > 1 {
            self.set_head(start, shelf, count - 1);
        }
        value
    }

    /// Of a shelf none of whose slots held a page those hold one whose bit is set, with these numbers.
    pub fn fill(&mut self, shelf: u32, filled: [u64; FILLED], values: &[u32]) {
        if values.is_empty() {
            return;
        }
        let count = u32::try_from(values.len()).expect("at most a shelf's");
        let start = self.move_to(shelf, self.need(count));
        self.set_head(start, shelf, count);
        self.words[start..start + FILLED].copy_from_slice(&filled);
        let (mut at, mut shift) = self.place(start, 0);
        let mut word = self.words[at] & ((1 << shift) - 1);
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

    /// The first of some slots of a shelf that holds a page and has this number.
    #[inline]
    pub fn find(&self, slots: Range<u32>, value: u32) -> Option<u32> {
        let shelf = slots.start / SLOTS;
        let start = self.start(shelf);
        let mut rank =
            if slots.start.is_multiple_of(SLOTS) { 0 } else { self.rank(start, slots.start) };
        let whole = slots.end.is_multiple_of(SLOTS);
        let end = if whole { self.count(start) } else { self.rank(start, slots.end) };
        // As many as fill a word are compared at once: a field of the difference that is 0 is the one that
        // borrows from its top bit, or lies above one that is 0.
        let wanted = u64::from(value) * self.each;
        let tops = self.each << (self.bits - 1);
        let (mut word, mut bit) = self.place(start, rank);
        while rank < end {
            let apart = self.window((word, bit)) ^ wanted;
            let found = apart.wrapping_sub(self.each) & !apart & tops;
            if found != 0 {
                // A place in a word.
                #[allow(clippy::cast_possible_truncation)]
                let at = rank + found.trailing_zeros() / self.bits as u32;
                let filled = &self.words[start..start + FILLED];
                return (at < end).then(|| shelf * SLOTS + nth(filled, at));
            }
            rank += self.at_once;
            bit += self.at_once as usize * self.bits;
            (word, bit) = (word + bit / 64, bit % 64);
        }
        None
    }

    /// The memory that says where a shelf is.
    #[inline]
    pub fn start_of(&self, shelf: u32) -> &[u32] {
        &self.starts[shelf as usize..]
    }

    /// The memory in which a shelf starts.
    #[inline]
    pub fn head(&self, shelf: u32) -> &[u64] {
        &self.words[self.start(shelf)..]
    }

    /// The memory of a shelf.
    #[inline]
    pub fn shelf(&self, shelf: u32) -> &[u64] {
        let start = self.start(shelf);
        &self.words[start..start + self.need(self.count(start))]
    }

    /// The memory of a shelf from the number of one of its slots on.
    #[inline]
    pub fn from(&self, slot: u32) -> &[u64] {
        let start = self.start(slot / SLOTS);
        let (word, _) = self.place(start, self.rank(start, slot));
        &self.words[word..start + self.need(self.count(start))]
    }

    /// Says which shelf starts there, and how many numbers it has.
    #[inline(always)]
    fn set_head(&mut self, start: usize, shelf: u32, count: u32) {
        let head = &mut self.words[start + FILLED];
        *head = Head { shelf, count }.put_into(*head);
    }

    /// Gives a shelf another length, and says where it starts now.
    #[inline(never)]
    fn move_to(&mut self, shelf: u32, len: usize) -> usize {
        let old = self.start(shelf);
        let from = self.len(old);
        let new = if len == 0 { 0 } else { self.take(len) };
        if from == 0 {
            self.words[new..new + FILLED].fill(0);
        } else {
            self.words.copy_within(old..old + from.min(len), new);
        }
        self.starts[shelf as usize] = number(new);
        if from > 0 {
            self.give_back(old, from);
        }
        new
    }

    /// Room for a shelf.
    fn take(&mut self, len: usize) -> usize {
        let length = &mut self.lengths[len];
        if length.segments.is_empty() || (length.last + 1) * len > SEGMENT {
            let segment = self.free.pop().unwrap_or_else(|| {
                self.words_each.push(0);
                number(self.words_each.len() - 1)
            });
            // 256 numbers of 32 bits take 133 with what stands before them.
            self.words_each[segment as usize] = u8::try_from(len).expect("fewer than 256");
            length.segments.push(segment);
            length.last = 0;
            let end = self.words_each.len() * SEGMENT;
            if self.words.len() <= end {
                self.words.resize(end * 5 / 4 + 1, 0);
            }
        }
        let segment = length.segments[length.segments.len() - 1];
        length.last += 1;
        segment as usize * SEGMENT + (length.last - 1) * len
    }

    /// The room of a shelf is free: the last of its length takes it.
    fn give_back(&mut self, at: usize, len: usize) {
        let length = &mut self.lengths[len];
        length.last -= 1;
        let segment = length.segments[length.segments.len() - 1];
        let last = segment as usize * SEGMENT + length.last * len;
        if length.last == 0 {
            self.free.extend(length.segments.pop());
            length.last = SEGMENT / len;
        }
        if last != at {
            self.words.copy_within(last..last + len, at);
            let moved = Head::of(self.words[at + FILLED]).shelf;
            self.starts[moved as usize] = number(at);
        }
    }

    /// The words of all shelves, and where each starts.
    pub fn tables(&self) -> (&[u64], &[u32]) {
        (&self.words, &self.starts)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        self.words_each.len() as u64 * SEGMENT as u64 * 8 + self.starts.len() as u64 * 4
    }
}

/// A word's number.
#[inline]
fn number(word: usize) -> u32 {
    u32::try_from(word).expect("32 GiB are more than all pages take that can be numbered")
}

/// Which bit is set that so many set bits are below of; there is one (Vigna, Broadword implementation of
/// rank/select queries, 2008).
#[inline]
fn nth(words: &[u64], mut rank: u32) -> u32 {
    const ONES: u64 = u64::MAX / 255;
    let (mut first, mut word) = (0, words[0]);
    for &next in &words[1..] {
        let count = word.count_ones();
        if rank < count {
            break;
        }
        (first, word, rank) = (first + 64, next, rank - count);
    }
    // By byte: how many bits are set in it, and up to its end.
    let pairs = word - ((word >> 1) & (ONES * 0x55));
    let fours = (pairs & (ONES * 0x33)) + ((pairs >> 2) & (ONES * 0x33));
    let upto = ((fours + (fours >> 4)) & (ONES * 0x0f)).wrapping_mul(ONES);
    // The top bit of each byte up to whose end there are not more.
    let before = ((ONES * u64::from(rank)) | (ONES << 7)) - upto;
    let before = before & (ONES << 7);
    let shift = before.count_ones() * 8;
    let mut byte = word >> shift;
    for _ in ((upto << 8 >> shift) & 0xff)..rank.into() {
        byte &= byte - 1;
    }
    first + shift + byte.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Beside plain lists, numbers of all widths, with segments that come and go.
    #[test]
    fn they_hold_what_lists_hold() {
        const SHELVES: u32 = 400;
        let mut random = Random(1);
        // A number may fill a word with others, end with it, or lie in two.
        for bits in [1, 7, 8, 16, 20, 21, 22, 25, 31, 32] {
            let most = u32::MAX >> (32 - bits);
            // More than was said.
            let mut held = Shelves::new(SHELVES * SLOTS, most, 100);
            let mut slots = vec![None; (SHELVES * SLOTS) as usize];
            let mut segments = 0;
            for round in 0..3_000 {
                // First more come than go, then fewer.
                let comes = random.below(10) < if round % 1_500 < 750 { 8 } else { 2 };
                let shelf = random.below(SHELVES);
                let first = shelf * SLOTS;
                let these: &mut [Option<u32>] = &mut slots[first as usize..][..SLOTS as usize];
                if comes && these.iter().all(Option::is_none) {
                    let mut next = || random.next();
                    let filled = [next(), next() & next(), 0, next() | next()];
                    let all =
                        (0..SLOTS).filter(|at| filled[*at as usize / 64] >> (at % 64) & 1 == 1);
                    all.for_each(|at| these[at as usize] = Some(random.below(most)));
                    let values: Vec<_> = these.iter().flatten().copied().collect();
                    held.fill(shelf, filled, &values);
                }
                for _ in 0..random.below(60) {
                    let at = random.below(SLOTS);
                    match &mut these[at as usize] {
                        none @ None if comes => {
                            let value = random.below(most) + 1;
                            *none = Some(value);
                            held.insert(first + at, value);
                        }
                        some @ Some(_) if !comes => {
                            assert_eq!(Some(held.remove(first + at)), some.take(), "{bits} bits");
                        }
                        _ => {}
                    }
                }
                segments = segments.max(held.words_each.len());
            }
            assert!(segments > bits as usize / 5, "{segments} segments, {bits} bits");
            for (shelf, these) in (0..).zip(slots.chunks(SLOTS as usize)) {
                assert!(held.numbers(shelf).eq(these.iter().flatten().copied()), "{shelf}");
                let first = shelf * SLOTS;
                for (at, value) in (0..).zip(these) {
                    let slot = first + at;
                    let filled = held.filled(slot as usize / 64) >> (slot % 64) & 1 == 1;
                    assert_eq!(filled.then(|| held.get(slot)), *value, "{slot}, {bits} bits");
                    let Some(value) = value else { continue };
                    for range in [
                        first..first + SLOTS,
                        slot..slot + 1,
                        first..slot.max(first + 1),
                        first + at / 2..slot + 1,
                    ] {
                        let same = |&slot: &u32| slots[slot as usize] == Some(*value);
                        let found = held.find(range.clone(), *value);
                        assert_eq!(found, range.clone().find(same), "{value} in {range:?}");
                    }
                }
            }
        }
    }
}
