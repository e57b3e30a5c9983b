//! The wear-level status table and the two rules that use it (section 3.2 of the paper).
//!
//! The paper does not say whether a counter belongs to a physical block or to its content. Both are
//! needed: the erases of a physical block show that it is worn, the evictions of a set show that it
//! wears blocks out. When sets are swapped, erases stay with the physical blocks, and evictions
//! move with the set.

use alloc::vec;
use alloc::vec::Vec;

/// Swaps may erase one block for this number of evictions, so that they add at most 1 % to the
/// wear.
const EVICTIONS_PER_SWAP_ERASE: u64 = 100;

/// The thresholds of wear levelling, as differences of counts. `None` switches a rule off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearRules {
    /// A block to be evicted is hot if its erase count exceeds the smallest one of its set by more
    /// than this.
    pub block: Option<u32>,
    /// A set is hot if a difference, which `set_rule` defines, exceeds this.
    pub set: Option<u32>,
    /// How the threshold of sets is applied.
    pub set_rule: SetRule,
}

/// How the threshold of hot sets is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetRule {
    /// A set is swapped with the set in the least worn place if two conditions hold. The wear of
    /// its place exceeds both the mean and the wear of that place by more than the threshold, and
    /// the set itself had more evictions than the other set by more than the threshold. Swaps erase
    /// at most one block for 100 evictions. A block whose place was worn by another set is not
    /// evicted if that would raise the wear of its place above both the mean plus the threshold and
    /// the largest number of evictions of a block; another block of the set is evicted, or none.
    #[default]
    Bounded,
    /// The rule as the paper states it: a set is swapped if the largest count of its place exceeds
    /// that of the coldest place by more than the threshold. The cold set that moves to the worn
    /// place is then hot itself at its next eviction, so that there can be more swaps than
    /// evictions.
    Literal,
}

pub(super) struct Wear {
    ways: u32,
    rules: WearRules,
    /// Erases of each physical block, set by set. The last `ways` blocks are for swaps.
    erases: Vec<u32>,
    /// Erases of each physical block by swaps, which `erases` includes.
    swaps: Vec<u32>,
    /// Evictions of each logical block.
    evictions: Vec<u32>,
    /// The sum of `evictions`.
    total_evictions: u64,
    /// The largest of `evictions`.
    most_evicted: u32,
    /// The sum of `swaps`.
    swap_erases: u64,
    /// The place of each set.
    place_of: Vec<u32>,
    /// The set in each place.
    set_at: Vec<u32>,
    /// The largest erase count in each place of a set.
    max_erases: Vec<u32>,
    /// The place with the smallest `max_erases`.
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

    /// The physical block of a logical block when all jobs are done.
    #[inline]
    pub fn place(&self, set: u32, way: u32) -> u32 {
        self.place_of[set as usize] * self.ways + way
    }

    /// A spare physical block for swaps.
    pub fn staging(&self, way: u32) -> u32 {
        self.place_of.len() as u32 * self.ways + way
    }

    /// Counts the eviction of a logical block, which erases its physical block.
    pub fn evict(&mut self, set: u32, way: u32) {
        let evictions = &mut self.evictions[(set * self.ways + way) as usize];
        *evictions += 1;
        self.most_evicted = self.most_evicted.max(*evictions);
        self.total_evictions += 1;
        self.erase(self.place(set, way));
    }

    /// Counts the erase of a physical block for a swap.
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

    /// The way of the set to evict, where `lru` is the least recently used way; `None` if all ways
    /// are at their limit.
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

    /// Whether one more eviction of this block would raise the wear of its physical block above the
    /// mean plus the threshold, and above what it could be without swaps.
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

    /// The set to swap this one with, if it is hot. `cost` returns the number of erases of a swap
    /// with another set.
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

    /// The largest number of evictions of a logical block of the set.
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
