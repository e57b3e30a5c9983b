//! The map against everything that must agree with it.

use crate::blocks::State;
use crate::io::Out;
use crate::machine::Ftl;
use alloc::vec;
use core::fmt;
use core::sync::atomic::Ordering;
use gordon_units::{BlockId, Lpn, Ppn, Stopped, Watch};

/// Two tables disagree: a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconsistency {
    /// The map points to a page that was programmed with another logical page, or never.
    Written(Lpn, Ppn),
    /// A block's valid count is not the number of its mapped pages.
    Valid {
        /// The block.
        block: BlockId,
        /// Its count.
        counted: u32,
        /// Its mapped pages.
        mapped: u32,
    },
    /// A free block has mapped pages.
    Free(BlockId),
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(lpn, ppn) => {
                write!(f, "page {lpn} is mapped to {ppn}, which holds something else")
            }
            Self::Valid { block, counted, mapped } => {
                write!(f, "block {block} counts {counted} valid pages and has {mapped}")
            }
            Self::Free(block) => write!(f, "free block {block} has mapped pages"),
        }
    }
}

impl core::error::Error for Inconsistency {}

impl<O: Out, const G: bool> Ftl<O, G> {
    /// Holds the map against the pages written, the valid counts and the states of the blocks.
    /// That no two logical pages share a physical one follows, where the map keeps with which one each
    /// was written ([`Config::coarse`](crate::Config::coarse) is 0).
    pub fn check(&self) -> Result<(), Inconsistency> {
        let mut mapped = vec![0u32; self.layout.blocks() as usize];
        for lpn in (0..self.config.exported).map(Lpn) {
            let Some(psn) = self.home(lpn) else { continue };
            let ppn = self.page_of(psn);
            if !self.map.may_hold(psn, lpn.0) || self.layout.page_of(ppn) >= self.data_pages {
                return Err(Inconsistency::Written(lpn, ppn));
            }
            mapped[self.layout.block_of(ppn).index()] += 1;
        }
        for (block, mapped) in (0..).map(BlockId).zip(mapped) {
            let counted = self.blocks.valid(block);
            let first = self.slot(self.layout.ppn(block, 0), 0);
            let end = first + self.layout.pages_per_block() * self.config.slots;
            let filled = (first..end).filter(|&psn| self.map.is_filled(psn)).count();
            if counted != mapped || filled != counted as usize {
                return Err(Inconsistency::Valid { block, counted, mapped });
            }
            if mapped > 0 && self.blocks.state(block) == State::Free {
                return Err(Inconsistency::Free(block));
            }
        }
        Ok(())
    }

    /// Whether the map and the blocks of a layer at rest fit together, each table gone through once:
    /// of a terabyte [`check`](Self::check) takes minutes, and this seconds.
    ///
    /// # Errors
    /// Where `watch` stops it.
    pub(crate) fn is_sound(&self, watch: &Watch) -> Result<bool, Stopped> {
        watch.total.fetch_add(self.map.steps(), Ordering::Relaxed);
        for block in (0..self.layout.blocks()).map(BlockId) {
            let first = self.slot(self.layout.ppn(block, 0), 0);
            let summary = first + self.data_pages * self.config.slots;
            let end = first + self.layout.pages_per_block() * self.config.slots;
            let filled = self.map.filled_in(first..summary);
            let free = self.blocks.state(block) == State::Free;
            if filled != self.blocks.valid(block)
                || self.map.filled_in(summary..end) > 0
                || (free && filled > 0)
            {
                return Ok(false);
            }
        }
        self.map.agrees(watch)
    }
}
