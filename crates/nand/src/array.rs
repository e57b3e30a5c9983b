//! A model of a flash array that enforces the rules of NAND more strictly than a chip does.
//!
//! A chip that is used against the rules returns wrong data, sometimes; this array refuses the
//! operation. It programs only erased pages, only in order within a block, and never in a bad
//! block. Pages not programmed since the last erase read as garbage, not as zeros or ones. Blocks
//! leave the factory erased.
//!
//! The content of a page is any `T`: bytes for a store, a word per sector for a test. All contents
//! are kept in memory, so the model suits small arrays only.

use crate::{BlockProgress, Layout, Oob, ProgramOrderChecker, Refusal};
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::{BlockId, Ppn};

/// An array of pages with contents `T` that enforces the rules of NAND.
#[derive(Clone, Debug)]
pub struct Array<T> {
    rules: ProgramOrderChecker,
    pages: Vec<Option<(Oob, T)>>,
    garbage: T,
}

impl<T: Clone> Array<T> {
    /// An erased array; pages that are not programmed read as `garbage`.
    pub fn new(layout: Layout, garbage: T) -> Self {
        Self {
            pages: vec![None; layout.pages() as usize],
            rules: ProgramOrderChecker::new(layout),
            garbage,
        }
    }

    /// Layout of the array.
    pub fn layout(&self) -> &Layout {
        self.rules.layout()
    }

    /// Content of a page, and its out-of-band data if it is programmed.
    pub fn read(&self, ppn: Ppn) -> Result<(&T, Option<Oob>), Refusal> {
        match self.pages.get(ppn.index()).ok_or(Refusal::NoPage(ppn))? {
            Some((oob, content)) => Ok((content, Some(*oob))),
            None => Ok((&self.garbage, None)),
        }
    }

    /// Programs a page.
    pub fn program(&mut self, ppn: Ppn, oob: Oob, content: T) -> Result<(), Refusal> {
        self.rules.program(ppn)?;
        self.pages[ppn.index()] = Some((oob, content));
        Ok(())
    }

    /// Erases a block.
    pub fn erase(&mut self, id: BlockId) -> Result<(), Refusal> {
        self.rules.erase(id)?;
        let layout = self.rules.layout();
        let (first, pages) = (layout.ppn(id, 0).index(), layout.pages_per_block() as usize);
        self.pages[first..first + pages].fill(None);
        Ok(())
    }

    /// Makes a page unreadable, as after an interrupted or failed program or a loss of charge. The
    /// page counts as programmed.
    ///
    /// # Panics
    /// Panics if the array has no such page.
    pub fn spoil(&mut self, ppn: Ppn) {
        let (block, page) = self.layout().place_of(ppn);
        let state = self.rules.block(block);
        self.rules.set(block, BlockProgress { next: state.next.max(page + 1), ..state });
        self.pages[ppn.index()] = None;
    }

    /// Whether a page was programmed since its block was erased, readable or not.
    ///
    /// # Panics
    /// Panics if the array has no such page.
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        let (block, page) = self.layout().place_of(ppn);
        page < self.rules.block(block).next
    }

    /// Whether a block is out of service.
    ///
    /// # Panics
    /// Panics if the array has no such block.
    pub fn is_bad(&self, id: BlockId) -> bool {
        self.rules.block(id).bad
    }

    /// Takes a block out of service; its pages can still be read.
    pub fn mark_bad(&mut self, id: BlockId) -> Result<(), Refusal> {
        self.rules.mark_bad(id)
    }

    /// Number of times that a block was erased.
    ///
    /// # Panics
    /// Panics if the array has no such block.
    pub fn erases(&self, id: BlockId) -> u32 {
        self.rules.block(id).erases
    }
}
