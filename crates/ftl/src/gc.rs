//! Garbage collection: empties blocks by copying their valid pages to write points, and erases
//! them.
//!
//! A copy is a unit like a write: read into a buffer, programmed at a write point that may take
//! it, mapped when done. Where the host has a write of the page waiting, that write takes the
//! copy's place; where it is being programmed already, the copy is not needed.
//!
//! # Why it never runs out of blocks
//! Let `reserve` be R, data pages of a block D, and *debt* the valid pages in blocks under
//! collection: no more copies than that are still to be placed. A collection starts only if the
//! debt stays within `min(free, R) * D`. The host opens a block only if that leaves R free, and
//! programs nothing while no more than R are free; so with free blocks down to R the debt is
//! covered by whole free blocks, and below R the pages of blocks opened for copies are left to
//! copies, which fill what is open before they open more. As a page with a copy in a block of
//! number s may go to any block opened later, a fresh block can take every copy there is.
//!
//! # Why it always gains
//! A block under collection has a stale page, so each collection frees at least one page more than
//! it takes. [`Config::most_exported`](crate::Config::most_exported) leaves enough room that there
//! is such a block until `low_water` is passed.

mod greedy;

use crate::blocks::Blocks;
use crate::config::Victim;
use crate::io::Action;
use crate::machine::Ftl;
use crate::units::{State, Unit};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use gordon_nand::FlashOp;
use gordon_units::{BlockId, Lpn, Ppn};

/// A block under collection.
#[derive(Clone, Copy, Debug)]
struct Collection {
    block: BlockId,
    /// The next page to look at.
    page: u32,
}

/// What is being collected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    active: Vec<Collection>,
    /// Copies in flight.
    pub copies: u32,
    /// Copies that wait for a write point.
    pub ready: VecDeque<u32>,
}

impl Collector {
    pub fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    pub fn forget(&mut self, block: BlockId) {
        self.active.retain(|c| c.block != block);
    }
}

/// Asks the policy for a closed block.
fn choose(policy: Victim, blocks: &Blocks) -> Option<BlockId> {
    match policy {
        Victim::Greedy => greedy::choose(blocks),
    }
}

impl Ftl {
    /// Starts collections where blocks run low, and copies in those under way.
    pub(crate) fn collect(&mut self) {
        let underway = |ftl: &Self| u32::try_from(ftl.collector.active.len()).unwrap_or(u32::MAX);
        while self.blocks.free().saturating_add(underway(self)) <= self.config.low_water {
            if !self.start(self.data_pages - 1) {
                break;
            }
        }
        if self.collector.is_active() {
            self.copy();
        }
    }

    /// In idle time goes on past the low-water mark, as long as a victim is at most half valid:
    /// otherwise waiting for more stale pages saves wear.
    pub(crate) fn collect_idle(&mut self) {
        if !self.collector.is_active() && self.blocks.free() <= self.config.idle_water {
            self.start(self.data_pages / 2);
        }
    }

    /// Starts collecting the block that the policy chooses, if it has at most `most` valid pages.
    fn start(&mut self, most: u32) -> bool {
        let Some(block) = choose(self.config.victim, &self.blocks) else {
            return false;
        };
        let valid = self.blocks.valid(block);
        let debt: u32 = self.collector.active.iter().map(|c| self.blocks.valid(c.block)).sum();
        let cover = self.blocks.free().min(self.config.reserve) * self.data_pages;
        if valid > most || debt + valid > cover {
            return false;
        }
        self.blocks.collect(block);
        self.collector.active.push(Collection { block, page: 0 });
        if self.blocks.is_empty(block) {
            self.erase(block);
        }
        true
    }

    /// Reads pages to be copied, two for each write point: one to program, one on its way.
    fn copy(&mut self) {
        for at in 0..self.collector.active.len() {
            while self.collector.copies < 2 * self.config.write_points {
                let Collection { block, page } = self.collector.active[at];
                if page == self.data_pages {
                    break;
                }
                self.collector.active[at].page += 1;
                self.copy_page(self.layout.ppn(block, page));
            }
        }
    }

    fn copy_page(&mut self, ppn: Ppn) {
        let lpn = Lpn(self.written.get(ppn.0) - 1);
        if self.lookup(lpn) != Some(ppn) {
            return;
        }
        if let Some(at) = self.table.get(lpn.0) {
            let unit = &mut self.units[at];
            if unit.only_reads() {
                self.unlist(at);
            } else {
                debug_assert!(!unit.collects, "page {ppn} is looked at once");
                if unit.state == State::Programming {
                    return;
                }
                unit.collects = true;
                self.collector.copies += 1;
                if unit.state == State::Ready {
                    self.ready.retain(|&ready| ready != at);
                    self.collector.ready.push_back(at);
                }
                return;
            }
        }
        let mut unit = Unit::new(lpn.0, State::Reading);
        unit.collects = true;
        self.collector.copies += 1;
        let at = if let Some(at) = self.cached_unit(lpn) {
            // Its content is at hand; and writes that join the copy would make it stale.
            self.cached = None;
            self.units[at] = Unit { state: State::Ready, ..unit };
            self.collector.ready.push_back(at);
            at
        } else {
            self.stats.gc_page_reads += 1;
            self.read_page(ppn, unit)
        };
        self.table.insert(lpn.0, at);
    }

    /// Erases a block that holds nothing needed.
    pub(crate) fn erase(&mut self, block: BlockId) {
        self.load[self.layout.lane_of(block).index()] += 1;
        self.act(Action::Flash(FlashOp::Erase { block }));
    }
}
