//! W-TinyLFU (Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM
//! Transactions on Storage 13(4), 2017): an LRU window of a hundredth of the capacity, and a main
//! part of segmented LRU. An object that leaves the window enters the main part if it was requested
//! more often than the object that would have to be evicted for it.
//!
//! The policy follows `WTinyLFU.c` of libCacheSim 0.3.5 with its defaults. Until the cache is full,
//! all objects are in the window. The segments of the main part have a fifth and four fifths of it.
//! An object is counted when it is inserted, when it leaves the window, and at a hit in the main
//! part. An object larger than the window is not admitted. The counts are the [`Sketch`] of the
//! paper; in libCacheSim they have 32 bits, take about 58 bytes for each byte of the cache, and are
//! in effect never halved.

use super::sketch::Sketch;
use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{List, Store};

/// The lists. The mark of an entry is the number of its list.
const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

pub(crate) struct WTinyLfu {
    capacity: u64,
    /// Capacities of the lists. Until the cache is full, the window may use the rest of the cache.
    capacities: [u64; 3],
    main_capacity: u64,
    store: Store,
    lists: [List; 3],
    sketch: Sketch,
    counts: CacheCounts,
}

impl WTinyLfu {
    pub fn new(capacity: u64) -> Self {
        let window = (capacity as f64 * 0.01) as u64;
        let main = capacity - window;
        let part = |share: f64| (share * main as f64) as u64;
        Self {
            capacity,
            capacities: [window, part(1.0 / 5.0), part(4.0 / 5.0)],
            main_capacity: main,
            store: Store::new(),
            lists: [List::new(); 3],
            sketch: Sketch::new(),
            counts: CacheCounts::default(),
        }
    }

    fn main_bytes(&self) -> u64 {
        self.lists[PROBATION].bytes + self.lists[PROTECTED].bytes
    }

    /// The victim of the main part, which is not empty, and its list.
    fn main_victim(&self) -> (usize, u32) {
        let from = if self.lists[PROBATION].len > 0 { PROBATION } else { PROTECTED };
        (from, self.lists[from].oldest)
    }

    fn drop_from(&mut self, from: usize, place: u32) {
        self.counts.evict(self.store.size(place));
        self.lists[from].unlink(&mut self.store, place);
        self.store.remove(place);
    }

    fn evict_main(&mut self) {
        let (from, place) = self.main_victim();
        self.drop_from(from, place);
    }

    /// Moves an entry to another list, as its newest.
    fn move_to(&mut self, place: u32, from: usize, to: usize) {
        self.lists[from].unlink(&mut self.store, place);
        self.lists[to].push(&mut self.store, place);
        self.store.at_mut(place).mark = to as u32;
    }

    /// Moves an object from the window to the first segment with space for it. If there is none,
    /// objects of the main part are evicted.
    fn admit(&mut self, place: u32, size: u64) {
        let fits = |part: &usize| self.lists[*part].bytes + size <= self.capacities[*part];
        let to = [PROBATION, PROTECTED].into_iter().find(fits);
        if to.is_none() {
            while self.main_bytes() + size > self.main_capacity {
                self.evict_main();
            }
        }
        self.move_to(place, WINDOW, to.unwrap_or(PROBATION));
    }

    /// Evicts one object. Before that, objects of the window move to the main part as long as it
    /// has space.
    fn evict(&mut self) {
        while self.lists[WINDOW].len > 0 {
            let place = self.lists[WINDOW].oldest;
            let (key, size) = (self.store.at(place).key, self.store.size(place));
            if self.main_bytes() + size <= self.main_capacity {
                self.admit(place, size);
                self.sketch.increment(key);
                continue;
            }
            let (from, victim) = self.main_victim();
            let other = self.store.at(victim).key;
            if self.sketch.estimate(key) > self.sketch.estimate(other) {
                self.drop_from(from, victim);
                self.admit(place, size);
            } else {
                self.drop_from(WINDOW, place);
            }
            self.sketch.increment(key);
            return;
        }
        self.evict_main();
    }

    /// Moves an object from probation to the protected segment after a hit. The oldest protected
    /// objects return to probation to make space.
    fn protect(&mut self, place: u32) {
        self.move_to(place, PROBATION, PROTECTED);
        while self.lists[PROTECTED].bytes > self.capacities[PROTECTED] {
            self.move_to(self.lists[PROTECTED].oldest, PROTECTED, PROBATION);
            while self.lists[PROBATION].bytes > self.capacities[PROBATION] {
                self.drop_from(PROBATION, self.lists[PROBATION].oldest);
            }
        }
    }
}

impl Policy for WTinyLfu {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        if let Some(place) = self.store.find(request.key) {
            match self.store.at(place).mark as usize {
                PROBATION => self.protect(place),
                part => self.lists[part].move_to_front(&mut self.store, place),
            }
            if self.store.at(place).mark as usize != WINDOW {
                self.sketch.increment(request.key);
            }
            return (Access::Hit, place);
        }
        let size = request.size;
        if size > self.capacities[WINDOW] {
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        while self.counts.bytes + size > self.capacity {
            self.evict();
        }
        let place = self.store.insert(request.key, request.size, WINDOW as u32);
        self.lists[WINDOW].push(&mut self.store, place);
        self.counts.insert(request.size);
        self.sketch.grow(self.counts.objects);
        self.sketch.increment(request.key);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn memory(&self) -> usize {
        self.store.memory() + self.sketch.memory()
    }

    fn sketch_memory(&self) -> usize {
        self.sketch.memory()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(key, size));
    }

    #[inline]
    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}
