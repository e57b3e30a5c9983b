//! Where each logical page is, what each slot of the array was last programmed with, and which
//! slots are still good.
//!
//! Slots are numbered through the array: slot `s` of super-page `p` is `p * slots + s`. A page with
//! work in flight is in a buffer: then the map names its unit, and the unit says where the page is on
//! the array. So one look tells both. The tables are packed: of an array of 2^26 slots they take 27
//! and 26 bits an entry, and a bit. With [`Config::coarse`](crate::Config::coarse) the second is smaller:
//! what it leaves out the first tells.

use crate::io::Out;
use crate::machine::Ftl;
use crate::packed::Packed;
use crate::units::NONE;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_units::Lpn;

/// Units that the map can name at first, at least.
const UNITS: u32 = 1 << 16;
/// The most slots: above them numbers are left for units.
pub(crate) const MOST_SLOTS: u32 = u32::MAX - (1 << 24);

#[derive(Clone, Debug)]
pub(crate) struct Map {
    slots: u32,
    /// By logical page: 0 where it is not mapped; a slot + 1; above these, a unit.
    places: Packed,
    /// Units with a number below this can be named.
    units: u32,
    /// By slot: 0, or the logical page without its lowest bits, + 1. Where no bits are left out this is
    /// the content of the summary pages. It is never cleared.
    written: Packed,
    /// How many bits are left out.
    coarse: u32,
    exported: u32,
    /// A bit for each slot: a logical page is there.
    valid: Vec<u64>,
}

impl Map {
    pub fn new(exported: u32, slots: u32, coarse: u32) -> Self {
        let places = Packed::new(exported, slots + UNITS);
        Self {
            slots,
            units: places.max() - slots,
            places,
            written: Packed::new(slots, (exported.saturating_sub(1) >> coarse) + 1),
            coarse,
            exported,
            valid: vec![0; slots.div_ceil(64) as usize],
        }
    }

    /// Where a page is: `NONE` if not mapped, a slot, or what [`unit`](Self::unit) understands.
    #[inline]
    pub fn get(&self, lpn: u32) -> u32 {
        self.places.get(lpn).wrapping_sub(1)
    }

    /// The unit that stands in the place.
    #[inline]
    pub fn unit(&self, place: u32) -> Option<u32> {
        (place >= self.slots && place != NONE).then(|| place - self.slots)
    }

    /// The page is where it says, `NONE` or a slot.
    #[inline]
    pub fn set(&mut self, lpn: u32, place: u32) {
        self.places.set(lpn, place.wrapping_add(1));
    }

    /// The page is in a unit.
    #[inline]
    pub fn set_unit(&mut self, lpn: u32, at: u32) {
        if at >= self.units {
            self.widen(at);
        }
        self.places.set(lpn, self.slots + at + 1);
    }

    /// More work is in flight than there are numbers for: all entries are given a bit more.
    #[cold]
    fn widen(&mut self, at: u32) {
        let most = self.slots.checked_add(at + 1).expect("fewer than 2^24 pages in flight");
        self.places = self.places.with_max(most);
        self.units = self.places.max() - self.slots;
    }

    /// A page is in a slot that held none.
    #[inline]
    pub fn fill(&mut self, psn: u32) {
        self.valid[psn as usize / 64] |= 1 << (psn % 64);
    }

    /// Pages are in those slots from `start` on whose bit is set.
    fn fill_all(&mut self, start: u32, bits: u64) {
        let (word, shift) = (start as usize / 64, start % 64);
        self.valid[word] |= bits << shift;
        // What goes beyond the word; none of the last slots do.
        let beyond = bits.checked_shr(64 - shift).unwrap_or(0);
        if beyond != 0 {
            self.valid[word + 1] |= beyond;
        }
    }

    /// The page that was in a slot is there no more.
    #[inline]
    pub fn empty(&mut self, psn: u32) {
        self.valid[psn as usize / 64] &= !(1 << (psn % 64));
    }

    /// Whether a page is in a slot.
    #[inline]
    pub fn is_filled(&self, psn: u32) -> bool {
        self.valid[psn as usize / 64] >> (psn % 64) & 1 == 1
    }

    /// The first of the slots from `psn` to before `end` that a page is in.
    #[inline]
    pub fn next_filled(&self, psn: u32, end: u32) -> Option<u32> {
        let mut at = psn;
        while at < end {
            let word = self.valid[at as usize / 64] >> (at % 64);
            if word != 0 {
                return Some(at + word.trailing_zeros()).filter(|&at| at < end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Maps the next of `pages`, none of which are mapped, to each slot from `start` on whose bit
    /// is set, programmed with it. None of the slots was written before.
    ///
    /// The processor has to wait for the memory of each page's entry, but not for one after the
    /// other: all are asked for before the first is needed.
    pub fn set_all(&mut self, start: u32, slots: &[u64], pages: &mut impl Iterator<Item = u32>) {
        const WORDS: usize = 4;
        let mut asked = [0; 64 * WORDS];
        for (slots, start) in slots.chunks(WORDS).zip((start..).step_by(64 * WORDS)) {
            let count: u32 = slots.iter().map(|word| word.count_ones()).sum();
            let asked = &mut asked[..count as usize];
            asked.fill_with(|| pages.next().expect("a page for each slot"));
            core::hint::black_box(asked.iter().fold(0, |sum, &page| sum ^ self.places.get(page)));
            let mut written = [0; 64 * WORDS];
            let mut asked = asked.iter();
            for (first, &word) in (0..).step_by(64).zip(slots) {
                self.fill_all(start + first, word);
                let mut word = word;
                while word != 0 {
                    let at = first + word.trailing_zeros();
                    word &= word - 1;
                    let &page = asked.next().expect("counted");
                    self.set(page, start + at);
                    written[at as usize] = (page >> self.coarse) + 1;
                }
            }
            let end =
                64 * slots.len() - slots.last().map_or(0, |word| word.leading_zeros() as usize);
            self.written.set_run(start, &written[..end]);
        }
    }

    /// What a slot was last programmed with. No bits are left out.
    #[inline]
    pub fn written(&self, psn: u32) -> Option<u32> {
        debug_assert_eq!(self.coarse, 0, "that is not known");
        self.written.get(psn).checked_sub(1)
    }

    /// Whether a slot was last programmed with this page, as far as that is kept.
    #[inline]
    pub fn may_hold(&self, psn: u32, lpn: u32) -> bool {
        self.written.get(psn) == (lpn >> self.coarse) + 1
    }

    /// The pages with one of which a slot was last programmed.
    #[inline]
    pub fn candidates(&self, psn: u32) -> Range<u32> {
        let Some(group) = self.written.get(psn).checked_sub(1) else { return 0..0 };
        let first = group << self.coarse;
        first..self.exported.min(first.saturating_add(1 << self.coarse))
    }

    /// Which of some pages is in a slot, of those not in a unit.
    pub fn find(&self, pages: Range<u32>, psn: u32) -> Option<u32> {
        self.places.find(pages, psn + 1)
    }

    #[inline]
    pub fn write(&mut self, psn: u32, lpn: Option<u32>) {
        self.written.set(psn, lpn.map_or(0, |lpn| (lpn >> self.coarse) + 1));
    }

    /// The memory from a page's entry on; empty where there is no such page.
    #[inline]
    pub fn entry(&self, lpn: u64) -> &[u8] {
        self.places.from(lpn)
    }

    /// The memory of what a slot was last programmed with.
    #[inline]
    pub fn line(&self, psn: u32) -> &[u8] {
        self.written.from(psn.into())
    }

    /// The memory of the bit that says whether a page is in a slot.
    #[inline]
    pub fn filled(&self, psn: u32) -> &[u64] {
        self.valid.get(psn as usize / 64..).unwrap_or_default()
    }

    /// Where the tables lie.
    pub fn ranges(&self) -> [Range<*const u8>; 3] {
        let valid = self.valid.as_ptr_range();
        [
            self.places.bytes().as_ptr_range(),
            self.written.bytes().as_ptr_range(),
            valid.start.cast()..valid.end.cast(),
        ]
    }

    /// Hands out the state. No page is in a unit.
    pub fn save(&self, out: &mut dyn FnMut(&[u8])) {
        let at_first = Packed::new(0, self.slots + UNITS).max();
        if self.places.max() == at_first {
            out(self.places.bytes());
        } else {
            out(self.places.with_max(at_first).bytes());
        }
        out(self.written.bytes());
    }

    /// Takes the state back; false where `fill` cannot, or a place is no slot.
    pub fn restore(&mut self, exported: u32, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        if !(fill(self.places.bytes_mut()) && fill(self.written.bytes_mut())) {
            return false;
        }
        for place in (0..exported).map(|lpn| self.places.get(lpn).wrapping_sub(1)) {
            if place < self.slots {
                self.valid[place as usize / 64] |= 1 << (place % 64);
            } else if place != NONE {
                return false;
            }
        }
        true
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        self.places.memory() + self.written.memory() + self.valid.len() as u64 * 8
    }
}

impl<O: Out> Ftl<O> {
    /// The slot that holds the last copy of a page on the array, whatever is in flight.
    pub(crate) fn home(&self, lpn: Lpn) -> Option<u32> {
        let place = self.map.get(lpn.0);
        let place = self.map.unit(place).map_or(place, |at| self.units[at].home);
        (place != NONE).then_some(place)
    }

    /// The slot after which the slots of a super-page start.
    #[inline]
    pub(crate) fn slot(&self, ppn: gordon_units::Ppn, slot: u32) -> u32 {
        ppn.0 * self.config.slots + slot
    }

    /// The page in a slot that one is in.
    #[inline(always)]
    pub(crate) fn page_in(&self, psn: u32) -> u32 {
        let pages = self.map.candidates(psn);
        if pages.len() == 1 { pages.start } else { self.find(psn, pages) }
    }

    /// Which of some pages is in a slot. Few are in a buffer, and known by that.
    #[inline(never)]
    fn find(&self, psn: u32, mut pages: Range<u32>) -> u32 {
        let found = self.map.find(pages.clone(), psn);
        let found = found.or_else(|| pages.find(|&lpn| self.home(Lpn(lpn)) == Some(psn)));
        found.expect("a page is there")
    }

    /// The super-page of a slot.
    #[inline]
    pub(crate) fn page_of(&self, psn: u32) -> gordon_units::Ppn {
        gordon_units::Ppn(match self.config.slots {
            1 => psn,
            slots => psn / slots,
        })
    }

    /// The block of a slot.
    #[inline]
    pub(crate) fn block_of(&self, psn: u32) -> gordon_units::BlockId {
        self.layout.block_of(self.page_of(psn))
    }
}
