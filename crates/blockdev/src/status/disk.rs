//! What a file tells that is served as a disk.

use gordon_blockio::Device;
use gordon_hdd::drive::Drive;
use gordon_hdd::{DiskStats, PowerConfig};
use gordon_units::Ns;
use serde::Serialize;

/// What only a disk tells.
#[derive(Clone, Debug, Serialize)]
pub struct DiskStatus {
    /// How many disks it is made of.
    pub disks: usize,
    /// Bytes that those hold; a smaller file lies on the first of them.
    pub disk_capacity: u64,
    /// Where answers are given in their time.
    pub disk: Option<Drives>,
}

/// What the simulated disks did. Modelled.
#[derive(Clone, Debug, Serialize)]
pub struct Drives {
    /// Reads served from a buffer alone.
    pub buffer_hits: u64,
    /// Reads that found the first of their data there, or the head on its way to it.
    pub read_ahead_hits: u64,
    /// Times that a head was sent somewhere.
    pub positionings: u64,
    /// Those that moved an arm.
    pub seeks: u64,
    /// Times that a medium was written.
    pub destages: u64,
    /// Sectors written to it.
    pub sectors_destaged: u64,
    /// Moves of arms and head switches, settling included.
    pub seek_ms: Moves,
    /// Waits for the sector after them.
    pub rotation_ms: Moves,
    /// The part of the time that they read, and wrote, positioning included.
    pub reading: f64,
    /// As above.
    pub writing: f64,
    /// Joules; none where nobody has said what the disk draws.
    pub energy_j: Option<f64>,
}

/// Time of the mechanisms.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Moves {
    /// For each time that a head was sent somewhere.
    pub mean: Option<f64>,
    /// In all.
    pub total: f64,
}

// Times and counts: below 2^53 for months.
#[allow(clippy::cast_precision_loss)]
impl Drives {
    /// What `drive` did until `now`.
    pub(crate) fn of(drive: &Drive, power: Option<&PowerConfig>, now: Ns) -> Self {
        let disks = drive.disks();
        let stats: Vec<DiskStats> = disks.iter().map(Drive::stats).collect();
        let sum = |of: fn(&DiskStats) -> u64| stats.iter().map(of).sum::<u64>();
        let positionings = sum(|stats| stats.positionings);
        let moves = |time: u64| Moves {
            mean: (positionings > 0).then(|| time as f64 / positionings as f64 / 1e6),
            total: time as f64 / 1e6,
        };
        let all = (now.0 * disks.len() as u64).max(1) as f64;
        let usage = drive.usage();
        let energies = disks.iter().map(|disk| {
            let drawn = disk.drawn(power?, now, now)?;
            Some(drawn.joules.iter().map(|(_, joules)| joules).sum::<f64>())
        });
        Self {
            buffer_hits: sum(|stats| stats.cache_hits),
            read_ahead_hits: sum(|stats| stats.read_ahead_hits),
            positionings,
            seeks: sum(|stats| stats.seeks),
            destages: sum(|stats| stats.destages),
            sectors_destaged: sum(|stats| stats.sectors_destaged),
            seek_ms: moves(sum(|stats| stats.seek_time.0)),
            rotation_ms: moves(sum(|stats| stats.rotation_time.0)),
            reading: usage.read.0 as f64 / all,
            writing: usage.write.0 as f64 / all,
            energy_j: energies.sum(),
        }
    }
}
