//! The status of a file that is served as a disk.

use gordon_blockio::Device;
use gordon_hdd::drive::Drive;
use gordon_hdd::{DiskStats, PowerConfig};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;

/// The part of a status that only disks have.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiskStatus {
    /// Number of disks.
    pub disks: usize,
    /// Capacity of the disks in bytes. A smaller file occupies the start of it.
    pub disk_capacity: u64,
    /// The simulated disks; `None` at full speed.
    pub disk: Option<Drives>,
}

/// Operation of the simulated disks, summed over all of them. All values are modelled.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Drives {
    /// Reads served from a buffer alone.
    pub buffer_hits: u64,
    /// Reads whose first sectors were in the buffer, or were about to be read ahead.
    pub read_ahead_hits: u64,
    /// Positionings of a head.
    pub positionings: u64,
    /// Positionings that moved an arm.
    pub seeks: u64,
    /// Writes from the buffer to the medium.
    pub destages: u64,
    /// Sectors written to the medium.
    pub sectors_destaged: u64,
    /// Time of seeks and head switches in ms, settling included.
    pub seek_ms: Moves,
    /// Time of rotational delays in ms.
    pub rotation_ms: Moves,
    /// Fraction of the time spent on reads, positioning included.
    pub reading: f64,
    /// Fraction of the time spent on writes, positioning included.
    pub writing: f64,
    /// Energy in J; `None` if the power of the disk is unknown.
    pub energy_j: Option<f64>,
}

/// Time of the mechanism.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Moves {
    /// Mean for each positioning; `None` if there was none.
    pub mean: Option<f64>,
    /// Sum of all positionings.
    pub total: f64,
}

// Times and counts: below 2^53 for months.
#[allow(clippy::cast_precision_loss)]
impl Drives {
    /// The operation of `drive` until `now`.
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
            let energy_use = disk.energy_use(power?, now, now)?;
            Some(energy_use.joules.iter().map(|(_, joules)| joules).sum::<f64>())
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
