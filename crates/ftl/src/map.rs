//! The logical-to-physical map (L2P), the reverse map (P2L), and the valid bitmap.
//!
//! Slots are numbered over the whole array: slot `s` of super-page `p` is `p * slots + s`. The L2P
//! entry of a page with work in flight refers to its buffer, which in turn holds the slot of the
//! page's copy on the array, so a single lookup finds both. The tables are packed. An array of 2^22
//! slots takes 23 and 22 bits an entry and one valid bit; the largest array, of 2^32 slots, takes
//! 65 bits.
//!
//! The tables of a preconditioned or preloaded device can stay empty at first; their entries are
//! then computed [on demand](OnDemand). The valid bitmap is always complete.

mod changed_entries;
mod initial_state;
mod on_demand;
mod ranked_bits;
mod snapshot;

pub(crate) use initial_state::{FilledBlocks, PageOrder};

use crate::buffer::NONE;
use crate::io::ActionSink;
use crate::packed::Packed;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use initial_state::{InitialState, page};
use on_demand::OnDemand;

/// Minimum number of table entries in a cache line.
pub(crate) const LINE: usize = 16;
/// Cache lines of the reverse map prefetched when the collection of a block starts.
const LINES: usize = 32;
/// Minimum number of buffers that the map can refer to initially.
const MIN_BUFFERS: u32 = 1 << 16;

/// The map, the reverse map and the valid bitmap.
#[derive(Debug)]
pub(crate) struct Map {
    slots: u32,
    /// By logical page: 0 if unmapped, the slot + 1, or, from `first_buffer` on, a buffer.
    l2p: Packed,
    /// The entry value of buffer 0, and the number of buffers that entries can refer to.
    first_buffer: u32,
    named_buffers: u32,
    /// By slot: the logical page + 1 with which it was last programmed, or 0. Entries are never
    /// cleared.
    p2l: Packed,
    exported: u32,
    /// One bit for each slot: whether it holds the current copy of a logical page.
    valid: Vec<u64>,
    /// Replaces the two tables, which are then all zeros.
    on_demand: Option<Box<OnDemand>>,
}

impl Clone for Map {
    fn clone(&self) -> Self {
        // A copy of an empty table would take as much memory as that of a full one.
        let [l2p, p2l] = [&self.l2p, &self.p2l].map(|table| match self.on_demand {
            None => table.clone(),
            Some(_) => table.emptied(),
        });
        let (valid, on_demand) = (self.valid.clone(), self.on_demand.clone());
        Self { l2p, p2l, valid, on_demand, ..*self }
    }
}

impl Map {
    pub fn new(exported: u32, slots: u32) -> Self {
        let first_unit = slots + 1;
        let l2p = Packed::new(exported, first_unit - 1 + MIN_BUFFERS);
        Self {
            slots,
            first_buffer: first_unit,
            named_buffers: l2p.max() - first_unit + 1,
            l2p,
            p2l: Packed::new(slots, exported),
            exported,
            valid: vec![0; slots.div_ceil(64) as usize],
            on_demand: None,
        }
    }

    /// Maps `pages` to the slots of `filled` without filling the tables. The array has `blocks`
    /// blocks, each of `block_slots` slots. No page is mapped before.
    pub fn start_on_demand(
        &mut self,
        pages: PageOrder,
        filled: FilledBlocks,
        blocks: u32,
        block_slots: u32,
    ) {
        let state = InitialState::new(pages, filled, blocks, block_slots);
        for (start, valid) in state.blocks() {
            let starts = (start..).step_by(64);
            starts.zip(valid).for_each(|(start, &word)| self.fill_all(start, word));
        }
        self.on_demand = Some(Box::new(OnDemand::new(state, self.exported)));
    }

    /// Whether the tables are empty, and their entries are computed.
    #[inline]
    pub fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// Fills the tables if they are empty.
    #[cold]
    pub fn fill_tables(&mut self) {
        let Some(on_demand) = self.on_demand.take() else { return };
        let state = on_demand.state();
        match state.pages() {
            PageOrder::Permuted { first, more, order } => {
                let mut pages = order.iter().map(|number| page(*first, more, number));
                for (start, valid) in state.blocks() {
                    self.enter(start, valid, &mut pages);
                }
            }
            PageOrder::Striped(stripes) => {
                let mut pages = Vec::new();
                for (at, (start, valid)) in (0..).zip(state.blocks()) {
                    stripes.append_block(at, &mut pages);
                    self.enter(start, valid, &mut pages.drain(..));
                }
            }
        }
        on_demand.changed_l2p().for_each(|(lpn, entry)| self.l2p.set(lpn, entry));
        on_demand.changed_p2l().for_each(|(psn, entry)| self.p2l.set(psn, entry));
    }

    #[inline(always)]
    fn l2p(&self, lpn: u32) -> u32 {
        match &self.on_demand {
            None => self.l2p.get(lpn),
            Some(on_demand) => on_demand.l2p(lpn),
        }
    }

    #[inline(always)]
    fn set_l2p(&mut self, lpn: u32, entry: u32) {
        if self.on_demand.is_none() {
            self.l2p.set(lpn, entry);
        } else {
            self.set_l2p_on_demand(lpn, entry);
        }
    }

    #[cold]
    fn set_l2p_on_demand(&mut self, lpn: u32, entry: u32) {
        if self.on_demand.as_mut().is_some_and(|on_demand| !on_demand.set_l2p(lpn, entry)) {
            self.fill_tables();
        }
    }

    /// The L2P entry of a page: `NONE` if unmapped, a slot, or a value for
    /// [`buffer`](Self::buffer).
    #[inline]
    pub fn get(&self, lpn: u32) -> u32 {
        self.l2p(lpn).wrapping_sub(1)
    }

    /// The buffer to which an L2P entry refers; `None` if it does not refer to a buffer.
    #[inline]
    pub fn buffer(&self, place: u32) -> Option<u32> {
        (place >= self.slots && place != NONE).then(|| place - self.slots)
    }

    /// The buffer of a page, if any.
    #[inline]
    pub fn buffer_of(&self, lpn: u32) -> Option<u32> {
        let entry = match &self.on_demand {
            None => self.l2p.get(lpn),
            // Entries that have not changed do not refer to buffers.
            Some(on_demand) => on_demand.changed(lpn)?,
        };
        entry.checked_sub(self.first_buffer)
    }

    /// Maps a page to a slot, or to `NONE`.
    #[inline]
    pub fn set(&mut self, lpn: u32, place: u32) {
        self.set_l2p(lpn, place.wrapping_add(1));
    }

    /// Maps a page to a buffer.
    #[inline(always)]
    pub fn set_buffer(&mut self, lpn: u32, at: u32) {
        if at >= self.named_buffers {
            self.widen(at);
        }
        self.set_l2p(lpn, self.first_buffer + at);
    }

    /// Widens all entries by one bit when there are more buffers than they can refer to.
    #[cold]
    fn widen(&mut self, at: u32) {
        let most = self.first_buffer.checked_add(at).expect("fewer than 2^24 pages in flight");
        self.l2p = match self.on_demand {
            None => self.l2p.with_max(most),
            Some(_) => Packed::new(self.exported, most),
        };
        self.named_buffers = self.l2p.max() - self.first_buffer + 1;
    }

    /// Sets the valid bit of a slot, which must be clear.
    #[inline]
    pub fn fill(&mut self, psn: u32) {
        let (word, bit) = (&mut self.valid[psn as usize / 64], 1 << (psn % 64));
        assert!(*word & bit == 0, "slot {psn} holds a page already");
        *word |= bit;
    }

    /// Sets the valid bits of the slots from `start` whose bit is set in `bits`.
    fn fill_all(&mut self, start: u32, bits: u64) {
        let (word, shift) = (start as usize / 64, start % 64);
        self.valid[word] |= bits << shift;
        // Bits beyond the first word. The last slots of the array never have any.
        let beyond = bits.checked_shr(64 - shift).unwrap_or(0);
        if beyond != 0 {
            self.valid[word + 1] |= beyond;
        }
    }

    /// Clears the valid bit of a slot, which must be set.
    #[inline]
    pub fn empty(&mut self, psn: u32) {
        let (word, bit) = (&mut self.valid[psn as usize / 64], 1 << (psn % 64));
        assert!(*word & bit != 0, "slot {psn} holds no page");
        *word &= !bit;
    }

    /// Whether the valid bit of a slot is set.
    #[inline]
    pub fn is_filled(&self, psn: u32) -> bool {
        self.valid[psn as usize / 64] >> (psn % 64) & 1 == 1
    }

    /// The first slot from `psn` to before `end` whose valid bit is set.
    #[inline]
    pub fn next_valid(&self, psn: u32, end: u32) -> Option<u32> {
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

    /// The valid bits of up to 64 slots.
    #[inline]
    pub fn valid_bits(&self, slots: Range<u32>) -> u64 {
        let (word, shift) = (slots.start as usize / 64, slots.start % 64);
        let len = slots.end - slots.start;
        let mut bits = self.valid[word] >> shift;
        if shift + len > 64 {
            bits |= self.valid[word + 1] << (64 - shift);
        }
        bits & (u64::MAX >> (64 - len))
    }

    /// Maps the next of `pages` to each slot from `start` whose bit is set in `slots`, as if
    /// programmed with it. All of the pages are unmapped, and none of the slots was written before.
    ///
    /// Every map entry is a cache miss. All entries of a batch are read in advance, so that the
    /// misses overlap.
    pub fn set_all(&mut self, start: u32, slots: &[u64], pages: &mut impl Iterator<Item = u32>) {
        self.fill_tables();
        self.enter(start, slots, pages);
        let starts = (start..).step_by(64);
        starts.zip(slots).for_each(|(start, &word)| self.fill_all(start, word));
    }

    /// As [`set_all`](Self::set_all), without the valid bits.
    fn enter(&mut self, start: u32, slots: &[u64], pages: &mut impl Iterator<Item = u32>) {
        const WORDS: usize = 4;
        let mut next = [0; 64 * WORDS];
        for (slots, start) in slots.chunks(WORDS).zip((start..).step_by(64 * WORDS)) {
            let count: u32 = slots.iter().map(|word| word.count_ones()).sum();
            let next = &mut next[..count as usize];
            next.fill_with(|| pages.next().expect("a page for each slot"));
            core::hint::black_box(next.iter().fold(0, |sum, &lpn| sum ^ self.l2p.get(lpn)));
            let mut written = [0; 64 * WORDS];
            let mut next = next.iter();
            for (first, &word) in (0..).step_by(64).zip(slots) {
                let mut word = word;
                while word != 0 {
                    let at = first + word.trailing_zeros();
                    word &= word - 1;
                    let &lpn = next.next().expect("counted");
                    written[at as usize] = lpn + 1;
                    self.l2p.set(lpn, start + at + 1);
                }
            }
            let unused = slots.last().map_or(0, |word| word.leading_zeros() as usize);
            self.p2l.set_run(start, &written[..64 * slots.len() - unused]);
        }
    }

    /// The page with which a slot was last programmed, if any.
    #[inline]
    pub fn written(&self, psn: u32) -> Option<u32> {
        let entry = match &self.on_demand {
            None => self.p2l.get(psn),
            Some(on_demand) => on_demand.p2l(psn),
        };
        entry.checked_sub(1)
    }

    /// Records that a slot is programmed with a page, or with none.
    #[inline]
    pub fn write(&mut self, psn: u32, lpn: Option<u32>) {
        let entry = lpn.map_or(0, |lpn| lpn + 1);
        match &mut self.on_demand {
            None => self.p2l.set(psn, entry),
            Some(on_demand) => on_demand.set_p2l(psn, entry),
        }
    }

    /// Prefetches the L2P entry of a page that will be read; a page that is not exported is
    /// ignored.
    #[inline]
    pub fn prefetch_entry(&self, out: &impl ActionSink, lpn: u64) {
        match &self.on_demand {
            None => out.prefetch(self.l2p.from(lpn)),
            Some(on_demand) => {
                if let Some(lpn) = self.exported_page(lpn) {
                    on_demand.prefetch_changed(out, lpn);
                    on_demand.prefetch_computed(out, lpn);
                }
            }
        }
    }

    /// As [`prefetch_entry`](Self::prefetch_entry), for an entry that is only compared with those
    /// of buffers or set.
    #[inline]
    pub fn prefetch_buffer(&self, out: &impl ActionSink, lpn: u32) {
        match &self.on_demand {
            None => out.prefetch(self.l2p.from(lpn.into())),
            Some(on_demand) => on_demand.prefetch_changed(out, lpn),
        }
    }

    fn exported_page(&self, lpn: u64) -> Option<u32> {
        u32::try_from(lpn).ok().filter(|&lpn| lpn < self.exported)
    }

    /// Prefetches the valid bit of a slot that will be cleared.
    #[inline]
    pub fn prefetch_emptied(&self, out: &impl ActionSink, psn: u32) {
        out.prefetch(&self.valid[psn as usize / 64..]);
    }

    /// Prefetches the reverse map of the first slots of a block.
    #[inline]
    pub fn prefetch_p2l(&self, out: &impl ActionSink, slots: Range<u32>) {
        let lines = slots.step_by(LINE).take(LINES);
        lines.for_each(|psn| out.prefetch(self.p2l.from(psn.into())));
    }

    /// Address ranges of the tables.
    pub fn ranges(&self) -> [Range<*const u8>; 3] {
        let Range { start, end } = self.valid.as_ptr_range();
        [self.l2p.bytes().as_ptr_range(), self.p2l.bytes().as_ptr_range(), start.cast()..end.cast()]
    }

    /// Bytes of memory of the tables, once they are filled.
    pub fn memory(&self) -> u64 {
        self.l2p.memory() + self.p2l.memory() + self.valid.len() as u64 * 8
    }
}
