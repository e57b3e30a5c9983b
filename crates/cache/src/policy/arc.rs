//! ARC (Megiddo, Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003, figure 4),
//! in bytes.
//!
//! T1 holds objects that were requested once, T2 objects requested more often. B1 and B2 are the
//! ghosts of objects evicted from T1 and T2. As in `ARC.c` of libCacheSim 0.3.5, the target size of
//! T1 is a fractional number of bytes; a ghost hit changes it by the ratio of the sizes of the
//! ghost lists, at least 1, independently of the object's size. A miss removes at most one ghost
//! for each evicted object.

use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{List, Store};

/// The lists. The mark of an entry is the number of its list.
const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

pub(crate) struct Arc {
    capacity: u64,
    store: Store,
    lists: [List; 4],
    /// The target size of T1 in bytes: `p` in the paper.
    target: f64,
    counts: CacheCounts,
}

impl Arc {
    pub fn new(capacity: u64) -> Self {
        let (store, counts) = (Store::new(), CacheCounts::default());
        Self { capacity, store, lists: [List::new(); 4], target: 0.0, counts }
    }

    fn bytes(&self, list: usize) -> u64 {
        self.lists[list].bytes
    }

    #[inline]
    fn move_to(&mut self, place: u32, from: usize, to: usize) {
        self.lists[from].unlink(&mut self.store, place);
        self.store.at_mut(place).mark = to as u32;
        self.lists[to].push(&mut self.store, place);
    }

    /// Removes the oldest entry of a list.
    fn drop_oldest(&mut self, list: usize) {
        let oldest = self.lists[list].oldest;
        self.lists[list].unlink(&mut self.store, oldest);
        self.store.remove(oldest);
    }

    /// REPLACE of the paper: evicts an object from T1 or T2, which becomes a ghost.
    fn replace(&mut self, from_b2: bool) {
        let once = self.bytes(T1) as f64;
        let beyond = once > self.target || (once == self.target && from_b2);
        let (from, to) =
            if (self.bytes(T1) > 0 && beyond) || self.bytes(T2) == 0 { (T1, B1) } else { (T2, B2) };
        let oldest = self.lists[from].oldest;
        self.counts.evict(self.store.size(oldest));
        self.move_to(oldest, from, to);
    }

    /// Case IV of the paper: makes space for an object that is in no list.
    fn evict_for_new(&mut self, size: u64) {
        let once = self.bytes(T1) + self.bytes(B1);
        if once + size > self.capacity {
            if self.lists[B1].len > 0 {
                self.drop_oldest(B1);
                self.replace(false);
            } else {
                let oldest = self.lists[T1].oldest;
                self.counts.evict(self.store.size(oldest));
                self.drop_oldest(T1);
            }
            return;
        }
        let all = once + self.bytes(T2) + self.bytes(B2);
        if all >= self.capacity * 2 && self.lists[B2].len > 0 {
            self.drop_oldest(B2);
        }
        self.replace(false);
    }

    /// Handles a ghost hit: adapts the target, and removes the ghost.
    fn adapt(&mut self, place: u32, list: usize) {
        let (b1, b2) = (self.bytes(B1) as f64, self.bytes(B2) as f64);
        self.target = if list == B1 {
            (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
        } else {
            (self.target - (b1 / b2).max(1.0)).max(0.0)
        };
        self.lists[list].unlink(&mut self.store, place);
        self.store.remove(place);
    }
}

impl Policy for Arc {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        let mut ghost = None;
        if let Some(place) = self.store.find(request.key) {
            let list = self.store.at(place).mark as usize;
            if list == T2 {
                self.lists[T2].move_to_front(&mut self.store, place);
                return (Access::Hit, place);
            }
            if list == T1 {
                self.move_to(place, T1, T2);
                return (Access::Hit, place);
            }
            ghost = Some(list);
            self.adapt(place, list);
        }
        let size = request.size;
        if size > self.capacity {
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        while self.counts.bytes + size > self.capacity {
            match ghost {
                Some(list) => self.replace(list == B2),
                None => self.evict_for_new(size),
            }
        }
        let list = if ghost.is_some() { T2 } else { T1 };
        let place = self.store.insert(request.key, request.size, list as u32);
        self.lists[list].push(&mut self.store, place);
        self.counts.insert(request.size);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn ghosts(&self) -> u64 {
        self.lists[B1].len + self.lists[B2].len
    }

    fn memory(&self) -> usize {
        self.store.memory()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        let here = self.store.iter().filter(|(.., mark)| (*mark as usize) < B1);
        here.for_each(|(key, size, _)| each(key, size));
    }

    #[inline]
    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}
