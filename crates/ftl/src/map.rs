//! Where each logical page is, what each slot of the array was last programmed with, and which
//! slots are still good.
//!
//! Slots are numbered through the array: slot `s` of super-page `p` is `p * slots + s`. A page with
//! work in flight is in a buffer: then the map names its unit, and the unit says where the page is on
//! the array. So one look tells both. The tables are packed: of an array of 2^26 slots they take 27
//! and 26 bits an entry, and a bit. With [`Config::coarse`](crate::Config::coarse) the second is smaller:
//! what it leaves out the first tells. With [`Config::grouped`](crate::Config::grouped) the first is smaller
//! too, and each tells what the other leaves out.
//!
//! # How two tables that leave something out tell all
//! The first says in which group of slots a page is, the second with which group of pages a slot was
//! programmed. A page is in the slot of its group, of those that hold a page, that was programmed with
//! its group of pages; and the page of a slot is the one of its group that is in that group of slots. For
//! that no two pages of one group may be in one group of slots: where they would be, the later is *odd*,
//! marked so in both tables, and listed beside them. So that few are, neighbours are not in one
//! group of pages: see [`Order`]. Of pages in random places about one in a thousand is odd.

mod kept;

use crate::io::Out;
use crate::machine::Ftl;
use crate::packed::Packed;
use crate::units::NONE;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_units::Lpn;

/// Entries of a table in a line of the processor's cache, at least.
pub(crate) const LINE: usize = 16;
/// Units that the map can name at first, at least.
const UNITS: u32 = 1 << 16;
/// The most slots: above them numbers are left for units.
pub(crate) const MOST_SLOTS: u32 = u32::MAX - (1 << 24);

/// In which order the pages have their entries in the map. Those side by side are one group of pages: in
/// the second table they have one number. Neighbours are of neighbouring groups; the members of one group lie
/// thousands of pages apart, at uneven distances, so that streams side by side seldom meet.
#[derive(Clone, Copy, Debug)]
struct Order {
    /// log2 of the pages of a group.
    group: u32,
    /// log2 of about how far apart they lie.
    stride: u32,
}

impl Order {
    /// For so many pages, in groups of 2^`group`.
    fn new(pages: u32, group: u32) -> Self {
        let bits = pages.checked_ilog2().unwrap_or(0);
        Self { group, stride: bits.saturating_sub(group).clamp(1, 13.min(24 - group)) }
    }

    /// Where a page's entry is.
    #[inline]
    fn entry_of(self, lpn: u32) -> u32 {
        let (group, stride) = (self.group, self.stride);
        let member = (lpn >> stride) & ((1 << group) - 1);
        let key = lpn.wrapping_add(self.turn(member)) & ((1 << stride) - 1);
        lpn >> (group + stride) << (group + stride) | key << group | member
    }

    /// Whose entry it is.
    #[inline]
    fn page_at(self, entry: u32) -> u32 {
        let (group, stride) = (self.group, self.stride);
        let member = entry & ((1 << group) - 1);
        let low = (entry >> group).wrapping_sub(self.turn(member)) & ((1 << stride) - 1);
        entry >> (group + stride) << (group + stride) | member << stride | low
    }

    /// By how many groups the members of one number are moved (Knuth's multiplicative hash).
    #[inline]
    fn turn(self, member: u32) -> u32 {
        member.wrapping_mul(2_654_435_769) >> (32 - self.stride)
    }

    /// Entries of so many pages.
    fn entries(self, pages: u32) -> u32 {
        pages.next_multiple_of(1 << (self.group + self.stride))
    }
}

/// Pages that the tables cannot tell, each with its slot.
#[derive(Clone, Debug, Default)]
struct Odd {
    by_page: BTreeMap<u32, u32>,
    by_slot: BTreeMap<u32, u32>,
}

/// The groups of pages that are in a group of slots, in an open hash table. What other groups of slots have
/// left in it counts as free places.
struct Seen {
    places: Vec<(u32, u32)>,
}

impl Seen {
    /// For groups of 2^`group` slots.
    fn new(group: u32) -> Self {
        Self { places: vec![(NONE, 0); 4 << group] }
    }

    /// Whether this is the first of its kind.
    #[inline]
    fn is_first(&mut self, slots: u32, pages: u32) -> bool {
        let mask = self.places.len() - 1;
        let mut at = pages.wrapping_mul(2_654_435_769) as usize >> 8;
        loop {
            let place = &mut self.places[at & mask];
            if place.0 != slots {
                *place = (slots, pages);
                return true;
            }
            if place.1 == pages {
                return false;
            }
            at += 1;
        }
    }
}

/// The map. Whether it tells groups of slots is known when it is compiled: those that do not, of smaller
/// devices, are the quicker for it.
#[derive(Clone, Debug)]
pub(crate) struct Map<const GROUPED: bool> {
    slots: u32,
    /// By logical page: 0 where it is not mapped; a slot or group of slots + 1; of groups, one for pages
    /// that are odd; above these, a unit.
    places: Packed,
    /// The number of the first unit, and how many can be named.
    first_unit: u32,
    units: u32,
    /// By slot: 0, or the logical page without its lowest bits, + 1; of groups, one for pages that are odd.
    /// Where no bits are left out this is the content of the summary pages. It is never cleared.
    written: Packed,
    /// What it has for a page that is odd.
    odd_written: u32,
    /// How many bits of a page are left out.
    coarse: u32,
    /// How many bits of a slot are left out, and with them the entries' order.
    grouped: u32,
    order: Order,
    odd: Odd,
    exported: u32,
    /// A bit for each slot: a logical page is there.
    valid: Vec<u64>,
}

impl<const GROUPED: bool> Map<GROUPED> {
    /// Of pages `coarse` bits are left out, of slots, where it tells groups of them, `grouped`.
    pub fn new(exported: u32, slots: u32, coarse: u32, grouped: u32) -> Self {
        let order = Order::new(exported, coarse);
        let (entries, first_unit) = match GROUPED {
            false => (exported, slots + 1),
            true => (order.entries(exported), (slots >> grouped) + 3),
        };
        let places = Packed::new(entries, first_unit - 1 + UNITS);
        let keys = (entries.saturating_sub(1) >> coarse) + 1;
        Self {
            slots,
            first_unit,
            units: places.max() - first_unit + 1,
            places,
            written: Packed::new(slots, keys + u32::from(GROUPED)),
            odd_written: keys + 1,
            coarse,
            grouped: if GROUPED { grouped } else { 0 },
            order,
            odd: Odd::default(),
            exported,
            valid: vec![0; slots.div_ceil(64) as usize],
        }
    }

    /// Where a page is: `NONE` if not mapped, a slot, or what [`unit`](Self::unit) understands.
    #[inline]
    pub fn get(&self, lpn: u32) -> u32 {
        if GROUPED { self.look_up(lpn) } else { self.places.get(lpn).wrapping_sub(1) }
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
            place => {
                self.filled_with(self.slots_of(place - 1), entry >> self.coarse).unwrap_or(NONE)
            }
        }
    }

    /// Which of some slots holds a page of a group.
    fn filled_with(&self, mut among: Range<u32>, pages: u32) -> Option<u32> {
        loop {
            let at = self.written.find(among.clone(), pages + 1)?;
            if self.is_filled(at) {
                return Some(at);
            }
            among.start = at + 1;
        }
    }

    /// The slots of a group.
    #[inline]
    fn slots_of(&self, group: u32) -> Range<u32> {
        let first = group << self.grouped;
        first..self.slots.min(first.saturating_add(1 << self.grouped))
    }

    /// What the first table has for a page that is odd.
    #[inline]
    fn odd_place(&self) -> u32 {
        self.first_unit - 1
    }

    /// Where a page's entry is.
    #[inline]
    fn entry_of(&self, lpn: u32) -> u32 {
        if GROUPED { self.order.entry_of(lpn) } else { lpn }
    }

    /// Whose entry it is.
    #[inline]
    pub fn page_at(&self, entry: u32) -> u32 {
        if GROUPED { self.order.page_at(entry) } else { entry }
    }

    /// What the second table has for a page.
    #[inline]
    fn key(&self, lpn: u32) -> u32 {
        (self.entry_of(lpn) >> self.coarse) + 1
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
        if GROUPED {
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
            slot if self.written.get(slot) == self.odd_written => self.set_odd(entry, slot),
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
        if GROUPED {
            self.tell_odd(psn, lpn);
        }
        self.valid[psn as usize / 64] |= 1 << (psn % 64);
    }

    /// Marks a page that would be the second of its group in a group of slots.
    #[inline]
    fn tell_odd(&mut self, psn: u32, lpn: u32) {
        let pages = self.entry_of(lpn) >> self.coarse;
        let Range { start, end } = self.slots_of(psn >> self.grouped);
        // Of its block mostly those before it are programmed.
        let after = self.next_filled(psn, end).unwrap_or(end);
        let mut parts = [start..psn, after..end].into_iter();
        if parts.any(|slots| self.filled_with(slots, pages).is_some()) {
            self.written.set(psn, self.odd_written);
            self.odd.by_slot.insert(psn, lpn);
        }
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
        if GROUPED {
            self.forget_odd(psn);
        }
        self.valid[psn as usize / 64] &= !(1 << (psn % 64));
    }

    #[inline]
    fn forget_odd(&mut self, psn: u32) {
        if self.written.get(psn) == self.odd_written {
            let lpn = self.odd.by_slot.remove(&psn).expect("it was listed when it was filled");
            if self.odd.by_page.get(&lpn) == Some(&psn) {
                self.odd.by_page.remove(&lpn);
            }
        }
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

    /// A bit for each of up to 64 slots: a page is in it.
    #[inline]
    pub fn filled_among(&self, slots: Range<u32>) -> u64 {
        let (word, shift) = (slots.start as usize / 64, slots.start % 64);
        let len = slots.end - slots.start;
        let mut bits = self.valid[word] >> shift;
        if shift + len > 64 {
            bits |= self.valid[word + 1] << (64 - shift);
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
        // Of groups of slots: which groups of pages are in the one that `slot` is in.
        let bits = 64 * slots.len() - zeros_after(slots);
        let run = start..start + u32::try_from(bits).expect("of a block");
        let mut seen = GROUPED.then(|| (Seen::new(self.grouped), NONE));
        let mut asked = [0; 64 * WORDS];
        for (slots, start) in slots.chunks(WORDS).zip((start..).step_by(64 * WORDS)) {
            let count: u32 = slots.iter().map(|word| word.count_ones()).sum();
            let asked = &mut asked[..count as usize];
            asked.fill_with(|| self.entry_of(pages.next().expect("a page for each slot")));
            core::hint::black_box(asked.iter().fold(0, |sum, &entry| sum ^ self.places.get(entry)));
            let mut written = [0; 64 * WORDS];
            let mut asked = asked.iter();
            for (first, &word) in (0..).step_by(64).zip(slots) {
                self.fill_all(start + first, word);
                let mut word = word;
                while word != 0 {
                    let at = first + word.trailing_zeros();
                    word &= word - 1;
                    let &entry = asked.next().expect("counted");
                    let (pages, slot) = ((entry >> self.coarse) + 1, start + at);
                    written[at as usize] = pages;
                    let group = slot >> self.grouped;
                    if let Some((seen, of)) = &mut seen {
                        if *of != group {
                            *of = group;
                            self.see_others(group, run.clone(), seen);
                        }
                        if !seen.is_first(group, pages) {
                            written[at as usize] = self.odd_written;
                            self.odd.by_slot.insert(slot, self.page_at(entry));
                            self.set_odd(entry, slot);
                            continue;
                        }
                    }
                    self.places.set(entry, group + 1);
                }
            }
            let end = 64 * slots.len() - zeros_after(slots);
            self.written.set_run(start, &written[..end]);
        }
    }

    /// The groups of pages that are in the slots of a group, but for some slots.
    fn see_others(&self, group: u32, but: Range<u32>, seen: &mut Seen) {
        let Range { start, end } = self.slots_of(group);
        let others = (start..end.min(but.start)).chain(start.max(but.end)..end);
        for slot in others.filter(|&slot| self.is_filled(slot)) {
            seen.is_first(group, self.written.get(slot));
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
        match self.written.get(psn) {
            odd if GROUPED && odd == self.odd_written => self.odd.by_slot.get(&psn) == Some(&lpn),
            written => written == self.key(lpn),
        }
    }

    /// The entries of the pages with one of which a slot was last programmed.
    #[inline]
    pub fn candidates(&self, psn: u32) -> Range<u32> {
        if GROUPED {
            return self.candidates_of_group(psn);
        }
        let Some(group) = self.written.get(psn).checked_sub(1) else { return 0..0 };
        let first = group << self.coarse;
        first..self.exported.min(first.saturating_add(1 << self.coarse))
    }

    #[inline]
    fn candidates_of_group(&self, psn: u32) -> Range<u32> {
        let written = self.written.get(psn);
        if written == self.odd_written {
            // It may have been long ago.
            let Some(&lpn) = self.odd.by_slot.get(&psn) else { return 0..0 };
            let entry = self.entry_of(lpn);
            return entry..entry + 1;
        }
        let Some(group) = written.checked_sub(1) else { return 0..0 };
        let first = group << self.coarse;
        first..first.saturating_add(1 << self.coarse)
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

    #[inline]
    pub fn write(&mut self, psn: u32, lpn: Option<u32>) {
        self.written.set(psn, lpn.map_or(0, |lpn| self.key(lpn)));
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
            Ok(lpn) if GROUPED => self.entry(self.entry_of(lpn).into()),
            _ => self.entry(lpn),
        }
    }

    /// The slots among which the one of a page is searched, where the map tells groups of them.
    pub fn near(&self, lpn: u32) -> Range<u32> {
        match self.places.get(self.entry_of(lpn)) {
            place if place == 0 || place >= self.odd_place() => 0..0,
            place => self.slots_of(place - 1),
        }
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

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        // Nodes of a tree are two thirds full.
        let odd = (self.odd.by_page.len() + self.odd.by_slot.len()) as u64 * 12;
        self.places.memory() + self.written.memory() + self.valid.len() as u64 * 8 + odd
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_an_entry_of_its_own() {
        for group in [0, 1, 5, 10, 16] {
            for first in [0, 1 << 20, MOST_SLOTS - 5_000] {
                let order = Order::new(first + 5_000, group);
                for lpn in first..first + 5_000 {
                    let entry = order.entry_of(lpn);
                    assert_eq!(order.page_at(entry), lpn, "{order:?}");
                    assert!(entry < order.entries(lpn + 1), "{order:?}");
                }
            }
        }
        // Neighbours are of different groups, and in ten streams side by side few of one come near each
        // other.
        let order = Order::new(1 << 28, 10);
        let key = |lpn| order.entry_of(lpn) >> 10;
        assert!((0..5_000).all(|lpn| key(lpn) != key(lpn + 1)));
        let near = (0..10).flat_map(|one: u32| (0..one).map(move |two| (one, two)));
        let near = near.filter(|&(one, two)| key(one << 18).abs_diff(key(two << 18)) < 16);
        assert!(near.count() < 2);
    }

    #[test]
    fn the_first_of_a_kind_is_told() {
        let mut seen = Seen::new(3);
        for slots in [5, 6, 5] {
            assert!((0..8).all(|pages| seen.is_first(slots, 32 * pages)), "in {slots}");
            assert!((0..8).all(|pages| !seen.is_first(slots, 32 * pages)), "in {slots}");
        }
    }
}
