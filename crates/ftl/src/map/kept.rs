//! The map as bytes and back, and whether its two tables tell the same.

use super::{FILLED, Map, SLOTS, Seen, UNITS};
use crate::packed::Packed;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_units::{Stopped, Watch};

/// So many entries of a table take about as long to look at as a request takes to be simulated.
pub(crate) const ENTRIES_A_STEP: u32 = 64;
/// Entries from one look at the watch to the next.
const PART: u32 = 1 << 16;

impl<const LARGE: bool> Map<LARGE> {
    /// Hands out the state. No page is in a unit.
    pub fn save(&self, out: &mut dyn FnMut(&[u8])) {
        let at_first = Packed::new(0, self.first_unit - 1 + UNITS).max();
        if self.places.max() == at_first {
            out(self.places.bytes());
        } else {
            out(self.places.with_max(at_first).bytes());
        }
        if LARGE {
            for shelf in 0..self.slots.div_ceil(SLOTS) {
                for at in 0..FILLED {
                    out(&self.held.filled(shelf as usize * FILLED + at).to_le_bytes());
                }
                let held: Vec<_> = self.held.numbers(shelf).collect();
                let mut packed = self.packed(held.len());
                packed.set_run(0, &held);
                out(packed.used());
            }
            let odd = u32::try_from(self.odd.by_slot.len()).expect("no more than slots");
            out(&odd.to_le_bytes());
            for (slot, lpn) in &self.odd.by_slot {
                out(&slot.to_le_bytes());
                out(&lpn.to_le_bytes());
            }
        } else {
            out(self.written.bytes());
        }
    }

    /// A table for what a shelf holds.
    fn packed(&self, count: usize) -> Packed {
        Packed::new(u32::try_from(count).expect("slots of a shelf"), self.odd_page)
    }

    /// Takes the state back; false where `fill` cannot. What it took may contradict itself:
    /// [`agrees`](Self::agrees) tells.
    pub fn restore(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        if !fill(self.places.bytes_mut()) {
            return false;
        }
        if LARGE {
            return self.restore_shelves(fill);
        }
        if !fill(self.written.bytes_mut()) {
            return false;
        }
        for lpn in 0..self.exported {
            let place = self.places.get(lpn).wrapping_sub(1);
            if place < self.slots {
                self.valid[place as usize / 64] |= 1 << (place % 64);
            }
        }
        true
    }

    fn restore_shelves(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        for shelf in 0..self.slots.div_ceil(SLOTS) {
            let mut bytes = [[0; 8]; FILLED];
            if !fill(bytes.as_flattened_mut()) {
                return false;
            }
            let filled = bytes.map(u64::from_le_bytes);
            let count: u32 = filled.iter().map(|word| word.count_ones()).sum();
            let mut packed = self.packed(count as usize);
            if !fill(packed.used_mut()) {
                return false;
            }
            let held: Vec<_> = (0..count).map(|rank| packed.get(rank)).collect();
            self.held.fill(shelf, filled, &held);
        }
        let mut number = || {
            let mut bytes = [0; 4];
            fill(&mut bytes).then(|| u32::from_le_bytes(bytes))
        };
        let Some(odd) = number() else { return false };
        for _ in 0..odd {
            let (Some(slot), Some(lpn)) = (number(), number()) else { return false };
            self.odd.by_slot.insert(slot, lpn);
            self.odd.by_page.insert(lpn, slot);
        }
        true
    }

    /// Steps of the watch that [`agrees`](Self::agrees) takes.
    pub fn steps(&self) -> u64 {
        u64::from(self.entries() / ENTRIES_A_STEP) + u64::from(self.slots / ENTRIES_A_STEP)
    }

    /// Whether each page that has a place is in one slot of it, and each slot that holds a page has one.
    /// No page may be in a unit.
    ///
    /// Each table is gone through once, from its start to its end: looking up page after page would wait for
    /// memory each time, and search a group. What they have to tell alike are pairs of a group of slots and a
    /// group of pages; they do where the pairs of one table, in any order, are those of the other, none of them
    /// twice. Their hashes have one sum then; that others have it is one chance in 2^64.
    ///
    /// # Errors
    /// Where `watch` stops it.
    pub fn agrees(&self, watch: &Watch) -> Result<bool, Stopped> {
        if !self.odd_are_listed() {
            return Ok(false);
        }
        let (mut pages, mut slots) = (Some(0), Some(0));
        let mut odd = (0, 0);
        for part in parts(self.entries()) {
            pages = pages.and_then(|sum| self.pairs_of_pages(part.clone(), sum, &mut odd.0));
            tell(watch, &part)?;
        }
        let mut seen = Seen::new(self.grouped);
        for part in parts(self.slots) {
            let more = |sum| self.pairs_of_slots(part.clone(), sum, &mut odd.1, &mut seen);
            slots = slots.and_then(more);
            tell(watch, &part)?;
        }
        let listed = self.odd.by_slot.len();
        Ok(pages.is_some() && pages == slots && odd == (listed, listed))
    }

    /// How many entries the first table has.
    fn entries(&self) -> u32 {
        if self.is_grouped() { self.order.entries(self.exported) } else { self.exported }
    }

    /// Whether both tables mark as odd what is listed so.
    fn odd_are_listed(&self) -> bool {
        let told = |(&slot, &lpn): (&u32, &u32)| {
            slot < self.slots
                && lpn < self.exported
                && self.is_filled(slot)
                && self.held.get(slot) == self.odd_page
                && self.places.get(self.entry_of(lpn)) == self.odd_place()
        };
        self.odd.by_slot.iter().all(told) && self.odd.by_page.len() == self.odd.by_slot.len()
    }

    /// The hashes of the pairs that entries of pages tell, added to a sum; `None` where one tells what cannot be.
    fn pairs_of_pages(&self, part: Range<u32>, mut sum: u64, odd: &mut usize) -> Option<u64> {
        for entry in part {
            match self.places.get(entry) {
                0 => {}
                place if place >= self.first_unit || self.page_at(entry) >= self.exported => {
                    return None;
                }
                place if place == self.odd_place() => *odd += 1,
                place => sum = sum.wrapping_add(hash(place - 1, entry >> self.coarse)),
            }
        }
        Some(sum)
    }

    /// The same of slots that hold a page.
    fn pairs_of_slots(
        &self,
        part: Range<u32>,
        mut sum: u64,
        odd: &mut usize,
        seen: &mut Seen,
    ) -> Option<u64> {
        let mut from = part.start;
        while let Some(slot) = self.next_filled(from, part.end) {
            from = slot + 1;
            let group = slot >> self.grouped;
            let pages =
                if LARGE { self.held.get(slot) } else { self.written.get(slot).checked_sub(1)? };
            if LARGE && pages == self.odd_page {
                *odd += 1;
                continue;
            }
            if self.is_grouped() && !seen.is_first(group, pages) {
                return None;
            }
            sum = sum.wrapping_add(hash(group, pages));
        }
        Some(sum)
    }

    /// In how many slots of a range pages are.
    pub fn filled_in(&self, range: Range<u32>) -> u32 {
        let (mut count, mut at) = (0, range.start);
        while at < range.end {
            let next = (at / 64 + 1) * 64;
            let mut word = self.word(at as usize / 64) >> (at % 64);
            if next > range.end {
                word &= (1 << (range.end - at)) - 1;
            }
            count += word.count_ones();
            at = next;
        }
        count
    }
}

fn parts(entries: u32) -> impl Iterator<Item = Range<u32>> {
    let starts = (0..entries).step_by(PART as usize);
    starts.map(move |start| start..start.saturating_add(PART).min(entries))
}

fn tell(watch: &Watch, part: &Range<u32>) -> Result<(), Stopped> {
    watch.step(((part.end - part.start) / ENTRIES_A_STEP).into());
    watch.check()
}

/// A hash of two numbers (the finalizer of SplitMix64).
#[inline]
fn hash(one: u32, other: u32) -> u64 {
    let mut key = (u64::from(one) << 32 | u64::from(other)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ key >> 31
}
