//! The super-blocks: their states, valid counts, wear and sequence numbers.
//!
//! Free blocks stand in one heap per plane set of a lane, least erased first (dynamic wear
//! levelling); those never used yet are known by their numbers alone. Closed blocks stand in circular lists: by valid count, so that the victim of a
//! greedy collection is at hand; in one by age; or, for policies that look at few or at all of
//! them, in none.

use crate::config::Victim;
use crate::units::Cause;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use gordon_nand::{LaneId, Layout};
use gordon_units::BlockId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
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
    /// Neighbours in its list, while closed. Under collection: the next super-page to look at, and the
    /// slot up to which it is known what is to be copied.
    next: u32,
    prev: u32,
    state: State,
    /// A program failed: once it is empty, it is bad.
    condemned: bool,
    /// Under collection: why.
    levels: bool,
}

/// The block is under collection.
const COLLECTING: u32 = 1 << 31;

/// How closed blocks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    ByValid,
    ByAge,
    Not,
}

/// The free blocks of a plane set of a lane.
#[derive(Clone, Debug)]
struct Free {
    /// Blocks never opened, of which there are so many: this number and each `step` after it, but
    /// for bad ones.
    next: u32,
    left: u32,
    /// Those used before: (erases, block).
    used: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Free {
    fn len(&self) -> usize {
        self.left as usize + self.used.len()
    }

    /// Takes the least erased, of equals the one of the lowest number.
    fn pop(&mut self, step: u32, blocks: &[Block]) -> Option<u32> {
        if self.left == 0 {
            return self.used.pop().map(|Reverse((_, id))| id);
        }
        self.left -= 1;
        while blocks[self.next as usize].state == State::Bad {
            self.next += step;
        }
        let id = self.next;
        self.next += step;
        Some(id)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// By block: reads in flight, so that it must not be erased; and [`COLLECTING`]. What each read
    /// asks for lies close together.
    pins: Vec<u32>,
    listed: Listed,
    /// First closed block of each list.
    heads: Vec<u32>,
    /// No list before this one has a block.
    least: usize,
    lanes: u32,
    /// By lane and plane set.
    free: Vec<Free>,
    free_blocks: u32,
    bad_blocks: u32,
    /// By lane: blocks at write points.
    open: Vec<u32>,
    /// By lane and plane set.
    open_in_set: Vec<u32>,
    next_sequence: u64,
    /// By lane and plane set: how good it is to open the next block there, the least first; see
    /// [`rate`](Self::rate).
    ratings: Vec<u64>,
    /// The best of them, which only changes with whole blocks.
    best: Option<(u32, LaneId)>,
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
            state: State::Free,
            condemned: false,
            levels: false,
        };
        let (lanes, sets) = (layout.lanes() as usize, layout.plane_sets() as usize);
        let listed = match victim {
            Victim::Greedy => Listed::ByValid,
            Victim::Fifo => Listed::ByAge,
            Victim::Random | Victim::DChoices(_) | Victim::CostBenefit => Listed::Not,
        };
        let lists = if listed == Listed::ByValid { most_valid as usize + 1 } else { 1 };
        let mut blocks = vec![block; layout.blocks() as usize];
        for id in bad {
            blocks[id.index()].state = State::Bad;
        }
        let group = layout.blocks() as usize / sets;
        let of_set = |at: usize| {
            let (set, lane) = (at / lanes, at % lanes);
            let ids = (set * group + lane..(set + 1) * group).step_by(lanes);
            let free = ids.filter(|&id| blocks[id].state == State::Free).count();
            // Blocks are numbered in 32 bits.
            #[allow(clippy::cast_possible_truncation)]
            let (next, left) = ((set * group + lane) as u32, free as u32);
            Free { next, left, used: BinaryHeap::new() }
        };
        let free: Vec<_> = (0..lanes * sets).map(of_set).collect();
        let free_blocks = free.iter().map(Free::len).sum::<usize>();
        let free_blocks = u32::try_from(free_blocks).expect("blocks are numbered in 32 bits");
        let mut new = Self {
            listed,
            heads: vec![NONE; lists],
            least: 0,
            lanes: layout.lanes(),
            free,
            free_blocks,
            bad_blocks: layout.blocks() - free_blocks,
            open: vec![0; lanes],
            open_in_set: vec![0; lanes * sets],
            next_sequence: 1,
            ratings: vec![],
            best: None,
            levelled: levels.then(BinaryHeap::new),
            most_erases: 0,
            pins: vec![0; blocks.len()],
            blocks,
        };
        new.ratings = (0..new.free.len()).map(|set| new.rating(set)).collect();
        new.rank();
        new
    }

    /// Where the table lies.
    pub fn range(&self) -> Range<*const u8> {
        let blocks = self.blocks.as_ptr_range();
        blocks.start.cast()..blocks.end.cast()
    }

    pub fn free(&self) -> u32 {
        self.free_blocks
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

    pub fn state(&self, id: BlockId) -> State {
        self.blocks[id.index()].state
    }

    /// The lane the next block is best taken from, as [`open`](Self::open) does.
    #[inline]
    pub fn lane_to_open(&self) -> Option<LaneId> {
        self.best.map(|(_, lane)| lane)
    }

    /// The next block is opened in the plane set of the least rating: on the lane held by the fewest
    /// write points, itself held by the fewest, with the most free blocks. (Of more than 2^20 write
    /// points or 2^24 free blocks the rest is not told apart.)
    fn rating(&self, set: usize) -> u64 {
        let free = self.free[set].len();
        if free == 0 {
            return u64::MAX;
        }
        let most = |count: u32| u64::from(count.min((1 << 20) - 1));
        let taken = (1 << 24) - 1 - (free as u64).min((1 << 24) - 1);
        most(self.open[set % self.open.len()]) << 44 | most(self.open_in_set[set]) << 24 | taken
    }

    /// A block of the set has come or gone: it and the others of its lane are rated anew.
    fn rate(&mut self, set: usize) {
        let lanes = self.open.len();
        for set in (set % lanes..self.free.len()).step_by(lanes) {
            self.ratings[set] = self.rating(set);
        }
        self.rank();
    }

    /// Finds the best plane set, the first of equals.
    fn rank(&mut self) {
        let least = self.ratings.iter().fold(u64::MAX, |least, &rating| least.min(rating));
        let best = self.ratings.iter().position(|&rating| rating == least);
        self.best = best.filter(|_| least != u64::MAX).map(|at| {
            let at = u32::try_from(at).expect("fewer sets than blocks");
            (at, LaneId(at % self.lanes))
        });
    }

    fn set_of(&self, id: BlockId) -> usize {
        let sets = self.free.len() / self.open.len();
        let lane = id.0 % self.lanes;
        id.index() / (self.blocks.len() / sets) * self.open.len() + lane as usize
    }

    /// Opens the least erased free block of the best plane set under the next sequence number.
    pub fn open(&mut self) -> Option<(BlockId, LaneId, u64)> {
        let (at, lane) = self.best?;
        let at = at as usize;
        let id = self.free[at].pop(self.lanes, &self.blocks)?;
        self.free_blocks -= 1;
        self.open[lane.index()] += 1;
        self.open_in_set[at] += 1;
        let block = &mut self.blocks[id as usize];
        debug_assert_eq!((block.state, block.valid), (State::Free, 0));
        block.state = State::Open;
        self.rate(at);
        Some((BlockId(id), lane, self.renumber(BlockId(id))))
    }

    /// Opens a block, as [`open`](Self::open) does, and closes it with so many valid pages.
    pub fn fill(&mut self, valid: u32) -> Option<BlockId> {
        let (at, _) = self.best?;
        let set = at as usize;
        let id = self.free[set].pop(self.lanes, &self.blocks)?;
        let (before, now) = (self.ratings[set], self.rating(set));
        self.ratings[set] = now;
        // No set before this one was as good: the next that is as good as it was is now the best.
        match (at..).zip(&self.ratings[set..]).skip(1).find(|(_, rating)| **rating == before) {
            Some((next, _)) => self.best = Some((next, LaneId(next % self.lanes))),
            None => self.rank(),
        }
        self.free_blocks -= 1;
        let block = &mut self.blocks[id as usize];
        debug_assert_eq!((block.state, block.valid), (State::Free, 0));
        (block.state, block.valid) = (State::Closed, valid);
        let erases = block.erases;
        self.renumber(BlockId(id));
        self.link(id);
        if let Some(levelled) = &mut self.levelled {
            levelled.push(Reverse((erases, id)));
        }
        Some(BlockId(id))
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
        let block = &mut self.blocks[id.index()];
        block.state = State::Closed;
        let erases = block.erases;
        self.link(id.0);
        if let Some(levelled) = &mut self.levelled {
            levelled.push(Reverse((erases, id.0)));
        }
    }

    /// A block at a write point whose program has failed: it is emptied, then bad.
    pub fn condemn(&mut self, id: BlockId) {
        self.leave(id);
        let block = &mut self.blocks[id.index()];
        block.state = State::Collecting;
        self.pins[id.index()] |= COLLECTING;
        block.condemned = true;
        // Not before there is room for its copies.
        block.next = u32::MAX;
    }

    /// A block of the trim log is needed no more: it is to be erased.
    pub fn discard(&mut self, id: BlockId) {
        self.leave(id);
        self.blocks[id.index()].state = State::Collecting;
        self.pins[id.index()] |= COLLECTING;
    }

    pub fn is_closed(&self, id: BlockId) -> bool {
        self.blocks[id.index()].state == State::Closed
    }

    /// Whether a closed block holds nothing that is needed.
    pub fn is_stale(&self, id: BlockId) -> bool {
        let block = &self.blocks[id.index()];
        block.state == State::Closed && block.valid == 0
    }

    fn leave(&mut self, id: BlockId) {
        debug_assert_eq!(self.blocks[id.index()].state, State::Open);
        let set = self.set_of(id);
        self.open[(id.0 % self.lanes) as usize] -= 1;
        self.open_in_set[set] -= 1;
        self.rate(set);
    }

    /// A block under collection holds what cannot be read: it stays as it is, out of service.
    pub fn abandon(&mut self, id: BlockId) {
        self.blocks[id.index()].condemned = true;
    }

    pub fn is_condemned(&self, id: BlockId) -> bool {
        self.blocks[id.index()].condemned
    }

    /// Takes a closed block for collection.
    pub fn collect(&mut self, id: BlockId) {
        debug_assert_eq!(self.blocks[id.index()].state, State::Closed);
        self.unlink(id.0);
        self.blocks[id.index()].state = State::Collecting;
        self.pins[id.index()] |= COLLECTING;
    }

    /// A block under collection is to be copied from its first page on.
    pub fn begin(&mut self, id: BlockId, cause: Cause) {
        let block = &mut self.blocks[id.index()];
        debug_assert_eq!(block.state, State::Collecting);
        (block.next, block.prev, block.levels) = (0, 0, cause == Cause::Levelling);
    }

    /// The next super-page to look at in a block under collection, and why it is copied.
    #[inline]
    pub fn next_to_copy(&self, id: BlockId) -> Option<(u32, Cause)> {
        let block = &self.blocks[id.index()];
        let cause = if block.levels { Cause::Levelling } else { Cause::Collection };
        (block.state == State::Collecting).then_some((block.next, cause))
    }

    /// Before which slot of a block under collection the map was asked for the pages ahead.
    #[inline]
    pub fn asked(&self, id: BlockId) -> u32 {
        self.blocks[id.index()].prev
    }

    #[inline]
    pub fn set_asked(&mut self, id: BlockId, slot: u32) {
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
        debug_assert_eq!((block.state, block.valid), (State::Collecting, 0));
        block.state = State::Free;
        self.pins[id.index()] = 0;
        block.erases += 1;
        let erases = block.erases;
        self.most_erases = self.most_erases.max(erases);
        let set = self.set_of(id);
        self.free[set].used.push(Reverse((erases, id.0)));
        self.free_blocks += 1;
        self.rate(set);
    }

    /// An emptied block is out of service.
    pub fn retire(&mut self, id: BlockId) {
        let block = &mut self.blocks[id.index()];
        debug_assert_eq!((block.state, block.valid), (State::Collecting, 0));
        block.state = State::Bad;
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
        if block.state == State::Closed && self.listed == Listed::ByValid {
            self.relist(id);
            return false;
        }
        block.valid -= 1;
        block.state != State::Closed && self.is_empty(id)
    }

    /// A closed block has one valid page less, and goes to another list.
    fn relist(&mut self, id: BlockId) {
        self.unlink(id.0);
        self.blocks[id.index()].valid -= 1;
        self.link(id.0);
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
        self.pins[id.index()] == COLLECTING && self.blocks[id.index()].valid == 0
    }

    /// The first closed block of the first list that has any: by valid count, the one with the
    /// fewest valid pages and longest so; by age, the oldest.
    pub fn first_listed(&self) -> Option<BlockId> {
        let head = self.heads[self.least..].iter().find(|&&head| head != NONE)?;
        Some(BlockId(*head))
    }

    /// All closed blocks, in the order of the lists.
    pub fn in_order(&self) -> Vec<BlockId> {
        if self.listed == Listed::Not {
            return self.closed().collect();
        }
        let mut all = Vec::new();
        for &head in self.heads.iter().filter(|&&head| head != NONE) {
            let mut at = head;
            loop {
                all.push(BlockId(at));
                at = self.blocks[at as usize].next;
                if at == head {
                    break;
                }
            }
        }
        all
    }

    /// Takes the state of a checkpoint: sequence, valid pages, erases and state of each block, and
    /// the closed ones in the order of the lists. Bad blocks are bad already.
    pub fn restore(&mut self, states: &[(u64, u32, u32, u8)], listed: &[u32], next_sequence: u64) {
        self.next_sequence = next_sequence;
        for free in &mut self.free {
            free.left = 0;
            free.used.clear();
        }
        self.free_blocks = 0;
        for (id, &(sequence, valid, erases, state)) in (0..).zip(states) {
            let set = self.set_of(BlockId(id));
            let block = &mut self.blocks[id as usize];
            (block.sequence, block.valid, block.erases) = (sequence, valid, erases);
            self.most_erases = self.most_erases.max(erases);
            match state {
                0 => {
                    self.free[set].used.push(Reverse((erases, id)));
                    self.free_blocks += 1;
                }
                1 => {
                    block.state = State::Open;
                    self.open[(id % self.lanes) as usize] += 1;
                    self.open_in_set[set] += 1;
                }
                2 => block.state = State::Closed,
                // It holds what cannot be read.
                4 => {
                    (block.state, block.condemned, block.next) = (State::Collecting, true, NONE);
                    self.pins[id as usize] |= COLLECTING;
                }
                _ => {}
            }
        }
        for &id in listed {
            self.link(id);
            if let Some(levelled) = &mut self.levelled {
                levelled.push(Reverse((self.blocks[id as usize].erases, id)));
            }
        }
        self.ratings = (0..self.free.len()).map(|set| self.rating(set)).collect();
        self.rank();
    }

    /// All closed blocks.
    pub fn closed(&self) -> impl Iterator<Item = BlockId> {
        let closed = |&(_, block): &(u32, &Block)| block.state == State::Closed;
        (0..).zip(&self.blocks).filter(closed).map(|(id, _)| BlockId(id))
    }

    /// The closed block that was erased least, if it lags the most erased one by more than
    /// `spread`.
    pub fn laggard(&mut self, spread: u32) -> Option<BlockId> {
        let levelled = self.levelled.as_mut()?;
        while let Some(&Reverse((erases, id))) = levelled.peek() {
            let block = &self.blocks[id as usize];
            if block.state == State::Closed && block.erases == erases {
                let lags = self.most_erases - erases > spread;
                return lags.then_some(BlockId(id));
            }
            levelled.pop();
        }
        None
    }

    fn list_of(&self, id: u32) -> usize {
        match self.listed {
            Listed::ByValid => self.blocks[id as usize].valid as usize,
            Listed::ByAge | Listed::Not => 0,
        }
    }

    fn link(&mut self, id: u32) {
        if self.listed == Listed::Not {
            return;
        }
        let list = self.list_of(id);
        let head = self.heads[list];
        let (prev, next) = match head {
            NONE => {
                self.heads[list] = id;
                (id, id)
            }
            head => (self.blocks[head as usize].prev, head),
        };
        self.blocks[prev as usize].next = id;
        self.blocks[next as usize].prev = id;
        let block = &mut self.blocks[id as usize];
        (block.prev, block.next) = (prev, next);
        self.least = self.least.min(list);
    }

    fn unlink(&mut self, id: u32) {
        if self.listed == Listed::Not {
            return;
        }
        let list = self.list_of(id);
        let Block { prev, next, .. } = self.blocks[id as usize];
        let head = &mut self.heads[list];
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
        let free = self.free.iter().map(|free| &free.used);
        let heaps = free.chain(&self.levelled).map(BinaryHeap::capacity);
        (self.blocks.capacity() * size_of::<Block>()
            + self.pins.capacity() * 4
            + heaps.sum::<usize>() * size_of::<(u32, u32)>()
            + self.heads.capacity() * 4) as u64
    }
}
