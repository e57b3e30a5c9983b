//! S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, "FIFO Queues are All You Need for Cache Eviction", SOSP
//! 2023, algorithm 1), in bytes.
//!
//! The policy follows `S3FIFO.c` of libCacheSim 0.3.5 with its defaults: the small queue has a
//! tenth of the capacity, the ghosts have as many bytes as the main queue, and an object needs two
//! hits in the small queue to enter the main queue. An object larger than the small queue is not
//! admitted. Until the first eviction, an object that finds the small queue full enters the main
//! queue. libCacheSim has separate tables for the two queues and the ghosts; here they share one.

use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{List, Store};

/// The list of an entry: the bits of its mark above the hit counter.
const SMALL: u32 = 0;
const MAIN: u32 = 1 << 2;
const GHOST: u32 = 2 << 2;
const HITS: u32 = 3;
/// Number of hits in the small queue that promote an object to the main queue.
const PROMOTION_HITS: u32 = 2;

pub(crate) struct S3Fifo {
    capacity: u64,
    small_capacity: u64,
    ghost_capacity: u64,
    store: Store,
    small: List,
    main: List,
    ghost: List,
    has_evicted: bool,
    counts: CacheCounts,
}

impl S3Fifo {
    pub fn new(capacity: u64) -> Self {
        let small_capacity = capacity / 10;
        Self {
            capacity,
            small_capacity,
            // Nine tenths of the capacity, rounded down.
            ghost_capacity: capacity / 10 * 9 + capacity % 10 * 9 / 10,
            store: Store::new(),
            small: List::new(),
            main: List::new(),
            ghost: List::new(),
            has_evicted: false,
            counts: CacheCounts::default(),
        }
    }

    fn evict(&mut self) {
        self.has_evicted = true;
        let main_capacity = self.capacity - self.small_capacity;
        if self.main.bytes > main_capacity || self.small.len == 0 {
            self.evict_main();
        } else {
            self.evict_small();
        }
    }

    /// Evicts the oldest object of the small queue that has too few hits. Objects with enough hits
    /// before it move to the main queue.
    fn evict_small(&mut self) {
        while self.small.len > 0 {
            let place = self.small.oldest;
            self.small.unlink(&mut self.store, place);
            let entry = self.store.at_mut(place);
            if entry.mark & HITS >= PROMOTION_HITS {
                entry.mark = MAIN;
                self.main.push(&mut self.store, place);
                continue;
            }
            entry.mark = GHOST;
            let size = self.store.size(place);
            self.counts.evict(size);
            self.add_ghost(place, size);
            return;
        }
    }

    fn add_ghost(&mut self, place: u32, size: u64) {
        if size > self.ghost_capacity {
            self.store.remove(place);
            return;
        }
        self.ghost.evict_to(&mut self.store, self.ghost_capacity - size);
        self.ghost.push(&mut self.store, place);
    }

    /// Evicts the oldest object of the main queue without hits. Objects before it are reinserted
    /// with one hit less.
    fn evict_main(&mut self) {
        while self.main.len > 0 {
            let place = self.main.oldest;
            let entry = self.store.at_mut(place);
            if entry.mark & HITS > 0 {
                entry.mark -= 1;
                self.main.move_to_front(&mut self.store, place);
                continue;
            }
            let size = self.store.size(place);
            self.counts.evict(size);
            self.main.unlink(&mut self.store, place);
            self.store.remove(place);
            return;
        }
    }
}

impl Policy for S3Fifo {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        let mut was_ghost = false;
        if let Some(place) = self.store.find(request.key) {
            let entry = self.store.at_mut(place);
            if entry.mark & GHOST == 0 {
                if entry.mark & HITS < HITS {
                    entry.mark += 1;
                }
                return (Access::Hit, place);
            }
            was_ghost = true;
            self.ghost.unlink(&mut self.store, place);
            self.store.remove(place);
        }
        let size = request.size;
        if size > self.small_capacity {
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        while self.counts.bytes + size > self.capacity {
            self.evict();
        }
        if !was_ghost && size == self.small_capacity {
            // The object would evict all others of the small queue.
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        let full = !self.has_evicted && self.small.bytes >= self.small_capacity;
        let (list, mark) =
            if was_ghost || full { (&mut self.main, MAIN) } else { (&mut self.small, SMALL) };
        let place = self.store.insert(request.key, request.size, mark);
        list.push(&mut self.store, place);
        self.counts.insert(request.size);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn ghosts(&self) -> u64 {
        self.ghost.len
    }

    fn memory(&self) -> usize {
        self.store.memory()
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
