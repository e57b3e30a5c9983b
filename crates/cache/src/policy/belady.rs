//! Belady's policy (Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer", IBM
//! Systems Journal 5(2), 1966): it evicts the object whose next request is furthest away.
//!
//! With objects of one size no policy has fewer misses. With several sizes it is a good bound, but
//! not the optimum. As in `Belady.c` of libCacheSim, every object is admitted. The order among
//! objects that are never requested again does not affect hits, because all of them are evicted
//! before any other object.

use super::{Access, CacheCounts, NOT_ADMITTED, Policy, Request};
use crate::store::{Entry, Store};
use alloc::vec::Vec;

/// Children of a node of the heap.
const CHILDREN: usize = 4;

/// A heap of entries, the one with the furthest next request first. The links of an entry hold the
/// number of its next request, its mark the index in the heap.
pub(crate) struct Belady {
    capacity: u64,
    store: Store,
    heap: Vec<u32>,
    counts: CacheCounts,
}

fn next_access(entry: &Entry) -> u64 {
    u64::from(entry.newer) << 32 | u64::from(entry.older)
}

fn set_next_access(entry: &mut Entry, next: u64) {
    (entry.newer, entry.older) = ((next >> 32) as u32, next as u32);
}

impl Belady {
    pub fn new(capacity: u64) -> Self {
        Self { capacity, store: Store::new(), heap: Vec::new(), counts: CacheCounts::default() }
    }

    #[inline]
    fn set_at(&mut self, at: usize, place: u32) {
        self.heap[at] = place;
        self.store.at_mut(place).mark = at as u32;
    }

    fn sift_up(&mut self, mut at: usize) {
        let place = self.heap[at];
        let own = next_access(self.store.at(place));
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            let above = self.heap[parent];
            if next_access(self.store.at(above)) >= own {
                break;
            }
            self.set_at(at, above);
            at = parent;
        }
        self.set_at(at, place);
    }

    fn sift_down(&mut self, mut at: usize) {
        let place = self.heap[at];
        let own = next_access(self.store.at(place));
        loop {
            let first = at * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let furthest =
                children.map(|c| (next_access(self.store.at(self.heap[c])), c)).max_by_key(|c| c.0);
            match furthest {
                Some((far, child)) if far > own => {
                    self.set_at(at, self.heap[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.set_at(at, place);
    }

    fn evict(&mut self) {
        let place = self.heap[0];
        self.counts.evict(self.store.size(place));
        self.store.remove(place);
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.heap[0] = last;
            self.sift_down(0);
        }
    }
}

impl Policy for Belady {
    #[inline]
    fn access_at(&mut self, request: &Request) -> (Access, u32) {
        if let Some(place) = self.store.find(request.key) {
            let entry = self.store.at_mut(place);
            let (before, at) = (next_access(entry), entry.mark as usize);
            set_next_access(entry, request.next);
            if request.next >= before {
                self.sift_up(at);
            } else {
                self.sift_down(at);
            }
            return (Access::Hit, place);
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
        set_next_access(self.store.at_mut(place), request.next);
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact((self.heap.len() / 16).max(64));
        }
        self.heap.push(place);
        self.sift_up(self.heap.len() - 1);
        self.counts.insert(request.size);
        (Access::Miss, place)
    }

    fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn memory(&self) -> usize {
        self.store.memory() + self.heap.capacity() * size_of::<u32>()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.store.iter().for_each(|(key, size, _)| each(key, size));
    }

    #[inline]
    fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }
}
