//! Which mechanical operation comes next: the one with the shortest positioning time (SPTF), less
//! a share of the time it has waited, so that none waits for ever (aged SPTF; Jacobson and Wilkes,
//! HPL-CSP-91-7).
//!
//! An operation that goes on where the last one ended costs nothing, though a skew may lie between:
//! leaving a sequential run to save part of a skew costs more on the way back.
//!
//! Reads go first: somebody waits for them, while a write was acknowledged when it reached the
//! cache. Destages come when no read waits, or beside the reads when the host waits for them: the
//! cache is full, or a flush is pending. Of many destages only the nearest on either side are
//! looked at, and the oldest.

use super::mechanics::{Head, Mechanics, Target};
use gordon_units::Ns;

/// Destages looked at on either side of the head; a look costs 10 ns, and among 32 one is close.
const NEAR: usize = 16;

/// Something that the mechanism could do.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The first sector.
    pub lba: u64,
    /// Where that is.
    pub target: Target,
    /// Since when it waits.
    pub since: Ns,
}

/// What there is to choose from, and from where.
#[derive(Debug)]
pub struct State<'a, R, W> {
    /// The arm and the spindle.
    pub mechanics: &'a Mechanics,
    /// When the mechanism is free.
    pub at: Ns,
    /// Where it then is.
    pub head: Head,
    /// The sector at which the transfer that ends now would go on.
    pub next: Option<u64>,
    /// Reads that wait for the medium.
    pub reads: &'a [R],
    /// Data to be written to the medium, by address.
    pub destages: &'a [W],
    /// The host waits for destages.
    pub destage_now: bool,
}

/// What comes next: an index into the state's reads or destages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A read.
    Read(usize),
    /// A destage.
    Destage(usize),
}

/// Shortest positioning time first, with ageing.
#[derive(Clone, Copy, Debug)]
pub struct Sptf {
    /// Nanoseconds of positioning for each 1024 of waiting.
    ageing: i64,
}

impl Sptf {
    /// `ageing`: positioning time that a second of waiting makes up for, in seconds.
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(ageing: f64) -> Self {
        Self { ageing: (ageing * 1024.0 + 0.5) as i64 }
    }

    /// The next operation; none where nothing is to be done.
    pub fn choose<R: AsRef<Candidate>, W: AsRef<Candidate>>(
        &self,
        state: &State<'_, R, W>,
    ) -> Option<Choice> {
        let read = self.best(state, state.reads, false).map(|(cost, i)| (cost, Choice::Read(i)));
        if read.is_some() && !state.destage_now {
            return read.map(|(_, choice)| choice);
        }
        let destages = state.destages;
        let here = destages.partition_point(|d| d.as_ref().target.track < state.head);
        let near = here.saturating_sub(NEAR)..destages.len().min(here + NEAR);
        let nearby = self
            .best(state, &destages[near.clone()], true)
            .map(|(cost, i)| (cost, Choice::Destage(near.start + i)));
        let oldest =
            (0..destages.len()).min_by_key(|&i| destages[i].as_ref().since).and_then(|i| {
                let (cost, _) = self.best(state, &destages[i..=i], true)?;
                Some((cost, Choice::Destage(i)))
            });
        let all = [read, nearby, oldest];
        all.into_iter().flatten().min_by_key(|&(cost, _)| cost).map(|(_, choice)| choice)
    }

    /// The least cost among the candidates and where it is; the first of equals.
    #[inline]
    fn best<C: AsRef<Candidate>, R, W>(
        &self,
        state: &State<'_, R, W>,
        candidates: &[C],
        write: bool,
    ) -> Option<(i64, usize)> {
        let (mechanics, head) = (state.mechanics, state.head);
        let angle = mechanics.angle(state.at);
        let mut best: Option<(i64, usize)> = None;
        for (i, candidate) in candidates.iter().enumerate() {
            let candidate = candidate.as_ref();
            let positioning = if state.next == Some(candidate.lba) {
                Ns::ZERO
            } else {
                mechanics.position_at(angle, head, candidate.target, write).total()
            };
            let waited = state.at.saturating_sub(candidate.since);
            // Both are far below 2^63.
            #[allow(clippy::cast_possible_wrap)]
            let cost = positioning.0 as i64 - (waited.0 >> 10) as i64 * self.ageing;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, i));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::small;
    use super::*;

    impl AsRef<Candidate> for Candidate {
        fn as_ref(&self) -> &Candidate {
            self
        }
    }

    fn choose(ageing: f64, reads: &[(u64, u64)], destages: &[(u64, u64)], now: bool) -> Choice {
        choose_after(None, ageing, reads, destages, now)
    }

    fn choose_after(
        next: Option<u64>,
        ageing: f64,
        reads: &[(u64, u64)],
        destages: &[(u64, u64)],
        now: bool,
    ) -> Choice {
        let mechanics = Mechanics::new(&small()).unwrap();
        let candidates = |of: &[(u64, u64)]| -> Vec<Candidate> {
            let of = of.iter().map(|&(lba, since)| Candidate {
                lba,
                target: mechanics.target(mechanics.geometry().place(lba)),
                since: Ns(since * 1_000_000),
            });
            of.collect()
        };
        let (reads, destages) = (candidates(reads), candidates(destages));
        let state = State {
            mechanics: &mechanics,
            at: Ns(100_000_000), // angle 0
            head: Head::default(),
            next,
            reads: &reads,
            destages: &destages,
            destage_now: now,
        };
        Sptf::new(ageing).choose(&state).unwrap()
    }

    #[test]
    fn the_shortest_positioning_time_wins_not_the_shortest_seek() {
        // On this track at 9 ms; one cylinder on (sector 500: angle 5 + 5 = 0 ms, so 10 ms away);
        // one cylinder on (sector 0: angle 5 ms, 5 ms away).
        assert_eq!(choose(0.0, &[(900, 0), (2500, 0), (2000, 0)], &[], false), Choice::Read(2));
    }

    #[test]
    fn of_many_destages_the_nearest_and_the_oldest_are_looked_at() {
        // Cylinders 60 to 99; the head is on cylinder 0 and would look at the first 16.
        let far: Vec<(u64, u64)> = (60..100).map(|c| (c * 2000, 90)).collect();
        let Choice::Destage(i) = choose(0.0, &[], &far, false) else { panic!("a read of none") };
        assert!(i < NEAR, "{i}");
        // The last has waited for 100 ms, ten times as long as the others.
        let mut old = far.clone();
        old[39].1 = 0;
        assert_eq!(choose(1.0, &[], &old, false), Choice::Destage(39));
    }

    #[test]
    fn a_sequential_run_goes_on_over_a_skew() {
        // The head has just passed the end of the track before LBA 2000, 5 ms away with its skew;
        // 3 ms away is another. But one that waits 99 ms longer, less 5 % of
        // that, goes first.
        let reads = [(2000, 0), (300, 0)];
        assert_eq!(choose_after(None, 0.0, &reads, &[], false), Choice::Read(1));
        assert_eq!(choose_after(Some(2000), 0.0, &reads, &[], false), Choice::Read(0));
        let reads = [(2000, 99), (300, 0)];
        assert_eq!(choose_after(Some(2000), 0.05, &reads, &[], false), Choice::Read(1));
    }

    #[test]
    fn waiting_makes_up_for_distance() {
        // 9 ms away and waiting for 100 ms, against 1 ms away and waiting for none: 9 - 0.1 x 100
        // is less than 1, 9 - 0.05 x 100 is not.
        assert_eq!(choose(0.1, &[(900, 0), (100, 100)], &[], false), Choice::Read(0));
        assert_eq!(choose(0.05, &[(900, 0), (100, 100)], &[], false), Choice::Read(1));
    }

    #[test]
    fn destages_wait_for_reads_unless_the_host_waits_for_them() {
        assert_eq!(choose(0.0, &[(900, 0)], &[(100, 0)], false), Choice::Read(0));
        assert_eq!(choose(0.0, &[(900, 0)], &[(100, 0)], true), Choice::Destage(0));
        assert_eq!(choose(0.0, &[(100, 0)], &[(900, 0)], true), Choice::Read(0));
        assert_eq!(choose(0.0, &[], &[(100, 0), (900, 0)], false), Choice::Destage(0));
    }
}
