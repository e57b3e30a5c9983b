//! At most one event to come for each of a fixed number of slots.
//!
//! Where each part of a machine waits for one thing at a time, a general queue does too much. Here
//! each slot has a place of its own in a tree of groups of [`WIDTH`]; a group's earliest event is
//! copied to its place in the group above, and the earliest of all stands at the root. To plan an
//! event is a comparison or two, for it is rarely the next; to replace the next event is one pass
//! from its group to the root, always of the same length, with nothing to guess for the processor.

use gordon_units::Ns;

/// Places of a group.
const WIDTH: usize = 8;
/// Bits of a key that name the slot; above them the order of planning, above that the time.
const SLOT_BITS: u32 = 24;
/// Where nothing is planned: later than any event.
const NEVER: u128 = u128::MAX;

/// Events to come, one a slot, earliest first; those of one instant in the order they were planned.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Level by level from the top: group `k > 0` hangs on place `(k - 1) % WIDTH` of group
    /// `(k - 1) / WIDTH`. The last level holds the slots.
    groups: Vec<[u128; WIDTH]>,
    /// The first group of the last level.
    leaves: usize,
    first: u128,
    planned: u64,
}

impl Agenda {
    /// Nothing planned for any of `slots`.
    ///
    /// # Panics
    /// Where `slots` exceed 2^24.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "{slots} slots; at most 2^{SLOT_BITS} have numbers");
        let (mut leaves, mut level) = (0, 1);
        while level * WIDTH < slots {
            leaves += level;
            level *= WIDTH;
        }
        let groups = vec![[NEVER; WIDTH]; leaves + slots.div_ceil(WIDTH).max(1)];
        Self { groups, leaves, first: NEVER, planned: 0 }
    }

    /// When and where the next event happens.
    #[inline]
    pub fn next(&self) -> Option<(Ns, usize)> {
        // The slot is in the lowest bits, the time in the highest.
        #[allow(clippy::cast_possible_truncation)]
        let (at, slot) = ((self.first >> 64) as u64, self.first as usize & ((1 << SLOT_BITS) - 1));
        (self.first != NEVER).then_some((Ns(at), slot))
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.next().map(|(at, _)| at)
    }

    /// How many events were ever planned.
    pub fn planned(&self) -> u64 {
        self.planned
    }

    #[inline]
    fn key(&mut self, slot: usize, at: Ns) -> u128 {
        let order = self.planned;
        self.planned += 1;
        // Ten hours of computing away.
        assert!(order < 1 << (64 - SLOT_BITS), "2^{} events were planned", 64 - SLOT_BITS);
        u128::from(at.0) << 64 | u128::from(order << SLOT_BITS) | slot as u128
    }

    /// Plans an event for a slot that has none.
    #[inline]
    pub fn plan(&mut self, slot: usize, at: Ns) {
        let key = self.key(slot, at);
        let (mut group, mut place) = (self.leaves + slot / WIDTH, slot % WIDTH);
        debug_assert_eq!(self.groups[group][place], NEVER, "slot {slot} has an event already");
        self.groups[group][place] = key;
        while group > 0 {
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
            let earliest = &mut self.groups[group][place];
            if *earliest < key {
                return;
            }
            *earliest = key;
        }
        self.first = self.first.min(key);
    }

    /// Takes the next event away, and plans another for its slot where one is given.
    ///
    /// # Panics
    /// Where nothing is planned.
    #[inline]
    pub fn replace(&mut self, then: Option<Ns>) {
        let (_, slot) = self.next().expect("an event is planned");
        let mut key = match then {
            Some(at) => self.key(slot, at),
            None => NEVER,
        };
        let (mut group, mut place) = (self.leaves + slot / WIDTH, slot % WIDTH);
        loop {
            let places = &mut self.groups[group];
            places[place] = key;
            key = earliest(places);
            if group == 0 {
                self.first = key;
                return;
            }
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
        }
    }
}

/// The least of a group, by halves: short chains of comparisons, none of them a branch.
#[inline]
fn earliest(p: &[u128; WIDTH]) -> u128 {
    let (a, b) = (p[0].min(p[1]), p[2].min(p[3]));
    let (c, d) = (p[4].min(p[5]), p[6].min(p[7]));
    a.min(b).min(c.min(d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Events;

    #[test]
    fn events_come_by_time_then_by_order_of_planning() {
        let mut agenda = Agenda::new(3);
        assert_eq!(agenda.next(), None);
        agenda.plan(2, Ns(30));
        agenda.plan(0, Ns(30));
        agenda.plan(1, Ns(20));
        assert_eq!(agenda.next(), Some((Ns(20), 1)));
        agenda.replace(Some(Ns(30)));
        for slot in [2, 0, 1] {
            assert_eq!(agenda.next(), Some((Ns(30), slot)));
            agenda.replace(None);
        }
        assert_eq!((agenda.next_at(), agenda.planned()), (None, 4));
    }

    /// Against the general queue, with as many slots as make one level, two, three and four.
    #[test]
    fn it_agrees_with_the_general_queue() {
        for slots in [1, 2, 8, 9, 64, 65, 512, 700] {
            let (mut agenda, mut events) = (Agenda::new(slots), Events::default());
            let mut planned = vec![false; slots];
            let mut state = 7u64;
            let mut draw = move |below: u64| {
                // A linear congruential generator (Knuth's MMIX), its high bits.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            for _ in 0..20_000 {
                let now = events.now();
                let slot = draw(slots as u64) as usize;
                if !planned[slot] && draw(2) == 0 {
                    let at = now + Ns(draw(50));
                    agenda.plan(slot, at);
                    events.schedule(at, slot);
                    planned[slot] = true;
                } else if let Some((at, slot)) = events.pop() {
                    assert_eq!(agenda.next(), Some((at, slot)));
                    let then = (draw(3) > 0).then(|| at + Ns(draw(50)));
                    agenda.replace(then);
                    planned[slot] = then.is_some();
                    if let Some(then) = then {
                        events.schedule(then, slot);
                    }
                }
                assert_eq!(agenda.next_at(), events.next_at());
            }
        }
    }
}
