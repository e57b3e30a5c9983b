//! Which logical pages have a unit in flight: a small hash table with linear probing. Lookups
//! only; it is never iterated, so its order is no one's business.

use alloc::vec;
use alloc::vec::Vec;

const EMPTY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// (logical page, unit), `EMPTY` unit where free. A power of two long.
    slots: Vec<(u32, u32)>,
    len: usize,
}

impl Table {
    pub fn new() -> Self {
        Self { slots: vec![(0, EMPTY); 64], len: 0 }
    }

    #[inline]
    fn home(&self, lpn: u32) -> usize {
        // Fibonacci hashing: the high half of the product spreads neighbours.
        let hash = u64::from(lpn).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, lpn: u32) -> usize {
        let mut at = self.home(lpn);
        while self.slots[at].1 != EMPTY && self.slots[at].0 != lpn {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    #[inline]
    pub fn get(&self, lpn: u32) -> Option<u32> {
        let unit = self.slots[self.find(lpn)].1;
        (unit != EMPTY).then_some(unit)
    }

    /// Adds a page that is not in the table.
    pub fn insert(&mut self, lpn: u32, unit: u32) {
        if self.len * 2 >= self.slots.len() {
            let double = vec![(0, EMPTY); self.slots.len() * 2];
            for (lpn, unit) in core::mem::replace(&mut self.slots, double) {
                if unit != EMPTY {
                    let at = self.find(lpn);
                    self.slots[at] = (lpn, unit);
                }
            }
        }
        let at = self.find(lpn);
        debug_assert_eq!(self.slots[at].1, EMPTY, "page {lpn} is in the table");
        self.slots[at] = (lpn, unit);
        self.len += 1;
    }

    /// Takes a page out, and moves up what had been pushed past it.
    pub fn remove(&mut self, lpn: u32) {
        let mask = self.slots.len() - 1;
        let mut hole = self.find(lpn);
        assert!(self.slots[hole].1 != EMPTY, "page {lpn} is not in the table");
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.slots[at].1 == EMPTY {
                break;
            }
            // Its probing passes the hole if the hole lies between its home and its place.
            let home = self.home(self.slots[at].0);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole].1 = EMPTY;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_map(keys in proptest::collection::vec(0u32..90, 1..600)) {
            let (mut table, mut model) = (Table::new(), BTreeMap::new());
            for (step, key) in keys.into_iter().enumerate() {
                // Multiples of a power of two collide.
                let key = key * 4096;
                if model.remove(&key).is_some() {
                    table.remove(key);
                } else {
                    table.insert(key, step as u32);
                    model.insert(key, step as u32);
                }
                for probe in (0..90).map(|k| k * 4096) {
                    prop_assert_eq!(table.get(probe), model.get(&probe).copied());
                }
            }
        }
    }
}
