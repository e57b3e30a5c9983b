//! The wear-level status table and the two rules that use it (paper, 3.2).
//!
//! The paper does not say whether a counter belongs to a block of flash or to what is cached there.
//! Both are needed: the erases of a place say that it is worn, the evictions of a set say that it
//! wears places out. Erases stay with the place when sets are swapped, evictions go with the set.

use alloc::vec;
use alloc::vec::Vec;

/// Evictions for each block that swaps may erase: swaps add at most 1 % to the wear.
const EVICTIONS_PER_SWAP_ERASE: u64 = 100;

/// When wear is levelled: differences of counts beyond which a rule holds; none: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearRules {
    /// A block that is to be evicted is hot: its count, less the least of its set.
    pub block: Option<u32>,
    /// A set is hot, by `set_rule`.
    pub set: Option<u32>,
    /// How the set's threshold is applied.
    pub set_rule: SetRule,
}

/// How the threshold of hot sets is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetRule {
    /// A set is swapped with the set in the least worn place if its place is worn beyond the
    /// threshold, compared with the mean and with that place, and if the set itself was evicted
    /// more often than the other by more than the threshold. Swaps erase at most one block for 100
    /// evictions. A block whose place was worn by another set takes nothing new while that would
    /// wear the place beyond both the mean plus the threshold and the most evicted block: another
    /// block of the set is evicted, or none.
    #[default]
    Bounded,
    /// The paper's words: a set is swapped if the greatest count of its place exceeds that of the
    /// coldest place by more than the threshold. The cold set that comes to the worn place is hot
    /// in its turn at its own next eviction, so that swaps can outnumber evictions.
    Literal,
}

pub(super) struct Wear {
    ways: u32,
    rules: WearRules,
    /// By place; a set's blocks lie side by side. The last `ways` are for swaps.
    erases: Vec<u32>,
    /// Erases of each place by swaps, which `erases` includes.
    swaps: Vec<u32>,
    /// Evictions of each logical block.
    evictions: Vec<u32>,
    /// The sum of `evictions`.
    total_evictions: u64,
    /// The greatest of `evictions`.
    most_evicted: u32,
    /// The sum of `swaps`.
    swap_erases: u64,
    /// The place of each set.
    place_of: Vec<u32>,
    /// The set in each place.
    set_at: Vec<u32>,
    /// The greatest count of each place of a set.
    max_erases: Vec<u32>,
    /// The place where that is least.
    coldest: u32,
}

impl Wear {
    pub fn new(sets: u32, ways: u32, rules: WearRules) -> Self {
        let places = ((sets + 1) * ways) as usize;
        Self {
            ways,
            rules,
            erases: vec![0; places],
            swaps: vec![0; places],
            evictions: vec![0; (sets * ways) as usize],
            total_evictions: 0,
            most_evicted: 0,
            swap_erases: 0,
            place_of: (0..sets).collect(),
            set_at: (0..sets).collect(),
            max_erases: vec![0; sets as usize],
            coldest: 0,
        }
    }

    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    pub fn swap_erases(&self) -> &[u32] {
        &self.swaps
    }

    /// Where a logical block is when all jobs are done.
    #[inline]
    pub fn place(&self, set: u32, way: u32) -> u32 {
        self.place_of[set as usize] * self.ways + way
    }

    /// A place for swaps.
    pub fn staging(&self, way: u32) -> u32 {
        self.place_of.len() as u32 * self.ways + way
    }

    /// A logical block is evicted, its place erased.
    pub fn evict(&mut self, set: u32, way: u32) {
        let evictions = &mut self.evictions[(set * self.ways + way) as usize];
        *evictions += 1;
        self.most_evicted = self.most_evicted.max(*evictions);
        self.total_evictions += 1;
        self.erase(self.place(set, way));
    }

    /// A place is erased for a swap.
    pub fn erase_for_swap(&mut self, place: u32) {
        self.swaps[place as usize] += 1;
        self.swap_erases += 1;
        self.erase(place);
    }

    fn erase(&mut self, place: u32) {
        let count = &mut self.erases[place as usize];
        *count += 1;
        let set = place / self.ways;
        if let Some(most) = self.max_erases.get_mut(set as usize).filter(|most| **most < *count) {
            *most = *count;
            if set == self.coldest {
                let least = (0..).zip(&self.max_erases).min_by_key(|(_, most)| **most);
                self.coldest = least.map_or(0, |(set, _)| set);
            }
        }
    }

    /// The way to evict where `lru` is the one least recently used; none if the flash has to be
    /// spared.
    pub fn block_rule(&self, set: u32, lru: u32) -> Option<u32> {
        let from = self.place(set, 0) as usize;
        let counts = &self.erases[from..from + self.ways as usize];
        let hot = |threshold| {
            let least = counts.iter().min().copied().unwrap_or(0);
            counts[lru as usize] - least > threshold
        };
        let spared = self.is_at_limit(set, lru);
        if !spared && !self.rules.block.is_some_and(hot) {
            return Some(lru);
        }
        let ways = (0..).zip(counts).filter(|(way, _)| !self.is_at_limit(set, *way));
        ways.min_by_key(|(_, count)| **count).map(|(way, _)| way)
    }

    /// Whether one more eviction of this block would wear its place beyond what it would be without
    /// swaps, and beyond the mean plus the threshold.
    pub fn is_at_limit(&self, set: u32, way: u32) -> bool {
        let (Some(threshold), SetRule::Bounded) = (self.rules.set, self.rules.set_rule) else {
            return false;
        };
        let place = self.place(set, way) as usize;
        let next = self.erases[place] - self.swaps[place] + 1;
        let own = self.evictions[(set * self.ways + way) as usize] + 1;
        next > own.max(self.most_evicted) && self.above_mean(next) > i64::from(threshold)
    }

    /// A count less the mean of all evictions, rounded up.
    fn above_mean(&self, count: u32) -> i64 {
        i64::from(count) - (self.total_evictions / self.evictions.len() as u64) as i64
    }

    /// The set that this one is to be swapped with, if it is hot; `cost` has the erases of that
    /// swap.
    pub fn set_rule(&self, set: u32, cost: impl FnOnce(u32) -> u32) -> Option<u32> {
        let threshold = self.rules.set?;
        let (here, coldest) = (self.place_of[set as usize], self.coldest);
        let exceeds = |count: u32, other: u32| count > other.saturating_add(threshold);
        if !exceeds(self.max_erases[here as usize], self.max_erases[coldest as usize]) {
            return None;
        }
        let cold = self.set_at[coldest as usize];
        let swapped = match self.rules.set_rule {
            SetRule::Literal => true,
            SetRule::Bounded => {
                self.above_mean(self.max_erases[here as usize]) > i64::from(threshold)
                    && exceeds(self.most_evicted_of(set), self.most_evicted_of(cold))
                    && self.swap_erases + u64::from(cost(cold))
                        <= self.total_evictions / EVICTIONS_PER_SWAP_ERASE
            }
        };
        swapped.then_some(cold)
    }

    /// The greatest count of a set's own evictions.
    fn most_evicted_of(&self, set: u32) -> u32 {
        let from = (set * self.ways) as usize;
        self.evictions[from..from + self.ways as usize].iter().max().copied().unwrap_or(0)
    }

    pub fn swap(&mut self, one: u32, other: u32) {
        self.place_of.swap(one as usize, other as usize);
        self.set_at
            .swap(self.place_of[one as usize] as usize, self.place_of[other as usize] as usize);
    }

    pub fn memory(&self) -> usize {
        let counts = self.erases.len() + self.swaps.len() + self.evictions.len();
        (counts + self.place_of.len() + self.set_at.len() + self.max_erases.len())
            * size_of::<u32>()
    }
}
