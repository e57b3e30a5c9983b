//! SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is Simpler than LRU", NSDI 2024, algorithm
//! 1): the hand moves from old to new and clears bits; objects that it passes keep their place in
//! the queue.
//!
//! As `Sieve.c` of libCacheSim.

use super::queue::Rule;
use crate::store::{List, NONE, Store};

pub(crate) struct Sieve {
    /// The next entry to examine; `NONE` starts at the oldest.
    hand: u32,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { hand: NONE }
    }
}

impl Rule for Sieve {
    #[inline]
    fn hit(&mut self, store: &mut Store, _: &mut List, place: u32) {
        store.at_mut(place).mark = 1;
    }

    #[inline]
    fn victim(&mut self, store: &mut Store, list: &mut List) -> u32 {
        let mut hand = self.hand;
        loop {
            if hand == NONE {
                hand = list.oldest;
            }
            let entry = store.at_mut(hand);
            if entry.mark == 0 {
                self.hand = entry.newer;
                return hand;
            }
            entry.mark = 0;
            hand = entry.newer;
        }
    }
}
