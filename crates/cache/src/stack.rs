//! Stack distances: the bytes of the distinct other objects that were requested since the last
//! request for an object (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage
//! hierarchies", IBM Systems Journal 9(2), 1970).
//!
//! Objects occupy slots in the order of their last requests. A Fenwick tree over the slots (1994)
//! gives the bytes above a slot (Bennett and Kruskal 1975). A request leaves its old slot empty;
//! empty slots are removed when all slots are used, so that memory depends on the number of objects
//! and not on the number of requests.

use crate::store::{NONE, Store};
use alloc::vec;
use alloc::vec::Vec;

const MIN_SLOTS: usize = 64;

/// The requested objects, the latest on top.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The link `newer` of an entry is its slot.
    store: Store,
    /// The entry in each slot, or `NONE`.
    slots: Vec<u32>,
    used: usize,
    /// The Fenwick tree of bytes, which starts at index 1.
    tree: Vec<u64>,
    pub bytes: u64,
    pub objects: u64,
}

/// The stack distance of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackDistance {
    /// Bytes of the objects requested since.
    pub above: u64,
    /// Size of the object at its last request.
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

    /// Moves an object to the top, with its current size. Returns its stack distance if it was on
    /// the stack.
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

    /// Removes an object.
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

    /// Empties the slot of an entry. Returns the slot and the size of the object.
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

    /// Bytes in the slots up to and including this one.
    fn sum(&self, slot: usize) -> u64 {
        let (mut at, mut sum) = (slot + 1, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }

    /// Removes empty slots, and provides as many free slots as there are objects.
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
