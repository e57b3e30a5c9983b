//! The super-blocks: their states, valid counts, wear and sequence numbers.
//!
//! [`FreePool`] manages the free blocks, [`ClosedLists`] the closed ones.

mod closed_list;
mod free_pool;
mod snapshot;

pub(crate) use snapshot::{BlockCondition, BlockSnapshot};

use crate::buffer::CopyCause;
use crate::config::Victim;
use crate::victim_chooser::VictimChooser;
use alloc::collections::BinaryHeap;
use alloc::sync::Arc;
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
enum BlockState {
    /// Erased.
    Free,
    /// Assigned to a write point or to the trim journal.
    Open,
    /// Full.
    Closed(Neighbours),
    /// Being emptied or erased. `None`: no page is copied, since the block holds none, or waits
    /// until there is room for the copies, or has an unreadable page.
    Collecting(Option<CopyCursor>),
    /// Out of service.
    Bad,
}

/// The neighbours of a closed block in its circular list. A block in no list is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbours {
    prev: u32,
    next: u32,
}

/// How far the copying of a block has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyCursor {
    /// The next super-page to copy.
    pub page: u32,
    /// The first slot whose L2P entry has not been prefetched.
    pub prefetch: u32,
    /// Why the block is emptied.
    pub cause: CopyCause,
}

/// State of a block. Two of these fit into a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Block {
    /// The sequence number when the block was last opened or renumbered; 0 before the first.
    sequence: u64,
    /// Number of slots that the map points to.
    valid: u32,
    erases: u32,
    state: BlockState,
    /// A program failed or a page is unreadable: the block goes out of service once it is empty.
    retiring: bool,
}

const _: () = assert!(size_of::<Block>() == 32);

impl Block {
    fn is_closed(&self) -> bool {
        matches!(self.state, BlockState::Closed(_))
    }

    /// # Panics
    /// Panics if the block is not closed.
    fn neighbours(&mut self) -> &mut Neighbours {
        match &mut self.state {
            BlockState::Closed(neighbours) => neighbours,
            state => panic!("only closed blocks are listed, and this one is {state:?}"),
        }
    }
}

/// Flag in [`Blocks::pins`]: the block is under collection.
const COLLECTING: u32 = 1 << 31;

#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// By block: the number of reads in flight, during which it must not be erased, and the flag
    /// [`COLLECTING`]. Kept in a compact table because each read accesses it.
    pins: Vec<u32>,
    closed_lists: ClosedLists,
    /// The policy that chooses in place of the configured one.
    own: Option<Arc<dyn VictimChooser>>,
    /// Whether the lists or the own policy need each change of a closed block's valid pages.
    follows_valid: bool,
    free_pool: FreePool,
    bad_blocks: u32,
    next_sequence: u64,
    /// Closed blocks by number of erases, for static wear levelling; entries may be out of date.
    levelled: Option<BinaryHeap<Reverse<(u32, u32)>>>,
    most_erases: u32,
}

impl Blocks {
    /// All blocks are free except those in `bad`. A block has at most `most_valid` valid pages.
    pub fn new(
        layout: &Layout,
        victim: Victim,
        most_valid: u32,
        levels: bool,
        bad: &[BlockId],
    ) -> Self {
        let block =
            Block { sequence: 0, valid: 0, erases: 0, state: BlockState::Free, retiring: false };
        let mut blocks = vec![block; layout.blocks() as usize];
        for id in bad {
            blocks[id.index()].state = BlockState::Bad;
        }
        let pools = FreePool::new(layout, |id| blocks[id as usize].state == BlockState::Bad);
        let closed_lists = ClosedLists::new(victim, most_valid);
        Self {
            follows_valid: closed_lists.are_by_valid(),
            closed_lists,
            own: None,
            bad_blocks: layout.blocks() - pools.free(),
            free_pool: pools,
            next_sequence: 1,
            levelled: levels.then(BinaryHeap::new),
            most_erases: 0,
            pins: vec![0; blocks.len()],
            blocks,
        }
    }

    /// Address range of the table.
    pub fn range(&self) -> Range<*const u8> {
        let blocks = self.blocks.as_ptr_range();
        blocks.start.cast()..blocks.end.cast()
    }

    #[inline]
    pub fn free(&self) -> u32 {
        self.free_pool.free()
    }

    /// Number of blocks in service.
    pub fn good(&self) -> u32 {
        self.len() - self.bad_blocks
    }

    pub fn len(&self) -> u32 {
        // Block numbers have 32 bits.
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

    /// The sequence number of the next block to be opened.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The condition of a block. A block under collection whose work is done holds an unreadable
    /// page, and counts as such.
    pub fn condition(&self, id: BlockId) -> BlockCondition {
        match self.blocks[id.index()].state {
            BlockState::Free => BlockCondition::Free,
            BlockState::Open => BlockCondition::Open,
            BlockState::Closed(_) => BlockCondition::Closed,
            BlockState::Collecting(_) => BlockCondition::Unreadable,
            BlockState::Bad => BlockCondition::Bad,
        }
    }

    /// What a checkpoint keeps of a block.
    pub fn snapshot(&self, id: BlockId) -> BlockSnapshot {
        let Block { sequence, valid, erases, .. } = self.blocks[id.index()];
        BlockSnapshot { sequence, valid, erases, condition: self.condition(id) }
    }

    /// The die group on which [`open`](Self::open) would open a block; `None` if no block is free.
    #[inline]
    pub fn die_group_to_open(&self) -> Option<DieGroupId> {
        self.free_pool.best()
    }

    /// Opens the least erased free block of the best plane set, with the next sequence number.
    pub fn open(&mut self) -> Option<(BlockId, DieGroupId, u64)> {
        let blocks = &self.blocks;
        let (id, die_group) =
            self.free_pool.open(|id| blocks[id as usize].state == BlockState::Bad)?;
        let block = &mut self.blocks[id.index()];
        assert_eq!((block.state, block.valid), (BlockState::Free, 0));
        block.state = BlockState::Open;
        Some((id, die_group, self.renumber(id)))
    }

    /// Opens a block as [`open`](Self::open) does, and closes it with `valid` valid pages.
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

    /// Gives an open block the next sequence number; pages programmed from now on carry it.
    pub fn renumber(&mut self, id: BlockId) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.blocks[id.index()].sequence = sequence;
        sequence
    }

    /// Closes a full block, which leaves its write point.
    pub fn close(&mut self, id: BlockId) {
        self.leave(id);
        self.enlist_closed(id);
    }

    /// Lists a full block as closed.
    fn enlist_closed(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        block.state = BlockState::Closed(Neighbours { prev: id.0, next: id.0 });
        let (erases, valid) = (block.erases, block.valid);
        self.closed_lists.link(&mut self.blocks, id.0);
        if let Some(own) = &self.own {
            own.update(id, valid);
        }
        if let Some(levelled) = &mut self.levelled {
            levelled.push(Reverse((erases, id.0)));
        }
    }

    /// Marks an open block for retirement after a failed program: it is emptied, then bad.
    pub fn mark_retiring(&mut self, id: BlockId) {
        self.leave(id);
        self.set_collecting(id);
        self.blocks[id.index()].retiring = true;
    }

    /// Copying starts only when there is room for the copies, in [`begin`](Self::begin).
    fn set_collecting(&mut self, id: BlockId) {
        self.blocks[id.index()].state = BlockState::Collecting(None);
        self.pins[id.index()] |= COLLECTING;
    }

    /// Marks a block of the trim journal as no longer needed, to be erased.
    pub fn discard(&mut self, id: BlockId) {
        self.leave(id);
        self.set_collecting(id);
    }

    pub fn is_closed(&self, id: BlockId) -> bool {
        self.blocks[id.index()].is_closed()
    }

    /// Whether a block is closed and has no valid pages.
    pub fn is_stale(&self, id: BlockId) -> bool {
        let block = &self.blocks[id.index()];
        block.is_closed() && block.valid == 0
    }

    fn leave(&mut self, id: BlockId) {
        assert_eq!(self.blocks[id.index()].state, BlockState::Open);
        self.free_pool.leave(id);
    }

    /// Marks a block under collection that has an unreadable page: it keeps its pages and is never
    /// erased.
    pub fn abandon(&mut self, id: BlockId) {
        self.blocks[id.index()].retiring = true;
    }

    pub fn is_retiring(&self, id: BlockId) -> bool {
        self.blocks[id.index()].retiring
    }

    /// Takes a closed block for collection.
    pub fn collect(&mut self, id: BlockId) {
        assert!(self.is_closed(id));
        self.closed_lists.unlink(&mut self.blocks, id.0);
        if let Some(own) = &self.own {
            own.collect(id);
        }
        self.set_collecting(id);
    }

    /// Starts copying a block under collection at its first page.
    pub fn begin(&mut self, id: BlockId, cause: CopyCause) {
        let state = &mut self.blocks[id.index()].state;
        assert!(matches!(state, BlockState::Collecting(_)));
        *state = BlockState::Collecting(Some(CopyCursor { page: 0, prefetch: 0, cause }));
    }

    /// How far the copying of a block has come; `None` if it has not begun.
    #[inline]
    pub fn copy_cursor(&self, id: BlockId) -> Option<CopyCursor> {
        match self.blocks[id.index()].state {
            BlockState::Collecting(cursor) => cursor,
            _ => None,
        }
    }

    #[inline]
    pub fn set_copy_cursor(&mut self, id: BlockId, cursor: CopyCursor) {
        self.blocks[id.index()].state = BlockState::Collecting(Some(cursor));
    }

    /// Number of reads in flight.
    #[inline]
    pub fn pins(&self, id: BlockId) -> u32 {
        self.pins[id.index()] & !COLLECTING
    }

    /// Records the erase of an emptied block, which is free again.
    pub fn erased(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        assert!(matches!(block.state, BlockState::Collecting(_)) && block.valid == 0);
        block.state = BlockState::Free;
        self.pins[id.index()] = 0;
        block.erases += 1;
        let erases = block.erases;
        self.most_erases = self.most_erases.max(erases);
        self.free_pool.put(id, erases);
    }

    /// Takes an emptied block out of service.
    pub fn retire(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        assert!(matches!(block.state, BlockState::Collecting(_)) && block.valid == 0);
        block.state = BlockState::Bad;
        self.pins[id.index()] = 0;
        self.bad_blocks += 1;
    }

    /// Adds valid pages to an open block.
    #[inline]
    pub fn add_valid(&mut self, id: BlockId, pages: u32) {
        self.blocks[id.index()].valid += pages;
    }

    /// Subtracts a valid page; returns true if the block can be erased now.
    #[inline(always)]
    pub fn drop_valid(&mut self, id: BlockId) -> bool {
        let block = &mut self.blocks[id.index()];
        if self.follows_valid && block.is_closed() {
            self.drop_valid_of_closed(id);
            return false;
        }
        block.valid -= 1;
        self.is_empty(id)
    }

    /// Subtracts a valid page of a closed block, moves the block to the list of its new count, and
    /// informs the own policy.
    fn drop_valid_of_closed(&mut self, id: BlockId) {
        let has_moved = self.closed_lists.are_by_valid();
        if has_moved {
            self.closed_lists.unlink(&mut self.blocks, id.0);
        }
        self.blocks[id.index()].valid -= 1;
        if has_moved {
            self.closed_lists.link(&mut self.blocks, id.0);
        }
        if let Some(own) = &self.own {
            own.update(id, self.valid(id));
        }
    }

    /// Lets `chooser` choose the victims from now on. It gets the closed blocks, the oldest first.
    pub fn choose_by(&mut self, chooser: Arc<dyn VictimChooser>, most_valid: u32) {
        chooser.begin(self.len(), most_valid);
        let mut closed: Vec<_> = self.closed().collect();
        closed.sort_by_key(|&block| self.sequence(block));
        for block in closed {
            chooser.update(block, self.valid(block));
        }
        self.own = Some(chooser);
        self.follows_valid = true;
    }

    /// Whether another program chooses the victims.
    pub fn has_own_policy(&self) -> bool {
        self.own.is_some()
    }

    /// The victim that the own policy chooses. If it fails, there is none from then on.
    pub fn own_victim(&mut self) -> Option<BlockId> {
        let own = self.own.as_ref()?;
        // Without a candidate there is nothing to choose.
        self.closed().next()?;
        let chosen = own.choose();
        let is_candidate =
            |block: &BlockId| self.blocks.get(block.index()).is_some_and(Block::is_closed);
        let victim = chosen.filter(is_candidate);
        if victim.is_none() {
            if let Some(wrong) = chosen {
                own.refuse(wrong);
            }
            self.own = None;
            self.follows_valid = self.closed_lists.are_by_valid();
        }
        victim
    }

    /// The table entries of a block, for a prefetch: its state, and its reads in flight.
    #[inline]
    pub fn entry(&self, id: BlockId) -> (&[impl Sized], &[u32]) {
        let at = id.index();
        (self.blocks.get(at..).unwrap_or_default(), self.pins.get(at..).unwrap_or_default())
    }

    /// Records the start of a read of the block.
    #[inline]
    pub fn pin(&mut self, id: BlockId) {
        self.pins[id.index()] += 1;
    }

    /// Records the end of a read of the block; returns true if the block can be erased now.
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

    /// Whether a block is under collection, has no reads in flight and no valid pages.
    #[inline]
    pub fn is_empty(&self, id: BlockId) -> bool {
        // A bitwise and avoids a branch for each condition; a single one is often true, both
        // rarely.
        (self.pins[id.index()] == COLLECTING) & (self.blocks[id.index()].valid == 0)
    }

    /// The first block of the first list that is not empty. With lists by valid count, that is the
    /// block with the fewest valid pages, and of equals the one that reached the count first. With
    /// a list by age, it is the block closed first.
    pub fn first_listed(&self) -> Option<BlockId> {
        self.closed_lists.first()
    }

    /// All closed blocks: in the order of the lists if there are any, else by number.
    pub fn in_order(&self) -> Vec<BlockId> {
        match self.closed_lists.in_order(&self.blocks) {
            Some(all) => all,
            None => self.closed().collect(),
        }
    }

    /// Restores the state of each block, and the closed blocks in the order of the lists. Bad
    /// blocks are already marked.
    pub fn restore(&mut self, blocks: &[BlockSnapshot], listed: &[u32], next_sequence: u64) {
        self.next_sequence = next_sequence;
        self.free_pool.clear();
        for (id, snapshot) in (0..).map(BlockId).zip(blocks) {
            let block = &mut self.blocks[id.index()];
            block.sequence = snapshot.sequence;
            block.valid = snapshot.valid;
            block.erases = snapshot.erases;
            self.most_erases = self.most_erases.max(snapshot.erases);
            match snapshot.condition {
                BlockCondition::Free => self.free_pool.restore_free(id, snapshot.erases),
                BlockCondition::Open => {
                    block.state = BlockState::Open;
                    self.free_pool.restore_open(id);
                }
                BlockCondition::Closed => {
                    block.state = BlockState::Closed(Neighbours { prev: id.0, next: id.0 });
                }
                BlockCondition::Unreadable => {
                    block.retiring = true;
                    self.set_collecting(id);
                }
                BlockCondition::Bad => {}
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

    /// All closed blocks, by number.
    pub fn closed(&self) -> impl Iterator<Item = BlockId> {
        let closed = |&(_, block): &(u32, &Block)| block.is_closed();
        (0..).zip(&self.blocks).filter(closed).map(|(id, _)| BlockId(id))
    }

    /// The least erased closed block, if the most erased block has over `spread` more erases.
    pub fn least_worn_closed(&mut self, spread: u32) -> Option<BlockId> {
        let levelled = self.levelled.as_mut()?;
        while let Some(&Reverse((erases, id))) = levelled.peek() {
            let block = &self.blocks[id as usize];
            if block.is_closed() && block.erases == erases {
                let lags = self.most_erases - erases > spread;
                return lags.then_some(BlockId(id));
            }
            levelled.pop();
        }
        None
    }

    /// Bytes of memory allocated.
    pub fn memory(&self) -> u64 {
        let levelled = self.levelled.as_ref().map_or(0, BinaryHeap::capacity);
        (self.blocks.capacity() * size_of::<Block>()
            + self.pins.capacity() * 4
            + levelled * size_of::<(u32, u32)>()) as u64
            + self.free_pool.memory()
            + self.closed_lists.memory()
    }
}
