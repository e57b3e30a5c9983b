//! Configuration of replicas on flash and on disks.

use crate::ReplayError;
use crate::config::{Fit, LoadConfig};
use gordon_hdd::PowerConfig;
use gordon_hdd::drive::DriveConfig;
use gordon_ssd::SsdConfig;
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// Most replicas of the same data: far more than any file system keeps.
const MOST_REPLICAS: u32 = 16;

/// Replicas of the data of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicasConfig {
    /// The flash device.
    pub flash: SsdConfig,
    /// The disk; its power has to have a standby state.
    pub disk: DriveConfig,
    /// The load. Its requests need times.
    pub load: LoadConfig,
    /// Treatment of addresses beyond the capacity of the smaller device.
    pub fit: Fit,
    /// Number of replicas, including the working one.
    pub replicas: u32,
    /// Distinct bytes written to flash at which sleeping disks are woken.
    pub buffer: Bytes,
    /// Age of the oldest of these bytes at which the disks are woken, too.
    pub max_age: Ns,
    /// Idle time after which a disk is put in standby; `None` for its break-even time.
    pub spin_down: Option<Ns>,
    /// Rate of the link over which a failed node is recovered.
    pub link_bytes_per_s: f64,
    /// Factors of the load's speed at which sleeping and awake disks are compared.
    pub rates: Vec<f64>,
    /// Random seed of the run.
    pub seed: u64,
}

/// The power of a disk whose standby state is known.
pub(super) struct DiskPower {
    pub awake: PowerConfig,
    pub sleeping: PowerConfig,
    pub break_even: Ns,
    pub spin_down: Ns,
    pub rated_cycles: Option<u64>,
}

impl ReplicasConfig {
    /// Checks the values that need no device.
    pub(super) fn check(&self) -> Result<(), ReplayError> {
        let wrong = |key: &str, why: String, hint: &str| Err(ReplayError::option(key, why, hint));
        if !(2..=MOST_REPLICAS).contains(&self.replicas) {
            let why = format!("{} is not from 2 to {MOST_REPLICAS}", self.replicas);
            return wrong("replicas", why, "3: one working replica and two copies");
        }
        if self.buffer == Bytes::ZERO {
            return wrong("buffer", "0 bytes hold no write".into(), "1GiB");
        }
        if self.max_age == Ns::ZERO {
            return wrong("max_age", "0 would wake the disks for each write".into(), "1h");
        }
        if !(self.link_bytes_per_s.is_finite() && self.link_bytes_per_s > 0.0) {
            return wrong("link", "not above 0".into(), "1Gb");
        }
        match self.rates.iter().find(|rate| !(rate.is_finite() && **rate > 0.0)) {
            Some(rate) => wrong("rates", format!("{rate} is not above 0"), "0.1,1,10"),
            None => Ok(()),
        }
    }

    /// The power of the disk, awake and sleeping.
    pub(super) fn power(&self) -> Result<DiskPower, ReplayError> {
        let power = self.disk.power();
        let Some((power, break_even)) = power.and_then(|power| Some((power, power.break_even()?)))
        else {
            let why = format!("the part has no standby state: {}", self.disk.summary());
            let hint = "a table [power.standby] in a copy of its file, with draws, wake and \
                        wake_energy_j, as `gordon disk show sata-7200-1tb` has it";
            return Err(ReplayError::option("disk", why, hint));
        };
        let spin_down = self.spin_down.unwrap_or(break_even);
        if break_even == Ns::MAX {
            let why = format!("standby saves nothing: {}", self.disk.summary());
            let hint = "power.standby.draws below power.idle";
            return Err(ReplayError::option("disk", why, hint));
        }
        let sleeping = power.in_standby_after(spin_down).expect("its standby state is known");
        let standby = power.standby.as_ref();
        let rated_cycles = standby.and_then(|standby| standby.cycles.as_ref()).map(|given| **given);
        Ok(DiskPower { awake: power.always_awake(), sleeping, break_even, spin_down, rated_cycles })
    }
}
