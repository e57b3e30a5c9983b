//! The hash table of FlashCache: the logical block and pages of each unit.
//!
//! Each slot has space for a tag, and a unit uses the slot of its first page. A logical block is
//! filled in page order, as NAND flash must be programmed. The table does not know sets:
//! [`super::level`] puts a unit into a block of its set.

use crate::index::{Index, hash};
use alloc::vec;
use alloc::vec::Vec;

/// The bit of [`Table::pages`] for a unit that is still in the write buffer.
const BUFFERED: u16 = 1 << 15;

pub(super) struct Table {
    /// Pages of a slot: 1, or those of a block if a unit is always a whole block.
    pub pages_per_slot: u32,
    /// Slots of a logical block.
    pub slots_per_block: u32,
    index: Index,
    tags: Vec<u64>,
    /// Number of pages of the unit in each slot, with the bit [`BUFFERED`]; 0 without a unit.
    pages: Vec<u16>,
    /// Number of pages of each block that are in use, including those of removed units.
    filled: Vec<u16>,
    /// A bit for each stale page, if units are whole blocks.
    stale: Vec<u64>,
    /// Words of `stale` for each block.
    words: usize,
}

impl Table {
    pub fn new(blocks: u32, pages: u32, pages_per_slot: u32) -> Self {
        let slots = pages / pages_per_slot;
        let all = blocks as usize * slots as usize;
        let words = if pages_per_slot > 1 { pages.div_ceil(64) as usize } else { 0 };
        Self {
            pages_per_slot,
            slots_per_block: slots,
            index: Index::new(all),
            tags: vec![0; all],
            pages: vec![0; all],
            filled: vec![0; blocks as usize],
            stale: vec![0; words * blocks as usize],
            words,
        }
    }

    #[inline]
    pub fn find(&self, unit: u64) -> Option<u32> {
        self.index.find(hash(unit), |slot| self.tags[slot as usize] == unit)
    }

    #[inline]
    pub fn prefetch(&self, unit: u64) -> u32 {
        self.index.prefetch(hash(unit))
    }

    #[inline]
    pub fn block(&self, slot: u32) -> u32 {
        slot / self.slots_per_block
    }

    /// The first page in the block, and the number of pages, of the unit in a slot.
    #[inline]
    pub fn extent(&self, slot: u32) -> (u32, u32) {
        let pages = self.pages[slot as usize] & !BUFFERED;
        (slot % self.slots_per_block * self.pages_per_slot, u32::from(pages))
    }

    #[inline]
    pub fn is_buffered(&self, slot: u32) -> bool {
        self.pages[slot as usize] & BUFFERED != 0
    }

    #[inline]
    pub fn mark_programmed(&mut self, slot: u32) {
        self.pages[slot as usize] &= !BUFFERED;
    }

    #[inline]
    pub fn filled(&self, block: u32) -> u32 {
        self.filled[block as usize].into()
    }

    #[inline]
    pub fn tag(&self, slot: u32) -> u64 {
        self.tags[slot as usize]
    }

    /// Adds a unit that is not in the table to a block that has enough free pages. Returns its
    /// slot.
    #[inline]
    pub fn insert(&mut self, block: u32, unit: u64, pages: u32) -> u32 {
        let filled = self.filled(block);
        let slot = block * self.slots_per_block + filled / self.pages_per_slot;
        self.index.insert(hash(unit), slot);
        self.tags[slot as usize] = unit;
        self.pages[slot as usize] = pages as u16 | BUFFERED;
        self.filled[block as usize] = (filled + pages) as u16;
        slot
    }

    /// Removes the unit in a slot. Its pages stay in use.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.index.remove(hash(self.tag(slot)), slot);
        self.pages[slot as usize] = 0;
    }

    /// Removes all units of a block, which is empty then.
    pub fn clear(&mut self, block: u32) {
        for slot in self.slots_of(block) {
            if self.pages[slot as usize] != 0 {
                self.remove(slot);
            }
        }
        self.filled[block as usize] = 0;
        let from = block as usize * self.words;
        self.stale[from..from + self.words].fill(0);
    }

    fn slots_of(&self, block: u32) -> core::ops::Range<u32> {
        block * self.slots_per_block..(block + 1) * self.slots_per_block
    }

    /// The slots of a block that have a unit.
    pub fn occupied_slots(&self, block: u32) -> impl Iterator<Item = u32> {
        self.slots_of(block).filter(|slot| self.pages[*slot as usize] != 0)
    }

    /// Marks a page of a block stale. Returns whether it was not stale before.
    pub fn mark_stale(&mut self, block: u32, page: u32) -> bool {
        let word = &mut self.stale[block as usize * self.words + (page / 64) as usize];
        let bit = 1 << (page % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether a page of a block is stale.
    #[inline]
    pub fn is_stale(&self, block: u32, page: u32) -> bool {
        self.words > 0
            && self.stale[block as usize * self.words + (page / 64) as usize] >> (page % 64) & 1
                == 1
    }

    pub fn memory(&self) -> usize {
        self.index.memory()
            + self.tags.len() * size_of::<u64>()
            + (self.pages.len() + self.filled.len()) * size_of::<u16>()
            + self.stale.len() * size_of::<u64>()
    }
}
