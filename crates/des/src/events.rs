//! The event queue.

use gordon_units::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events to come, earliest first; those of one instant in the order they were scheduled.
#[derive(Clone, Debug)]
pub struct Events<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    scheduled: u64,
    now: Ns,
}

/// Ordered by (time, sequence) alone.
#[derive(Clone, Debug)]
struct Entry<T> {
    at: Ns,
    sequence: u64,
    event: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0, now: Ns::ZERO }
    }
}

impl<T> Events<T> {
    /// The time of the latest event handed out.
    #[inline]
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Moves the clock on to `at` with no event: a request arrives from outside.
    ///
    /// # Panics
    /// Where `at` lies before the clock, or an event lies before `at`.
    #[inline]
    pub fn advance_to(&mut self, at: Ns) {
        assert!(at >= self.now, "the clock is at {}, past {at}", self.now);
        assert!(self.next_at().is_none_or(|next| next >= at), "an event lies before {at}");
        self.now = at;
    }

    /// Schedules `event` for `at`.
    ///
    /// # Panics
    /// Where `at` lies before the clock.
    #[inline]
    pub fn schedule(&mut self, at: Ns, event: T) {
        assert!(at >= self.now, "event at {at} scheduled from {}", self.now);
        self.heap.push(Reverse(Entry { at, sequence: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes the next event and moves the clock to it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, T)> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at;
        Some((entry.at, entry.event))
    }

    /// How many events were ever scheduled.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_order_of_scheduling() {
        let mut events = Events::default();
        for (at, name) in [(30, 'c'), (10, 'a'), (30, 'd'), (20, 'b')] {
            events.schedule(Ns(at), name);
        }
        let order: String = std::iter::from_fn(|| events.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcd");
        assert_eq!((events.now(), events.scheduled()), (Ns(30), 4));
    }

    #[test]
    #[should_panic(expected = "scheduled from")]
    fn the_past_is_closed() {
        let mut events = Events::default();
        events.schedule(Ns(10), ());
        events.pop();
        events.schedule(Ns(9), ());
    }
}
