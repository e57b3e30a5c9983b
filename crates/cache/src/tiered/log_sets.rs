//! A log in front of sets, as in Kangaroo: objects gather in the log, and the objects of a set move
//! there together.
//!
//! When a segment of the log is evicted, each object in it moves to its set, together with all
//! other objects of that set in the log, if there are at least `threshold` of them. Otherwise the
//! object is dropped, or written to the log again if it was requested there. The same happens to an
//! object that does not fit into its set.

use super::log::Log;
use super::sets::{SetEntry, Sets};
use super::{FlashStore, IoQueue, TieredShape};
use crate::store::NONE;
use alloc::vec;
use alloc::vec::Vec;

pub(super) struct LogSets {
    log: Log,
    sets: Sets,
    threshold: usize,
    /// By set, the last object in the log: the head of a list.
    first: Vec<u32>,
    /// By object in the log, the next object of its set.
    next: Vec<u32>,
}

impl LogSets {
    pub fn new(shape: &TieredShape) -> Self {
        let sets = Sets::new(shape.log(), shape.sets(), shape.set);
        Self {
            log: Log::new(0, shape.log(), shape),
            threshold: shape.threshold as usize,
            first: vec![NONE; sets.count()],
            next: Vec::new(),
            sets,
        }
    }

    /// Adds an object in the log to the list of its set.
    fn link(first: &mut [u32], next: &mut Vec<u32>, set: usize, place: u32) {
        if next.len() <= place as usize {
            next.resize(place as usize + 1, NONE);
        }
        next[place as usize] = core::mem::replace(&mut first[set], place);
    }

    /// Removes an object from the list of its set.
    fn unlink(&mut self, set: usize, place: u32) {
        let after = self.next[place as usize];
        let (mut before, mut at) = (NONE, self.first[set]);
        while at != place {
            (before, at) = (at, self.next[at as usize]);
        }
        match before {
            NONE => self.first[set] = after,
            before => self.next[before as usize] = after,
        }
    }

    /// The objects of a set in the log, in the order in which they were appended.
    fn in_log(&self, set: usize) -> Vec<u32> {
        let some = |place: u32| Some(place).filter(|place| *place != NONE);
        let next = |place: &u32| some(self.next[*place as usize]);
        let mut all: Vec<u32> = core::iter::successors(some(self.first[set]), next).collect();
        all.reverse();
        all
    }

    /// Writes the open segment, and evicts the objects of the oldest one, which becomes the open
    /// one.
    fn next_segment(&mut self, size: u32, io_queue: &mut IoQueue) {
        self.log.next_segment(io_queue);
        let mut again = Vec::new();
        while let Some(place) = self.log.oldest() {
            let set = self.sets.set_of(self.log.store.at(place).key);
            let group = self.in_log(set);
            if group.len() < self.threshold {
                self.unlink(set, place);
                let entry = self.log.remove(place);
                if self.log.should_reinsert(&entry) {
                    again.push(entry);
                } else {
                    io_queue.counts.dropped += 1;
                }
                continue;
            }
            self.first[set] = NONE;
            let entries: Vec<_> = group.iter().map(|place| self.log.remove(*place)).collect();
            let slots: Vec<SetEntry> =
                entries.iter().map(|e| SetEntry::new(e.key, e.size, e.was_hit)).collect();
            for out in self.sets.write(set, &slots, io_queue) {
                let entry = entries.iter().find(|entry| entry.key == out.key);
                match entry.filter(|entry| self.log.should_reinsert(entry)) {
                    Some(entry) => again.push(*entry),
                    None => io_queue.counts.evicted += 1,
                }
            }
        }
        let Self { log, sets, first, next, .. } = self;
        log.reinsert(&again, size, io_queue, |key, place| {
            Self::link(first, next, sets.set_of(key), place)
        });
    }
}

impl FlashStore for LogSets {
    fn find(&mut self, key: u64, io_queue: &mut IoQueue) -> bool {
        self.log.find(key, io_queue) || self.sets.find(key, io_queue)
    }

    fn insert(&mut self, key: u64, size: u32, io_queue: &mut IoQueue) {
        if !self.log.fits(size) {
            self.next_segment(size, io_queue);
        }
        let place = self.log.append(key, size);
        Self::link(&mut self.first, &mut self.next, self.sets.set_of(key), place);
    }

    fn index_bytes(&self) -> u64 {
        self.log.index_bytes() + self.sets.index_bytes()
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.log.residents(each);
        self.sets.residents(each);
    }
}
