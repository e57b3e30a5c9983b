//! Serialisation of the map, and the comparison of the map with the reverse map.

use super::{MIN_BUFFERS, Map};
use crate::packed::Packed;
use core::ops::Range;
use gordon_units::{Progress, Stopped, splitmix64};

/// Number of table entries whose comparison takes about as long as the simulation of a request.
pub(crate) const ENTRIES_A_STEP: u32 = 64;
/// Number of entries between two updates of the progress.
const PART: u32 = 1 << 16;

impl Map {
    /// Writes the tables to `out`. No page may be in a buffer, and the tables must be filled.
    pub fn save(&self, out: &mut dyn FnMut(&[u8])) {
        assert!(!self.is_on_demand(), "the tables are filled before they are saved");
        let at_first = Packed::new(0, self.first_buffer - 1 + MIN_BUFFERS).max();
        if self.l2p.max() == at_first {
            out(self.l2p.bytes());
        } else {
            out(self.l2p.with_max(at_first).bytes());
        }
        out(self.p2l.bytes());
    }

    /// Reads the tables. Returns false if `fill` does. The two maps may disagree, which
    /// [`agrees`](Self::agrees) detects.
    pub fn restore(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        if !fill(self.l2p.bytes_mut()) || !fill(self.p2l.bytes_mut()) {
            return false;
        }
        for lpn in 0..self.exported {
            let place = self.l2p.get(lpn).wrapping_sub(1);
            if place < self.slots {
                self.valid[place as usize / 64] |= 1 << (place % 64);
            }
        }
        true
    }

    /// Number of progress steps of [`agrees`](Self::agrees).
    pub fn steps(&self) -> u64 {
        u64::from(self.exported / ENTRIES_A_STEP) + u64::from(self.slots / ENTRIES_A_STEP)
    }

    /// Whether the map and the reverse map agree: each mapped page is in a slot that was programmed
    /// with it and is valid, and each valid slot is that of a mapped page. No page may be in a
    /// buffer.
    ///
    /// Each table is read once, sequentially; looking up each page would be a cache miss each time.
    /// Both maps are sets of (slot, page) pairs. They are taken as equal if the sums of the hashes
    /// of their pairs are; different sets pass with probability 2^-64.
    ///
    /// # Errors
    /// Returns [`Stopped`] if `progress` requests it.
    pub fn agrees(&self, progress: &Progress) -> Result<bool, Stopped> {
        let (mut pages, mut slots) = (Some(0), Some(0));
        for part in parts(self.exported) {
            pages = pages.and_then(|sum| self.pairs_of_pages(part.clone(), sum));
            advance(progress, &part)?;
        }
        for part in parts(self.slots) {
            slots = slots.and_then(|sum| self.pairs_of_slots(part.clone(), sum));
            advance(progress, &part)?;
        }
        Ok(pages.is_some() && pages == slots)
    }

    /// Adds the hashes of the pairs in the map to `sum`; `None` if an entry refers to a buffer.
    fn pairs_of_pages(&self, part: Range<u32>, mut sum: u64) -> Option<u64> {
        for lpn in part {
            match self.l2p(lpn) {
                0 => {}
                place if place >= self.first_buffer => return None,
                place => sum = sum.wrapping_add(hash(place - 1, lpn)),
            }
        }
        Some(sum)
    }

    /// Adds the hashes of the pairs in the reverse map to `sum`; `None` if a valid slot was
    /// programmed without a page.
    fn pairs_of_slots(&self, part: Range<u32>, mut sum: u64) -> Option<u64> {
        let mut from = part.start;
        while let Some(slot) = self.next_valid(from, part.end) {
            from = slot + 1;
            sum = sum.wrapping_add(hash(slot, self.written(slot)?));
        }
        Some(sum)
    }

    /// Number of slots of a range whose valid bit is set.
    pub fn filled_in(&self, range: Range<u32>) -> u32 {
        let (mut count, mut at) = (0, range.start);
        while at < range.end {
            let next = (at / 64 + 1) * 64;
            let mut word = self.valid[at as usize / 64] >> (at % 64);
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

fn advance(progress: &Progress, part: &Range<u32>) -> Result<(), Stopped> {
    progress.step(((part.end - part.start) / ENTRIES_A_STEP).into());
    progress.check()
}

/// A hash of two numbers.
#[inline]
fn hash(one: u32, other: u32) -> u64 {
    splitmix64(u64::from(one) << 32 | u64::from(other))
}
