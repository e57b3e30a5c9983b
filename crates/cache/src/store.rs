//! Entries of objects, found by key and linked in lists. All policies consist of them.

use crate::index::{Index, hash};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;
/// The mark of an unused entry. Policies use the lower bits.
const FREE: u32 = 1 << 31;
/// The value of [`Entry::small`] if the size is in [`Store::large`]. Few objects are so large, and
/// the others save four bytes each.
const LARGE: u32 = u32::MAX;

/// The entry of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub key: u64,
    /// Size of the object if it is less than [`LARGE`].
    small: u32,
    /// The neighbours in a list. Unused entries are linked by `older`.
    pub newer: u32,
    pub older: u32,
    /// Data of the policy: the list of the entry, or counters.
    pub mark: u32,
}

/// A table of entries. The place of an entry is its index, which does not change.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    entries: Vec<Entry>,
    free: u32,
    index: Index,
    live: usize,
    /// Sizes of [`LARGE`] bytes and more, by place.
    large: BTreeMap<u32, u64>,
    /// Entries grow by one part in `growth.0`, the index by one part in `growth.1`.
    growth: (usize, usize),
}

impl Store {
    pub fn new() -> Self {
        let growth = (16, 2);
        Self {
            entries: Vec::new(),
            free: NONE,
            index: Index::new(64),
            live: 0,
            large: BTreeMap::new(),
            growth,
        }
    }

    /// A store that grows in smaller steps, for policies that need more memory for each entry.
    pub fn dense() -> Self {
        Self { growth: (64, 8), ..Self::new() }
    }

    #[inline]
    pub fn at(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }

    #[inline]
    pub fn at_mut(&mut self, place: u32) -> &mut Entry {
        &mut self.entries[place as usize]
    }

    /// The size of an entry in bytes.
    #[inline]
    pub fn size(&self, place: u32) -> u64 {
        self.size_of(place, self.at(place))
    }

    #[inline]
    fn size_of(&self, place: u32, entry: &Entry) -> u64 {
        if entry.small == LARGE { self.large_size(place) } else { u64::from(entry.small) }
    }

    #[cold]
    fn large_size(&self, place: u32) -> u64 {
        self.large[&place]
    }

    /// Changes the size of an entry.
    #[inline]
    pub fn set_size(&mut self, place: u32, size: u64) {
        let large = size >= u64::from(LARGE);
        if large || self.at(place).small == LARGE {
            self.set_large(place, large.then_some(size));
        }
        self.at_mut(place).small = if large { LARGE } else { size as u32 };
    }

    #[cold]
    fn set_large(&mut self, place: u32, size: Option<u64>) {
        match size {
            Some(size) => self.large.insert(place, size),
            None => self.large.remove(&place),
        };
    }

    #[inline]
    pub fn find(&self, key: u64) -> Option<u32> {
        self.index.find(hash(key), |place| self.at(place).key == key)
    }

    /// Brings the part of the index that [`find`](Self::find) reads first into the CPU cache. The
    /// caller must keep the result from being optimised away.
    #[inline]
    pub fn prefetch(&self, key: u64) -> u32 {
        self.index.prefetch(hash(key))
    }

    /// Adds an entry for a key that has none. The entry is in no list.
    #[inline]
    pub fn insert(&mut self, key: u64, size: u64, mark: u32) -> u32 {
        if self.live == self.index.capacity() {
            self.grow();
        }
        let entry = Entry { key, small: 0, newer: NONE, older: NONE, mark };
        let place = self.free;
        let place = if place == NONE {
            if self.entries.len() == self.entries.capacity() {
                // In small steps, because unused entries take memory too.
                self.entries.reserve_exact((self.entries.len() / self.growth.0).max(64));
            }
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            self.free = self.at(place).older;
            *self.at_mut(place) = entry;
            place
        };
        self.set_size(place, size);
        self.index.insert(hash(key), place);
        self.live += 1;
        place
    }

    #[cold]
    fn grow(&mut self) {
        let room = self.index.capacity();
        assert!(room < 1 << 31, "more than 2^31 objects in one cache");
        // Free the old index first: the new one is built from the entries.
        self.index = Index::new(0);
        self.index = Index::new(room + room / self.growth.1);
        for (place, entry) in (0..).zip(&self.entries) {
            if entry.mark & FREE == 0 {
                self.index.insert(hash(entry.key), place);
            }
        }
    }

    /// Removes an entry that is in no list.
    #[inline]
    pub fn remove(&mut self, place: u32) {
        let key = self.at(place).key;
        self.index.remove(hash(key), place);
        self.set_size(place, 0);
        let free = self.free;
        let entry = self.at_mut(place);
        (entry.mark, entry.older) = (FREE, free);
        self.free = place;
        self.live -= 1;
    }

    /// Key, size and mark of all entries in use.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let used = (0..).zip(&self.entries).filter(|(_, entry)| entry.mark & FREE == 0);
        used.map(|(place, entry)| (entry.key, self.size_of(place, entry), entry.mark))
    }

    pub fn memory(&self) -> usize {
        let large = self.large.len() * size_of::<(u32, u64)>();
        self.entries.capacity() * size_of::<Entry>() + self.index.memory() + large
    }
}

/// A doubly linked list of entries, from the oldest to the newest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub newest: u32,
    pub oldest: u32,
    /// Sum of the sizes.
    pub bytes: u64,
    pub len: u64,
}

impl List {
    pub const fn new() -> Self {
        Self { newest: NONE, oldest: NONE, bytes: 0, len: 0 }
    }

    /// Adds an entry that is in no list, as the newest.
    #[inline]
    pub fn push(&mut self, store: &mut Store, place: u32) {
        self.bytes += store.size(place);
        let entry = store.at_mut(place);
        (entry.newer, entry.older) = (NONE, self.newest);
        self.len += 1;
        if self.newest == NONE {
            self.oldest = place;
        } else {
            store.at_mut(self.newest).newer = place;
        }
        self.newest = place;
    }

    #[inline]
    pub fn unlink(&mut self, store: &mut Store, place: u32) {
        let Entry { newer, older, .. } = *store.at(place);
        self.bytes -= store.size(place);
        self.len -= 1;
        if newer == NONE {
            self.newest = older;
        } else {
            store.at_mut(newer).older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            store.at_mut(older).newer = newer;
        }
    }

    /// Removes the oldest entries from the list and the store until at most `bytes` bytes are left.
    pub fn evict_to(&mut self, store: &mut Store, bytes: u64) {
        while self.bytes > bytes {
            let oldest = self.oldest;
            self.unlink(store, oldest);
            store.remove(oldest);
        }
    }

    /// Makes an entry of the list the newest.
    #[inline]
    pub fn move_to_front(&mut self, store: &mut Store, place: u32) {
        if self.newest == place {
            return;
        }
        // Another entry is newer, so `newer` is not `NONE`; the sums do not change.
        let Entry { newer, older, .. } = *store.at(place);
        store.at_mut(newer).older = older;
        if older == NONE {
            self.oldest = newer;
        } else {
            store.at_mut(older).newer = newer;
        }
        store.at_mut(self.newest).newer = place;
        let entry = store.at_mut(place);
        (entry.newer, entry.older) = (NONE, self.newest);
        self.newest = place;
    }
}
