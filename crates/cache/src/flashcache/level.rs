//! The second level: lookup, admission and eviction of units.

use super::jobs::{JobQueue, QueuedJob, Write};
use super::table::Table;
use super::wear::Wear;
use super::{Fill, FlashCounts, FlashShape, PageLookup, PageRange};
use crate::index::hash;
use alloc::vec;
use alloc::vec::Vec;

/// No block.
const NONE: u32 = u32::MAX;

/// A unit in flash or in the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// The unit.
    pub unit: u64,
    /// Its set.
    pub set: u32,
    /// Its logical block in the set.
    pub way: u32,
    /// Its first page in the logical block.
    pub page: u32,
    /// Number of its pages.
    pub pages: u32,
    /// Whether it is still in the write buffer.
    pub buffered: bool,
}

pub(super) struct Level {
    shape: FlashShape,
    table: Table,
    pub wear: Wear,
    pub jobs: JobQueue,
    /// The block of each set that is being filled.
    open: Vec<u32>,
    /// The value of `clock` at the last use of each block.
    used: Vec<u64>,
    /// Number of uses of blocks so far.
    clock: u64,
    /// Number of evictions of each block.
    generation: Vec<u32>,
    tickets: u64,
    pub counts: FlashCounts,
}

impl Level {
    pub fn new(shape: FlashShape) -> Self {
        assert!(shape.ways > 0 && (1..=0x7fff).contains(&shape.pages), "no such flash: {shape:?}");
        let blocks = shape.blocks();
        let pages_per_slot = if shape.fill == Fill::Block { shape.pages } else { 1 };
        Self {
            shape,
            table: Table::new(blocks, shape.pages, pages_per_slot),
            wear: Wear::new(shape.sets, shape.ways, shape.rules),
            jobs: JobQueue::new(blocks),
            open: vec![NONE; shape.sets as usize],
            used: vec![0; blocks as usize],
            clock: 0,
            generation: vec![0; blocks as usize],
            tickets: 0,
            counts: FlashCounts::default(),
        }
    }

    /// The set of a unit. It is independent of the bits of the hash that select a bucket of the
    /// index.
    #[inline]
    pub fn set_of(&self, unit: u64) -> u32 {
        ((u64::from(hash(unit) as u32) * u64::from(self.shape.sets)) >> 32) as u32
    }

    /// Brings the table entry of a unit into the CPU cache.
    #[inline]
    pub fn prefetch(&self, unit: u64) -> u32 {
        self.table.prefetch(unit)
    }

    /// Looks up page `at` of a unit. Returns where to read it, if `read` is set and it is not
    /// stale, and the slot of the unit, even if the page is stale.
    #[inline]
    pub fn find(&mut self, unit: u64, at: u32, read: bool) -> (Option<PageLookup>, Option<u32>) {
        self.counts.lookups += 1;
        self.counts.reads += u64::from(read);
        let Some(slot) = self.table.find(unit) else { return (None, None) };
        let block = self.table.block(slot);
        if !read || self.table.is_stale(block, at) {
            return (None, Some(slot));
        }
        self.clock += 1;
        self.used[block as usize] = self.clock;
        if self.table.is_buffered(slot) {
            self.counts.buffer_hits += 1;
            return (Some(PageLookup::Buffer { unit }), Some(slot));
        }
        self.counts.flash_hits += 1;
        let (first, pages) = self.table.extent(slot);
        let pages = if self.table.pages_per_slot > 1 { 1 } else { pages };
        let block = self.jobs.place(block);
        (Some(PageLookup::Flash(PageRange { block, page: first + at, pages })), Some(slot))
    }

    /// Marks a page of a unit stale.
    pub fn mark_stale(&mut self, slot: u32, at: u32) {
        let dropped = if self.table.pages_per_slot > 1 {
            self.table.mark_stale(self.table.block(slot), at)
        } else {
            self.table.remove(slot);
            true
        };
        self.counts.dropped += u64::from(dropped);
    }

    /// Admits a unit that was not found, or that is stale in `slot`. Returns its ticket and its new
    /// slot; `None` if it is not admitted.
    #[inline]
    pub fn fill(&mut self, unit: u64, pages: u32, slot: Option<u32>) -> Option<(u64, u32)> {
        // Objects that can be split have been split before.
        if pages > self.shape.pages {
            self.counts.too_large += 1;
            return None;
        }
        if self.shape.buffer.is_some_and(|room| self.jobs.buffered + u64::from(pages) > room) {
            self.counts.crowded += 1;
            return None;
        }
        let set = self.set_of(unit);
        let block = if let Some(slot) = slot {
            let block = self.table.block(slot);
            if self.wear.is_at_limit(set, block - set * self.shape.ways) {
                self.counts.worn += 1;
                return None;
            }
            self.counts.refills += 1;
            self.evict(set, block);
            block
        } else {
            let open = self.open[set as usize];
            let has_room = open != NONE && self.table.filled(open) + pages <= self.shape.pages;
            if has_room {
                open
            } else if let Some(block) = self.empty_block(set) {
                block
            } else {
                self.counts.worn += 1;
                return None;
            }
        };
        let (page, generation) = (self.table.filled(block), self.generation[block as usize]);
        let slot = self.table.insert(block, unit, pages);
        // The block with more free pages stays open, so that a piece that fills a whole block does
        // not close a partly filled one.
        let open = &mut self.open[set as usize];
        if *open == NONE || self.table.filled(*open) >= self.table.filled(block) {
            *open = block;
        }
        self.clock += 1;
        self.used[block as usize] = self.clock;
        let ticket = self.tickets;
        self.tickets += 1;
        self.counts.fills += 1;
        self.counts.fill_pages += u64::from(pages);
        let write = Write { block, slot, page, pages, ticket, unit, generation };
        self.jobs.push(QueuedJob::Program(write));
        Some((ticket, slot))
    }

    /// An empty block of the set, after an eviction if necessary; `None` if all blocks are too
    /// worn.
    fn empty_block(&mut self, set: u32) -> Option<u32> {
        let ways = set * self.shape.ways..(set + 1) * self.shape.ways;
        if let Some(empty) = ways.clone().find(|block| self.table.filled(*block) == 0) {
            return Some(empty);
        }
        let used = &self.used[ways.start as usize..ways.end as usize];
        let lru = (0..).zip(used).min_by_key(|(_, used)| **used).map_or(0, |(way, _)| way);
        let way = self.wear.block_rule(set, lru)?;
        self.counts.block_rule += u64::from(way != lru);
        let block = ways.start + way;
        self.evict(set, block);
        Some(block)
    }

    fn evict(&mut self, set: u32, block: u32) {
        self.counts.evictions += 1;
        self.table.clear(block);
        self.generation[block as usize] = self.generation[block as usize].wrapping_add(1);
        self.wear.evict(set, block - set * self.shape.ways);
        self.jobs.push(QueuedJob::EraseLogical(block));
        // Each move erases the block it copies from. A block of the hot set moves twice, a block of
        // the cold set once.
        let cost = |cold| 2 * self.written_blocks(set) + self.written_blocks(cold);
        if let Some(cold) = self.wear.set_rule(set, cost) {
            self.swap(set, cold);
        }
    }

    /// Number of blocks of a set that are not empty.
    fn written_blocks(&self, set: u32) -> u32 {
        let ways = set * self.shape.ways..(set + 1) * self.shape.ways;
        ways.filter(|block| self.table.filled(*block) > 0).count() as u32
    }

    /// Swaps two sets, way by way, through the spare blocks for swaps.
    fn swap(&mut self, hot: u32, cold: u32) {
        self.counts.set_swaps += 1;
        for way in 0..self.shape.ways {
            let (one, other) = (hot * self.shape.ways + way, cold * self.shape.ways + way);
            let (here, there) = (self.wear.place(hot, way), self.wear.place(cold, way));
            let spare = self.wear.staging(way);
            self.move_block(one, here, spare);
            self.move_block(other, there, here);
            self.move_block(one, spare, there);
        }
        self.wear.swap(hot, cold);
    }

    /// Queues the move of a logical block, and the erase of the physical block that it leaves.
    fn move_block(&mut self, block: u32, from: u32, to: u32) {
        let pages = self.table.filled(block);
        self.jobs.push(QueuedJob::Move { block, to, pages });
        if pages > 0 {
            self.jobs.push(QueuedJob::Erase(from));
            self.wear.erase_for_swap(from);
            self.counts.swap_erases += 1;
            self.counts.swap_pages += u64::from(pages);
        }
    }

    #[inline]
    pub fn job_done(&mut self) {
        let Some(write) = self.jobs.complete() else { return };
        if self.generation[write.block as usize] == write.generation {
            self.table.mark_programmed(write.slot);
        }
    }

    pub fn residents(&self, each: &mut dyn FnMut(Resident)) {
        for block in 0..self.shape.blocks() {
            for slot in self.table.occupied_slots(block) {
                let (page, pages) = self.table.extent(slot);
                each(Resident {
                    unit: self.table.tag(slot),
                    set: block / self.shape.ways,
                    way: block % self.shape.ways,
                    page,
                    pages,
                    buffered: self.table.is_buffered(slot),
                });
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.table.memory()
            + self.wear.memory()
            + self.jobs.memory()
            + self.used.len() * size_of::<u64>()
            + (self.open.len() + self.generation.len()) * size_of::<u32>()
    }
}
