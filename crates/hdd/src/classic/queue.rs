//! The queue of a classic drive: commands that wait for the arm, and the order in which it serves
//! them.
//!
//! The policies are those of DiskSim's drives. They look at the first sector of each command and at
//! the last command that was served; none keeps a direction, so `look` serves what lies behind the
//! arm only while nothing lies ahead.

use super::config::{QueueConfig, QueuePolicy};
use super::media::Actuator;
use crate::disk::{Mechanics, SeekTarget};
use gordon_units::Ns;

/// A command that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedCommand {
    pub key: usize,
    pub start: u64,
    pub end: u64,
    pub write: bool,
    /// Place of the first sector, if the policy looks at it.
    pub target: Option<SeekTarget>,
    /// Time of its arrival.
    pub since: Ns,
}

/// The place of the arm, for a decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmState<'a> {
    pub actuator: &'a Actuator,
    /// Time of the decision, and the time whose angle it counts from.
    pub now: Ns,
    pub turned: Ns,
    /// Minimum time of a seek before a write.
    pub least_write_seek: Ns,
}

#[derive(Clone, Debug)]
pub(super) struct CommandQueue {
    config: QueueConfig,
    pub waiting: Vec<QueuedCommand>,
    /// Sector after which the last command that was served counts as having ended.
    last: u64,
    last_cylinder: u32,
}

impl CommandQueue {
    pub fn new(config: QueueConfig) -> Self {
        Self { config, waiting: Vec::new(), last: 0, last_cylinder: 0 }
    }

    /// Removes a command that the arm serves now.
    pub fn take(&mut self, key: usize, mechanics: &Mechanics) {
        let Some(at) = self.waiting.iter().position(|one| one.key == key) else { return };
        let one = self.waiting.remove(at);
        self.last = match self.config.policy {
            QueuePolicy::Fcfs => return,
            QueuePolicy::Look
            | QueuePolicy::CLook
            | QueuePolicy::CylinderLook
            | QueuePolicy::CylinderCLook => one.start,
            QueuePolicy::Sstf => one.end,
            _ => one.end - 1,
        };
        let last = self.last.min(mechanics.geometry().sectors() - 1);
        self.last_cylinder = mechanics.geometry().location(last).cylinder;
    }

    /// Whether the policy serves the first command that is ready.
    pub fn in_order(&self) -> bool {
        self.config.policy == QueuePolicy::Fcfs
    }

    /// Whether the policy looks at the places of commands.
    pub fn looks_at_places(&self) -> bool {
        use QueuePolicy::{CLook, Fcfs, Look, Sstf};
        !matches!(self.config.policy, Fcfs | Look | CLook | Sstf)
    }

    /// Whether the policy prefers commands whose data are in the buffer.
    pub fn looks_at_hits(&self) -> bool {
        matches!(
            self.config.policy,
            QueuePolicy::CachedPositioning
                | QueuePolicy::CachedWeightedPositioning
                | QueuePolicy::CachedAgedPositioning
        )
    }

    /// The command to serve next. Of the waiting commands, those are ready whose bits are set; the
    /// data of some are in the buffer, as a whole or in part.
    pub fn choose(
        &self,
        arm: &ArmState<'_>,
        ready: u64,
        (whole, partial): (u64, u64),
    ) -> Option<usize> {
        let policy = self.config.policy;
        let (last, cylinder) = (self.last, self.last_cylinder);
        let chosen = |set: u64| {
            let all = self.waiting.iter().take(64).enumerate();
            all.filter(move |(at, _)| set >> at & 1 == 1).map(|(_, one)| one)
        };
        let places: Vec<&QueuedCommand> = chosen(ready).collect();
        let hit = |one: &QueuedCommand| {
            let within = |set| chosen(set).any(|other| other.key == one.key);
            if within(whole) { Some(0) } else { within(partial).then_some(1) }
        };
        let of = |one: &QueuedCommand| one.target.map_or(0, |target| target.track.cylinder);
        let least = |key: &dyn Fn(&QueuedCommand) -> u64| {
            places
                .iter()
                .copied()
                .min_by_key(|one| (key(one), one.target.map(|target| target.track), one.start))
        };
        let above =
            || places.iter().copied().filter(|one| one.start >= last).min_by_key(|o| o.start);
        // Of several commands at a place, the first.
        let below = || {
            let under = places.iter().rev().copied().filter(|one| one.start < last);
            under.max_by_key(|one| one.start)
        };
        let lowest = || places.iter().copied().min_by_key(|one| one.start);
        let here = || {
            let same = places.iter().copied().filter(|one| of(one) == cylinder);
            same.min_by_key(|one| (one.start < last, one.start))
        };
        // The first command on the cylinder of the nearest one below.
        let below_cylinder = || {
            let to = of(below()?);
            let same = places.iter().copied().filter(|one| of(one) == to && one.start < last);
            same.min_by_key(|one| one.start)
        };
        let nearest = |a: Option<_>, b: Option<_>, distance: &dyn Fn(&QueuedCommand) -> u64| {
            a.into_iter().chain(b).min_by_key(|one: &&QueuedCommand| distance(one))
        };
        let best = match policy {
            QueuePolicy::Look => above().or_else(below),
            QueuePolicy::CLook => above().or_else(lowest),
            QueuePolicy::Sstf => nearest(above(), below(), &|one| one.start.abs_diff(last)),
            QueuePolicy::CylinderLook => here().or_else(above).or_else(below_cylinder),
            QueuePolicy::CylinderCLook => here()
                .or_else(|| {
                    let beyond = places.iter().copied().filter(|one| of(one) > cylinder);
                    beyond.min_by_key(|one| one.start)
                })
                .or_else(lowest),
            QueuePolicy::CylinderSstf => here().or_else(|| {
                let distance = |one: &QueuedCommand| u64::from(of(one).abs_diff(cylinder));
                nearest(above(), below_cylinder(), &distance)
            }),
            QueuePolicy::Distance => least(&|one| u64::from(of(one).abs_diff(cylinder))),
            QueuePolicy::ArmDistance => {
                least(&|one| u64::from(of(one).abs_diff(arm.actuator.head.cylinder)))
            }
            _ => least(&|one| self.positioning(arm, one, hit(one))),
        };
        best.map(|one| one.key)
    }

    /// Cost of a command by its positioning time, offset so that it is not negative.
    fn positioning(&self, arm: &ArmState<'_>, one: &QueuedCommand, hit: Option<u64>) -> u64 {
        let policy = self.config.policy;
        let delay = if one.write { self.config.write_delay } else { self.config.read_delay };
        let time = match hit {
            Some(rank) => rank,
            None => {
                let least = if one.write { arm.least_write_seek } else { Ns::ZERO };
                let to = one.target.map_or(Ns::ZERO, |target| {
                    arm.actuator.positioning(arm.turned, target, one.write)
                });
                to.max(least).0
            }
        };
        #[allow(clippy::cast_precision_loss)] // far below 2^53 ns
        let (time, age) = ((delay.0 + time) as f64, (arm.now - one.since).0 as f64 / 1e6);
        let weight = f64::from(self.config.weight);
        let cost = match policy {
            QueuePolicy::WeightedPositioning | QueuePolicy::CachedWeightedPositioning => {
                time * (weight - age) / weight
            }
            QueuePolicy::AgedPositioning | QueuePolicy::CachedAgedPositioning => {
                time - age * weight * 1000.0
            }
            _ => time,
        };
        #[allow(clippy::cast_possible_truncation)]
        ((cost * 16.0) as i64).wrapping_sub(i64::MIN).cast_unsigned()
    }
}
