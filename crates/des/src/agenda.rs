//! At most one event to come for each of a fixed number of slots.
//!
//! Where each part of a machine waits for one thing at a time, a general queue does too much. Here
//! each slot has a place of its own in a tree of groups of [`WIDTH`]; a group's earliest event is
//! copied to its place in the group above, and the earliest of all stands at the root. To plan an
//! event is a comparison or two, for it is rarely the next; to replace the next event is one pass
//! from its group to the root, always of the same length, with nothing to guess for the processor.
//! (Groups of two take fewer instructions, but each of their comparisons becomes a jump, wrong every
//! other time.)
//!
//! A key is one word: the time since a base, the order of planning since the last renumbering, the
//! slot. Times too far off for their bits are *far*, all equal but for the order; when the next event
//! is one of them, and when the numbers are used up, the base moves and all keys are made anew.

use gordon_units::Ns;

/// Places of a group.
const WIDTH: usize = 8;
/// Where nothing is planned: later than any event.
const NEVER: u64 = u64::MAX;
/// Orders of planning for each slot, between two renumberings, as a power of two: more would leave
/// fewer bits for the time.
const ORDERS: u32 = 5;

/// Events to come, one a slot, earliest first; those of one instant in the order they were planned.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Group 0 is the top; below place `i` of group `g` is group `WIDTH * g + i + 1`. The last level
    /// holds the slots.
    groups: Vec<[u64; WIDTH]>,
    /// The first group of the last level.
    leaves: usize,
    /// The first key, and its whole time, which is the end of time where there is none.
    first: u64,
    first_at: Ns,
    /// By slot: the whole time of its event, where it is far.
    far_at: Vec<Ns>,
    /// Where the slot is in a key, and where the time.
    slot_mask: u64,
    time_shift: u32,
    /// A nanosecond in a key, which is also what the order stays below.
    tick: u64,
    /// The time that is far.
    far: u64,
    base: Ns,
    /// The next number in the order of planning, at its place in a key; and the step between two.
    order: u64,
    order_step: u64,
    /// Events planned before the last renumbering.
    planned: u64,
}

/// The earliest of a group. By halves: short chains of comparisons, none of them a jump.
#[inline(always)]
fn earliest(p: &[u64; WIDTH]) -> u64 {
    let (a, b) = (p[0].min(p[1]), p[2].min(p[3]));
    let (c, d) = (p[4].min(p[5]), p[6].min(p[7]));
    a.min(b).min(c.min(d))
}

impl Agenda {
    /// Nothing planned for any of `slots`.
    ///
    /// # Panics
    /// Where `slots` exceed 2^24.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << 24, "{slots} slots; at most 2^24 have numbers");
        let (mut leaves, mut room) = (0, WIDTH);
        while room < slots {
            (leaves, room) = (leaves * WIDTH + 1, room * WIDTH);
        }
        let order_shift = slots.next_power_of_two().trailing_zeros();
        let time_shift = 2 * order_shift + ORDERS;
        Self {
            groups: vec![[NEVER; WIDTH]; leaves + slots.div_ceil(WIDTH).max(1)],
            leaves,
            first: NEVER,
            first_at: Ns::MAX,
            far_at: vec![Ns::ZERO; slots],
            slot_mask: (1 << order_shift) - 1,
            time_shift,
            tick: 1 << time_shift,
            // One below all ones, which are in NEVER alone.
            far: (NEVER >> time_shift) - 1,
            base: Ns::ZERO,
            order: 0,
            order_step: 1 << order_shift,
            planned: 0,
        }
    }

    /// When and where the next event happens.
    #[inline]
    pub fn next(&self) -> Option<(Ns, usize)> {
        self.next_at().map(|at| (at, self.slot(self.first)))
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        (self.first_at != Ns::MAX).then_some(self.first_at)
    }

    /// How many events were ever planned.
    pub fn planned(&self) -> u64 {
        self.planned + self.order / self.order_step
    }

    #[inline]
    fn slot(&self, key: u64) -> usize {
        // At most 24 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            (key & self.slot_mask) as usize
        }
    }

    /// The group in whose leaves a slot is.
    #[inline]
    fn group_of(&self, slot: usize) -> usize {
        // Both are small.
        self.leaves.wrapping_add(slot / WIDTH)
    }

    /// The key of an event that is planned now.
    #[inline(always)]
    fn key(&mut self, slot: usize, at: Ns) -> u64 {
        // Of a time before the base, too, this is more than what is far.
        let mut since = at.0.wrapping_sub(self.base.0);
        if since >= self.far || self.order == self.tick {
            since = self.since(slot, at);
        }
        // No part of a key reaches into another.
        let key = since.wrapping_mul(self.tick) | self.order | slot as u64;
        self.order = self.order.wrapping_add(self.order_step);
        key
    }

    /// The time since the base, after a renumbering where that has to be.
    #[cold]
    fn since(&mut self, slot: usize, at: Ns) -> u64 {
        // The base may have been moved to an event far off, and now one comes before it.
        if at < self.base || self.order == self.tick {
            self.renumber(at);
        }
        let since = at.0 - self.base.0;
        if since < self.far {
            return since;
        }
        self.far_at[slot] = at;
        self.far
    }

    /// The whole time of an event.
    #[inline]
    fn at(&self, key: u64) -> Ns {
        let since = key >> self.time_shift;
        if since < self.far { self.base + Ns(since) } else { self.far_at[self.slot(key)] }
    }

    /// Plans an event for a slot that has none.
    #[inline]
    pub fn plan(&mut self, slot: usize, at: Ns) {
        let key = self.key(slot, at);
        self.enter(slot, key);
        if key < self.first {
            self.set_first(key);
        }
    }

    /// Puts the key on its place, and wherever above it is the earliest.
    #[inline(always)]
    fn enter(&mut self, slot: usize, key: u64) {
        let (mut group, mut place) = (self.group_of(slot), slot % WIDTH);
        debug_assert!(self.groups[group][place] == NEVER, "slot {slot} has an event already");
        self.groups[group][place] = key;
        while group > 0 {
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
            let earliest = &mut self.groups[group][place];
            if *earliest < key {
                return;
            }
            *earliest = key;
        }
    }

    /// Takes the next event away, which is this slot's.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        self.set(slot, NEVER);
    }

    /// Takes the next event away, which is this slot's, and plans another for it.
    #[inline]
    pub fn replace(&mut self, slot: usize, at: Ns) {
        let key = self.key(slot, at);
        self.set(slot, key);
    }

    /// Puts another key in the place of the first.
    #[inline(always)]
    fn set(&mut self, slot: usize, mut key: u64) {
        debug_assert!(self.next().is_some_and(|(_, next)| next == slot), "not the next: {slot}");
        let (mut group, mut place) = (self.group_of(slot), slot % WIDTH);
        loop {
            let places = &mut self.groups[group];
            places[place] = key;
            key = earliest(places);
            if group == 0 {
                break;
            }
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
        }
        self.set_first(key);
    }

    #[inline]
    fn set_first(&mut self, key: u64) {
        self.first = key;
        let since = key >> self.time_shift;
        if since >= self.far {
            return self.first_is_far();
        }
        // As it was planned.
        self.first_at = Ns(self.base.0.wrapping_add(since));
    }

    /// There is no next event, or one whose time does not fit a key.
    #[cold]
    fn first_is_far(&mut self) {
        if self.first == NEVER {
            self.first_at = Ns::MAX;
        } else {
            self.renumber(Ns::MAX);
        }
    }

    /// Makes all keys anew: the base is the time of the next event or the one given, whichever is
    /// earlier; the order starts at 0.
    #[cold]
    fn renumber(&mut self, base: Ns) {
        let leaves = self.groups[self.leaves..].as_flattened().iter();
        let mut events: Vec<(Ns, u64)> =
            leaves.filter(|&&key| key != NEVER).map(|&key| (self.at(key), key)).collect();
        // By time, then by the order so far, which in equal times alone is the order of keys.
        events.sort_unstable();
        self.groups.fill([NEVER; WIDTH]);
        self.planned = self.planned();
        self.order = 0;
        self.base = events.first().map_or(base, |&(at, _)| at.min(base));
        for (order, &(at, key)) in events.iter().enumerate() {
            let slot = self.slot(key);
            let key = self.key(slot, at);
            self.enter(slot, key);
            if order == 0 {
                (self.first, self.first_at) = (key, at);
            }
        }
        // Those were planned before.
        self.planned -= events.len() as u64;
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
        agenda.replace(1, Ns(30));
        for slot in [2, 0, 1] {
            assert_eq!(agenda.next(), Some((Ns(30), slot)));
            agenda.remove(slot);
        }
        assert_eq!((agenda.next_at(), agenda.planned()), (None, 4));
    }

    /// Against the general queue: as many slots as make one level, two, three and more; events near,
    /// at one instant, and so far off that their times do not fit a key.
    #[test]
    fn it_agrees_with_the_general_queue() {
        for slots in [1, 2, 4, 5, 17, 64, 65, 700, 4_096, 4_100] {
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
                    match then {
                        Some(then) => agenda.replace(slot, then),
                        None => agenda.remove(slot),
                    }
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
