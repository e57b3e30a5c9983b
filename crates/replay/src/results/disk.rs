//! Results of a run on a hard disk.

use super::latency::OPS;
use super::recorder::Recorded;
use super::{ratio, share};
use gordon_blockio::Usage;
use gordon_blockio::{LatencyHistogram, LatencySummary};
use gordon_hdd::{DiskStats, EnergyUse, PowerConfig, PowerState};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The disk part of a report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DiskReport {
    /// Description of the disk.
    pub disk: String,
    /// Number of disks.
    pub disks: usize,
    /// Response time from arrival to completion, over all requests.
    pub response_ms: LatencySummary,
    /// Arm movements and head switches, including settling.
    pub seek_ms: PositioningTime,
    /// Rotational waits.
    pub rotation_ms: PositioningTime,
    /// Reads served from the buffer alone.
    pub buffer_hits: u64,
    /// Reads whose first sector was in the buffer, or being read ahead.
    pub read_ahead_hits: u64,
    /// Operations that wrote to the medium.
    pub destages: u64,
    /// Sectors written to the medium.
    pub sectors_destaged: u64,
    /// Requests that were merged into an adjacent waiting request.
    pub coalesced: u64,
    /// Fraction of the run during which the mechanism read, including positioning; `None` if the
    /// run took no time.
    pub reading: Option<f64>,
    /// Fraction of the run during which the mechanism wrote, including positioning.
    pub writing: Option<f64>,
    /// Time of the mechanisms by activity.
    pub mechanism_s: MechanismTime,
    /// Energy in joules; `None` if the disk's power is unknown.
    pub energy_j: Option<f64>,
    /// Energy in joules by state; the values sum to `energy_j`.
    pub energy_by_part_j: BTreeMap<String, f64>,
    /// Time in each low-power state.
    pub power_states: Vec<PowerStateReport>,
    /// Total time of wake-ups.
    pub waking_s: f64,
    /// Wake-ups that took a larger fraction of the idle time than `power.adaptive` tolerates.
    pub unwelcome_wakes: u64,
}

/// Time in a low-power state.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PowerStateReport {
    /// Name of the state.
    pub name: String,
    /// Total time in the state, in seconds.
    pub time_s: f64,
    /// Number of wake-ups from the state.
    pub wakes: u64,
}

/// Time of one kind of positioning, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PositioningTime {
    /// Mean over all positionings, including those without a movement; `None` if there were none.
    pub mean: Option<f64>,
    /// Total time.
    pub total: f64,
}

/// Seconds summed over all disks; the fields sum to `simulated_s` times the number of disks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MechanismTime {
    /// Arm movements, head switches and settling. A movement counts as a whole even if other work
    /// interrupted its operation; the other activities are then counted shorter.
    pub seek: f64,
    /// Rotational waits.
    pub rotation: f64,
    /// The remaining busy time: reading, including read-ahead, and writing.
    pub transfer: f64,
    /// Idle time.
    pub idle: f64,
}

gordon_units::fieldwise!(MechanismTime { seek, rotation, transfer, idle });

impl MechanismTime {
    /// Times of a single disk in a run of length `time`.
    pub fn of_one(time: Ns, usage: Usage, stats: &DiskStats) -> Self {
        let busy = usage.read + usage.write;
        Self::of(time.0, busy.0, stats.seek_time.0, stats.rotation_time.0)
    }

    fn of(time: u64, busy: u64, seek: u64, rotation: u64) -> Self {
        let busy = busy.min(time);
        let seek = seek.min(busy);
        let rotation = rotation.min(busy - seek);
        let [seek, rotation, transfer, idle] =
            [seek, rotation, busy - seek - rotation, time - busy].map(|ns| Ns(ns).as_secs());
        Self { seek, rotation, transfer, idle }
    }
}

impl DiskReport {
    /// Creates the report from the `stats` of all disks and their `usage`.
    pub fn of(
        disk: String,
        stats: &[DiskStats],
        usage: Usage,
        simulated: Ns,
        recorded: &Recorded,
    ) -> Self {
        let sum = |of: fn(&DiskStats) -> u64| stats.iter().map(of).sum::<u64>();
        let positionings = sum(|stats| stats.positionings);
        let time = simulated.0 * stats.len() as u64;
        let mut all = LatencyHistogram::default();
        OPS.iter().for_each(|&(op, _)| all.add(&recorded.latencies.of(op)));
        let positioning = |time: u64| PositioningTime {
            mean: share(time, positionings).map(|ns| ns / 1e6),
            total: ratio(time, 1_000_000),
        };
        let (seek, rotation) = (sum(|stats| stats.seek_time.0), sum(|stats| stats.rotation_time.0));
        Self {
            disk,
            disks: stats.len(),
            response_ms: all.summary().ms(),
            seek_ms: positioning(seek),
            rotation_ms: positioning(rotation),
            buffer_hits: sum(|stats| stats.cache_hits),
            read_ahead_hits: sum(|stats| stats.read_ahead_hits),
            destages: sum(|stats| stats.destages),
            sectors_destaged: sum(|stats| stats.sectors_destaged),
            coalesced: 0,
            reading: share(usage.read.0.min(time), time),
            writing: share(usage.write.0.min(time), time),
            mechanism_s: MechanismTime::of(time, usage.read.0 + usage.write.0, seek, rotation),
            energy_j: None,
            energy_by_part_j: BTreeMap::new(),
            power_states: Vec::new(),
            waking_s: 0.0,
            unwelcome_wakes: 0,
        }
    }

    /// Adds the energy of one disk.
    pub fn add_energy(&mut self, energy_use: &EnergyUse, power: &PowerConfig) {
        for (state, joules) in &energy_use.joules {
            *self.energy_by_part_j.entry(state.clone()).or_default() += joules;
        }
        self.energy_j = Some(self.energy_by_part_j.values().sum());
        let sleep_stats = &energy_use.sleep_stats;
        let state = |(state, (time, wakes)): (&PowerState, (&Ns, &u64))| PowerStateReport {
            name: state.name.clone(),
            time_s: time.as_secs(),
            wakes: *wakes,
        };
        let all = sleep_stats.time.iter().zip(&sleep_stats.wakes);
        let states: Vec<_> = power.states.iter().zip(all).map(state).collect();
        if self.power_states.is_empty() {
            self.power_states = states;
        } else {
            for (sum, more) in self.power_states.iter_mut().zip(states) {
                sum.time_s += more.time_s;
                sum.wakes += more.wakes;
            }
        }
        self.waking_s += sleep_stats.waking.as_secs();
        self.unwelcome_wakes += sleep_stats.unwelcome;
    }
}
