//! An event queue with at most one pending event for each of a fixed number of slots.
//!
//! If each component of a machine waits for one thing at a time, a general priority queue does more
//! than is needed. Here each slot has a fixed leaf in a tree of groups of [`WIDTH`] keys. A group's
//! smallest key is copied to its place in the parent group, so the root group holds the earliest
//! event of all. Planning an event takes one or two comparisons on average, since a new event is
//! rarely the next one. Changing an event is one pass from its group to the root, always of the
//! same length and without branches. (Groups of two would need fewer instructions, but each of
//! their comparisons compiles to a branch that is mispredicted half of the time.)
//!
//! A key is one word: the time since a base in the high bits, and the slot in the low bits. Events
//! of the same instant are thus ordered by slot, in whatever order they were planned. Times too far
//! from the base for their bits are *far*; all of them get the same key time. When the next event
//! is far, the base moves and all keys are recomputed.

use gordon_units::Ns;

/// Keys in a group.
const WIDTH: usize = 8;
/// The key of a slot without an event; it is larger than the key of any event.
const NEVER: u64 = u64::MAX;

/// Pending events, at most one for each slot, ordered by time and then by slot.
#[derive(Clone, Debug)]
pub struct SlotScheduler {
    /// Group 0 is the root; the child of entry `i` of group `g` is group `WIDTH * g + i + 1`. The
    /// last level holds the slots.
    groups: Vec<[u64; WIDTH]>,
    /// Index of the first group of the last level.
    leaves: usize,
    /// The smallest key, and the exact time of its event (`Ns::MAX` if there is no event).
    first: u64,
    first_at: Ns,
    /// By slot: the exact time of its event, valid only if the event is far.
    far_at: Vec<Ns>,
    /// The low bits of a key that hold the slot, and the shift of the time above them.
    slot_mask: u64,
    time_shift: u32,
    /// The key time of all far events.
    far: u64,
    base: Ns,
    /// Number of events planned so far.
    planned: u64,
}

/// The smallest key of a group. Compared in pairs: short dependency chains, all branchless.
#[inline(always)]
fn earliest(p: &[u64; WIDTH]) -> u64 {
    let (a, b) = (p[0].min(p[1]), p[2].min(p[3]));
    let (c, d) = (p[4].min(p[5]), p[6].min(p[7]));
    a.min(b).min(c.min(d))
}

impl SlotScheduler {
    /// A scheduler for `slots` slots, with no event planned.
    ///
    /// # Panics
    /// Panics if `slots` exceeds 2^24.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << 24, "{slots} slots; at most 2^24 have numbers");
        let (mut leaves, mut room) = (0, WIDTH);
        while room < slots {
            (leaves, room) = (leaves * WIDTH + 1, room * WIDTH);
        }
        let time_shift = slots.next_power_of_two().trailing_zeros();
        Self {
            groups: vec![[NEVER; WIDTH]; leaves + slots.div_ceil(WIDTH).max(1)],
            leaves,
            first: NEVER,
            first_at: Ns::MAX,
            far_at: vec![Ns::ZERO; slots],
            slot_mask: (1 << time_shift) - 1,
            time_shift,
            // All ones is reserved for `NEVER`.
            far: (NEVER >> time_shift) - 1,
            base: Ns::ZERO,
            planned: 0,
        }
    }

    /// Time and slot of the next event; `None` if no event is planned.
    #[inline]
    pub fn next(&self) -> Option<(Ns, usize)> {
        self.next_at().map(|at| (at, self.slot(self.first)))
    }

    /// Slot of the next event; meaningless if no event is planned.
    #[inline]
    pub fn next_slot(&self) -> usize {
        self.slot(self.first)
    }

    /// Time of the next event; `None` if no event is planned.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        (self.first_at != Ns::MAX).then_some(self.first_at)
    }

    /// Number of events planned so far; a postponed event counts once.
    pub fn planned(&self) -> u64 {
        self.planned
    }

    #[inline]
    fn slot(&self, key: u64) -> usize {
        // The slot has at most 24 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            (key & self.slot_mask) as usize
        }
    }

    /// Index of the leaf group that holds a slot.
    #[inline]
    fn group_of(&self, slot: usize) -> usize {
        // Neither operand is large enough to overflow.
        self.leaves.wrapping_add(slot / WIDTH)
    }

    /// The key of an event.
    #[inline(always)]
    fn key(&mut self, slot: usize, at: Ns) -> u64 {
        // If `at` is before the base, the difference wraps and also exceeds `far`.
        let mut since = at.0.wrapping_sub(self.base.0);
        if since >= self.far {
            since = self.since(slot, at);
        }
        // The slot and the shifted time occupy different bits.
        since << self.time_shift | slot as u64
    }

    /// The time since the base, limited to `far`; moves the base if `at` is before it.
    #[cold]
    fn since(&mut self, slot: usize, at: Ns) -> u64 {
        // After the base moved to a distant event, an earlier one may be planned.
        if at < self.base {
            self.rebase(at);
        }
        let since = at.0 - self.base.0;
        if since < self.far {
            return since;
        }
        self.far_at[slot] = at;
        self.far
    }

    /// The exact time of the event with this key.
    #[inline]
    fn at(&self, key: u64) -> Ns {
        let since = key >> self.time_shift;
        if since < self.far { self.base + Ns(since) } else { self.far_at[self.slot(key)] }
    }

    /// Plans an event for a slot that has none.
    #[inline]
    pub fn plan(&mut self, slot: usize, at: Ns) {
        self.planned = self.planned.wrapping_add(1);
        let key = self.key(slot, at);
        self.enter(slot, key);
        if key < self.first {
            self.set_first(key);
        }
    }

    /// Stores the key in its leaf, and in each ancestor whose minimum it lowers.
    #[inline(always)]
    fn enter(&mut self, slot: usize, key: u64) {
        let (mut group, mut place) = (self.group_of(slot), slot % WIDTH);
        debug_assert!(self.groups[group][place] == NEVER, "slot {slot} has an event already");
        self.groups[group][place] = key;
        while group > 0 {
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
            let earliest = &mut self.groups[group][place];
            *earliest = key.min(*earliest);
        }
    }

    /// Removes the event of this slot.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        self.set(slot, NEVER);
    }

    /// The event of this slot has happened; plans the next one.
    #[inline]
    pub fn replace(&mut self, slot: usize, at: Ns) {
        self.planned = self.planned.wrapping_add(1);
        self.postpone(slot, at);
    }

    /// Moves the event of this slot to another time, earlier or later.
    #[inline]
    pub fn postpone(&mut self, slot: usize, at: Ns) {
        let key = self.key(slot, at);
        self.set(slot, key);
    }

    /// Replaces the key of a slot and recomputes the minima up to the root.
    #[inline(always)]
    fn set(&mut self, slot: usize, mut key: u64) {
        let (mut group, mut place) = (self.group_of(slot), slot % WIDTH);
        debug_assert!(self.groups[group][place] != NEVER, "slot {slot} has no event");
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
        // The time is near, so the key holds it exactly.
        self.first_at = Ns(self.base.0.wrapping_add(since));
    }

    /// Handles two cases: no event is pending, or the next event is far.
    #[cold]
    fn first_is_far(&mut self) {
        if self.first == NEVER {
            self.first_at = Ns::MAX;
        } else {
            self.rebase(Ns::MAX);
        }
    }

    /// Recomputes all keys. The new base is the time of the next event or `base`, whichever is
    /// earlier.
    #[cold]
    fn rebase(&mut self, base: Ns) {
        let leaves = self.groups[self.leaves..].as_flattened().iter();
        let events: Vec<(usize, Ns)> = leaves
            .filter(|&&key| key != NEVER)
            .map(|&key| (self.slot(key), self.at(key)))
            .collect();
        self.groups.fill([NEVER; WIDTH]);
        self.base = events.iter().map(|&(_, at)| at).fold(base, Ns::min);
        (self.first, self.first_at) = (NEVER, Ns::MAX);
        for (slot, at) in events {
            let key = self.key(slot, at);
            self.enter(slot, key);
            if key < self.first {
                (self.first, self.first_at) = (key, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ordered_by_time_then_slot() {
        let mut agenda = SlotScheduler::new(3);
        assert_eq!(agenda.next(), None);
        agenda.plan(2, Ns(30));
        agenda.plan(0, Ns(30));
        agenda.plan(1, Ns(20));
        assert_eq!(agenda.next(), Some((Ns(20), 1)));
        agenda.replace(1, Ns(30));
        for slot in [0, 1, 2] {
            assert_eq!(agenda.next(), Some((Ns(30), slot)));
            agenda.remove(slot);
        }
        assert_eq!((agenda.next_at(), agenda.planned()), (None, 4));
    }

    #[test]
    fn postponing_an_event_reorders_it() {
        let mut agenda = SlotScheduler::new(9);
        agenda.plan(0, Ns(10));
        agenda.plan(8, Ns(20));
        agenda.postpone(0, Ns(30));
        assert_eq!(agenda.next(), Some((Ns(20), 8)));
        agenda.postpone(0, Ns(5));
        assert_eq!(agenda.next(), Some((Ns(5), 0)));
        assert_eq!(agenda.planned(), 2);
    }

    /// Compares the scheduler with a linear search of a list: slot counts that make one, two, three
    /// and more levels; near events, simultaneous events, and events too far off for a key.
    #[test]
    fn the_scheduler_agrees_with_a_linear_search() {
        for slots in [1, 2, 4, 5, 17, 64, 65, 700, 4_096, 4_100] {
            let (mut agenda, mut events) = (SlotScheduler::new(slots), vec![None; slots]);
            let (mut now, mut planned) = (Ns::ZERO, 0);
            let mut state = 7u64;
            let mut draw = move |below: u64| {
                // The high bits of a linear congruential generator (Knuth's MMIX).
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let next = |events: &[Option<Ns>]| {
                let planned = events.iter().zip(0..).filter_map(|(at, slot)| Some(((*at)?, slot)));
                planned.min()
            };
            for _ in 0..4_000 {
                let far = if draw(100) == 0 { 1 << (20 + draw(40)) } else { 0 };
                // Stops moving far ahead before the clock overflows.
                let then = now + Ns(draw(50) + if now.0 < 1 << 62 { far } else { 0 });
                let slot = draw(slots as u64) as usize;
                if events[slot].is_none() && draw(2) == 0 {
                    agenda.plan(slot, then);
                    (events[slot], planned) = (Some(then), planned + 1);
                } else if events[slot].is_some() && draw(4) == 0 {
                    agenda.postpone(slot, then);
                    events[slot] = Some(then);
                } else if let Some((at, slot)) = next(&events) {
                    assert_eq!(agenda.next(), Some((at, slot)));
                    now = at;
                    events[slot] = None;
                    if draw(3) > 0 {
                        let then = then.max(at);
                        agenda.replace(slot, then);
                        (events[slot], planned) = (Some(then), planned + 1);
                    } else {
                        agenda.remove(slot);
                    }
                }
                assert_eq!(agenda.next(), next(&events));
            }
            assert_eq!(agenda.planned(), planned);
        }
    }
}
