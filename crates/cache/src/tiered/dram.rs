//! The tier of objects in DRAM, and what it offers to flash.

use super::TieredCounts;
use super::admission::{Admission, AdmissionPolicy};
use super::vocabulary::DirectoryEntry;
use crate::store::{List, Store};

/// The bits of a mark that count requests. The others are [`ObjectSize::directory`] in units of 8
/// bytes.
const REQUESTS: u32 = 16;

/// Objects in DRAM, and the choice of those that flash admits.
pub(super) struct DramTier {
    pub dram: u64,
    /// Size of the largest object that flash can hold.
    pub largest: u32,
    pub store: Store,
    pub list: List,
    pub admission: AdmissionPolicy,
}

impl DramTier {
    pub fn new(dram: u64, largest: u32, admission: Admission, seed: u64) -> Self {
        Self {
            dram,
            largest,
            store: Store::new(),
            list: List::new(),
            admission: AdmissionPolicy::new(admission, seed),
        }
    }

    /// Finds an object and makes it the most recently used.
    pub fn find(&mut self, key: u64) -> Option<u32> {
        let place = self.store.find(key)?;
        let entry = self.store.at_mut(place);
        if entry.mark & ((1 << REQUESTS) - 1) != (1 << REQUESTS) - 1 {
            entry.mark += 1;
        }
        self.list.move_to_front(&mut self.store, place);
        Some(place)
    }

    /// Adds an object that is not there, with the size of its entry in a directory.
    pub fn insert(&mut self, key: u64, size: u64, directory: u32) -> u32 {
        let place = self.store.insert(key, size, (directory / 8) << REQUESTS | 1);
        self.list.push(&mut self.store, place);
        place
    }

    pub fn remove(&mut self, place: u32) {
        self.list.unlink(&mut self.store, place);
        self.store.remove(place);
    }

    /// Removes the least recently used object. Returns it if flash admits it.
    pub fn evict(&mut self, counts: &mut TieredCounts) -> (u32, Option<DirectoryEntry>) {
        let place = self.list.oldest;
        let (entry, size) = (*self.store.at(place), self.store.size(place));
        self.remove(place);
        counts.offered += size;
        match u32::try_from(size) {
            Ok(fits) if fits <= self.largest => {
                let requests = entry.mark & ((1 << REQUESTS) - 1);
                if self.admission.admit(entry.key, size, requests) {
                    counts.admitted += size;
                    let directory = entry.mark >> REQUESTS << 3;
                    let bytes = fits - directory;
                    let entry = DirectoryEntry { key: entry.key, offset: 0, bytes, directory };
                    return (place, Some(entry));
                }
            }
            _ => counts.dropped += 1,
        }
        (place, None)
    }
}
