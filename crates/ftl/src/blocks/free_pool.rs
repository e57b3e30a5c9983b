//! The free blocks, and the choice of the next one to open.
//!
//! Each plane set of a die group has a heap of its free blocks, least erased first (dynamic wear
//! levelling). Blocks that have never been opened are not in the heap; a counter enumerates them.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use gordon_nand::{DieGroupId, Layout};
use gordon_units::BlockId;

/// The free blocks of one plane set of a die group.
#[derive(Clone, Debug)]
struct FreeBlocks {
    /// The first block that has never been opened (the others follow at intervals of `step`, bad
    /// blocks excepted), and the number of such blocks.
    next: u32,
    left: u32,
    /// Free blocks that have been used before: (erases, block).
    used: BinaryHeap<Reverse<(u32, u32)>>,
}

impl FreeBlocks {
    fn len(&self) -> usize {
        self.left as usize + self.used.len()
    }

    /// Takes the least erased block; of equals, the one with the lowest number.
    fn pop(&mut self, step: u32, is_bad: impl Fn(u32) -> bool) -> Option<u32> {
        if self.left == 0 {
            return self.used.pop().map(|Reverse((_, id))| id);
        }
        self.left -= 1;
        while is_bad(self.next) {
            self.next += step;
        }
        let id = self.next;
        self.next += step;
        Some(id)
    }
}

/// The free blocks of the array.
#[derive(Clone, Debug)]
pub(super) struct FreePool {
    die_groups: u32,
    /// Blocks of one plane set, over all die groups.
    group: usize,
    /// By plane set and die group.
    free: Vec<FreeBlocks>,
    free_blocks: u32,
    /// By die group: number of open blocks.
    open: Vec<u32>,
    /// By plane set and die group: number of open blocks.
    open_in_set: Vec<u32>,
    /// By plane set and die group: the [`rating`](Self::rating); the next block is opened where it
    /// is lowest.
    ratings: Vec<u64>,
    /// The plane set with the lowest rating, and its die group.
    best: Option<(u32, DieGroupId)>,
}

impl FreePool {
    /// All blocks are free except bad ones.
    pub fn new(layout: &Layout, is_bad: impl Fn(u32) -> bool) -> Self {
        let (die_groups, sets) = (layout.die_groups() as usize, layout.plane_sets() as usize);
        let group = layout.blocks() as usize / sets;
        // Block numbers have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let of_set = |at: usize| {
            let (set, die_group) = (at / die_groups, at % die_groups);
            let ids = (set * group + die_group..(set + 1) * group).step_by(die_groups);
            let left = ids.filter(|&id| !is_bad(id as u32)).count() as u32;
            FreeBlocks { next: (set * group + die_group) as u32, left, used: BinaryHeap::new() }
        };
        let free: Vec<_> = (0..die_groups * sets).map(of_set).collect();
        let free_blocks = free.iter().map(FreeBlocks::len).sum::<usize>();
        let mut new = Self {
            die_groups: layout.die_groups(),
            group,
            free,
            free_blocks: u32::try_from(free_blocks).expect("blocks are numbered in 32 bits"),
            open: vec![0; die_groups],
            open_in_set: vec![0; die_groups * sets],
            ratings: vec![],
            best: None,
        };
        new.rank_all();
        new
    }

    /// Number of free blocks.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free_blocks
    }

    /// The die group on which the next block is opened; `None` if no block is free.
    #[inline]
    pub fn best(&self) -> Option<DieGroupId> {
        self.best.map(|(_, die_group)| die_group)
    }

    /// Rating of a plane set; the lowest is best. It compares, in this order: the number of open
    /// blocks on the die group, the number of open blocks in the plane set, and the number of free
    /// blocks (more is better). The first two saturate at 2^20, the last at 2^24.
    fn rating(&self, set: usize) -> u64 {
        let free = self.free[set].len();
        if free == 0 {
            return u64::MAX;
        }
        let most = |count: u32| u64::from(count.min((1 << 20) - 1));
        let taken = (1 << 24) - 1 - (free as u64).min((1 << 24) - 1);
        most(self.open[set % self.open.len()]) << 44 | most(self.open_in_set[set]) << 24 | taken
    }

    /// Rates all plane sets of a die group again, after a block of `set` was opened, closed or
    /// freed.
    fn rate(&mut self, set: usize) {
        let die_groups = self.open.len();
        for set in (set % die_groups..self.free.len()).step_by(die_groups) {
            self.ratings[set] = self.rating(set);
        }
        self.rank();
    }

    /// Finds the plane set with the lowest rating; of equals, the first.
    fn rank(&mut self) {
        let least = self.ratings.iter().fold(u64::MAX, |least, &rating| least.min(rating));
        let best = self.ratings.iter().position(|&rating| rating == least);
        self.best = best.filter(|_| least != u64::MAX).map(|at| {
            let at = u32::try_from(at).expect("fewer sets than blocks");
            (at, DieGroupId(at % self.die_groups))
        });
    }

    /// Rates and ranks all plane sets.
    pub fn rank_all(&mut self) {
        self.ratings = (0..self.free.len()).map(|set| self.rating(set)).collect();
        self.rank();
    }

    fn set_of(&self, id: BlockId) -> usize {
        let die_group = id.0 % self.die_groups;
        id.index() / self.group * self.open.len() + die_group as usize
    }

    /// Opens the least erased block of the best plane set.
    pub fn open(&mut self, is_bad: impl Fn(u32) -> bool) -> Option<(BlockId, DieGroupId)> {
        let (at, die_group) = self.best?;
        let at = at as usize;
        let id = self.free[at].pop(self.die_groups, is_bad)?;
        self.free_blocks -= 1;
        self.open[die_group.index()] += 1;
        self.open_in_set[at] += 1;
        self.rate(at);
        Some((BlockId(id), die_group))
    }

    /// Takes a block as [`open`](Self::open) does, but for a block that is full at once, so that it
    /// does not count as open.
    pub fn take(&mut self, is_bad: impl Fn(u32) -> bool) -> Option<BlockId> {
        let (at, _) = self.best?;
        let set = at as usize;
        let id = self.free[set].pop(self.die_groups, is_bad)?;
        let (before, now) = (self.ratings[set], self.rating(set));
        self.ratings[set] = now;
        // No earlier set had a rating as low as this set's old one. If a later set has that rating,
        // it is now the best.
        match (at..).zip(&self.ratings[set..]).skip(1).find(|(_, rating)| **rating == before) {
            Some((next, _)) => self.best = Some((next, DieGroupId(next % self.die_groups))),
            None => self.rank(),
        }
        self.free_blocks -= 1;
        Some(BlockId(id))
    }

    /// An open block is closed or abandoned.
    pub fn leave(&mut self, id: BlockId) {
        let set = self.set_of(id);
        self.open[(id.0 % self.die_groups) as usize] -= 1;
        self.open_in_set[set] -= 1;
        self.rate(set);
    }

    /// A block is free again.
    pub fn put(&mut self, id: BlockId, erases: u32) {
        self.restore_free(id, erases);
        self.rate(self.set_of(id));
    }

    /// Marks no block as free. The caller then restores the free blocks of a checkpoint and calls
    /// [`rank_all`](Self::rank_all).
    pub fn clear(&mut self) {
        for free in &mut self.free {
            free.left = 0;
            free.used.clear();
        }
        self.free_blocks = 0;
    }

    pub fn restore_free(&mut self, id: BlockId, erases: u32) {
        let set = self.set_of(id);
        self.free[set].used.push(Reverse((erases, id.0)));
        self.free_blocks += 1;
    }

    pub fn restore_open(&mut self, id: BlockId) {
        let set = self.set_of(id);
        self.open[(id.0 % self.die_groups) as usize] += 1;
        self.open_in_set[set] += 1;
    }

    /// Bytes of memory allocated.
    pub fn memory(&self) -> u64 {
        let heaps = self.free.iter().map(|free| free.used.capacity());
        (heaps.sum::<usize>() * size_of::<(u32, u32)>()) as u64
    }
}
