//! The wear-level status table and the two rules that use it (paper, 3.2).
//!
//! A logical block's counter is of its place in flash: it stays when sets are swapped.

use alloc::vec;
use alloc::vec::Vec;

/// When wear is levelled: differences of eviction counts beyond which a rule holds; none: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// A block that is to be evicted is hot: its count, less the least of its set.
    pub block: Option<u32>,
    /// A set is hot: the greatest count of its blocks, less that of the coldest set's.
    pub set: Option<u32>,
}

pub(super) struct Wear {
    ways: u32,
    rules: Rules,
    /// By place; a set's blocks lie side by side. The last `ways` are for swaps.
    erases: Vec<u32>,
    /// The place of each set.
    home: Vec<u32>,
    /// The set in each place.
    lives: Vec<u32>,
    /// The greatest count of each place of a set.
    most: Vec<u32>,
    /// The place where that is least.
    coldest: u32,
}

impl Wear {
    pub fn new(sets: u32, ways: u32, rules: Rules) -> Self {
        Self {
            ways,
            rules,
            erases: vec![0; ((sets + 1) * ways) as usize],
            home: (0..sets).collect(),
            lives: (0..sets).collect(),
            most: vec![0; sets as usize],
            coldest: 0,
        }
    }

    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Where a logical block is when all jobs are done.
    #[inline]
    pub fn place(&self, set: u32, way: u32) -> u32 {
        self.home[set as usize] * self.ways + way
    }

    /// A place for swaps.
    pub fn staging(&self, way: u32) -> u32 {
        self.home.len() as u32 * self.ways + way
    }

    /// The block in a place is erased.
    pub fn erase(&mut self, place: u32) {
        let count = &mut self.erases[place as usize];
        *count += 1;
        let set = place / self.ways;
        if let Some(most) = self.most.get_mut(set as usize).filter(|most| **most < *count) {
            *most = *count;
            if set == self.coldest {
                let least = (0..).zip(&self.most).min_by_key(|(_, most)| **most);
                self.coldest = least.map_or(0, |(set, _)| set);
            }
        }
    }

    /// The way that goes in the place of the one least recently used.
    pub fn block_rule(&self, set: u32, lru: u32) -> u32 {
        let Some(threshold) = self.rules.block else { return lru };
        let from = self.place(set, 0) as usize;
        let counts = &self.erases[from..from + self.ways as usize];
        let (way, least) = (0..).zip(counts).min_by_key(|(_, count)| **count).unwrap_or((lru, &0));
        if counts[lru as usize] - least > threshold { way } else { lru }
    }

    /// The set that this one is to be swapped with, if it is hot.
    pub fn set_rule(&self, set: u32) -> Option<u32> {
        let most = |place: u32| self.most[place as usize];
        let here = self.home[set as usize];
        let hot = most(here) - most(self.coldest) > self.rules.set?;
        hot.then(|| self.lives[self.coldest as usize])
    }

    pub fn swap(&mut self, one: u32, other: u32) {
        self.home.swap(one as usize, other as usize);
        self.lives.swap(self.home[one as usize] as usize, self.home[other as usize] as usize);
    }

    pub fn memory(&self) -> usize {
        (self.erases.len() + self.home.len() + self.lives.len() + self.most.len())
            * size_of::<u32>()
    }
}
