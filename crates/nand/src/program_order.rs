//! The rules of NAND without page contents: which operation each block permits next.
//!
//! [`Array`](crate::Array) adds contents in memory; a store keeps contents in a file.

use crate::Layout;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_units::{BlockId, Ppn};

/// Why the array refuses an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The page is already programmed; its block must be erased first.
    NotErased(Ppn),
    /// The pages of a block must be programmed in order.
    OutOfOrder {
        /// The requested page.
        ppn: Ppn,
        /// The next page to program in the block.
        next: Ppn,
    },
    /// The block is bad.
    Bad(BlockId),
    /// The page number is out of range.
    NoPage(Ppn),
    /// The block number is out of range.
    NoBlock(BlockId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotErased(ppn) => {
                write!(f, "page {ppn} is programmed already; erase its block first")
            }
            Self::OutOfOrder { ppn, next } => write!(
                f,
                "page {ppn} is out of order; page {next} of this block is to be programmed next"
            ),
            Self::Bad(block) => write!(f, "block {block} is bad; take another"),
            Self::NoPage(ppn) => write!(f, "the array has no page {ppn}"),
            Self::NoBlock(block) => write!(f, "the array has no block {block}"),
        }
    }
}

impl core::error::Error for Refusal {}

/// State of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockProgress {
    /// Pages programmed since the last erase, which is also the index of the next page to program.
    pub next: u32,
    /// Number of times that the block was erased.
    pub erases: u32,
    /// The block is out of service.
    pub bad: bool,
}

/// Checks that the users of an array follow the rules: only erased pages are programmed, the pages
/// of a block in order, and bad blocks are only read.
#[derive(Clone, Debug)]
pub struct ProgramOrderChecker {
    layout: Layout,
    blocks: Vec<BlockProgress>,
}

impl ProgramOrderChecker {
    /// The state of a new array, in which all blocks are erased.
    pub fn new(layout: Layout) -> Self {
        Self { blocks: vec![BlockProgress::default(); layout.blocks() as usize], layout }
    }

    /// Layout of the array.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Checks that the array has this page.
    pub fn find(&self, ppn: Ppn) -> Result<(), Refusal> {
        if ppn.0 < self.layout.pages() { Ok(()) } else { Err(Refusal::NoPage(ppn)) }
    }

    /// Records the program of a page, or refuses it.
    pub fn program(&mut self, ppn: Ppn) -> Result<(), Refusal> {
        self.find(ppn)?;
        let (id, page) = self.layout.place_of(ppn);
        let block = &mut self.blocks[id.index()];
        if block.bad {
            return Err(Refusal::Bad(id));
        }
        if page < block.next {
            return Err(Refusal::NotErased(ppn));
        }
        if page > block.next {
            return Err(Refusal::OutOfOrder { ppn, next: self.layout.ppn(id, block.next) });
        }
        block.next += 1;
        Ok(())
    }

    /// Records the erase of a block, or refuses it.
    pub fn erase(&mut self, id: BlockId) -> Result<(), Refusal> {
        let block = self.blocks.get_mut(id.index()).ok_or(Refusal::NoBlock(id))?;
        if block.bad {
            return Err(Refusal::Bad(id));
        }
        (block.next, block.erases) = (0, block.erases.saturating_add(1));
        Ok(())
    }

    /// Takes a block out of service; its pages can still be read.
    pub fn mark_bad(&mut self, id: BlockId) -> Result<(), Refusal> {
        self.blocks.get_mut(id.index()).ok_or(Refusal::NoBlock(id))?.bad = true;
        Ok(())
    }

    /// State of a block.
    ///
    /// # Panics
    /// Panics if the array has no such block.
    #[inline]
    pub fn block(&self, id: BlockId) -> BlockProgress {
        self.blocks[id.index()]
    }

    /// Replaces the state of a block, such as with the state found at mount.
    ///
    /// # Panics
    /// Panics if the array has no such block.
    pub fn set(&mut self, id: BlockId, state: BlockProgress) {
        self.blocks[id.index()] = state;
    }
}
