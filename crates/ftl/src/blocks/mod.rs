//! The super-blocks: their states, valid counts, wear and sequence numbers.
//!
//! Free blocks stand in [`FreePool`], closed ones in [`ClosedLists`].

mod closed_list;
mod free_pool;

use crate::buffer::CopyCause;
use crate::config::Victim;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use closed_list::ClosedLists;
use core::cmp::Reverse;
use core::ops::Range;
use free_pool::FreePool;
use gordon_nand::{DieGroupId, Layout};
use gordon_units::BlockId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockState {
    /// Erased.
    Free,
    /// At a write point.
    Open,
    /// Full.
    Closed,
    /// Being emptied or erased.
    Collecting,
    /// Out of service.
    Bad,
}

/// Two take a line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Block {
    /// Of its last opening; 0 before the first.
    sequence: u64,
    /// Pages that the map points to.
    valid: u32,
    erases: u32,
    /// Neighbours in its list, while closed. Under collection: the next super-page to look at, and
    /// the slot up to which it is known what is to be copied.
    next: u32,
    prev: u32,
    state: BlockState,
    /// A program failed: once it is empty, it is bad.
    retiring: bool,
    /// Under collection: why.
    for_levelling: bool,
}

/// The block is under collection.
const COLLECTING: u32 = 1 << 31;

#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// By block: reads in flight, so that it must not be erased; and [`COLLECTING`]. What each read
    /// asks for lies close together.
    pins: Vec<u32>,
    closed_lists: ClosedLists,
    free_pool: FreePool,
    bad_blocks: u32,
    next_sequence: u64,
    /// Closed blocks by erases, where static wear levelling asks; entries may be out of date.
    levelled: Option<BinaryHeap<Reverse<(u32, u32)>>>,
    most_erases: u32,
}

impl Blocks {
    /// All free but those of `bad`; a block has up to `most_valid` valid pages.
    pub fn new(
        layout: &Layout,
        victim: Victim,
        most_valid: u32,
        levels: bool,
        bad: &[BlockId],
    ) -> Self {
        let block = Block {
            sequence: 0,
            valid: 0,
            erases: 0,
            next: NONE,
            prev: NONE,
            state: BlockState::Free,
            retiring: false,
            for_levelling: false,
        };
        let mut blocks = vec![block; layout.blocks() as usize];
        for id in bad {
            blocks[id.index()].state = BlockState::Bad;
        }
        let pools = FreePool::new(layout, |id| blocks[id as usize].state == BlockState::Bad);
        Self {
            closed_lists: ClosedLists::new(victim, most_valid),
            bad_blocks: layout.blocks() - pools.free(),
            free_pool: pools,
            next_sequence: 1,
            levelled: levels.then(BinaryHeap::new),
            most_erases: 0,
            pins: vec![0; blocks.len()],
            blocks,
        }
    }

    /// Where the table lies.
    pub fn range(&self) -> Range<*const u8> {
        let blocks = self.blocks.as_ptr_range();
        blocks.start.cast()..blocks.end.cast()
    }

    #[inline]
    pub fn free(&self) -> u32 {
        self.free_pool.free()
    }

    /// Blocks in service.
    pub fn good(&self) -> u32 {
        self.len() - self.bad_blocks
    }

    pub fn len(&self) -> u32 {
        // Numbered in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            self.blocks.len() as u32
        }
    }

    #[inline]
    pub fn valid(&self, id: BlockId) -> u32 {
        self.blocks[id.index()].valid
    }

    pub fn erases(&self, id: BlockId) -> u32 {
        self.blocks[id.index()].erases
    }

    #[inline]
    pub fn sequence(&self, id: BlockId) -> u64 {
        self.blocks[id.index()].sequence
    }

    /// The number that the next block opened gets.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    pub fn state(&self, id: BlockId) -> BlockState {
        self.blocks[id.index()].state
    }

    /// The die group the next block is best taken from, as [`open`](Self::open) does.
    #[inline]
    pub fn die_group_to_open(&self) -> Option<DieGroupId> {
        self.free_pool.best()
    }

    /// Opens the least erased free block of the best plane set under the next sequence number.
    pub fn open(&mut self) -> Option<(BlockId, DieGroupId, u64)> {
        let blocks = &self.blocks;
        let (id, die_group) =
            self.free_pool.open(|id| blocks[id as usize].state == BlockState::Bad)?;
        let block = &mut self.blocks[id.index()];
        assert_eq!((block.state, block.valid), (BlockState::Free, 0));
        block.state = BlockState::Open;
        Some((id, die_group, self.renumber(id)))
    }

    /// Opens a block, as [`open`](Self::open) does, and closes it with so many valid pages.
    pub fn fill(&mut self, valid: u32) -> Option<BlockId> {
        let blocks = &self.blocks;
        let id = self.free_pool.take(|id| blocks[id as usize].state == BlockState::Bad)?;
        let block = &mut self.blocks[id.index()];
        assert_eq!((block.state, block.valid), (BlockState::Free, 0));
        block.valid = valid;
        self.renumber(id);
        self.enlist_closed(id);
        Some(id)
    }

    /// Gives an open block the next sequence number, for the pages it has yet to take.
    pub fn renumber(&mut self, id: BlockId) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.blocks[id.index()].sequence = sequence;
        sequence
    }

    /// A full block leaves its write point.
    pub fn close(&mut self, id: BlockId) {
        self.leave(id);
        self.enlist_closed(id);
    }

    /// A block is full.
    fn enlist_closed(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        block.state = BlockState::Closed;
        let erases = block.erases;
        self.closed_lists.link(&mut self.blocks, id.0);
        if let Some(levelled) = &mut self.levelled {
            levelled.push(Reverse((erases, id.0)));
        }
    }

    /// A block at a write point whose program has failed: it is emptied, then bad.
    pub fn mark_retiring(&mut self, id: BlockId) {
        self.leave(id);
        let block = &mut self.blocks[id.index()];
        block.state = BlockState::Collecting;
        self.pins[id.index()] |= COLLECTING;
        block.retiring = true;
        // Not before there is room for its copies.
        block.next = u32::MAX;
    }

    /// A block of the trim journal is needed no more: it is to be erased.
    pub fn discard(&mut self, id: BlockId) {
        self.leave(id);
        self.blocks[id.index()].state = BlockState::Collecting;
        self.pins[id.index()] |= COLLECTING;
    }

    pub fn is_closed(&self, id: BlockId) -> bool {
        self.blocks[id.index()].state == BlockState::Closed
    }

    /// Whether a closed block holds nothing that is needed.
    pub fn is_stale(&self, id: BlockId) -> bool {
        let block = &self.blocks[id.index()];
        block.state == BlockState::Closed && block.valid == 0
    }

    fn leave(&mut self, id: BlockId) {
        assert_eq!(self.blocks[id.index()].state, BlockState::Open);
        self.free_pool.leave(id);
    }

    /// A block under collection holds what cannot be read: it stays as it is, out of service.
    pub fn abandon(&mut self, id: BlockId) {
        self.blocks[id.index()].retiring = true;
    }

    pub fn is_retiring(&self, id: BlockId) -> bool {
        self.blocks[id.index()].retiring
    }

    /// Takes a closed block for collection.
    pub fn collect(&mut self, id: BlockId) {
        assert_eq!(self.blocks[id.index()].state, BlockState::Closed);
        self.closed_lists.unlink(&mut self.blocks, id.0);
        self.blocks[id.index()].state = BlockState::Collecting;
        self.pins[id.index()] |= COLLECTING;
    }

    /// A block under collection is to be copied from its first page on.
    pub fn begin(&mut self, id: BlockId, cause: CopyCause) {
        let block = &mut self.blocks[id.index()];
        assert_eq!(block.state, BlockState::Collecting);
        (block.next, block.prev, block.for_levelling) = (0, 0, cause == CopyCause::Levelling);
    }

    /// The next super-page to look at in a block under collection, and why it is copied.
    #[inline]
    pub fn next_to_copy(&self, id: BlockId) -> Option<(u32, CopyCause)> {
        let block = &self.blocks[id.index()];
        let cause = if block.for_levelling { CopyCause::Levelling } else { CopyCause::Collection };
        (block.state == BlockState::Collecting).then_some((block.next, cause))
    }

    /// The first slot of a block under collection whose L2P entry is not prefetched yet.
    #[inline]
    pub fn prefetch_cursor(&self, id: BlockId) -> u32 {
        self.blocks[id.index()].prev
    }

    #[inline]
    pub fn set_prefetch_cursor(&mut self, id: BlockId, slot: u32) {
        self.blocks[id.index()].prev = slot;
    }

    /// The copies of a block under collection go on at this super-page.
    #[inline]
    pub fn set_next_to_copy(&mut self, id: BlockId, page: u32) {
        self.blocks[id.index()].next = page;
    }

    /// Reads in flight.
    #[inline]
    pub fn pins(&self, id: BlockId) -> u32 {
        self.pins[id.index()] & !COLLECTING
    }

    /// An emptied block is erased.
    pub fn erased(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        assert_eq!((block.state, block.valid), (BlockState::Collecting, 0));
        block.state = BlockState::Free;
        self.pins[id.index()] = 0;
        block.erases += 1;
        let erases = block.erases;
        self.most_erases = self.most_erases.max(erases);
        self.free_pool.put(id, erases);
    }

    /// An emptied block is out of service.
    pub fn retire(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        assert_eq!((block.state, block.valid), (BlockState::Collecting, 0));
        block.state = BlockState::Bad;
        self.pins[id.index()] = 0;
        self.bad_blocks += 1;
    }

    /// The map points to more pages of a block that is open.
    #[inline]
    pub fn add_valid(&mut self, id: BlockId, pages: u32) {
        self.blocks[id.index()].valid += pages;
    }

    /// The map points to one page less; true if the block can be erased now.
    #[inline(always)]
    pub fn drop_valid(&mut self, id: BlockId) -> bool {
        let block = &mut self.blocks[id.index()];
        if self.closed_lists.are_by_valid() && block.state == BlockState::Closed {
            self.relist(id);
            return false;
        }
        block.valid -= 1;
        self.is_empty(id)
    }

    /// A closed block has one valid page less, and goes to another list.
    fn relist(&mut self, id: BlockId) {
        self.closed_lists.unlink(&mut self.blocks, id.0);
        self.blocks[id.index()].valid -= 1;
        self.closed_lists.link(&mut self.blocks, id.0);
    }

    /// What is known of a block: its entry, and its reads in flight.
    #[inline]
    pub fn entry(&self, id: BlockId) -> (&[impl Sized], &[u32]) {
        let at = id.index();
        (self.blocks.get(at..).unwrap_or_default(), self.pins.get(at..).unwrap_or_default())
    }

    /// A read of the block starts.
    #[inline]
    pub fn pin(&mut self, id: BlockId) {
        self.pins[id.index()] += 1;
    }

    /// A read of the block is done; true if the block can be erased now.
    #[inline]
    pub fn unpin(&mut self, id: BlockId) -> bool {
        self.pins[id.index()] -= 1;
        self.is_empty(id)
    }

    /// Whether a block is under collection.
    #[inline]
    pub fn is_collecting(&self, id: BlockId) -> bool {
        self.pins[id.index()] & COLLECTING != 0
    }

    /// Whether a block under collection holds nothing that is still needed.
    #[inline]
    pub fn is_empty(&self, id: BlockId) -> bool {
        // Not a jump each: one of them is often so, both seldom.
        (self.pins[id.index()] == COLLECTING) & (self.blocks[id.index()].valid == 0)
    }

    /// The first closed block of the first list that has any: by valid count, the one with the
    /// fewest valid pages and longest so; by age, the oldest.
    pub fn first_listed(&self) -> Option<BlockId> {
        self.closed_lists.first()
    }

    /// All closed blocks, in the order of the lists.
    pub fn in_order(&self) -> Vec<BlockId> {
        match self.closed_lists.in_order(&self.blocks) {
            Some(all) => all,
            None => self.closed().collect(),
        }
    }

    /// Takes the state of a checkpoint: sequence, valid pages, erases and state of each block, and
    /// the closed ones in the order of the lists. Bad blocks are bad already.
    pub fn restore(&mut self, states: &[(u64, u32, u32, u8)], listed: &[u32], next_sequence: u64) {
        self.next_sequence = next_sequence;
        self.free_pool.clear();
        for (id, &(sequence, valid, erases, state)) in (0..).zip(states) {
            let block = &mut self.blocks[id as usize];
            (block.sequence, block.valid, block.erases) = (sequence, valid, erases);
            self.most_erases = self.most_erases.max(erases);
            match state {
                0 => self.free_pool.restore_free(BlockId(id), erases),
                1 => {
                    block.state = BlockState::Open;
                    self.free_pool.restore_open(BlockId(id));
                }
                2 => block.state = BlockState::Closed,
                // It holds what cannot be read.
                4 => {
                    (block.state, block.retiring, block.next) =
                        (BlockState::Collecting, true, NONE);
                    self.pins[id as usize] |= COLLECTING;
                }
                _ => {}
            }
        }
        for &id in listed {
            self.closed_lists.link(&mut self.blocks, id);
            if let Some(levelled) = &mut self.levelled {
                levelled.push(Reverse((self.blocks[id as usize].erases, id)));
            }
        }
        self.free_pool.rank_all();
    }

    /// All closed blocks.
    pub fn closed(&self) -> impl Iterator<Item = BlockId> {
        let closed = |&(_, block): &(u32, &Block)| block.state == BlockState::Closed;
        (0..).zip(&self.blocks).filter(closed).map(|(id, _)| BlockId(id))
    }

    /// The closed block that was erased least, if it lags the most erased one by more than
    /// `spread`.
    pub fn least_worn_closed(&mut self, spread: u32) -> Option<BlockId> {
        let levelled = self.levelled.as_mut()?;
        while let Some(&Reverse((erases, id))) = levelled.peek() {
            let block = &self.blocks[id as usize];
            if block.state == BlockState::Closed && block.erases == erases {
                let lags = self.most_erases - erases > spread;
                return lags.then_some(BlockId(id));
            }
            levelled.pop();
        }
        None
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let levelled = self.levelled.as_ref().map_or(0, BinaryHeap::capacity);
        (self.blocks.capacity() * size_of::<Block>()
            + self.pins.capacity() * 4
            + levelled * size_of::<(u32, u32)>()) as u64
            + self.free_pool.memory()
            + self.closed_lists.memory()
    }
}
