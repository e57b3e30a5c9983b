//! Deadlines at multiples of the interval of the wall clock, so that the samples of several hosts
//! are simultaneous.

use std::time::Duration;

/// The deadlines of samples, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    interval: u64,
    /// Remainder of the deadlines when divided by the interval.
    phase: u64,
    next: u64,
}

impl Deadlines {
    /// Deadlines after `now` that differ from `phase` by a multiple of the interval.
    pub(super) fn new(interval: u64, phase: u64, now: u64) -> Self {
        let mut deadlines = Self { interval, phase: phase % interval, next: 0 };
        deadlines.next = deadlines.after(now);
        deadlines
    }

    fn after(&self, now: u64) -> u64 {
        let since = (now % self.interval + self.interval - self.phase) % self.interval;
        now - since + self.interval
    }

    /// The time until the next deadline.
    pub(super) fn wait(&mut self, now: u64) -> Duration {
        // The clock was set back: without this there would be no sample for as long.
        if self.next > now + self.interval {
            self.next = self.after(now);
        }
        Duration::from_nanos(self.next.saturating_sub(now))
    }

    /// Whether a deadline has passed; the next one is then after `now`.
    pub(super) fn is_due(&mut self, now: u64) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = self.after(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_multiples_of_the_interval_from_the_phase() {
        let mut deadlines = Deadlines::new(1000, 70_250, 5_300);
        assert_eq!(deadlines.wait(5_300), Duration::from_nanos(950));
        assert!(!deadlines.is_due(6_249));
        assert!(deadlines.is_due(6_250));
        assert_eq!(deadlines.wait(6_251), Duration::from_nanos(999));
        // A late sample takes the place of those that were missed.
        assert!(deadlines.is_due(9_900));
        assert_eq!(deadlines.next, 10_250);
    }

    #[test]
    fn a_clock_that_is_set_starts_again_at_the_next_multiple() {
        let mut deadlines = Deadlines::new(1000, 0, 50_500);
        assert_eq!(deadlines.wait(3_200), Duration::from_nanos(800));
        assert!(!deadlines.is_due(3_999) && deadlines.is_due(4_000));
        assert!(deadlines.is_due(90_001));
        assert_eq!(deadlines.next, 91_000);
    }
}
