//! Garbage collection: empties blocks by copying their valid pages to write points, and erases
//! them.
//!
//! A copy has a page buffer like a write: it is read into that, programmed at a write point that
//! may take it, mapped when done. Where the host has a write of the page waiting, that write takes
//! the copy's place; where it is being programmed already, the copy is not needed.
//!
//! # When it starts
//! At a number of free blocks, with which those under collection and the pages that the host may
//! still write to open blocks are counted: so one victim is begun for each block of pages that are
//! programmed. Open blocks fill at one pace, and many are opened at once; were each of them to
//! begin a victim when it is opened, the host would wait for all of these together. Open blocks
//! count as no more free blocks than `low_water` lies above `reserve`: full or not, the host then
//! finds a block to open.
//!
//! # Why it never runs out of blocks
//! Let `reserve` be R, data pages of a block D, and *debt* the valid pages in blocks under
//! collection: no more copies than that are still to be placed. A collection starts only if the
//! debt stays within `min(free, R) * D`. The host opens a block only if that leaves R free, and
//! programs nothing while no more than R are free; so with free blocks down to R the debt is
//! covered by whole free blocks, and below R the pages of blocks opened for copies are left to
//! copies, which fill what is open before they open more. As a page with a copy in a block of
//! number s may go to any block opened later, a fresh block can take every copy there is. The
//! journal of trims opens blocks at any time: those that it may yet grow by count as taken.
//!
//! Only failed programs can use up the reserve. Then what is erased in any block has to do
//! (`emergency_reclaim`), or no more writes are taken.
//!
//! # Why it always gains
//! A block under collection has a stale page, so each collection frees at least one page more than
//! it takes; but for some that take as many as they free, of which few follow each other.
//! [`Config::most_exported`](crate::Config::most_exported) leaves enough room that there is such a
//! block until `low_water` is passed.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;

use crate::blocks::Blocks;
use crate::buffer::{BufferList, BufferState, CopyCause, NONE, PageBuffer};
use crate::config::{Config, Victim};
use crate::io::ActionSink;
use crate::machine::Ftl;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_units::SplitMix64;
use gordon_units::{BlockId, Lpn, Ppn};

/// Super-pages that are read at a time in each block under collection.
const COPIES_AHEAD: u32 = 4;

/// Slots ahead of the one copied whose L2P entries are prefetched at least, and for how many slots
/// they are prefetched at once: at most 64.
const PREFETCH_LOW: u32 = 16;
const PREFETCH_SLOTS: u32 = 32;

/// What is being collected.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// Blocks under collection.
    active: Vec<BlockId>,
    /// Blocks to be emptied as soon as there is room: a program of theirs failed.
    pending_retire: Vec<BlockId>,
    /// Those that wait for copies to be done; some perhaps more than once.
    throttled: VecDeque<BlockId>,
    /// Blocks with nothing in them that cannot be trusted to be erased.
    pub erasable: Vec<BlockId>,
    /// Copies in flight: at most two super-pages for each write point, one to program and one on
    /// its way.
    pub copies: u32,
    pub most_copies: u32,
    /// How many of them are being programmed.
    pub programming: u32,
    /// Copies that wait for a write point.
    pub ready: BufferList,
    random: SplitMix64,
    /// The block that is emptied because it lags behind.
    levelling: Option<BlockId>,
    /// Erases at the last time that wear was looked at.
    levelled_at: u64,
    /// Collections in a row that gained nothing.
    zero_gain_streak: u32,
}

/// Collections that gain nothing, in a row: then one is looked for that does. Of a random victim
/// at rho 0.95, with 64 pages a block, one in 10^20 such rows is cut short.
const MAX_ZERO_GAIN_STREAK: u32 = 32;

impl Collector {
    pub fn new(config: &Config) -> Self {
        Self {
            active: vec![],
            pending_retire: vec![],
            throttled: VecDeque::new(),
            erasable: vec![],
            copies: 0,
            most_copies: 2 * config.points() * config.slots,
            programming: 0,
            ready: BufferList::EMPTY,
            random: SplitMix64(config.seed),
            levelling: None,
            levelled_at: 0,
            zero_gain_streak: 0,
        }
    }

    /// Where the stream of random choices is.
    pub fn random_state(&self) -> u64 {
        self.random.0
    }

    pub fn set_random_state(&mut self, state: u64) {
        self.random = SplitMix64(state);
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// No block is under collection any more.
    pub fn stop(&mut self) {
        self.active.clear();
    }

    pub fn forget(&mut self, block: BlockId) {
        self.active.retain(|&active| active != block);
        self.levelling = self.levelling.filter(|&levelling| levelling != block);
        self.pending_retire.retain(|&doomed| doomed != block);
    }

    pub fn has_pending_retire(&self) -> bool {
        !self.pending_retire.is_empty()
    }

    pub fn retire_later(&mut self, block: BlockId) {
        self.pending_retire.push(block);
    }
}

/// Asks the policy for a closed block of up to `pages` logical pages.
fn choose(policy: Victim, blocks: &Blocks, pages: u32, random: &mut SplitMix64) -> Option<BlockId> {
    match policy {
        Victim::Greedy => greedy::choose(blocks),
        Victim::Fifo => fifo::choose(blocks),
        Victim::Random => random::choose(blocks, random),
        Victim::DChoices(choices) => d_choices::choose(blocks, choices, random),
        Victim::CostBenefit => cost_benefit::choose(blocks, pages),
    }
}

impl<O: ActionSink> Ftl<O> {
    /// Starts collections where blocks run low, and copies in those under way.
    #[inline]
    pub(crate) fn collect(&mut self) {
        if self.is_array_unstable() {
            while self.is_low() && self.erase_suspect() {}
            return;
        }
        let held_back = self.config.wear_spread > 0 && self.level_wear();
        if self.is_low() && !held_back {
            self.collect_more();
        }
        // A block of which nothing is needed is retired at once, and no operation's end comes back
        // here.
        while !self.collector.pending_retire.is_empty() && !self.worn_out && self.start_retiring() {
        }
    }

    /// Whether [`collect`](Self::collect) may have something to do.
    #[inline(always)]
    pub(crate) fn wants_collection(&self) -> bool {
        self.is_low() || !self.collector.pending_retire.is_empty() || self.config.wear_spread > 0
    }

    /// Whether few blocks are free, those under collection included.
    #[inline(always)]
    fn is_low(&self) -> bool {
        // Fewer than there are blocks.
        #[allow(clippy::cast_possible_truncation)]
        let active = self.collector.active.len() as u32;
        self.write_points
            .is_down_to(self.blocks.free() + active, self.config.low_water + self.recovery_reserve)
    }

    /// Erases a block that has nothing in it but cannot be trusted to be erased; false if there is
    /// none.
    fn erase_suspect(&mut self) -> bool {
        let Some(block) = self.collector.erasable.pop() else { return false };
        if self.blocks.is_stale(block) {
            self.start(block, CopyCause::Collection);
        }
        true
    }

    #[cold]
    fn collect_more(&mut self) {
        if self.worn_out {
            return;
        }
        while self.is_low() {
            if self.erase_suspect() {
                continue;
            }
            // Its copies must take fewer super-pages than it has.
            let most = (self.data_pages - 1) * self.config.slots;
            let choice = self.victim();
            let gains = choice.is_some_and(|block| self.blocks.valid(block) <= most);
            let Some(block) = choice.filter(|_| gains || self.may_gain_nothing()) else {
                // The policy's choice gains nothing: take one that does.
                let least = self.blocks.closed().min_by_key(|&block| self.blocks.valid(block));
                match least.filter(|&block| self.blocks.valid(block) <= most) {
                    Some(block) if self.start(block, CopyCause::Collection) => {
                        self.collector.zero_gain_streak = 0;
                        continue;
                    }
                    _ => return,
                }
            };
            if !self.start(block, CopyCause::Collection) {
                return;
            }
            self.collector.zero_gain_streak =
                if gains { 0 } else { self.collector.zero_gain_streak + 1 };
        }
    }

    /// Whether a block may be collected that has no stale page. Policies that do not look for the
    /// least take such blocks too, and theory counts them. It costs no room where copies are whole
    /// super-pages: there are as many as the block has.
    fn may_gain_nothing(&self) -> bool {
        let looks = matches!(self.config.victim, Victim::Greedy | Victim::CostBenefit);
        !looks && self.config.slots == 1 && self.collector.zero_gain_streak < MAX_ZERO_GAIN_STREAK
    }

    fn victim(&mut self) -> Option<BlockId> {
        let pages = self.data_pages * self.config.slots;
        choose(self.config.victim, &self.blocks, pages, &mut self.collector.random)
    }

    /// In idle time continues past the low-water mark, as long as a victim is at most half valid:
    /// otherwise waiting for more stale pages saves wear.
    pub(crate) fn collect_idle(&mut self) {
        let idle_water = self.config.idle_water.saturating_add(self.recovery_reserve);
        let wanted = self.blocks.free() <= idle_water && !self.worn_out;
        if wanted && !self.collector.is_active() && self.recovery.is_none() {
            let most = self.data_pages * self.config.slots / 2;
            if let Some(block) = self.victim().filter(|&block| self.blocks.valid(block) <= most) {
                self.start(block, CopyCause::Collection);
            }
        }
    }

    /// Starts emptying the first of the blocks to be retired; false if there is no room for its
    /// copies.
    fn start_retiring(&mut self) -> bool {
        let block = self.collector.pending_retire[0];
        if !self.has_cover(block) {
            return false;
        }
        self.collector.pending_retire.remove(0);
        self.begin(block, CopyCause::Collection);
        true
    }

    /// Reclaims a block when failed programs have used up the reserve and no request can proceed.
    /// The pages that are still erased, also in open blocks, take the copies of one victim. Returns
    /// false if they are too few.
    #[cold]
    pub(crate) fn emergency_reclaim(&mut self) -> bool {
        if self.is_array_unstable() {
            // More erases were undone than a cut of the array alone can: what is stale goes.
            let stale = self.blocks.closed().find(|&block| self.blocks.valid(block) == 0);
            return stale.is_some_and(|block| self.start(block, CopyCause::Collection));
        }
        let kind = self.write_points.stream_of_copies();
        let open = self.write_points.all().iter().filter(|p| p.stream == kind && p.block.is_some());
        // A page may be too fresh for all open blocks but the last.
        let open = open.max_by_key(|p| p.sequence).map_or(0, |p| self.data_pages - p.next);
        let debt = self.collector.is_active() || !self.collector.ready.is_empty();
        let room = if debt { 0 } else { open + self.blocks.free() * self.data_pages };
        let pages = |block| self.blocks.valid(block).div_ceil(self.config.slots);
        if let Some(at) =
            self.collector.pending_retire.iter().position(|&block| pages(block) <= room)
        {
            let block = self.collector.pending_retire.remove(at);
            self.begin(block, CopyCause::Collection);
            return true;
        }
        let least = self.blocks.closed().min_by_key(|&block| pages(block));
        let Some(block) = least.filter(|&b| pages(b) <= room.min(self.data_pages - 1)) else {
            return false;
        };
        self.blocks.collect(block);
        self.begin(block, CopyCause::Collection);
        true
    }

    /// Static wear levelling: data that never change keep their block from being erased. When it
    /// lags too far behind, it is emptied, and then used like any other. At most one block at a
    /// time, and one for each four that are erased, so that the copies stay few.
    ///
    /// Full of valid pages it needs much room for copies: while it waits for that, and some blocks
    /// are under collection, no more are to be begun. True where that is so.
    fn level_wear(&mut self) -> bool {
        let due = self.stats.erases >= self.collector.levelled_at + 4;
        if !due || self.collector.levelling.is_some() || self.worn_out {
            return false;
        }
        match self.blocks.least_worn_closed(self.config.wear_spread) {
            Some(block) if !self.has_cover(block) => return self.collector.is_active(),
            Some(block) => {
                self.collector.levelling = Some(block);
                self.start(block, CopyCause::Levelling);
            }
            None => {}
        }
        self.collector.levelled_at = self.stats.erases;
        false
    }

    /// Whether all copies still to be placed, with those of `block`, are sure of a place.
    fn has_cover(&self, block: BlockId) -> bool {
        let pages = |block| self.blocks.valid(block).div_ceil(self.config.slots);
        let debt: u32 = self.collector.active.iter().copied().map(pages).sum();
        let apart = if self.recovery.is_some() { 0 } else { self.recovery_reserve };
        let free = self.blocks.free().saturating_sub(apart);
        let cover = free.min(self.config.reserve) * self.data_pages;
        pages(block) == 0 || debt + pages(block) <= cover
    }

    /// Starts emptying a closed block, if there is room for its copies.
    fn start(&mut self, block: BlockId, cause: CopyCause) -> bool {
        if !self.has_cover(block) {
            return false;
        }
        self.blocks.collect(block);
        self.begin(block, cause);
        true
    }

    fn begin(&mut self, block: BlockId, cause: CopyCause) {
        match cause {
            CopyCause::Collection => self.stats.collections += 1,
            CopyCause::Levelling => self.stats.levelled += 1,
        }
        self.collector.active.push(block);
        self.blocks.begin(block, cause);
        if self.blocks.is_empty(block) {
            self.emptied(block);
        } else {
            let start = self.slot(self.layout.ppn(block, 0), 0);
            let end = start + self.data_pages * self.config.slots;
            self.map.prefetch_p2l(&self.sink, start..end);
            self.copy_from(block);
        }
    }

    /// Reads on in a block under collection: [`COPIES_AHEAD`] super-pages at a time, so that the
    /// host does not have to wait for a whole block to be read.
    #[inline(always)]
    pub(crate) fn copy_from(&mut self, block: BlockId) {
        while self.blocks.pins(block) < COPIES_AHEAD {
            if self.collector.copies >= self.collector.most_copies {
                self.collector.throttled.push_back(block);
                return;
            }
            if !self.copy_next(block) {
                return;
            }
        }
    }

    /// Copies the next super-page of a block under collection that holds anything; false if there
    /// is none.
    #[inline(never)]
    fn copy_next(&mut self, block: BlockId) -> bool {
        let Some((next, cause)) = self.blocks.next_to_copy(block) else { return false };
        if next >= self.data_pages {
            return false;
        }
        // Stale pages are stepped over without a look at each.
        let start = self.slot(self.layout.ppn(block, 0), 0);
        let (from, end) = (next * self.config.slots, self.data_pages * self.config.slots);
        let Some(psn) = self.map.next_filled(start + from, start + end) else {
            self.blocks.set_next_to_copy(block, self.data_pages);
            return false;
        };
        self.prefetch_ahead(block, psn, start, start + end);
        let ppn = self.page_of(psn);
        self.blocks.set_next_to_copy(block, self.layout.page_of(ppn) + 1);
        self.copy_from_slot(psn, ppn, cause);
        true
    }

    /// The map will be asked of the pages in the slots after the one copied: they are made known
    /// [`PREFETCH_SLOTS`] slots at a time, the next when fewer than [`PREFETCH_LOW`] are left.
    #[inline(always)]
    fn prefetch_ahead(&mut self, block: BlockId, psn: u32, start: u32, end: u32) {
        let asked = start + self.blocks.prefetch_cursor(block);
        if asked <= psn + PREFETCH_LOW && asked < end {
            self.prefetch_l2p(
                block,
                start,
                asked.max(psn)..end.min(asked.max(psn) + PREFETCH_SLOTS),
            );
        }
    }

    #[inline(never)]
    fn prefetch_l2p(&mut self, block: BlockId, start: u32, slots: Range<u32>) {
        let mut bits = self.map.filled_among(slots.clone());
        while bits != 0 {
            let next = slots.start + bits.trailing_zeros();
            bits &= bits - 1;
            self.sink.prefetch(self.map.entry(self.page_in(next).into()));
        }
        self.blocks.set_prefetch_cursor(block, slots.end - start);
    }

    /// One copy less is in flight: blocks go on that had to wait.
    #[inline]
    pub(crate) fn copy_done(&mut self) {
        self.collector.copies -= 1;
        while self.collector.copies < self.collector.most_copies
            && let Some(block) = self.collector.throttled.pop_front()
        {
            self.copy_from(block);
        }
    }

    /// Reads what is valid of a super-page.
    pub(crate) fn copy_page(&mut self, ppn: Ppn, cause: CopyCause) {
        let (start, end) = (self.slot(ppn, 0), self.slot(ppn, self.config.slots));
        if let Some(first) = self.map.next_filled(start, end) {
            self.copy_from_slot(first, ppn, cause);
        }
    }

    /// Reads what is valid of a super-page, whose first valid slot this is.
    #[inline(always)]
    fn copy_from_slot(&mut self, first: u32, ppn: Ppn, cause: CopyCause) {
        let (mut head, mut last, mut slots) = (NONE, NONE, 0);
        let end = self.slot(ppn, self.config.slots);
        let mut at = Some(first);
        while let Some(psn) = at {
            at = self.map.next_filled(psn + 1, end);
            let lpn = self.page_in(psn);
            if let Some(at) = self.map.buffer_of(lpn)
                && !self.wants_copy(at, cause)
            {
                continue;
            }
            let mut buffer = PageBuffer::new(lpn, psn, BufferState::Reading);
            (buffer.copy_cause, buffer.stalls) = (Some(cause), self.stalls);
            self.collector.copies += 1;
            let at = if let Some(at) = self.cached_buffer(Lpn(lpn)) {
                // Its content is at hand; and writes that join the copy would make it stale.
                self.cached = None;
                self.buffers[at] = PageBuffer { state: BufferState::Ready, ..buffer };
                self.collector.ready.push_back(&mut self.buffers, at);
                at
            } else {
                self.stats.gc_page_reads += 1;
                let at = self.buffers.add(buffer);
                if slots > 0 {
                    self.buffers[last].next = at;
                } else {
                    head = at;
                }
                (last, slots) = (at, slots + 1);
                at
            };
            self.enter_in_map(at);
        }
        if slots > 0 {
            self.read_pages(head, slots);
        }
    }

    /// The program of a write has failed that a copy of the page was left to: it now is that copy.
    /// The host may have to stop until the block is empty that it comes from.
    pub(crate) fn stands_for_copy(&mut self, at: u32) -> bool {
        let mapped_psn = self.buffers[at].mapped_psn;
        if mapped_psn == NONE {
            return false;
        }
        let (ppn, block) = (self.page_of(mapped_psn), self.block_of(mapped_psn));
        let Some((next, cause)) = self.blocks.next_to_copy(block) else { return false };
        if next == u32::MAX || self.layout.page_of(ppn) >= next {
            return false;
        }
        self.buffers[at].copy_cause = Some(cause);
        self.collector.copies += 1;
        true
    }

    /// Whether a valid page needs a copy of its own: the buffer that has work with it may stand for
    /// it.
    fn wants_copy(&mut self, at: u32, cause: CopyCause) -> bool {
        let buffer = &mut self.buffers[at];
        if buffer.only_reads() {
            self.remove_from_map(at);
            return true;
        }
        assert!(buffer.copy_cause.is_none(), "each slot is looked at once");
        if buffer.state != BufferState::Programming {
            buffer.copy_cause = Some(cause);
            let ready = buffer.state == BufferState::Ready;
            self.collector.copies += 1;
            if ready {
                self.ready.remove(&mut self.buffers, at);
                self.collector.ready.push_back(&mut self.buffers, at);
            }
        }
        false
    }
}
