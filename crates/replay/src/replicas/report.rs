//! Results: energy, wear and wake-ups of each arrangement, limits, and the recovery of a node.

use super::config::DiskPower;
use crate::results::flash::FlashReport;
use crate::results::ratio;
use crate::results::report::Provenance;
use gordon_blockio::LatencySummary;
use gordon_hdd::EnergyUse;
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Seconds of a year.
const YEAR_S: f64 = 365.25 * 86400.0;

/// Replicas on flash, on disks, and on sleeping disks, under the same load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReplicasReport {
    /// Number of replicas, including the working one.
    pub replicas: u32,
    /// Capacity of the flash device.
    pub flash_capacity_bytes: u64,
    /// Capacity of the disk.
    pub disk_capacity_bytes: u64,
    /// Requests of the load.
    pub requests: u64,
    /// Bytes that the load writes.
    pub written_bytes: u64,
    /// Bytes that the load reads.
    pub read_bytes: u64,
    /// Time from the first to the last request of the load.
    pub span_s: f64,
    /// Mean rate of the writes.
    pub write_bytes_per_s: f64,
    /// Time for which the energy of all arrangements is counted: until the slowest has all data.
    pub run_s: f64,
    /// The arrangements: `flash`, `disks` and `sleeping`.
    pub arrangements: Vec<ArrangementReport>,
    /// Idle time from which on standby saves energy.
    pub break_even_s: f64,
    /// Idle time after which a disk is put in standby.
    pub spin_down_s: f64,
    /// The batches of the sleeping disks.
    pub batches: BatchReport,
    /// The rates of writes that sleeping disks sustain.
    pub limits: WriteLimits,
    /// A sleeping disk and one that is awake, at other rates of the load.
    pub by_rate: Vec<RateReport>,
    /// Rate of writes below which a sleeping disk keeps up and uses less energy than one that is
    /// awake, found between the given rates; `None` if they have no such limit.
    pub pays_below_bytes_per_s: Option<f64>,
    /// Recovery of a failed flash node from one of the sleeping disks.
    pub recovery: RecoveryReport,
    /// Notes about the load.
    pub warnings: Vec<String>,
    /// Inputs of the result.
    pub provenance: Provenance,
}

/// An arrangement of the replicas.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArrangementReport {
    /// `flash`, `disks` or `sleeping`.
    pub id: String,
    /// The working replica, then the copies.
    pub devices: Vec<ReplicaReport>,
    /// Energy of all devices in joules.
    pub energy_j: f64,
    /// Mean power of all devices.
    pub mean_w: f64,
    /// Response times of writes of the working replica.
    pub write_response_ms: LatencySummary,
}

/// Devices of the same kind with the same role. Energies are sums, all else is of one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReplicaReport {
    /// `working` or `copies`.
    pub role: String,
    /// `flash` or `disk`.
    pub kind: String,
    /// Description of the part.
    pub part: String,
    /// Number of devices.
    pub count: u32,
    /// Energy of the devices in joules.
    pub energy_j: f64,
    /// Energy by part or state; the values sum to `energy_j`.
    pub energy_by_part_j: BTreeMap<String, f64>,
    /// Mean power of the devices.
    pub mean_w: f64,
    /// Fraction of the run that a disk is in standby; `None` for flash.
    pub asleep: Option<f64>,
    /// Number of wake-ups of a disk, each after a stop of its spindle; `None` for flash.
    pub wakes: Option<u64>,
    /// Wake-ups of a year at this rate.
    pub wakes_per_year: Option<f64>,
    /// Years until the rated number of stops and starts; `None` without a rating or a wake-up.
    pub rated_years: Option<f64>,
    /// Wear of flash; `None` for a disk.
    pub wear: Option<FlashWear>,
}

/// Wear of one flash device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlashWear {
    /// Pages programmed per page programmed with host data; `None` if there were none.
    pub write_amplification: Option<f64>,
    /// Fraction of the rated endurance that the run used.
    pub endurance_used: f64,
    /// Years until the rated endurance is used up at this rate, if blocks wear evenly.
    pub years: Option<f64>,
}

/// Batches of writes to a sleeping disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BatchReport {
    /// Number of batches, including the last one.
    pub count: u64,
    /// Batches that were written because the buffer was full.
    pub full: u64,
    /// Batches that were written because of the age of their data.
    pub aged: u64,
    /// Batches that were due before the previous one was on the disk.
    pub late: u64,
    /// Bytes written to a disk. What the load overwrites within a batch is written once.
    pub bytes: u64,
    /// Most bytes that were on flash only. A range that is written again while its batch is being
    /// written counts twice.
    pub exposed_bytes: u64,
    /// Longest time for which a write was on flash only.
    pub exposed_s: f64,
}

/// Rates of writes that a sleeping disk sustains, at the mix of requests of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WriteLimits {
    /// Rate above which the disk never sleeps; `None` if the load does not fill the buffer.
    ///
    /// A disk that writes batches without a pause gives both rates. At the first one a full buffer
    /// arrives in the time of writing a batch and the idle time before standby.
    pub asleep_bytes_per_s: Option<f64>,
    /// Rate above which the disk cannot keep up; `None` if the load does not fill the buffer.
    pub keeps_up_bytes_per_s: Option<f64>,
}

/// A sleeping copy and one that is awake, at a rate of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateReport {
    /// Factor of the load's speed.
    pub speed: f64,
    /// Mean rate of the writes.
    pub write_bytes_per_s: f64,
    /// Mean power of a sleeping disk.
    pub sleeping_w: f64,
    /// Mean power of a disk that is awake and has each write at once.
    pub awake_w: f64,
    /// Fraction of the run that the disk is in standby.
    pub asleep: f64,
    /// Wake-ups of the disk.
    pub wakes: u64,
    /// Batches that were due before the previous one was on the disk.
    pub late: u64,
    /// Most bytes that were on flash only.
    pub exposed_bytes: u64,
    /// Years until the rated number of stops and starts; `None` without a rating or a wake-up.
    pub rated_years: Option<f64>,
    /// Whether the sleeping disk keeps up with the writes and uses less energy; `None` if the load
    /// ends before a batch is due.
    pub pays: Option<bool>,
}

/// Recovery of a failed flash node from one sleeping disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecoveryReport {
    /// Bytes that are read: the capacity of the flash device.
    pub bytes: u64,
    /// Time until the disk is awake.
    pub wake_s: f64,
    /// Time of the disk for reading these bytes sequentially.
    pub read_s: f64,
    /// Time of the link for the same bytes.
    pub link_s: f64,
    /// Time in all: the wake-up, and the slower of disk and link.
    pub time_s: f64,
    /// `disk` or `link`.
    pub limited_by: &'static str,
}

/// A number of devices of one role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    pub name: &'static str,
    pub count: u32,
}

/// Wake-ups of a disk.
pub(super) fn wakes(used: &EnergyUse) -> u64 {
    used.sleep_stats.wakes.iter().sum()
}

fn per_year(wakes: u64, run: Ns) -> f64 {
    ratio(wakes, 1) / run.as_secs() * YEAR_S
}

/// Years until the rated number of stops and starts, at the rate of a run.
pub(super) fn rated_years(wakes: u64, power: &DiskPower, run: Ns) -> Option<f64> {
    let rated = power.rated_cycles.filter(|_| wakes > 0)?;
    Some(ratio(rated, 1) / per_year(wakes, run))
}

impl ReplicaReport {
    /// Flash devices with this report of one of them, in a run of this length.
    pub(super) fn flash(role: Role, part: &str, report: &FlashReport, run: Ns) -> Self {
        let by_part = report.energy_by_part_j.iter().map(|(name, j)| ((*name).to_owned(), *j));
        let used = report.endurance_used;
        let years = (used > 0.0).then(|| run.as_secs() / YEAR_S / used);
        let wear = FlashWear {
            write_amplification: report.write_amplification,
            endurance_used: used,
            years,
        };
        Self { wear: Some(wear), ..Self::new(role, "flash", part, by_part, run) }
    }

    /// Disks with this energy of one of them, in a run of this length.
    pub(super) fn disks(
        role: Role,
        part: &str,
        used: EnergyUse,
        power: &DiskPower,
        run: Ns,
    ) -> Self {
        let wakes = wakes(&used);
        Self {
            asleep: Some(asleep(&used, run)),
            wakes: Some(wakes),
            wakes_per_year: Some(per_year(wakes, run)),
            rated_years: rated_years(wakes, power, run),
            ..Self::new(role, "disk", part, used.joules.into_iter(), run)
        }
    }

    fn new(
        role: Role,
        kind: &str,
        part: &str,
        of_one: impl Iterator<Item = (String, f64)>,
        run: Ns,
    ) -> Self {
        let count = f64::from(role.count);
        let by_part: BTreeMap<_, _> = of_one.map(|(name, joules)| (name, joules * count)).collect();
        let energy_j = by_part.values().sum();
        Self {
            role: role.name.into(),
            kind: kind.into(),
            part: part.into(),
            count: role.count,
            energy_j,
            energy_by_part_j: by_part,
            mean_w: energy_j / run.as_secs(),
            asleep: None,
            wakes: None,
            wakes_per_year: None,
            rated_years: None,
            wear: None,
        }
    }
}

impl ArrangementReport {
    pub(super) fn new(
        id: &str,
        devices: Vec<ReplicaReport>,
        write_response_ms: LatencySummary,
        run: Ns,
    ) -> Self {
        let energy_j = devices.iter().map(|device| device.energy_j).sum::<f64>();
        let mean_w = energy_j / run.as_secs();
        Self { id: id.into(), devices, energy_j, mean_w, write_response_ms }
    }
}

/// Fraction of a run in low-power states.
pub(super) fn asleep(used: &EnergyUse, run: Ns) -> f64 {
    let asleep = used.sleep_stats.time.iter().fold(Ns::ZERO, |sum, time| sum + *time);
    asleep.as_secs() / run.as_secs()
}
