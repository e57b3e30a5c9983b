//! LeCaR (Vietri, Rodriguez, Martinez, Lyons, Liu, Rangaswami, Zhao, Narasimhan, "Driving Cache
//! Replacement with ML-based LeCaR", HotStorage 2018): each eviction uses LRU or LFU, drawn by
//! weights. If an object is requested again soon after one of the two evicted it, the weight of
//! that one decreases.
//!
//! The policy follows `LeCaR.c` of libCacheSim 0.3.5, including the random generator and its seed:
//! learning rate 0.45, discount 0.005^(1/bytes), ghosts of half the capacity for each of the two,
//! draws in steps of 0.01. An object that both would evict leaves no ghost.

use super::frequency::Frequencies;
use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{List, Store};

/// The marks of ghosts, by the policy that evicted them. The mark of an object in the cache is its
/// frequency group, in the lower bits.
const GHOST: u32 = 3 << 29;
const BY_LRU: u32 = 1 << 29;
const BY_LFU: u32 = 2 << 29;
const LEARNING: f64 = 0.45;
/// Multiplier and seed of Lehmer's generator with 128 bits (Steele and Vigna, 2021).
const MULTIPLIER: u128 = 0xda94_2042_e4dd_58b5;
const SEED: u128 = 0xdead_beef;

pub(crate) struct LeCaR {
    capacity: u64,
    store: Store,
    /// The objects in the cache, for LRU.
    recent: List,
    frequent: Frequencies,
    /// Ghosts of LRU and of LFU.
    ghosts: [List; 2],
    /// Weights of LRU and of LFU. Their sum is 1.
    weights: [f64; 2],
    discount: f64,
    state: u128,
    requests: u64,
    counts: CacheCounts,
}

impl LeCaR {
    pub fn new(capacity: u64) -> Self {
        Self {
            capacity,
            store: Store::dense(),
            recent: List::new(),
            frequent: Frequencies::new(),
            ghosts: [List::new(); 2],
            weights: [0.5; 2],
            discount: libm::pow(0.005, 1.0 / capacity as f64),
            state: SEED,
            requests: 0,
            counts: CacheCounts::default(),
        }
    }

    /// Reduces the weight of policy `by`, which evicted an object `ago` requests ago that is
    /// requested now.
    fn regret(&mut self, by: usize, ago: u64) {
        // A small addend keeps the weights from reaching 0.
        const MIN_WEIGHT: f64 = 1e-10;
        let reward_loss = libm::pow(self.discount, ago as f64);
        let weight = self.weights[by] * libm::exp(-LEARNING * reward_loss) + MIN_WEIGHT;
        let sum = weight + self.weights[1 - by] + 2.0 * MIN_WEIGHT;
        self.weights[by] = weight / sum;
        self.weights[1 - by] = (self.weights[1 - by] + MIN_WEIGHT) / sum;
    }

    /// A random number out of 0.00, 0.01, ..., 0.99.
    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER);
        ((self.state >> 64) as u64 % 100) as f64 / 100.0
    }

    fn evict(&mut self) {
        let (oldest, rarest) = (self.recent.oldest, self.frequent.least_frequent());
        let by =
            if oldest == rarest { None } else { Some(usize::from(self.draw() >= self.weights[0])) };
        let place = if by == Some(1) { rarest } else { oldest };
        let (group, size) = (self.store.at(place).mark, self.store.size(place));
        self.counts.evict(size);
        self.recent.unlink(&mut self.store, place);
        self.frequent.remove(place, group);
        let Some(by) = by else {
            self.store.remove(place);
            return;
        };
        self.store.at_mut(place).mark = [BY_LRU, BY_LFU][by];
        self.frequent.set_number(place, self.requests);
        let ghosts = &mut self.ghosts[by];
        ghosts.push(&mut self.store, place);
        ghosts.evict_to(&mut self.store, self.capacity / 2);
    }
}

impl Policy for LeCaR {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        self.requests += 1;
        if let Some(place) = self.store.find(request.key) {
            let mark = self.store.at(place).mark;
            if mark & GHOST == 0 {
                self.recent.move_to_front(&mut self.store, place);
                self.store.at_mut(place).mark = self.frequent.increment(place, mark);
                return (Access::Hit, place);
            }
            let by = usize::from(mark == BY_LFU);
            self.regret(by, self.requests - self.frequent.number(place));
            self.ghosts[by].unlink(&mut self.store, place);
            self.store.remove(place);
        }
        let size = request.size;
        if size > self.capacity {
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        while self.counts.bytes + size > self.capacity {
            self.evict();
        }
        let place = self.store.insert(request.key, request.size, 0);
        self.recent.push(&mut self.store, place);
        self.store.at_mut(place).mark = self.frequent.insert(place);
        self.counts.insert(request.size);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn ghosts(&self) -> u64 {
        self.ghosts[0].len + self.ghosts[1].len
    }

    fn memory(&self) -> usize {
        self.store.memory() + self.frequent.memory()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        let here = self.store.iter().filter(|(.., mark)| mark & GHOST == 0);
        here.for_each(|(key, size, _)| each(key, size));
    }

    #[inline]
    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}
