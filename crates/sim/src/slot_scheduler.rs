//! At most one event to come for each of a fixed number of slots.
//!
//! Where each part of a machine waits for one thing at a time, a general queue does too much. Here
//! each slot has a place of its own in a tree of groups of [`WIDTH`]; a group's earliest event is
//! copied to its place in the group above, and the earliest of all stands at the root. To plan an
//! event is a comparison or two, for it is rarely the next; to move it is one pass from its group
//! to the root, always of the same length, with nothing to guess for the processor. (Groups of two
//! take fewer instructions, but each of their comparisons becomes a jump, wrong every other time.)
//!
//! A key is one word: the time since a base, and the slot, which thus decides between events of one
//! instant, whenever they were planned. Times too far off for their bits are *far*, all equal; when
//! the next event is one of them, the base moves and all keys are made again.

use gordon_units::Ns;

/// Places of a group.
const WIDTH: usize = 8;
/// Where nothing is planned: later than any event.
const NEVER: u64 = u64::MAX;

/// Events to come, one a slot, earliest first; those of one instant in the order of their slots.
#[derive(Clone, Debug)]
pub struct SlotScheduler {
    /// Group 0 is the top; below place `i` of group `g` is group `WIDTH * g + i + 1`. The last
    /// level holds the slots.
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
    /// The time that is far.
    far: u64,
    base: Ns,
    /// Events ever planned.
    planned: u64,
}

/// The earliest of a group. By halves: short chains of comparisons, none of them a jump.
#[inline(always)]
fn earliest(p: &[u64; WIDTH]) -> u64 {
    let (a, b) = (p[0].min(p[1]), p[2].min(p[3]));
    let (c, d) = (p[4].min(p[5]), p[6].min(p[7]));
    a.min(b).min(c.min(d))
}

impl SlotScheduler {
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
        let time_shift = slots.next_power_of_two().trailing_zeros();
        Self {
            groups: vec![[NEVER; WIDTH]; leaves + slots.div_ceil(WIDTH).max(1)],
            leaves,
            first: NEVER,
            first_at: Ns::MAX,
            far_at: vec![Ns::ZERO; slots],
            slot_mask: (1 << time_shift) - 1,
            time_shift,
            // One below all ones, which are in NEVER alone.
            far: (NEVER >> time_shift) - 1,
            base: Ns::ZERO,
            planned: 0,
        }
    }

    /// When and where the next event happens.
    #[inline]
    pub fn next(&self) -> Option<(Ns, usize)> {
        self.next_at().map(|at| (at, self.slot(self.first)))
    }

    /// Where the next event happens, if there is one.
    #[inline]
    pub fn next_slot(&self) -> usize {
        self.slot(self.first)
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        (self.first_at != Ns::MAX).then_some(self.first_at)
    }

    /// How many events were ever planned; one that is deferred counts once.
    pub fn planned(&self) -> u64 {
        self.planned
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

    /// The key of an event.
    #[inline(always)]
    fn key(&mut self, slot: usize, at: Ns) -> u64 {
        // Of a time before the base, too, this is more than what is far.
        let mut since = at.0.wrapping_sub(self.base.0);
        if since >= self.far {
            since = self.since(slot, at);
        }
        // No part of a key reaches into the other.
        since << self.time_shift | slot as u64
    }

    /// The time since the base, which is moved where it has to be.
    #[cold]
    fn since(&mut self, slot: usize, at: Ns) -> u64 {
        // The base may have been moved to an event far off, and now one comes before it.
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

    /// The whole time of an event.
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

    /// Puts the key on its place, and wherever above it is the earliest.
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

    /// Takes the event of this slot away.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        self.set(slot, NEVER);
    }

    /// The event of this slot happens; plans another for it.
    #[inline]
    pub fn replace(&mut self, slot: usize, at: Ns) {
        self.planned = self.planned.wrapping_add(1);
        self.postpone(slot, at);
    }

    /// The event of this slot happens at another time than was planned.
    #[inline]
    pub fn postpone(&mut self, slot: usize, at: Ns) {
        let key = self.key(slot, at);
        self.set(slot, key);
    }

    /// Puts another key in the place of a slot's.
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
        // As it was planned.
        self.first_at = Ns(self.base.0.wrapping_add(since));
    }

    /// There is no next event, or one whose time does not fit a key.
    #[cold]
    fn first_is_far(&mut self) {
        if self.first == NEVER {
            self.first_at = Ns::MAX;
        } else {
            self.rebase(Ns::MAX);
        }
    }

    /// Makes all keys again: the base is the time of the next event or the one given, whichever is
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
    fn events_come_by_time_then_by_slot() {
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
    fn one_that_is_put_off_makes_way() {
        let mut agenda = SlotScheduler::new(9);
        agenda.plan(0, Ns(10));
        agenda.plan(8, Ns(20));
        agenda.postpone(0, Ns(30));
        assert_eq!(agenda.next(), Some((Ns(20), 8)));
        agenda.postpone(0, Ns(5));
        assert_eq!(agenda.next(), Some((Ns(5), 0)));
        assert_eq!(agenda.planned(), 2);
    }

    /// Against a list that is searched: as many slots as make one level, two, three and more;
    /// events near, at one instant, and so far off that their times do not fit a key.
    #[test]
    fn it_agrees_with_a_list() {
        for slots in [1, 2, 4, 5, 17, 64, 65, 700, 4_096, 4_100] {
            let (mut agenda, mut events) = (SlotScheduler::new(slots), vec![None; slots]);
            let (mut now, mut planned) = (Ns::ZERO, 0);
            let mut state = 7u64;
            let mut draw = move |below: u64| {
                // A linear congruential generator (Knuth's MMIX), its high bits.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let next = |events: &[Option<Ns>]| {
                let planned = events.iter().zip(0..).filter_map(|(at, slot)| Some(((*at)?, slot)));
                planned.min()
            };
            for _ in 0..4_000 {
                let far = if draw(100) == 0 { 1 << (20 + draw(40)) } else { 0 };
                // The clock ends somewhere.
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
