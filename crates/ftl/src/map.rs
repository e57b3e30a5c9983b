//! Where each logical page is, what each slot of the array was last programmed with, and which
//! slots are still good.
//!
//! Slots are numbered through the array: slot `s` of super-page `p` is `p * slots + s`. A page with
//! work in flight is in a buffer: then the map names its unit, and the unit says where the page is on
//! the array. So one look tells both. The tables are packed: of an array of 2^22 slots they take 23
//! and 22 bits an entry, and a bit. With [`Config::coarse`](crate::Config::coarse) the second is smaller:
//! what it leaves out the first tells. With [`Config::grouped`](crate::Config::grouped) the first is smaller
//! too, and each tells what the other leaves out.
//!
//! Of a large array the second has only the slots that hold a page: see [`shelves`].
//!
//! # How two tables that leave something out tell all
//! The first says in which group of slots a page is, the second with which group of pages a slot was
//! programmed. A page is in the slot of its group, of those that hold a page, that was programmed with
//! its group of pages; and the page of a slot is the one of its group that is in that group of slots. For
//! that no two pages of one group may be in one group of slots: where they would be, the later is *odd*,
//! marked so in both tables, and listed beside them. So that few are, neighbours are not in one
//! group of pages: see [`Order`]. Of pages in random places one in some ten thousand is odd.

mod kept;
mod odd;
mod order;
mod shelves;

use crate::io::Out;
use crate::machine::Ftl;
use crate::packed::Packed;
use crate::units::NONE;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_units::Lpn;
use odd::{Odd, Seen};
use order::Order;
use shelves::{FILLED, SLOTS, Shelves};

/// Entries of a table in a line of the processor's cache, at least.
pub(crate) const LINE: usize = 16;
/// Lines of a block that are asked for before it is collected.
const LINES: usize = 32;
/// Units that the map can name at first, at least.
const UNITS: u32 = 1 << 16;
/// The most slots: above them numbers are left for units.
pub(crate) const MOST_SLOTS: u32 = u32::MAX - (1 << 24);

/// The map. Whether it is that of a large array is known when it is compiled: that of a small one is the
/// quicker for it.
#[derive(Clone, Debug)]
pub(crate) struct Map<const LARGE: bool> {
    slots: u32,
    /// By logical page: 0 where it is not mapped; a slot or group of slots + 1; of groups, one for pages
    /// that are odd; above these, a unit.
    places: Packed,
    /// The number of the first unit, and how many can be named.
    first_unit: u32,
    units: u32,
    /// By slot, of a small array: 0, or the logical page without its lowest bits, + 1. Where no bits are
    /// left out this is the content of the summary pages. It is never cleared.
    written: Packed,
    /// By slot, of a large array: whether it holds a page, and if so, the page's group, or `odd_page`.
    held: Shelves,
    odd_page: u32,
    /// How many bits of a page are left out.
    coarse: u32,
    /// How many bits of a slot are left out, and with them the entries' order.
    grouped: u32,
    order: Order,
    odd: Odd,
    exported: u32,
    /// A bit for each slot, of a small array: a logical page is there.
    valid: Vec<u64>,
}

impl<const LARGE: bool> Map<LARGE> {
    /// Of pages `coarse` bits are left out, of slots, of a large array, `grouped`: a shelf's at most.
    pub fn new(exported: u32, slots: u32, coarse: u32, grouped: u32) -> Self {
        let grouped = if LARGE { grouped.min(SLOTS.ilog2()) } else { 0 };
        let order = Order::new(exported, coarse);
        let (entries, first_unit) = match grouped {
            0 => (exported, slots + 1),
            _ => (order.entries(exported), (slots >> grouped) + 3),
        };
        let places = Packed::new(entries, first_unit - 1 + UNITS);
        let groups = (entries.saturating_sub(1) >> coarse) + 1;
        let [written, held] = if LARGE { [0, slots] } else { [slots, 0] };
        Self {
            slots,
            first_unit,
            units: places.max() - first_unit + 1,
            places,
            written: Packed::new(written, groups),
            // A page is in its new slot before it leaves the old one.
            held: Shelves::new(held, groups, exported.saturating_add(1)),
            odd_page: groups,
            coarse,
            grouped,
            order,
            odd: Odd::default(),
            exported,
            valid: vec![0; written.div_ceil(64) as usize],
        }
    }

    /// Whether a slot has to be searched.
    #[inline(always)]
    pub fn is_grouped(&self) -> bool {
        LARGE && self.grouped > 0
    }

    /// Where a page is: `NONE` if not mapped, a slot, or what [`unit`](Self::unit) understands.
    #[inline]
    pub fn get(&self, lpn: u32) -> u32 {
        if self.is_grouped() { self.look_up(lpn) } else { self.places.get(lpn).wrapping_sub(1) }
    }

    /// The same, where the map tells groups of slots.
    #[inline(never)]
    fn look_up(&self, lpn: u32) -> u32 {
        let entry = self.order.entry_of(lpn);
        match self.places.get(entry) {
            0 => NONE,
            unit if unit >= self.first_unit => self.slots + (unit - self.first_unit),
            odd if odd == self.odd_place() => self.odd.by_page.get(&lpn).copied().unwrap_or(NONE),
            // There is one; but in a checkpoint that contradicts itself, which the counts of valid pages
            // then show.
            group => self.held.find(self.slots_of(group - 1), entry >> self.coarse).unwrap_or(NONE),
        }
    }

    /// A bit for each of 64 slots: a logical page is there.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        if LARGE { self.held.filled(at) } else { self.valid[at] }
    }

    /// The slots of a group.
    #[inline]
    fn slots_of(&self, group: u32) -> Range<u32> {
        let first = group << self.grouped;
        first..self.slots.min(first.saturating_add(1 << self.grouped))
    }

    /// What the first table has for a page that is odd, where any are.
    #[inline]
    fn odd_place(&self) -> u32 {
        if self.is_grouped() { self.first_unit - 1 } else { NONE }
    }

    /// Where a page's entry is.
    #[inline]
    fn entry_of(&self, lpn: u32) -> u32 {
        if self.is_grouped() { self.order.entry_of(lpn) } else { lpn }
    }

    /// Whose entry it is.
    #[inline]
    pub fn page_at(&self, entry: u32) -> u32 {
        if self.is_grouped() { self.order.page_at(entry) } else { entry }
    }

    /// The group of a page.
    #[inline]
    fn group_of(&self, lpn: u32) -> u32 {
        self.entry_of(lpn) >> self.coarse
    }

    /// The unit that stands in the place.
    #[inline]
    pub fn unit(&self, place: u32) -> Option<u32> {
        (place >= self.slots && place != NONE).then(|| place - self.slots)
    }

    /// The unit that a page is in.
    #[inline]
    pub fn unit_of(&self, lpn: u32) -> Option<u32> {
        self.unit_at(self.entry_of(lpn))
    }

    /// The page is where it says, `NONE` or a slot that is [filled](Self::fill).
    #[inline]
    pub fn set(&mut self, lpn: u32, place: u32) {
        if self.is_grouped() {
            self.set_group(lpn, place);
        } else {
            self.places.set(lpn, place.wrapping_add(1));
        }
    }

    #[inline]
    fn set_group(&mut self, lpn: u32, place: u32) {
        let entry = self.order.entry_of(lpn);
        match place {
            NONE => self.places.set(entry, 0),
            slot if self.held.get(slot) == self.odd_page => self.set_odd(entry, slot),
            slot => self.places.set(entry, (slot >> self.grouped) + 1),
        }
    }

    #[cold]
    fn set_odd(&mut self, entry: u32, slot: u32) {
        self.odd.by_page.insert(self.page_at(entry), slot);
        self.places.set(entry, self.odd_place());
    }

    /// The page is in a unit.
    #[inline(always)]
    pub fn set_unit(&mut self, lpn: u32, at: u32) {
        if at >= self.units {
            self.widen(at);
        }
        self.places.set(self.entry_of(lpn), self.first_unit + at);
    }

    /// More work is in flight than there are numbers for: all entries are given a bit more.
    #[cold]
    fn widen(&mut self, at: u32) {
        let most = self.first_unit.checked_add(at).expect("fewer than 2^24 pages in flight");
        self.places = self.places.with_max(most);
        self.units = self.places.max() - self.first_unit + 1;
    }

    /// A page is in a slot that held none, and that was programmed with it.
    #[inline]
    pub fn fill(&mut self, psn: u32, lpn: u32) {
        if LARGE {
            self.put(psn, lpn);
        } else {
            self.valid[psn as usize / 64] |= 1 << (psn % 64);
        }
    }

    /// Puts a page on the shelf of a slot; one that would be the second of its group in a group of slots is
    /// odd.
    #[inline]
    fn put(&mut self, psn: u32, lpn: u32) {
        let mut pages = self.group_of(lpn);
        if self.is_grouped() && self.held.find(self.slots_of(psn >> self.grouped), pages).is_some()
        {
            pages = self.odd_page;
            self.odd.by_slot.insert(psn, lpn);
        }
        self.held.insert(psn, pages);
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
        if !LARGE {
            self.valid[psn as usize / 64] &= !(1 << (psn % 64));
        } else if self.held.remove(psn) == self.odd_page {
            self.forget_odd(psn);
        }
    }

    #[cold]
    fn forget_odd(&mut self, psn: u32) {
        let lpn = self.odd.by_slot.remove(&psn).expect("it was listed when it was filled");
        if self.odd.by_page.get(&lpn) == Some(&psn) {
            self.odd.by_page.remove(&lpn);
        }
    }

    /// Whether a page is in a slot.
    #[inline]
    pub fn is_filled(&self, psn: u32) -> bool {
        self.word(psn as usize / 64) >> (psn % 64) & 1 == 1
    }

    /// The first of the slots from `psn` to before `end` that a page is in.
    #[inline]
    pub fn next_filled(&self, psn: u32, end: u32) -> Option<u32> {
        let mut at = psn;
        while at < end {
            let word = self.word(at as usize / 64) >> (at % 64);
            if word != 0 {
                return Some(at + word.trailing_zeros()).filter(|&at| at < end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// A bit for each of up to 64 slots: a page is in it.
    #[inline]
    pub fn filled_among(&self, slots: Range<u32>) -> u64 {
        let (word, shift) = (slots.start as usize / 64, slots.start % 64);
        let len = slots.end - slots.start;
        let mut bits = self.word(word) >> shift;
        if shift + len > 64 {
            bits |= self.word(word + 1) << (64 - shift);
        }
        bits & (u64::MAX >> (64 - len))
    }

    /// Maps the next of `pages`, none of which are mapped, to each slot from `start` on whose bit
    /// is set, programmed with it. None of the slots was written before.
    ///
    /// The processor has to wait for the memory of each page's entry, but not for one after the
    /// other: all are asked for before the first is needed.
    pub fn set_all(&mut self, start: u32, slots: &[u64], pages: &mut impl Iterator<Item = u32>) {
        const WORDS: usize = 4;
        // Of a large array: what the slots have in the second table; and which groups of pages are in the
        // group of slots that `slot` is in.
        let mut held = Vec::new();
        let mut seen = self.is_grouped().then(|| (Seen::new(self.grouped), NONE));
        let mut asked = [0; 64 * WORDS];
        for (slots, start) in slots.chunks(WORDS).zip((start..).step_by(64 * WORDS)) {
            let count: u32 = slots.iter().map(|word| word.count_ones()).sum();
            let asked = &mut asked[..count as usize];
            asked.fill_with(|| self.entry_of(pages.next().expect("a page for each slot")));
            core::hint::black_box(asked.iter().fold(0, |sum, &entry| sum ^ self.places.get(entry)));
            let mut written = [0; 64 * WORDS];
            let mut asked = asked.iter();
            for (first, &word) in (0..).step_by(64).zip(slots) {
                let mut word = word;
                while word != 0 {
                    let at = first + word.trailing_zeros();
                    word &= word - 1;
                    let &entry = asked.next().expect("counted");
                    let (pages, slot) = (entry >> self.coarse, start + at);
                    let group = slot >> self.grouped;
                    if let Some((seen, of)) = &mut seen {
                        if *of != group {
                            *of = group;
                            self.see_others(group, seen);
                        }
                        if !seen.is_first(group, pages) {
                            held.push(self.odd_page);
                            self.odd.by_slot.insert(slot, self.page_at(entry));
                            self.set_odd(entry, slot);
                            continue;
                        }
                    }
                    if LARGE {
                        held.push(pages);
                    } else {
                        written[at as usize] = pages + 1;
                    }
                    self.places.set(entry, group + 1);
                }
            }
            if !LARGE {
                let end = 64 * slots.len() - zeros_after(slots);
                self.written.set_run(start, &written[..end]);
            }
        }
        if LARGE {
            self.put_all(start, slots, &held);
        } else {
            let starts = (start..).step_by(64);
            starts.zip(slots).for_each(|(start, &word)| self.fill_all(start, word));
        }
    }

    /// The groups of pages that are in the slots of a group.
    fn see_others(&self, group: u32, seen: &mut Seen) {
        let Range { start, end } = self.slots_of(group);
        let mut at = start;
        while let Some(slot) = self.next_filled(at, end) {
            seen.is_first(group, self.held.get(slot));
            at = slot + 1;
        }
    }

    /// Puts what the slots from `start` on whose bit is set have in the second table onto their shelves.
    fn put_all(&mut self, start: u32, slots: &[u64], mut held: &[u32]) {
        let end = 64 * slots.len() - zeros_after(slots);
        let mut from = start;
        let end = start + u32::try_from(end).expect("of a block");
        while from < end {
            let first = from / SLOTS * SLOTS;
            // A bit for each slot of the shelf; those before `start` have none.
            let words = core::array::from_fn::<_, FILLED, _>(|word| first + 64 * word as u32);
            let bits = words.map(|at| match at.checked_sub(start) {
                Some(after) => bits_from(slots, after),
                None => bits_from(slots, 0).checked_shl(start - at).unwrap_or(0),
            });
            let count: u32 = bits.iter().map(|bits| bits.count_ones()).sum();
            let (these, others) = held.split_at(count as usize);
            if words.map(|at| self.word(at as usize / 64)) == [0; FILLED] {
                self.held.fill(first / SLOTS, bits, these);
            } else {
                let mut these = these.iter();
                for (first, mut bits) in words.into_iter().zip(bits) {
                    while bits != 0 {
                        let &value = these.next().expect("counted");
                        self.held.insert(first + bits.trailing_zeros(), value);
                        bits &= bits - 1;
                    }
                }
            }
            (held, from) = (others, first + SLOTS);
        }
    }

    /// What a slot was last programmed with. No bits are left out.
    #[inline]
    pub fn written(&self, psn: u32) -> Option<u32> {
        debug_assert!(!LARGE && self.coarse == 0, "that is not known");
        self.written.get(psn).checked_sub(1)
    }

    /// Whether a slot holds this page, as far as the second table tells.
    #[inline]
    pub fn may_hold(&self, psn: u32, lpn: u32) -> bool {
        if !self.is_filled(psn) {
            return false;
        }
        if !LARGE {
            return self.written.get(psn) == self.group_of(lpn) + 1;
        }
        match self.held.get(psn) {
            odd if odd == self.odd_page => self.odd.by_slot.get(&psn) == Some(&lpn),
            pages => pages == self.group_of(lpn),
        }
    }

    /// The entries of the pages one of which is in a slot; of a small array, one with which it was last
    /// programmed.
    #[inline]
    pub fn candidates(&self, psn: u32) -> Range<u32> {
        if LARGE {
            return self.candidates_of_group(psn);
        }
        self.written.get(psn).checked_sub(1).map_or(0..0, |group| self.entries_of(group))
    }

    #[inline]
    fn candidates_of_group(&self, psn: u32) -> Range<u32> {
        let group = self.held.get(psn);
        if group == self.odd_page {
            let entry = self.entry_of(self.odd.by_slot[&psn]);
            return entry..entry + 1;
        }
        self.entries_of(group)
    }

    /// The entries of a group of pages.
    #[inline]
    fn entries_of(&self, group: u32) -> Range<u32> {
        let first = group << self.coarse;
        let end = first.saturating_add(1 << self.coarse);
        first..if self.is_grouped() { end } else { end.min(self.exported) }
    }

    /// Which of some entries says that its page is in a slot, of those not in a unit.
    pub fn find(&self, entries: Range<u32>, psn: u32) -> Option<u32> {
        self.places.find(entries, (psn >> self.grouped) + 1)
    }

    /// The unit that an entry names.
    #[inline]
    pub fn unit_at(&self, entry: u32) -> Option<u32> {
        self.places.get(entry).checked_sub(self.first_unit)
    }

    /// A slot is programmed with a page, or with none.
    #[inline]
    pub fn write(&mut self, psn: u32, lpn: Option<u32>) {
        if !LARGE {
            self.written.set(psn, lpn.map_or(0, |lpn| self.group_of(lpn) + 1));
        }
    }

    /// The memory from an entry on; empty where there is none.
    #[inline]
    pub fn entry(&self, entry: u64) -> &[u8] {
        self.places.from(entry)
    }

    /// The memory from a page's entry on; empty where there is no such page.
    #[inline]
    pub fn entry_of_page(&self, lpn: u64) -> &[u8] {
        match u32::try_from(lpn) {
            Ok(lpn) if self.is_grouped() => self.entry(self.entry_of(lpn).into()),
            _ => self.entry(lpn),
        }
    }

    /// The shelf of a page's slot.
    #[inline]
    fn shelf_of_page(&self, lpn: u32) -> Option<u32> {
        let place = self.places.get(self.entry_of(lpn));
        let known = place != 0 && place < self.first_unit && place != self.odd_place();
        known.then(|| ((place - 1) << self.grouped) / SLOTS)
    }

    /// What has to be known of a page's slot is asked for, of a large array: first where its shelf is, then
    /// where that starts, then all of it.
    #[inline]
    pub fn want_shelf(&self, out: &impl Out, lpn: u32, look: usize) {
        let Some(shelf) = self.shelf_of_page(lpn) else { return };
        match look {
            0 => out.want_soon(self.held.start_of(shelf)),
            1 => out.want_soon(self.held.head(shelf)),
            _ => self.held.shelf(shelf).chunks(8).for_each(|line| out.want_soon(line)),
        }
    }

    /// What changes when a slot is emptied is asked for.
    #[inline]
    pub fn want_emptied(&self, out: &impl Out, psn: u32) {
        if LARGE {
            self.held.from(psn).chunks(8).for_each(|line| out.want_soon(line));
        } else {
            out.want_soon(&self.valid[psn as usize / 64..]);
        }
    }

    /// What the first slots of a block were programmed with is asked for.
    #[inline]
    pub fn want_slots(&self, out: &impl Out, slots: Range<u32>) {
        if LARGE {
            let shelves = slots.start / SLOTS..slots.end.div_ceil(SLOTS);
            let lines = shelves.flat_map(|shelf| self.held.shelf(shelf).chunks(8));
            lines.take(LINES).for_each(|line| out.want_soon(line));
        } else {
            let lines = slots.step_by(LINE).take(LINES);
            lines.for_each(|psn| out.want_soon(self.written.from(psn.into())));
        }
    }

    /// Where the tables lie.
    pub fn ranges(&self) -> [Range<*const u8>; 5] {
        let (shelves, starts) = self.held.tables();
        [
            self.places.bytes().as_ptr_range(),
            self.written.bytes().as_ptr_range(),
            bytes(shelves),
            bytes(starts),
            bytes(&self.valid),
        ]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        // Nodes of a tree are two thirds full.
        let odd = (self.odd.by_page.len() + self.odd.by_slot.len()) as u64 * 12;
        let second = if LARGE { self.held.memory() } else { self.written.memory() };
        self.places.memory() + second + self.valid.len() as u64 * 8 + odd
    }
}

/// Where they lie.
fn bytes<T>(items: &[T]) -> Range<*const u8> {
    let Range { start, end } = items.as_ptr_range();
    start.cast()..end.cast()
}

/// The 64 bits from one on.
fn bits_from(words: &[u64], at: u32) -> u64 {
    let (word, shift) = (at as usize / 64, at % 64);
    let [low, high] = [word, word + 1].map(|at| words.get(at).copied().unwrap_or(0));
    low >> shift | high.checked_shl(64 - shift).unwrap_or(0)
}

/// The bits of the last word above the last that is set.
fn zeros_after(words: &[u64]) -> usize {
    words.last().map_or(0, |word| word.leading_zeros() as usize)
}

impl<O: Out, const G: bool> Ftl<O, G> {
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
        let entries = self.map.candidates(psn);
        let entry = if entries.len() == 1 { entries.start } else { self.find(psn, entries) };
        self.map.page_at(entry)
    }

    /// Which of some entries' pages is in a slot. Few are in a buffer, and known by that.
    #[inline(never)]
    fn find(&self, psn: u32, mut entries: Range<u32>) -> u32 {
        let units = |entry| self.map.unit_at(entry).map(|at| &self.units[at]);
        let found = self.map.find(entries.clone(), psn);
        let found = found
            .or_else(|| entries.find(|&entry| units(entry).is_some_and(|unit| unit.home == psn)));
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
