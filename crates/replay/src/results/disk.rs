//! What a hard disk did.

use super::latency::OPS;
use super::recorder::Recorded;
use super::{ratio, share};
use gordon_blockio::Usage;
use gordon_blockio::{LatencyHistogram, LatencySummary};
use gordon_hdd::{DiskStats, EnergyUse, PowerConfig, PowerState};
use gordon_units::Ns;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run on a hard disk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskReport {
    /// Which disk.
    pub disk: String,
    /// How many of it.
    pub disks: usize,
    /// From arrival to completion, of all requests.
    pub response_ms: LatencySummary,
    /// Moves of the arm and head switches, settling included.
    pub seek_ms: Moves,
    /// Waits for the sector after them.
    pub rotation_ms: Moves,
    /// Reads served from the buffer alone.
    pub buffer_hits: u64,
    /// Reads that found the first of their data there, or the head on its way to it.
    pub read_ahead_hits: u64,
    /// Times that the medium was written.
    pub destages: u64,
    /// Sectors written to it.
    pub sectors_destaged: u64,
    /// Requests that were carried out as part of another, beside which they waited.
    pub coalesced: u64,
    /// The part of the run that the mechanism read, and wrote, positioning included; none where no
    /// time went by.
    pub reading: Option<f64>,
    /// As above.
    pub writing: Option<f64>,
    /// How the mechanisms spent the run.
    pub mechanism_s: Mechanism,
    /// Joules; none where nobody has said what the disk draws.
    pub energy_j: Option<f64>,
    /// Joules by state, those below idle by name; they sum to `energy_j`.
    pub energy_by_part_j: BTreeMap<String, f64>,
    /// How long it drew less than idle, by state.
    pub power_states: Vec<StateReport>,
    /// How long it took to wake, in all.
    pub waking_s: f64,
    /// Of the wakes those that took more of the quiet time before than `power.adaptive` tolerates.
    pub unwelcome_wakes: u64,
}

/// A state in which it drew less than idle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateReport {
    /// Its name.
    pub name: String,
    /// How long it was in it.
    pub time_s: f64,
    /// How often a request found it so.
    pub wakes: u64,
}

/// Time of the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moves {
    /// For each time that the head was sent somewhere, no way at all included.
    pub mean: Option<f64>,
    /// In all.
    pub total: f64,
}

/// Seconds of all disks together: they sum to `simulated_s` of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mechanism {
    /// Arms that moved, heads that were switched and settled. A move that other work cut short
    /// counts whole, and what it was for the less.
    pub seek: f64,
    /// Waits for the sector after that.
    pub rotation: f64,
    /// The rest of the time at work: reading, ahead too, and writing.
    pub transfer: f64,
    /// Nothing to do.
    pub idle: f64,
}

impl Mechanism {
    /// Of a single disk, in a run that took so long.
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
    /// What the `stats` of all disks and their `usage` say of a run.
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
        let moves = |time: u64| Moves {
            mean: share(time, positionings).map(|ns| ns / 1e6),
            total: ratio(time, 1_000_000),
        };
        let (seek, rotation) = (sum(|stats| stats.seek_time.0), sum(|stats| stats.rotation_time.0));
        Self {
            disk,
            disks: stats.len(),
            response_ms: all.summary().ms(),
            seek_ms: moves(seek),
            rotation_ms: moves(rotation),
            buffer_hits: sum(|stats| stats.cache_hits),
            read_ahead_hits: sum(|stats| stats.read_ahead_hits),
            destages: sum(|stats| stats.destages),
            sectors_destaged: sum(|stats| stats.sectors_destaged),
            coalesced: 0,
            reading: share(usage.read.0.min(time), time),
            writing: share(usage.write.0.min(time), time),
            mechanism_s: Mechanism::of(time, usage.read.0 + usage.write.0, seek, rotation),
            energy_j: None,
            energy_by_part_j: BTreeMap::new(),
            power_states: Vec::new(),
            waking_s: 0.0,
            unwelcome_wakes: 0,
        }
    }

    /// Adds what one disk drew, of which that is known.
    pub fn draw(&mut self, drawn: &EnergyUse, power: &PowerConfig) {
        for (state, joules) in &drawn.joules {
            *self.energy_by_part_j.entry(state.clone()).or_default() += joules;
        }
        self.energy_j = Some(self.energy_by_part_j.values().sum());
        let slept = &drawn.slept;
        let state = |(state, (time, wakes)): (&PowerState, (&Ns, &u64))| StateReport {
            name: state.name.clone(),
            time_s: time.as_secs(),
            wakes: *wakes,
        };
        let all = slept.time.iter().zip(&slept.wakes);
        let states: Vec<_> = power.states.iter().zip(all).map(state).collect();
        if self.power_states.is_empty() {
            self.power_states = states;
        } else {
            for (sum, more) in self.power_states.iter_mut().zip(states) {
                sum.time_s += more.time_s;
                sum.wakes += more.wakes;
            }
        }
        self.waking_s += slept.waking.as_secs();
        self.unwelcome_wakes += slept.unwelcome;
    }
}
