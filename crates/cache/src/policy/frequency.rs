//! Entries ordered by the number of their requests: LFU in constant time (Shah, Mitra, Matani, "An
//! O(1) algorithm for implementing the LFU cache eviction scheme", 2010). Entries with the same
//! number of requests form a group; the groups are linked in the order of these numbers.

use crate::store::NONE;
use alloc::vec::Vec;

/// Entries with the same number of requests. The entry that joined the group first is the oldest.
#[derive(Clone, Copy, Debug)]
struct Group {
    requests: u64,
    /// The neighbouring groups with fewer and with more requests. Unused groups are linked by
    /// `more`.
    less: u32,
    more: u32,
    newest: u32,
    oldest: u32,
}

/// The neighbours of an entry in its group.
#[derive(Clone, Copy, Debug)]
struct Links {
    newer: u32,
    older: u32,
}

/// The groups of all entries.
#[derive(Debug)]
pub(crate) struct Frequencies {
    groups: Vec<Group>,
    free: u32,
    least: u32,
    links: Vec<Links>,
}

impl Frequencies {
    pub const fn new() -> Self {
        Self { groups: Vec::new(), free: NONE, least: NONE, links: Vec::new() }
    }

    /// The entry with the fewest requests; among several, the one that joined their group first.
    pub fn least_frequent(&self) -> u32 {
        self.groups[self.least as usize].oldest
    }

    /// Adds an entry with one request. Returns its group.
    pub fn insert(&mut self, place: u32) -> u32 {
        if place as usize == self.links.len() {
            if self.links.len() == self.links.capacity() {
                self.links.reserve_exact((self.links.len() / 64).max(64));
            }
            self.links.push(Links { newer: NONE, older: NONE });
        }
        let once = match self.groups.get(self.least as usize) {
            Some(group) if group.requests == 1 => self.least,
            _ => self.add(1, NONE, self.least),
        };
        self.push(once, place);
        once
    }

    /// Counts a request for an entry of this group. Returns its new group.
    pub fn increment(&mut self, place: u32, group: u32) -> u32 {
        let Group { requests, more, newest, oldest, .. } = self.groups[group as usize];
        let there = more != NONE && self.groups[more as usize].requests == requests + 1;
        if !there && newest == oldest {
            self.groups[group as usize].requests += 1;
            return group;
        }
        let next = if there { more } else { self.add(requests + 1, group, more) };
        self.remove(place, group);
        self.push(next, place);
        next
    }

    /// Removes an entry from its group.
    pub fn remove(&mut self, place: u32, group: u32) {
        let Links { newer, older } = self.links[place as usize];
        let of = &mut self.groups[group as usize];
        if newer == NONE {
            of.newest = older;
        } else {
            self.links[newer as usize].older = older;
        }
        if older == NONE {
            of.oldest = newer;
        } else {
            self.links[older as usize].newer = newer;
        }
        if of.newest == NONE {
            let Group { less, more, .. } = *of;
            of.more = self.free;
            self.free = group;
            self.link(less, more);
        }
    }

    /// Stores a number for an entry that is in no group, in place of its links.
    pub fn set_number(&mut self, place: u32, number: u64) {
        let links = &mut self.links[place as usize];
        (links.newer, links.older) = ((number >> 32) as u32, number as u32);
    }

    /// The number stored by [`set_number`](Self::set_number).
    pub fn number(&self, place: u32) -> u64 {
        let Links { newer, older } = self.links[place as usize];
        u64::from(newer) << 32 | u64::from(older)
    }

    pub fn memory(&self) -> usize {
        self.links.capacity() * size_of::<Links>() + self.groups.capacity() * size_of::<Group>()
    }

    fn push(&mut self, group: u32, place: u32) {
        let of = &mut self.groups[group as usize];
        self.links[place as usize] = Links { newer: NONE, older: of.newest };
        if of.newest == NONE {
            of.oldest = place;
        } else {
            self.links[of.newest as usize].newer = place;
        }
        of.newest = place;
    }

    /// Creates a group between two groups.
    fn add(&mut self, requests: u64, less: u32, more: u32) -> u32 {
        let group = Group { requests, less, more, newest: NONE, oldest: NONE };
        let at = self.free;
        let at = if at == NONE {
            if self.groups.len() == self.groups.capacity() {
                self.groups.reserve_exact((self.groups.len() / 8).max(16));
            }
            self.groups.push(group);
            (self.groups.len() - 1) as u32
        } else {
            self.free = self.groups[at as usize].more;
            self.groups[at as usize] = group;
            at
        };
        self.link(less, at);
        self.link(at, more);
        at
    }

    /// Makes two groups neighbours.
    fn link(&mut self, less: u32, more: u32) {
        if less == NONE {
            self.least = more;
        } else {
            self.groups[less as usize].more = more;
        }
        if more != NONE {
            self.groups[more as usize].less = less;
        }
    }
}
