//! Selection of the next mechanical operation, by [`SchedulingPolicy`]:
//!
//! - the oldest (FCFS);
//! - the nearest cylinder (SSTF);
//! - the nearest in the direction of the arm, which reverses if there is none (LOOK), or returns to
//!   the outermost operation (C-LOOK);
//! - the nearest, with a change of direction counted as a fraction of the full stroke (V-SCAN;
//!   Geist and Daniel, ACM TOCS 5(1), 1987);
//! - the shortest positioning time (SPTF), minus a share of the waiting time so that none starves
//!   (aged SPTF; Jacobson and Wilkes, HPL-CSP-91-7). An operation that continues where the last one
//!   ended costs nothing, even over a skew: leaving a sequential run to save part of a skew costs
//!   more on the way back.
//!
//! Reads have priority, since the host waits for them, while a write is acknowledged when it
//! reaches the cache. Destages run when no read waits. They compete with the reads if the host
//! waits for destages: the cache is full or a flush is pending. Of many destages only the nearest
//! on either side of the head and the oldest are considered.

use super::config::{SchedulerConfig, SchedulingPolicy};
use super::mechanics::{Head, Mechanics, SeekTarget};
use gordon_units::Ns;

/// Destages considered on either side of the head. Each costs 10 ns, and one of 32 is close.
const NEAR: usize = 16;

/// An operation that the mechanism could carry out next.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// First sector.
    pub lba: u64,
    /// Place of the first sector.
    pub target: SeekTarget,
    /// Time since which the operation waits.
    pub since: Ns,
}

/// Input of a scheduling decision.
#[derive(Debug)]
pub struct SchedulerInput<'a, R, W> {
    /// Arm and spindle.
    pub mechanics: &'a Mechanics,
    /// Time when the mechanism is free.
    pub at: Ns,
    /// Track of the head at that time.
    pub head: Head,
    /// Sector at which the transfer that just ended would continue.
    pub next: Option<u64>,
    /// Reads that wait for the medium.
    pub reads: &'a [R],
    /// Data to be written to the medium, by address.
    pub destages: &'a [W],
    /// Whether the host waits for destages.
    pub destage_now: bool,
}

/// The next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Index into the reads.
    Read(usize),
    /// Index into the destages.
    Destage(usize),
}

/// Scheduler of mechanical operations.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    policy: SchedulingPolicy,
    /// Nanoseconds of positioning time that 1024 ns of waiting offset.
    ageing: i64,
    /// Fraction of the full stroke that a change of direction counts as.
    turn: f64,
    /// Whether the arm last moved inwards.
    inwards: bool,
}

impl Scheduler {
    /// Creates a scheduler with the head moving inwards.
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(config: &SchedulerConfig) -> Self {
        let ageing = (*config.ageing * 1024.0 + 0.5) as i64;
        Self { policy: config.policy, ageing, turn: config.turn, inwards: true }
    }

    /// Selects the next operation; `None` if there is none.
    pub fn choose<R: AsRef<Candidate>, W: AsRef<Candidate>>(
        &mut self,
        state: &SchedulerInput<'_, R, W>,
    ) -> Option<Choice> {
        let choice = self.pick(state)?;
        let target = match choice {
            Choice::Read(i) => state.reads[i].as_ref().target,
            Choice::Destage(i) => state.destages[i].as_ref().target,
        };
        if target.track.cylinder != state.head.cylinder {
            self.inwards = target.track.cylinder > state.head.cylinder;
        }
        Some(choice)
    }

    fn pick<R: AsRef<Candidate>, W: AsRef<Candidate>>(
        &self,
        state: &SchedulerInput<'_, R, W>,
    ) -> Option<Choice> {
        if state.reads.len() == 1 && !state.destage_now {
            return Some(Choice::Read(0));
        }
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
        let one = |i: usize| {
            let (cost, _) = self.best(state, &destages[i..=i], true)?;
            Some((cost, Choice::Destage(i)))
        };
        let oldest = (0..destages.len()).min_by_key(|&i| destages[i].as_ref().since).and_then(one);
        // C-LOOK may return to the outermost operation.
        let first = (!destages.is_empty()).then_some(0).and_then(one);
        let all = [read, nearby, oldest, first];
        all.into_iter().flatten().min_by_key(|&(cost, _)| cost).map(|(_, choice)| choice)
    }

    /// The least cost among the candidates and its index; ties go to the first.
    #[inline]
    fn best<C: AsRef<Candidate>, R, W>(
        &self,
        state: &SchedulerInput<'_, R, W>,
        candidates: &[C],
        write: bool,
    ) -> Option<(i64, usize)> {
        let (mechanics, head) = (state.mechanics, state.head);
        let angle = mechanics.angle(state.at);
        let mut best: Option<(i64, usize)> = None;
        for (i, candidate) in candidates.iter().enumerate() {
            let candidate = candidate.as_ref();
            let cost = if self.policy == SchedulingPolicy::Sptf {
                let positioning = if state.next == Some(candidate.lba) {
                    Ns::ZERO
                } else {
                    mechanics.position_at(angle, head, candidate.target, write).total()
                };
                let waited = state.at.saturating_sub(candidate.since);
                // Both terms are far below 2^63.
                #[allow(clippy::cast_possible_wrap)]
                let cost = positioning.0 as i64 - (waited.0 >> 10) as i64 * self.ageing;
                cost
            } else {
                self.cost(mechanics, head, candidate)
            };
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, i));
            }
        }
        best
    }

    /// Cost by age (FCFS), or by cylinders.
    #[allow(clippy::cast_possible_wrap)] // times and cylinders far below 2^63
    fn cost(&self, mechanics: &Mechanics, head: Head, candidate: &Candidate) -> i64 {
        let to = i64::from(candidate.target.track.cylinder);
        let away = to - i64::from(head.cylinder);
        let ahead = if self.inwards { away } else { -away };
        let all = i64::from(mechanics.geometry().cylinders());
        match self.policy {
            SchedulingPolicy::Fcfs | SchedulingPolicy::Sptf => candidate.since.0 as i64,
            SchedulingPolicy::Sstf => away.abs(),
            SchedulingPolicy::Look if ahead >= 0 => ahead,
            SchedulingPolicy::Look => all + away.abs(),
            SchedulingPolicy::CLook if away >= 0 => away,
            SchedulingPolicy::CLook => all + to,
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            SchedulingPolicy::VScan if ahead < 0 => away.abs() + (self.turn * all as f64) as i64,
            SchedulingPolicy::VScan => ahead,
        }
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

    fn scheduler(policy: SchedulingPolicy, ageing: f64) -> Scheduler {
        let ageing = ageing.into();
        Scheduler::new(&SchedulerConfig { policy, ageing, ..SchedulerConfig::default() })
    }

    /// Order in which cylinders are visited from cylinder 50 on. All requests wait from the start;
    /// the second is the oldest.
    fn visits(policy: SchedulingPolicy, cylinders: &[u64]) -> Vec<u64> {
        let mechanics = Mechanics::new(&small()).unwrap();
        let wait = |(age, &cylinder): (usize, &u64)| Candidate {
            lba: cylinder * 2000,
            target: mechanics.aim(cylinder * 2000),
            since: Ns([1, 0, 2, 3, 4, 5][age]),
        };
        let mut reads: Vec<Candidate> = cylinders.iter().enumerate().map(wait).collect();
        let (mut scheduler, none) = (scheduler(policy, 0.0), Vec::<Candidate>::new());
        let mut head = Head { cylinder: 50, head: 0 };
        std::iter::from_fn(|| {
            let state = SchedulerInput {
                mechanics: &mechanics,
                at: Ns(10),
                head,
                next: None,
                reads: &reads,
                destages: &none,
                destage_now: false,
            };
            let Choice::Read(i) = scheduler.choose(&state)? else { panic!("a destage of none") };
            head = reads.remove(i).target.track;
            Some(u64::from(head.cylinder))
        })
        .collect()
    }

    #[test]
    fn policies_by_hand() {
        // 100 cylinders of 2000 sectors each, and 100 more.
        let at = [60, 10, 45, 52, 90, 70];
        assert_eq!(visits(SchedulingPolicy::Fcfs, &at), [10, 60, 45, 52, 90, 70]);
        assert_eq!(visits(SchedulingPolicy::Sstf, &at), [52, 45, 60, 70, 90, 10]);
        assert_eq!(visits(SchedulingPolicy::Look, &at), [52, 60, 70, 90, 45, 10]);
        assert_eq!(visits(SchedulingPolicy::CLook, &at), [52, 60, 70, 90, 10, 45]);
        // Reversing costs 40 cylinders: from 52 to 60, although 45 is nearer.
        assert_eq!(visits(SchedulingPolicy::VScan, &at), [52, 60, 70, 90, 45, 10]);
        // The penalty is less than the distance to cylinder 99.
        assert_eq!(visits(SchedulingPolicy::VScan, &[52, 99, 50]), [50, 52, 99]);
        assert_eq!(visits(SchedulingPolicy::VScan, &[52, 99, 49]), [52, 49, 99]);
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
                target: mechanics.aim(lba),
                since: Ns(since * 1_000_000),
            });
            of.collect()
        };
        let (reads, destages) = (candidates(reads), candidates(destages));
        let state = SchedulerInput {
            mechanics: &mechanics,
            at: Ns(100_000_000), // angle 0
            head: Head::default(),
            next,
            reads: &reads,
            destages: &destages,
            destage_now: now,
        };
        scheduler(SchedulingPolicy::Sptf, ageing).choose(&state).unwrap()
    }

    #[test]
    fn the_shortest_positioning_time_wins_not_the_shortest_seek() {
        // On this track, 9 ms away; on the next cylinder (sector 500: angle 5 + 5 = 0 ms), 10 ms
        // away; on the next cylinder (sector 0: angle 5 ms), 5 ms away.
        assert_eq!(choose(0.0, &[(900, 0), (2500, 0), (2000, 0)], &[], false), Choice::Read(2));
    }

    #[test]
    fn only_the_nearest_and_the_oldest_destages_are_considered() {
        // Cylinders 60 to 99; the head is on cylinder 0 and considers the first 16.
        let far: Vec<(u64, u64)> = (60..100).map(|c| (c * 2000, 90)).collect();
        let Choice::Destage(i) = choose(0.0, &[], &far, false) else { panic!("a read of none") };
        assert!(i < NEAR, "{i}");
        // The last has waited for 100 ms, ten times as long as the others.
        let mut old = far.clone();
        old[39].1 = 0;
        assert_eq!(choose(1.0, &[], &old, false), Choice::Destage(39));
    }

    #[test]
    fn a_sequential_run_continues_over_a_skew() {
        // The head has just passed the end of the track before LBA 2000, which is 5 ms away with
        // its skew; the other read is 3 ms away. The other one is preferred only if it has waited
        // longer: 5 % of 99 ms is more than 3 ms.
        let reads = [(2000, 0), (300, 0)];
        assert_eq!(choose_after(None, 0.0, &reads, &[], false), Choice::Read(1));
        assert_eq!(choose_after(Some(2000), 0.0, &reads, &[], false), Choice::Read(0));
        let reads = [(2000, 99), (300, 0)];
        assert_eq!(choose_after(Some(2000), 0.05, &reads, &[], false), Choice::Read(1));
    }

    #[test]
    fn ageing_offsets_positioning_time() {
        // 9 ms away after 100 ms of waiting, compared with 1 ms away after none: 9 - 0.1 x 100 is
        // less than 1, 9 - 0.05 x 100 is not.
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
