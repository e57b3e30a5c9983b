//! Pages that two tables which leave something out cannot tell.

use crate::units::NONE;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Pages that the tables cannot tell, each with its slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Odd {
    pub by_page: BTreeMap<u32, u32>,
    pub by_slot: BTreeMap<u32, u32>,
}

/// The groups of pages that are in a group of slots, in an open hash table. What other groups of slots have
/// left in it counts as free places.
pub(super) struct Seen {
    places: Vec<(u32, u32)>,
}

impl Seen {
    /// For groups of 2^`group` slots.
    pub fn new(group: u32) -> Self {
        Self { places: vec![(NONE, 0); 4 << group] }
    }

    /// Whether this is the first of its kind.
    #[inline]
    pub fn is_first(&mut self, slots: u32, pages: u32) -> bool {
        let mask = self.places.len() - 1;
        let mut at = pages.wrapping_mul(2_654_435_769) as usize >> 8;
        loop {
            let place = &mut self.places[at & mask];
            if place.0 != slots {
                *place = (slots, pages);
                return true;
            }
            if place.1 == pages {
                return false;
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_kind_is_told() {
        let mut seen = Seen::new(3);
        for slots in [5, 6, 5] {
            assert!((0..8).all(|pages| seen.is_first(slots, 32 * pages)), "in {slots}");
            assert!((0..8).all(|pages| !seen.is_first(slots, 32 * pages)), "in {slots}");
        }
    }
}
