//! The map against everything that must agree with it.

use crate::blocks::State;
use crate::io::Out;
use crate::machine::Ftl;
use alloc::vec;
use core::fmt;
use gordon_units::{BlockId, Lpn, Ppn};

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
        self.check_while(&mut || true).map(|_| ())
    }

    /// The same; false, and nothing is known, where `goes_on` says so. It is asked now and then: of a
    /// terabyte this takes minutes.
    pub(crate) fn check_while(
        &self,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, Inconsistency> {
        let mut mapped = vec![0u32; self.layout.blocks() as usize];
        for lpn in (0..self.config.exported).map(Lpn) {
            if lpn.0.is_multiple_of(1 << 14) && !goes_on() {
                return Ok(false);
            }
            let Some(psn) = self.home(lpn) else { continue };
            let ppn = self.page_of(psn);
            let wrong = !self.map.may_hold(psn, lpn.0) || !self.map.is_filled(psn);
            if wrong || self.layout.page_of(ppn) >= self.data_pages {
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
        Ok(true)
    }
}
