//! Caches with a single queue. The policies differ in what a hit does, and in the choice of a
//! victim.

use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{List, Store};

/// The rule of such a policy.
pub(crate) trait Rule: Send {
    /// Handles a hit on the object at `place`.
    fn hit(&mut self, store: &mut Store, list: &mut List, place: u32);

    /// Chooses a victim from the list, which is not empty. The rule may reorder the list.
    fn victim(&mut self, store: &mut Store, list: &mut List) -> u32;
}

/// A cache with such a policy.
pub(crate) struct Queue<R> {
    capacity: u64,
    store: Store,
    list: List,
    counts: CacheCounts,
    rule: R,
}

impl<R: Rule> Queue<R> {
    pub fn new(capacity: u64, rule: R) -> Self {
        Self {
            capacity,
            store: Store::new(),
            list: List::new(),
            counts: CacheCounts::default(),
            rule,
        }
    }
}

impl<R: Rule> Policy for Queue<R> {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        let Self { capacity, store, list, counts, rule } = self;
        if let Some(place) = store.find(request.key) {
            rule.hit(store, list, place);
            return (Access::Hit, place);
        }
        let size = request.size;
        if size > *capacity {
            counts.refused += 1;
            return (Access::Miss, NOT_ADMITTED);
        }
        while counts.bytes + size > *capacity {
            let victim = rule.victim(store, list);
            counts.evict(store.size(victim));
            list.unlink(store, victim);
            store.remove(victim);
        }
        let place = store.insert(request.key, request.size, 0);
        list.push(store, place);
        counts.insert(request.size);
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

    #[inline]
    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}
