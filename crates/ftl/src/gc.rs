//! Garbage collection: copies the valid pages of blocks to write points, then erases the blocks.
//!
//! A copy uses a page buffer like a write: the page is read into it, programmed at a suitable write
//! point, and then mapped. If a host write of the page is waiting, that write takes the place of
//! the copy; if one is being programmed, no copy is needed.
//!
//! # Start of a collection
//! Collection starts at a threshold of free blocks. Blocks under collection count as free, and so
//! do the pages that the host may still write to open blocks, in units of blocks. So one collection
//! starts for each block of programmed pages. Open blocks fill at the same pace and many are opened
//! at once; if each of them started a collection when it was opened, the host would stall until all
//! these collections were done. Open blocks count as at most `low_water - reserve` free blocks:
//! however full they are, the host then finds a block to open.
//!
//! # Why free blocks never run out
//! Let R be `reserve` and D the data super-pages of a block. The *debt* is the number of
//! super-pages that the valid logical pages of the blocks under collection fill, rounded up for
//! each block; it bounds the copies still to be programmed. *Free* blocks are counted here without
//! the recovery reserve, which only recovery and the trim journal may use. A collection starts only
//! if the debt stays within `min(free, R) * D`. The host opens a block only if R free blocks
//! remain, and programs nothing while R or fewer are free. So as long as at least R blocks are
//! free, whole free blocks cover the debt; below R, the pages of blocks opened for copies are used
//! by copies only, which fill open blocks before they open others. Since a page with a copy in a
//! block with sequence number s may go to any block opened later, a new block can take any copy.
//! The trim journal opens blocks at any time; the blocks that it may still need count as used.
//!
//! Only failed programs can use up the reserve. Then the pages still erased in any block have to
//! suffice (`emergency_reclaim`), or the layer stops accepting writes.
//!
//! # Why collections gain space
//! The valid logical pages of a victim fill at most D - 1 super-pages, so each collection frees at
//! least one super-page more than it uses. If a super-page holds one logical page, some policies
//! also choose victims without stale pages, but only a limited number of times in a row.
//! [`Config::most_exported`](crate::Config::most_exported) leaves enough space that a victim that
//! gains space exists until `low_water` is exceeded.

use crate::buffer::{BufferState, CopyCause, NONE, PageBuffer};
use crate::config::Victim;
use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::victim;
use core::ops::Range;
use gordon_units::{BlockId, Lpn, Ppn};

/// Number of super-pages read ahead in each block under collection.
const COPIES_AHEAD: u32 = 4;

/// L2P entries are prefetched at least `PREFETCH_LOW` slots ahead of the slot being copied, in
/// batches of `PREFETCH_SLOTS` slots (at most 64).
const PREFETCH_LOW: u32 = 16;
const PREFETCH_SLOTS: u32 = 32;

/// Number of consecutive zero-gain collections after which a victim that gains space is chosen
/// instead. With random victims at rho 0.95 and 64 pages a block, such a streak has a probability
/// of about 10^-20.
const MAX_ZERO_GAIN_STREAK: u32 = 32;

impl<O: ActionSink> Ftl<O> {
    /// Starts collections if free blocks run low, and continues pending ones.
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
        // A block without valid pages is retired at once, and no later completion would call this
        // function.
        while !self.collector.pending_retire.is_empty() && !self.worn_out && self.start_retiring() {
        }
    }

    /// Whether [`collect`](Self::collect) may have work to do.
    #[inline(always)]
    pub(crate) fn wants_collection(&self) -> bool {
        self.is_low() || !self.collector.pending_retire.is_empty() || self.config.wear_spread > 0
    }

    /// Whether few blocks are free, counting those under collection.
    #[inline(always)]
    fn is_low(&self) -> bool {
        // The number is below the number of blocks, which fits.
        #[allow(clippy::cast_possible_truncation)]
        let active = self.collector.active.len() as u32;
        self.write_points
            .is_down_to(self.blocks.free() + active, self.config.low_water + self.recovery_reserve)
    }

    /// Erases a block that holds no needed data but may not be fully erased; returns false if there
    /// is none.
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
            // The copies must take fewer super-pages than the block has.
            let most = (self.data_pages - 1) * self.config.slots;
            let choice = self.victim();
            let gains = choice.is_some_and(|block| self.blocks.valid(block) <= most);
            let Some(block) = choice.filter(|_| gains || self.may_gain_nothing()) else {
                // The policy's victim gains no space: choose the block with the fewest valid pages.
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

    /// Whether a block without stale pages may be collected. Policies that do not minimise valid
    /// pages choose such blocks too, and the theory includes them. This costs no space if copies
    /// are whole super-pages, since there are exactly as many as the block has.
    fn may_gain_nothing(&self) -> bool {
        let minimises_valid_pages = !self.blocks.has_own_policy()
            && matches!(self.config.victim, Victim::Greedy | Victim::CostBenefit);
        !minimises_valid_pages
            && self.config.slots == 1
            && self.collector.zero_gain_streak < MAX_ZERO_GAIN_STREAK
    }

    fn victim(&mut self) -> Option<BlockId> {
        if let Some(block) = self.blocks.own_victim() {
            return Some(block);
        }
        let pages = self.data_pages * self.config.slots;
        victim::choose(self.config.victim, &self.blocks, pages, &mut self.collector.random)
    }

    /// In idle time collection continues beyond the low-water mark while the victim is at most half
    /// valid. Beyond that, waiting for more stale pages reduces wear.
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

    /// Starts to empty the first block to be retired; returns false if there is no space for its
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
    /// The copies of one victim go to pages that are still erased, including those in open blocks.
    /// Returns false if these are too few.
    #[cold]
    pub(crate) fn emergency_reclaim(&mut self) -> bool {
        if self.is_array_unstable() {
            // More blocks than a power cut can affect need to be erased again; erase one without
            // valid pages.
            let stale = self.blocks.closed().find(|&block| self.blocks.valid(block) == 0);
            return stale.is_some_and(|block| self.start(block, CopyCause::Collection));
        }
        let kind = self.write_points.stream_of_copies();
        let open = self.write_points.all().iter().filter(|p| p.stream == kind && p.block.is_some());
        // Only the open block with the highest sequence number can take every page.
        let open = open.max_by_key(|p| p.sequence).map_or(0, |p| self.data_pages - p.next);
        let copies_outstanding = self.collector.is_active() || !self.collector.ready.is_empty();
        let room = if copies_outstanding { 0 } else { open + self.blocks.free() * self.data_pages };
        let super_pages = |block| self.blocks.valid(block).div_ceil(self.config.slots);
        if let Some(at) =
            self.collector.pending_retire.iter().position(|&block| super_pages(block) <= room)
        {
            let block = self.collector.pending_retire.remove(at);
            self.begin(block, CopyCause::Collection);
            return true;
        }
        let least = self.blocks.closed().min_by_key(|&block| super_pages(block));
        let Some(block) = least.filter(|&b| super_pages(b) <= room.min(self.data_pages - 1)) else {
            return false;
        };
        self.blocks.collect(block);
        self.begin(block, CopyCause::Collection);
        true
    }

    /// Static wear levelling. Data that never change keep their block from being erased; when the
    /// block lags too far behind in erases, it is emptied and reused. At most one block is emptied
    /// at a time, and one for every four erases, so that the copies stay few.
    ///
    /// A block full of valid pages needs much space for copies. While it waits for space and other
    /// blocks are under collection, no other collection may start; in that case the function
    /// returns true.
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

    /// Whether all outstanding copies and those of `block` are guaranteed space.
    fn has_cover(&self, block: BlockId) -> bool {
        let super_pages = |block| self.blocks.valid(block).div_ceil(self.config.slots);
        let debt: u32 = self.collector.active.iter().copied().map(super_pages).sum();
        let recovery_reserve = if self.recovery.is_some() { 0 } else { self.recovery_reserve };
        let free = self.blocks.free().saturating_sub(recovery_reserve);
        let cover = free.min(self.config.reserve) * self.data_pages;
        super_pages(block) == 0 || debt + super_pages(block) <= cover
    }

    /// Starts to empty a closed block if there is space for its copies; returns whether it did.
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

    /// Continues to read a block under collection. At most [`COPIES_AHEAD`] super-pages are read at
    /// a time, so that host requests do not wait for a whole block to be read.
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

    /// Copies the next super-page with valid data of a block under collection; returns false if
    /// there is none.
    #[inline(never)]
    fn copy_next(&mut self, block: BlockId) -> bool {
        let Some(mut cursor) = self.blocks.copy_cursor(block) else { return false };
        if cursor.page >= self.data_pages {
            return false;
        }
        // The valid bitmap skips stale pages without examining each.
        let start = self.slot(self.layout.ppn(block, 0), 0);
        let end = start + self.data_pages * self.config.slots;
        let from = start + cursor.page * self.config.slots;
        let Some(psn) = self.map.next_valid(from, end) else {
            cursor.page = self.data_pages;
            self.blocks.set_copy_cursor(block, cursor);
            return false;
        };
        let prefetched = start + cursor.prefetch;
        if prefetched <= psn + PREFETCH_LOW && prefetched < end {
            let from = prefetched.max(psn);
            let to = end.min(from + PREFETCH_SLOTS);
            self.prefetch_l2p(from..to);
            cursor.prefetch = to - start;
        }
        let ppn = self.page_of(psn);
        cursor.page = self.layout.page_of(ppn) + 1;
        self.blocks.set_copy_cursor(block, cursor);
        self.copy_from_slot(psn, ppn, cursor.cause);
        true
    }

    /// Prefetches the L2P entries of the pages in these slots.
    #[inline(never)]
    fn prefetch_l2p(&mut self, slots: Range<u32>) {
        let mut bits = self.map.valid_bits(slots.clone());
        while bits != 0 {
            let next = slots.start + bits.trailing_zeros();
            bits &= bits - 1;
            self.map.prefetch_buffer(&self.sink, self.page_in(next));
        }
    }

    /// A copy is done: blocks that waited for that continue.
    #[inline]
    pub(crate) fn copy_done(&mut self) {
        self.collector.copies -= 1;
        while self.collector.copies < self.collector.most_copies
            && let Some(block) = self.collector.throttled.pop_front()
        {
            self.copy_from(block);
        }
    }

    /// Copies the valid slots of a super-page.
    pub(crate) fn copy_page(&mut self, ppn: Ppn, cause: CopyCause) {
        let (start, end) = (self.slot(ppn, 0), self.slot(ppn, self.config.slots));
        if let Some(first) = self.map.next_valid(start, end) {
            self.copy_from_slot(first, ppn, cause);
        }
    }

    /// Copies the valid slots of a super-page, starting with slot `first`, which is valid.
    #[inline(always)]
    fn copy_from_slot(&mut self, first: u32, ppn: Ppn, cause: CopyCause) {
        let (mut head, mut last, mut slots) = (NONE, NONE, 0);
        let end = self.slot(ppn, self.config.slots);
        let mut at = Some(first);
        while let Some(psn) = at {
            at = self.map.next_valid(psn + 1, end);
            let lpn = self.page_in(psn);
            if let Some(at) = self.map.buffer_of(lpn)
                && !self.join_or_copy(at, cause)
            {
                continue;
            }
            let mut buffer = PageBuffer::new(lpn, psn, BufferState::Reading { psn });
            (buffer.copy_cause, buffer.stalls) = (Some(cause), self.stalls);
            self.collector.copies += 1;
            let at = if let Some(at) = self.cached_buffer(Lpn(lpn)) {
                // The content is already in memory. If writes joined the copy, the cached page
                // would be stale.
                self.cached = None;
                self.buffers[at] = PageBuffer { state: BufferState::READY, ..buffer };
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

    /// A host write whose program failed may have taken the place of a copy. If so, it becomes that
    /// copy: the block that it comes from must be emptied, and the host may stall until it is.
    /// Returns whether it did.
    pub(crate) fn turn_into_copy(&mut self, at: u32) -> bool {
        let mapped_psn = self.buffers[at].mapped_psn;
        if mapped_psn == NONE {
            return false;
        }
        let (ppn, block) = (self.page_of(mapped_psn), self.block_of(mapped_psn));
        let Some(cursor) = self.blocks.copy_cursor(block) else { return false };
        if self.layout.page_of(ppn) >= cursor.page {
            return false;
        }
        self.buffers[at].copy_cause = Some(cursor.cause);
        self.collector.copies += 1;
        true
    }

    /// Lets the buffer `at` of a valid page, which has work in flight, take the place of the copy.
    /// If it cannot, because it only reads, the buffer leaves the map, and the result is true: the
    /// page needs a separate copy.
    fn join_or_copy(&mut self, at: u32, cause: CopyCause) -> bool {
        let buffer = &mut self.buffers[at];
        if buffer.only_reads() {
            self.remove_from_map(at);
            return true;
        }
        assert!(buffer.copy_cause.is_none(), "each slot is looked at once");
        if !matches!(buffer.state, BufferState::Programming { .. }) {
            buffer.copy_cause = Some(cause);
            let ready = matches!(buffer.state, BufferState::Ready { .. });
            self.collector.copies += 1;
            if ready {
                self.unqueue_host(at);
                self.collector.ready.push_back(&mut self.buffers, at);
            }
        }
        false
    }
}
