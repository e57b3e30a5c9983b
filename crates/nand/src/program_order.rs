//! The rules of NAND, without contents: what each block allows next.
//!
//! [`Array`](crate::Array) keeps contents beside them in memory; a store keeps them in a file.

use crate::{Layout, Refusal};
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::{BlockId, Ppn};

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockProgress {
    /// Pages programmed since the last erase: the page to be programmed next.
    pub next: u32,
    /// How often it was erased.
    pub erases: u32,
    /// Out of service.
    pub bad: bool,
}

/// Holds whoever uses an array to the rules: only erased pages are programmed, those of a block in
/// order, and nothing is done to a bad block but to read it.
#[derive(Clone, Debug)]
pub struct ProgramOrderChecker {
    layout: Layout,
    blocks: Vec<BlockProgress>,
}

impl ProgramOrderChecker {
    /// Those of an array that is erased, as blocks leave the factory.
    pub fn new(layout: Layout) -> Self {
        Self { blocks: vec![BlockProgress::default(); layout.blocks() as usize], layout }
    }

    /// How the array is laid out.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether there is such a page.
    pub fn find(&self, ppn: Ppn) -> Result<(), Refusal> {
        if ppn.0 < self.layout.pages() { Ok(()) } else { Err(Refusal::NoPage(ppn)) }
    }

    /// The page is programmed.
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

    /// The block is erased.
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

    /// What is known of a block.
    ///
    /// # Panics
    /// Where the array has no such block.
    #[inline]
    pub fn block(&self, id: BlockId) -> BlockProgress {
        self.blocks[id.index()]
    }

    /// A block is found in this state.
    ///
    /// # Panics
    /// Where the array has no such block.
    pub fn set(&mut self, id: BlockId, state: BlockProgress) {
        self.blocks[id.index()] = state;
    }
}
