//! A policy that another program brings, such as a class of Python. It chooses the objects that are
//! evicted; the cache counts.

use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::Store;

/// The choices of a policy.
pub trait Chooser: Send {
    /// An object of the cache was requested.
    fn hit(&mut self, key: u64);

    /// An object was inserted.
    fn insert(&mut self, key: u64, size: u64);

    /// The object to evict now. `None` if the chooser failed, after which it is not called again.
    fn victim(&mut self) -> Option<u64>;

    /// The object that it chose is not in the cache. The chooser is not called again.
    fn refused(&mut self, key: u64);
}

/// A cache with such a policy. Once the chooser failed, nothing is found or inserted.
pub struct OwnPolicy<C> {
    capacity: u64,
    store: Store,
    counts: CacheCounts,
    chooser: C,
    has_failed: bool,
}

impl<C: Chooser> OwnPolicy<C> {
    /// An empty cache of `capacity` bytes.
    pub fn new(capacity: u64, chooser: C) -> Self {
        let (store, counts) = (Store::new(), CacheCounts::default());
        Self { capacity, store, counts, chooser, has_failed: false }
    }

    /// Evicts objects until `size` bytes are free.
    fn make_space(&mut self, size: u64) {
        while self.counts.bytes + size > self.capacity && !self.has_failed {
            let Some(key) = self.chooser.victim() else {
                self.has_failed = true;
                return;
            };
            let Some(place) = self.store.find(key) else {
                self.chooser.refused(key);
                self.has_failed = true;
                return;
            };
            self.counts.evict(self.store.size(place));
            self.store.remove(place);
        }
    }
}

impl<C: Chooser> Policy for OwnPolicy<C> {
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        let Request { key, size, .. } = *request;
        if self.has_failed {
            return (Access::Miss, NOT_ADMITTED);
        }
        if let Some(place) = self.store.find(key) {
            self.chooser.hit(key);
            return (Access::Hit, place);
        }
        if size > self.capacity {
            self.counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        self.make_space(size);
        if self.has_failed {
            return (Access::Miss, NOT_ADMITTED);
        }
        let place = self.store.insert(key, size, 0);
        self.counts.insert(size);
        self.chooser.insert(key, size);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn memory(&self) -> usize {
        self.store.memory()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(key, size));
    }

    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HitCounts, NEVER, PolicyKind};
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use gordon_units::Bytes;

    /// First in, first out; fails after some evictions.
    struct Fifo {
        queue: VecDeque<u64>,
        left: u32,
        refused: Option<u64>,
    }

    impl Chooser for Fifo {
        fn hit(&mut self, key: u64) {
            assert!(self.queue.contains(&key));
        }

        fn insert(&mut self, key: u64, _: u64) {
            self.queue.push_back(key);
        }

        fn victim(&mut self) -> Option<u64> {
            self.left = self.left.checked_sub(1)?;
            self.queue.pop_front()
        }

        fn refused(&mut self, key: u64) {
            self.refused = Some(key);
        }
    }

    fn requests() -> Vec<Request> {
        (0..5000u64)
            .map(|n| {
                let key = n * n % 97 + n % 13;
                Request { key, next: NEVER, size: 100 + key % 7 * 30, asked: 50 }
            })
            .collect()
    }

    fn counted(cache: &mut dyn Policy) -> (HitCounts, CacheCounts) {
        let mut tally = HitCounts::default();
        cache.serve(&requests(), &mut tally);
        (tally, cache.counts())
    }

    #[test]
    fn fifo_from_outside_is_the_built_in_fifo() {
        let fifo = Fifo { queue: VecDeque::new(), left: u32::MAX, refused: None };
        let mut own = OwnPolicy::new(4000, fifo);
        let mut built_in = PolicyKind::Fifo.make(Bytes(4000));
        assert_eq!(counted(&mut own), counted(&mut *built_in));
        let mut keys = Vec::new();
        own.residents(&mut |key, _| keys.push(key));
        let mut queue: Vec<u64> = own.chooser.queue.iter().copied().collect();
        keys.sort_unstable();
        queue.sort_unstable();
        assert_eq!(keys, queue);
    }

    #[test]
    fn nothing_is_found_after_a_failure() {
        let fifo = Fifo { queue: VecDeque::new(), left: 10, refused: None };
        let mut own = OwnPolicy::new(4000, fifo);
        let (_, counts) = counted(&mut own);
        assert_eq!(counts.evicted, 10);
        let key = own.store.iter().next().expect("it is full").0;
        let again = Request { key, next: NEVER, size: 1, asked: 1 };
        assert_eq!(own.access(&again), Access::Miss);
    }

    #[test]
    fn a_victim_that_is_not_in_the_cache_is_refused() {
        let fifo = Fifo { queue: VecDeque::from([u64::MAX]), left: u32::MAX, refused: None };
        let mut own = OwnPolicy::new(4000, fifo);
        counted(&mut own);
        assert_eq!(own.chooser.refused, Some(u64::MAX));
        assert_eq!(own.counts().evicted, 0);
    }
}
