//! Disks that sleep inside a job: when they are put in standby, and what that saves and costs.
//!
//! Model: the host puts a disk in standby after a time without requests, as of `power.standby` of
//! its part. The next request wakes it, and the job waits for the wake-up. The disk is awake when
//! the job begins, and is woken at its end, if it sleeps. A gap between requests is as long as the
//! samples without any of them are on the design, so that gaps within a sample are not seen.

use gordon_hdd::PowerConfig;
use gordon_units::{Joules, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When disks are put in standby inside a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpinDown {
    /// Seconds without requests. Default: the break-even time of each disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
}

/// The standby state of a disk. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standby {
    idle: Watts,
    draws: Watts,
    wake: f64,
    wake_energy: Joules,
    /// Time without requests after which the disk is put in standby.
    pub after: f64,
    /// Stops and starts for which the disk is rated; `None` if that is unknown.
    pub rated_starts: Option<u64>,
}

/// How a disk slept in a run. Times are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asleep {
    /// Time in standby.
    pub secs: f64,
    /// Number of wake-ups, that at the end of the run included.
    pub starts: u32,
    /// Time for which the job waits for wake-ups.
    pub waiting: f64,
}

impl Standby {
    /// The standby state of a disk, which is entered after its break-even time; `None` if the state
    /// is unknown.
    pub fn of(power: &PowerConfig) -> Option<Self> {
        let standby = power.standby.as_ref()?;
        Some(Self {
            idle: *power.idle,
            draws: *standby.draws,
            wake: standby.wake.as_secs(),
            wake_energy: Joules(*standby.wake_energy_j),
            after: power.break_even()?.as_secs(),
            rated_starts: standby.cycles.as_ref().map(|cycles| **cycles),
        })
    }

    /// The state, if it is entered as `spin_down` says.
    #[must_use]
    pub fn entered(self, spin_down: SpinDown) -> Self {
        Self { after: spin_down.after_s.unwrap_or(self.after), ..self }
    }

    /// Adds a gap of `secs` seconds between requests; after the last one of a job, no request
    /// waits.
    pub fn add_gap(&self, secs: f64, is_last: bool, asleep: &mut Asleep) {
        if secs <= self.after {
            return;
        }
        asleep.secs += secs - self.after;
        asleep.starts += 1;
        if !is_last {
            asleep.waiting += self.wake;
        }
    }

    /// What a disk uses more than an idle one, below zero if it saves energy.
    pub fn energy(&self, asleep: &Asleep) -> Joules {
        let saved =
            Joules::of(self.idle - self.draws, asleep.secs) + Joules::of(self.idle, asleep.waiting);
        self.wake_energy * f64::from(asleep.starts) - saved
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// 9 W idle, 1 W in standby; 13.5 s and 227 J to wake up.
    fn standby(after: f64) -> Standby {
        Standby {
            idle: Watts(9.0),
            draws: Watts(1.0),
            wake: 13.5,
            wake_energy: Joules(227.0),
            after,
            rated_starts: Some(50_000),
        }
    }

    fn asleep(gaps: &[f64], after: f64) -> Asleep {
        let mut asleep = Asleep::default();
        for (at, gap) in gaps.iter().enumerate() {
            standby(after).add_gap(*gap, at + 1 == gaps.len(), &mut asleep);
        }
        asleep
    }

    #[test]
    fn gaps_beyond_the_time_are_slept_through() {
        let found = asleep(&[10.0, 20.0, 30.0, 40.0], 15.0);
        assert_eq!(found, Asleep { secs: 5.0 + 15.0 + 25.0, starts: 3, waiting: 27.0 });
        assert_eq!(asleep(&[15.0, 15.0], 15.0), Asleep::default());
    }

    #[test]
    fn a_gap_of_twice_the_break_even_time_saves_nothing() {
        // (227 - 9 x 13.5) / 8 s; the time before standby is as long.
        let break_even = (227.0 - 9.0 * 13.5) / 8.0;
        let energy = |gap: f64| standby(break_even).energy(&asleep(&[gap, 0.0], break_even)).0;
        assert!(energy(2.0 * break_even).abs() < 1e-9);
        assert!(energy(2.1 * break_even) < 0.0 && energy(1.9 * break_even) > 0.0);
        // 100 s: 86.8 s at 8 W less, 227 J and no idle power for the wake-up.
        assert!((energy(100.0) - (227.0 - 121.5 - 8.0 * (100.0 - break_even))).abs() < 1e-9);
    }

    #[test]
    fn the_last_wake_up_is_after_the_job() {
        let found = asleep(&[100.0], 15.0);
        assert_eq!(found, Asleep { secs: 85.0, starts: 1, waiting: 0.0 });
        assert!((standby(15.0).energy(&found).0 - (227.0 - 8.0 * 85.0)).abs() < 1e-9);
    }
}
