//! Stack distances: how many bytes of other objects were asked for since an object was, each
//! counted once (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies",
//! IBM Systems Journal 9(2), 1970).
//!
//! Objects have slots in the order of their last requests, and a tree of sums over the slots says
//! how many bytes lie above one (Bennett and Kruskal 1975; the tree is Fenwick's, 1994). Slots left
//! behind are taken out when all are used, so memory follows objects and not requests.

use crate::store::{NONE, Store};
use alloc::vec;
use alloc::vec::Vec;

const MIN_SLOTS: usize = 64;

/// What was asked for, the latest on top.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Entries have their slots in a link.
    store: Store,
    /// Entries by slot, from 0.
    slots: Vec<u32>,
    used: usize,
    /// Sums of bytes, from 1.
    tree: Vec<u64>,
    pub bytes: u64,
    pub objects: u64,
}

/// An object that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackDistance {
    /// Bytes of those asked for since.
    pub above: u64,
    /// Its own, as it was asked for then.
    pub own: u64,
}

impl Stack {
    pub fn new() -> Self {
        Self {
            store: Store::new(),
            slots: vec![NONE; MIN_SLOTS],
            used: 0,
            tree: vec![0; MIN_SLOTS + 1],
            bytes: 0,
            objects: 0,
        }
    }

    #[inline]
    pub fn prefetch(&self, key: u64) -> u32 {
        self.store.prefetch(key)
    }

    /// An object is asked for, and is on top from now on, as large as it is now.
    pub fn access(&mut self, key: u64, size: u64) -> Option<StackDistance> {
        let place = self.store.find(key);
        let found = place.map(|place| {
            let (slot, own) = self.vacate_slot(place);
            StackDistance { above: self.bytes - self.sum(slot), own }
        });
        if self.used == self.slots.len() {
            self.compact();
        }
        let place = place.unwrap_or_else(|| self.store.insert(key, size, 0));
        self.store.set_size(place, size);
        self.store.at_mut(place).newer = self.used as u32;
        self.slots[self.used] = place;
        self.add(self.used, |sum| sum + size);
        self.used += 1;
        self.bytes += size;
        self.objects += 1;
        found
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: u64) {
        if let Some(place) = self.store.find(key) {
            self.vacate_slot(place);
            self.store.remove(place);
        }
    }

    pub fn memory(&self) -> usize {
        self.store.memory()
            + self.slots.capacity() * size_of::<u32>()
            + self.tree.capacity() * size_of::<u64>()
    }

    /// Empties an entry's slot: which, and how large it was.
    fn vacate_slot(&mut self, place: u32) -> (usize, u64) {
        let (slot, size) = (self.store.at(place).newer as usize, self.store.size(place));
        self.slots[slot] = NONE;
        self.add(slot, |sum| sum - size);
        self.bytes -= size;
        self.objects -= 1;
        (slot, size)
    }

    fn add(&mut self, slot: usize, change: impl Fn(u64) -> u64) {
        let mut at = slot + 1;
        while let Some(sum) = self.tree.get_mut(at) {
            *sum = change(*sum);
            at += at & at.wrapping_neg();
        }
    }

    /// Bytes of the slots up to this one.
    fn sum(&self, slot: usize) -> u64 {
        let (mut at, mut sum) = (slot + 1, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }

    /// Takes out slots left behind, and makes as many free ones as are used.
    #[cold]
    fn compact(&mut self) {
        self.slots.retain(|place| *place != NONE);
        self.used = self.slots.len();
        let len = (self.used * 2).max(MIN_SLOTS);
        assert!(len < NONE as usize, "more than 2^31 objects in one stack");
        self.slots.reserve_exact(len - self.used);
        self.slots.resize(len, NONE);
        self.tree.clear();
        self.tree.reserve_exact(len + 1);
        self.tree.resize(len + 1, 0);
        for (slot, place) in (0..self.used).zip(&self.slots) {
            self.store.at_mut(*place).newer = slot as u32;
            self.tree[slot + 1] = self.store.size(*place);
        }
        for at in 1..=len {
            let parent = at + (at & at.wrapping_neg());
            if parent <= len {
                self.tree[parent] += self.tree[at];
            }
        }
    }
}
