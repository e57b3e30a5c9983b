//! The free blocks, and where the next one is best opened.
//!
//! They stand in one heap per plane set of a die group, least erased first (dynamic wear
//! levelling); those never used yet are known by their numbers alone.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use gordon_nand::{DieGroupId, Layout};
use gordon_units::BlockId;

/// The free blocks of a plane set of a die group.
#[derive(Clone, Debug)]
struct FreeBlocks {
    /// Blocks never opened, of which there are so many: this number and each `step` after it, but
    /// for bad ones.
    next: u32,
    left: u32,
    /// Those used before: (erases, block).
    used: BinaryHeap<Reverse<(u32, u32)>>,
}

impl FreeBlocks {
    fn len(&self) -> usize {
        self.left as usize + self.used.len()
    }

    /// Takes the least erased, of equals the one of the lowest number.
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

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct FreePool {
    die_groups: u32,
    /// Blocks of a plane set, over all die groups.
    group: usize,
    /// By die group and plane set.
    free: Vec<FreeBlocks>,
    free_blocks: u32,
    /// By die group: blocks at write points.
    open: Vec<u32>,
    /// By die group and plane set.
    open_in_set: Vec<u32>,
    /// By die group and plane set: how good it is to open the next block there, the least first;
    /// see [`rating`](Self::rating).
    ratings: Vec<u64>,
    /// The best of them, which only changes with whole blocks.
    best: Option<(u32, DieGroupId)>,
}

impl FreePool {
    /// All blocks free but those that are bad.
    pub fn new(layout: &Layout, is_bad: impl Fn(u32) -> bool) -> Self {
        let (die_groups, sets) = (layout.die_groups() as usize, layout.plane_sets() as usize);
        let group = layout.blocks() as usize / sets;
        // Blocks are numbered in 32 bits.
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

    /// How many are free.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free_blocks
    }

    /// The die group that the next block is opened on.
    #[inline]
    pub fn best(&self) -> Option<DieGroupId> {
        self.best.map(|(_, die_group)| die_group)
    }

    /// The next block is opened in the plane set of the least rating: on the die group held by the
    /// fewest write points, itself held by the fewest, with the most free blocks. (Of more than
    /// 2^20 write points or 2^24 free blocks the rest is not told apart.)
    fn rating(&self, set: usize) -> u64 {
        let free = self.free[set].len();
        if free == 0 {
            return u64::MAX;
        }
        let most = |count: u32| u64::from(count.min((1 << 20) - 1));
        let taken = (1 << 24) - 1 - (free as u64).min((1 << 24) - 1);
        most(self.open[set % self.open.len()]) << 44 | most(self.open_in_set[set]) << 24 | taken
    }

    /// A block of the set has come or gone: it and the others of its die group are rated again.
    fn rate(&mut self, set: usize) {
        let die_groups = self.open.len();
        for set in (set % die_groups..self.free.len()).step_by(die_groups) {
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
            (at, DieGroupId(at % self.die_groups))
        });
    }

    /// Rates and ranks all.
    pub fn rank_all(&mut self) {
        self.ratings = (0..self.free.len()).map(|set| self.rating(set)).collect();
        self.rank();
    }

    fn set_of(&self, id: BlockId) -> usize {
        let die_group = id.0 % self.die_groups;
        id.index() / self.group * self.open.len() + die_group as usize
    }

    /// The least erased block of the best plane set goes to a write point.
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

    /// As [`open`](Self::open), of a block that is full at once.
    pub fn take(&mut self, is_bad: impl Fn(u32) -> bool) -> Option<BlockId> {
        let (at, _) = self.best?;
        let set = at as usize;
        let id = self.free[set].pop(self.die_groups, is_bad)?;
        let (before, now) = (self.ratings[set], self.rating(set));
        self.ratings[set] = now;
        // No set before this one was as good: the next that is as good as it was is now the best.
        match (at..).zip(&self.ratings[set..]).skip(1).find(|(_, rating)| **rating == before) {
            Some((next, _)) => self.best = Some((next, DieGroupId(next % self.die_groups))),
            None => self.rank(),
        }
        self.free_blocks -= 1;
        Some(BlockId(id))
    }

    /// A block leaves its write point.
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

    /// None is free, until those of a checkpoint are restored and all is [ranked](Self::rank_all).
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

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let heaps = self.free.iter().map(|free| free.used.capacity());
        (heaps.sum::<usize>() * size_of::<(u32, u32)>()) as u64
    }
}
