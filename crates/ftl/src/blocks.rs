//! The super-blocks: their states, valid counts, wear and sequence numbers.
//!
//! Closed blocks stand in circular lists by valid count, oldest first, so the victim of a greedy
//! collection is at hand. Free blocks stand in one heap per lane, least erased first (dynamic wear
//! levelling).

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use gordon_nand::{LaneId, Layout};
use gordon_units::BlockId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Erased.
    Free,
    /// At a write point.
    Open,
    /// Full, its summary programmed.
    Closed,
    /// Full, being emptied or erased.
    Collecting,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Of its last opening; 0 before the first.
    sequence: u64,
    /// Pages that the map points to.
    valid: u32,
    /// Reads in flight: it must not be erased.
    pins: u32,
    erases: u32,
    /// Neighbours in the list of its valid count, while closed.
    next: u32,
    prev: u32,
    state: State,
}

#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// First closed block of each valid count.
    heads: Vec<u32>,
    /// No closed block has fewer valid pages.
    least: usize,
    /// By lane: (erases, block).
    free: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    free_blocks: u32,
    /// By lane: blocks at write points.
    open: Vec<u32>,
    next_sequence: u64,
    /// The answer of `lane_to_open`, which only changes with whole blocks.
    to_open: Option<LaneId>,
}

impl Blocks {
    pub fn new(layout: &Layout) -> Self {
        let block = Block {
            sequence: 0,
            valid: 0,
            pins: 0,
            erases: 0,
            next: NONE,
            prev: NONE,
            state: State::Free,
        };
        let lanes = layout.lanes() as usize;
        let of_lane = |lane: usize| {
            let blocks = (0..layout.blocks()).skip(lane).step_by(lanes);
            blocks.map(|id| Reverse((0, id))).collect()
        };
        let mut new = Self {
            blocks: vec![block; layout.blocks() as usize],
            heads: vec![NONE; layout.pages_per_block() as usize],
            least: 0,
            free: (0..lanes).map(of_lane).collect(),
            free_blocks: layout.blocks(),
            open: vec![0; lanes],
            next_sequence: 1,
            to_open: None,
        };
        new.rank_lanes();
        new
    }

    pub fn free(&self) -> u32 {
        self.free_blocks
    }

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

    pub fn state(&self, id: BlockId) -> State {
        self.blocks[id.index()].state
    }

    /// The lane the next block is best taken from: held by the fewest write points, then with the
    /// most free blocks, then the first. `None` where no block is free.
    #[inline]
    pub fn lane_to_open(&self) -> Option<LaneId> {
        self.to_open
    }

    fn rank_lanes(&mut self) {
        let lanes = (0..).map(LaneId).zip(self.free.iter().zip(&self.open));
        let with_free = lanes.filter(|(_, (free, _))| !free.is_empty());
        let best = with_free.min_by_key(|(_, (free, open))| (**open, Reverse(free.len())));
        self.to_open = best.map(|(lane, _)| lane);
    }

    /// Opens the least erased free block of `lane` under the next sequence number.
    pub fn open(&mut self, lane: LaneId) -> (BlockId, u64) {
        let Reverse((_, id)) = self.free[lane.index()].pop().expect("the lane has a free block");
        self.free_blocks -= 1;
        self.open[lane.index()] += 1;
        let block = &mut self.blocks[id as usize];
        debug_assert_eq!((block.state, block.valid, block.pins), (State::Free, 0, 0));
        block.state = State::Open;
        self.rank_lanes();
        (BlockId(id), self.renumber(BlockId(id)))
    }

    /// Gives an open block the next sequence number, for the pages it has yet to take.
    pub fn renumber(&mut self, id: BlockId) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.blocks[id.index()].sequence = sequence;
        sequence
    }

    /// A full block leaves its write point.
    pub fn close(&mut self, id: BlockId, lane: LaneId) {
        self.open[lane.index()] -= 1;
        let block = &mut self.blocks[id.index()];
        debug_assert_eq!(block.state, State::Open);
        block.state = State::Closed;
        self.link(id.0);
        self.rank_lanes();
    }

    /// Takes a closed block for collection.
    pub fn collect(&mut self, id: BlockId) {
        debug_assert_eq!(self.blocks[id.index()].state, State::Closed);
        self.unlink(id.0);
        self.blocks[id.index()].state = State::Collecting;
    }

    /// An emptied block is erased.
    pub fn erased(&mut self, id: BlockId, lane: LaneId) {
        let block = &mut self.blocks[id.index()];
        debug_assert_eq!((block.state, block.valid, block.pins), (State::Collecting, 0, 0));
        block.state = State::Free;
        block.erases += 1;
        self.free[lane.index()].push(Reverse((block.erases, id.0)));
        self.free_blocks += 1;
        self.rank_lanes();
    }

    /// The map points to one more page of an open block.
    #[inline]
    pub fn add_valid(&mut self, id: BlockId) {
        self.blocks[id.index()].valid += 1;
    }

    /// The map points to one page less; true if the block can be erased now.
    #[inline]
    pub fn drop_valid(&mut self, id: BlockId) -> bool {
        if self.blocks[id.index()].state == State::Closed {
            self.unlink(id.0);
            self.blocks[id.index()].valid -= 1;
            self.link(id.0);
            return false;
        }
        self.blocks[id.index()].valid -= 1;
        self.is_empty(id)
    }

    /// A read of the block starts.
    #[inline]
    pub fn pin(&mut self, id: BlockId) {
        self.blocks[id.index()].pins += 1;
    }

    /// A read of the block is done; true if the block can be erased now.
    #[inline]
    pub fn unpin(&mut self, id: BlockId) -> bool {
        self.blocks[id.index()].pins -= 1;
        self.is_empty(id)
    }

    /// Whether a block under collection holds nothing that is still needed.
    pub fn is_empty(&self, id: BlockId) -> bool {
        let block = &self.blocks[id.index()];
        block.state == State::Collecting && block.valid == 0 && block.pins == 0
    }

    /// The closed block with the fewest valid pages, the one longest so among equals.
    pub fn least_valid(&self) -> Option<BlockId> {
        let head = self.heads[self.least..].iter().find(|&&head| head != NONE)?;
        Some(BlockId(*head))
    }

    fn link(&mut self, id: u32) {
        let valid = self.blocks[id as usize].valid as usize;
        let head = self.heads[valid];
        let (prev, next) = match head {
            NONE => {
                self.heads[valid] = id;
                (id, id)
            }
            head => (self.blocks[head as usize].prev, head),
        };
        self.blocks[prev as usize].next = id;
        self.blocks[next as usize].prev = id;
        let block = &mut self.blocks[id as usize];
        (block.prev, block.next) = (prev, next);
        self.least = self.least.min(valid);
    }

    fn unlink(&mut self, id: u32) {
        let Block { prev, next, valid, .. } = self.blocks[id as usize];
        let head = &mut self.heads[valid as usize];
        if next == id {
            *head = NONE;
            while self.least + 1 < self.heads.len() && self.heads[self.least] == NONE {
                self.least += 1;
            }
            return;
        }
        if *head == id {
            *head = next;
        }
        self.blocks[prev as usize].next = next;
        self.blocks[next as usize].prev = prev;
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let free: usize = self.free.iter().map(BinaryHeap::capacity).sum();
        (self.blocks.capacity() * size_of::<Block>()
            + free * size_of::<(u32, u32)>()
            + self.heads.capacity() * 4) as u64
    }
}
