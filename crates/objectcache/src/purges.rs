//! Purges by prefix that may still hide objects in flash.
//!
//! A purge is a prefix and a sequence number: objects in flash with the prefix and a lower number
//! are gone. They keep their place, and whoever has read one asks here whether it counts. An object
//! in the log has a number of its own. Those in a set have the number with which the set was
//! written, because a set is written without the objects that are purged by then.
//!
//! The list is bounded by its records in the journal. A purge that does not fit sweeps the flash:
//! it reads all directories and sets, and removes what is purged. Then no purge so far hides
//! anything, and the list is empty.

use crate::format::journal::Record;
use crate::format::object::Kind;
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Default)]
pub(crate) struct Purges {
    /// The list: sequence numbers by prefix.
    listed: BTreeMap<Box<[u8]>, u64>,
    /// Purges that do not fit in the list, whose callers wait until the flash is swept.
    sweeping: Vec<(u64, Box<[u8]>)>,
    /// Bytes that the records of the list may take in the journal.
    capacity: usize,
}

impl Purges {
    /// Sets the size of the journal: its pages, each with `capacity` bytes for records. The list
    /// takes at most a quarter, also if every page is half full because records do not cross pages.
    pub fn set_journal(&mut self, pages: usize, capacity: usize) {
        self.capacity = (pages / 4).saturating_sub(1) * capacity / 2;
    }

    /// Adds a purge. Returns whether it is in the list; otherwise the flash must be swept.
    pub fn add(&mut self, sequence: u64, prefix: &[u8]) -> bool {
        // It replaces older purges whose prefixes begin with its own.
        let others = self.listed.keys().filter(|other| !other.starts_with(prefix));
        let bytes: usize = others.map(|other| Record::purged_len(other)).sum();
        let is_listed = bytes + Record::purged_len(prefix) <= self.capacity;
        if is_listed {
            self.restore(sequence, prefix);
        } else {
            self.sweeping.push((sequence, prefix.into()));
        }
        is_listed
    }

    /// Adds a purge to the list that was in it before a restart.
    pub fn restore(&mut self, sequence: u64, prefix: &[u8]) {
        self.listed.retain(|other, _| !other.starts_with(prefix));
        self.listed.insert(prefix.into(), sequence);
    }

    /// The sequence number below which an object of a key in flash was purged.
    pub fn limit(&self, key: &[u8], kind: Kind) -> u64 {
        if kind == Kind::Block {
            return 0;
        }
        let covers = |(_, prefix): &&(u64, Box<[u8]>)| key.starts_with(prefix);
        let sweeping = self.sweeping.iter().filter(covers).map(|(sequence, _)| *sequence);
        let mut limit = sweeping.max().unwrap_or(0);
        // All prefixes of the key are at or before it. Of what is before another prefix, only what
        // both have in common can be one.
        let mut end = key;
        while let Some((prefix, sequence)) = self.last_up_to(end) {
            let common = prefix.iter().zip(end).take_while(|(one, other)| one == other).count();
            if common < prefix.len() {
                end = &key[..common];
                continue;
            }
            limit = limit.max(sequence);
            match common {
                0 => break,
                _ => end = &key[..common - 1],
            }
        }
        limit
    }

    /// The last purge in the list whose prefix is not after these bytes.
    fn last_up_to(&self, end: &[u8]) -> Option<(&[u8], u64)> {
        let range = (Bound::Unbounded, Bound::Included(end));
        let (prefix, sequence) = self.listed.range::<[u8], _>(range).next_back()?;
        Some((prefix, *sequence))
    }

    /// Whether an object in flash was purged.
    pub fn cover(&self, key: &[u8], kind: Kind, sequence: u64) -> bool {
        sequence < self.limit(key, kind)
    }

    /// Whether a purge is in the list.
    pub fn is_listed(&self, prefix: &[u8], sequence: u64) -> bool {
        self.listed.get(prefix) == Some(&sequence)
    }

    /// Forgets a purge whose sweep failed.
    pub fn forget(&mut self, sequence: u64) {
        self.sweeping.retain(|(at, _)| *at != sequence);
    }

    /// Removes the purges before a sequence number: all objects in flash are newer, or were swept.
    pub fn retire(&mut self, before: u64) {
        self.listed.retain(|_, sequence| *sequence >= before);
        self.sweeping.retain(|(sequence, _)| *sequence >= before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_testkit::Random;

    #[test]
    fn the_limit_of_a_key_is_the_newest_purge_of_one_of_its_prefixes() {
        let mut random = Random::new(1);
        let mut word = |longest: usize| -> Vec<u8> {
            (0..random.below(longest + 1)).map(|_| b"ab"[random.below(2)]).collect()
        };
        for _ in 0..300 {
            let mut purges = Purges::default();
            purges.set_journal(16, 4024);
            let mut all: Vec<(Vec<u8>, u64)> = Vec::new();
            for sequence in 1..12 {
                let prefix = word(5);
                assert!(purges.add(sequence, &prefix));
                all.push((prefix, sequence));
                let key = word(8);
                let covers = all.iter().filter(|(prefix, _)| key.starts_with(prefix));
                let newest = covers.map(|(_, sequence)| *sequence).max();
                assert_eq!(purges.limit(&key, Kind::Whole), newest.unwrap_or(0), "{key:?} {all:?}");
                assert_eq!(purges.limit(&key, Kind::Block), 0);
            }
        }
    }

    #[test]
    fn a_purge_that_does_not_fit_is_not_in_the_list_until_it_is_emptied() {
        let mut purges = Purges::default();
        purges.set_journal(16, 4024);
        assert!(purges.add(1, &[b'x'; 3000]));
        assert!(!purges.add(2, &[b'y'; 3100]));
        // The purge hides objects nevertheless, and one that replaces older purges fits.
        assert_eq!(purges.limit(&[b'y'; 3200], Kind::Whole), 2);
        assert!(purges.add(3, &[b'x'; 2999]));
        assert!(purges.is_listed(&[b'x'; 2999], 3) && !purges.is_listed(&[b'x'; 3000], 1));
        purges.retire(4);
        assert_eq!(purges.limit(&[b'x'; 3200], Kind::Whole), 0);
        assert!(purges.add(5, &[b'y'; 3100]));
    }
}
