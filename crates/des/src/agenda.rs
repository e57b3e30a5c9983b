//! At most one event to come for each of a fixed number of slots.
//!
//! Where each part of a machine waits for one thing at a time, a general queue does too much. Here
//! each slot has a place of its own in a tree of groups of [`WIDTH`]; a group's earliest event is
//! copied to its place in the group above, and the earliest of all stands at the root. To plan an
//! event is a comparison or two, for it is rarely the next; to replace the next event is one pass
//! from its group to the root, always of the same length, with nothing to guess for the processor.
//!
//! A key is one word: the time since a base, the order of planning since the last renumbering, the
//! slot. Times too far off for their bits are *far*, all equal but for the order; when the next event
//! is one of them, and when the numbers are used up, the base moves and all keys are made anew.

use gordon_units::Ns;

/// Places of a group.
const WIDTH: usize = 4;
/// Where nothing is planned: later than any event.
const NEVER: u64 = u64::MAX;
/// Orders of planning for each slot, between two renumberings, as a power of two: more would leave
/// fewer bits for the time.
const ORDERS: u32 = 5;

/// Events to come, one a slot, earliest first; those of one instant in the order they were planned.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Level by level from the top: group `k > 0` hangs on place `(k - 1) % WIDTH` of group
    /// `(k - 1) / WIDTH`. The last level holds the slots.
    groups: Vec<[u64; WIDTH]>,
    /// The first group of the last level.
    leaves: usize,
    first: u64,
    /// By slot: the whole time of its event.
    at: Vec<Ns>,
    slot_bits: u32,
    order_bits: u32,
    base: Ns,
    order: u64,
    planned: u64,
}

impl Agenda {
    /// Nothing planned for any of `slots`.
    ///
    /// # Panics
    /// Where `slots` exceed 2^24.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << 24, "{slots} slots; at most 2^24 have numbers");
        let (mut leaves, mut level) = (0, 1);
        while level * WIDTH < slots {
            leaves += level;
            level *= WIDTH;
        }
        let slot_bits = slots.next_power_of_two().trailing_zeros();
        Self {
            groups: vec![[NEVER; WIDTH]; leaves + slots.div_ceil(WIDTH).max(1)],
            leaves,
            first: NEVER,
            at: vec![Ns::ZERO; slots],
            slot_bits,
            order_bits: slot_bits + ORDERS,
            base: Ns::ZERO,
            order: 0,
            planned: 0,
        }
    }

    /// When and where the next event happens.
    #[inline]
    pub fn next(&self) -> Option<(Ns, usize)> {
        if self.first == NEVER {
            return None;
        }
        let slot = self.slot(self.first);
        Some((self.at[slot], slot))
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
    fn slot(&self, key: u64) -> usize {
        // At most 24 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            (key & ((1 << self.slot_bits) - 1)) as usize
        }
    }

    /// Where the time is in a key, and the time that is far.
    #[inline]
    fn time(&self) -> (u32, u64) {
        let shift = self.slot_bits + self.order_bits;
        // One below all ones: those are only in NEVER.
        (shift, (NEVER >> shift) - 1)
    }

    /// The next number in the order of planning, with the slot; the key but for the time.
    #[inline]
    fn number(&mut self, slot: usize, at: Ns) -> u64 {
        let (shift, far) = self.time();
        self.at[slot] = at;
        let since = (at.0 - self.base.0).min(far);
        let key = since << shift | self.order << self.slot_bits | slot as u64;
        self.order += 1;
        self.planned += 1;
        key
    }

    /// Plans an event for a slot that has none.
    #[inline]
    pub fn plan(&mut self, slot: usize, at: Ns) {
        if at < self.base {
            // The base was moved to an event far off, and now one comes before it.
            self.renumber(at);
        }
        let key = self.number(slot, at);
        let (mut group, mut place) = (self.leaves + slot / WIDTH, slot % WIDTH);
        debug_assert_eq!(self.groups[group][place], NEVER, "slot {slot} has an event already");
        self.groups[group][place] = key;
        while group > 0 {
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
            let earliest = &mut self.groups[group][place];
            if *earliest < key {
                return self.renumber_if_due();
            }
            *earliest = key;
        }
        self.first = self.first.min(key);
        self.renumber_if_due();
    }

    /// Takes the next event away, and plans another for its slot where one is given.
    ///
    /// # Panics
    /// Where nothing is planned.
    #[inline]
    pub fn replace(&mut self, then: Option<Ns>) {
        assert!(self.first != NEVER, "an event is planned");
        let slot = self.slot(self.first);
        let mut key = match then {
            Some(at) => self.number(slot, at),
            None => NEVER,
        };
        let (mut group, mut place) = (self.leaves + slot / WIDTH, slot % WIDTH);
        loop {
            let p = &mut self.groups[group];
            p[place] = key;
            key = p[0].min(p[1]).min(p[2].min(p[3]));
            if group == 0 {
                break;
            }
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
        }
        self.first = key;
        self.renumber_if_due();
    }

    #[inline]
    fn renumber_if_due(&mut self) {
        let (shift, far) = self.time();
        let is_far = self.first >> shift == far;
        if is_far || self.order >> self.order_bits > 0 {
            self.renumber(Ns::MAX);
        }
    }

    /// Makes all keys anew: the base is the time of the next event or the one given, whichever is
    /// earlier; the order starts at 0.
    #[cold]
    fn renumber(&mut self, base: Ns) {
        let leaves = self.groups[self.leaves..].as_flattened();
        let mut keys: Vec<u64> = leaves.iter().copied().filter(|&key| key != NEVER).collect();
        // By time, then by the order so far, which in equal times alone is the order of keys.
        keys.sort_unstable_by_key(|&key| (self.at[self.slot(key)], key));
        self.groups.fill([NEVER; WIDTH]);
        self.first = NEVER;
        (self.order, self.base) = (0, keys.first().map_or(base, |&k| self.at[self.slot(k)].min(base)));
        let planned = self.planned;
        for key in keys {
            let slot = self.slot(key);
            let key = self.number(slot, self.at[slot]);
            let (mut group, mut place) = (self.leaves + slot / WIDTH, slot % WIDTH);
            loop {
                let earliest = &mut self.groups[group][place];
                *earliest = key.min(*earliest);
                if group == 0 {
                    break;
                }
                (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
            }
            self.first = self.first.min(key);
        }
        self.planned = planned;
    }
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

    /// Against the general queue: as many slots as make one level, two, three and more; events near,
    /// at one instant, and so far off that their times do not fit a key.
    #[test]
    fn it_agrees_with_the_general_queue() {
        for slots in [1, 2, 4, 5, 16, 17, 64, 65, 512, 700] {
            let (mut agenda, mut events) = (Agenda::new(slots), Events::default());
            let mut planned = vec![false; slots];
            let mut state = 7u64;
            let mut draw = move |below: u64| {
                // A linear congruential generator (Knuth's MMIX), its high bits.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            for _ in 0..20_000 {
                let far = if draw(100) == 0 { 1 << (20 + draw(40)) } else { 0 };
                let now = events.now();
                // The clock ends somewhere.
                let wait = Ns(draw(50) + if now.0 < 1 << 62 { far } else { 0 });
                let slot = draw(slots as u64) as usize;
                if !planned[slot] && draw(2) == 0 {
                    agenda.plan(slot, now + wait);
                    events.schedule(now + wait, slot);
                    planned[slot] = true;
                } else if let Some((at, slot)) = events.pop() {
                    assert_eq!(agenda.next(), Some((at, slot)));
                    let then = (draw(3) > 0).then_some(at + wait);
                    agenda.replace(then);
                    planned[slot] = then.is_some();
                    if let Some(then) = then {
                        events.schedule(then, slot);
                    }
                }
                assert_eq!(agenda.next_at(), events.next_at());
            }
            assert_eq!(agenda.planned(), events.scheduled());
        }
    }
}
