//! The FlashCache hash table: which units are in which logical block, and where.
//!
//! A slot is for a tag; a unit takes the slot of its first page. A logical block is filled from its
//! first page on, in order, as NAND flash is programmed. The index finds a tag; that a unit lies in
//! its own set is the rule of who fills ([`super::level`]).

use crate::index::{Index, hash};
use alloc::vec;
use alloc::vec::Vec;

/// Of a slot's pages: the unit is in the buffer yet.
const BUFFERED: u16 = 1 << 15;

pub(super) struct Table {
    /// Pages of a slot.
    pub pages_per_slot: u32,
    /// Slots of a logical block.
    pub slots_per_block: u32,
    index: Index,
    tags: Vec<u64>,
    /// Pages of the unit that starts here; none where there is no unit.
    pages: Vec<u16>,
    /// Pages of each block that are taken, by units that are there or were.
    filled: Vec<u16>,
    /// Pages that were written to since, where a unit has many: a bit each.
    stale: Vec<u64>,
    /// Words of these for a block.
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

    /// First page in the block, and how many, of the unit in a slot.
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

    /// Takes the next pages of a block, which has room for them, for a unit that is not in the
    /// table.
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

    /// Takes out the unit in a slot; its pages stay taken.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.index.remove(hash(self.tag(slot)), slot);
        self.pages[slot as usize] = 0;
    }

    /// Takes out all units of a block, which is empty then.
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

    /// The slots of a block that hold a unit.
    pub fn occupied_slots(&self, block: u32) -> impl Iterator<Item = u32> {
        self.slots_of(block).filter(|slot| self.pages[*slot as usize] != 0)
    }

    /// A page of a unit of many is written to; whether it was not before.
    pub fn mark_stale(&mut self, block: u32, page: u32) -> bool {
        let word = &mut self.stale[block as usize * self.words + (page / 64) as usize];
        let bit = 1 << (page % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether it was.
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
