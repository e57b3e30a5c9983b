//! A hard disk of either kind, or several disks as one.

use crate::classic::{ClassicConfig, ClassicDisk};
use crate::disk::{
    Disk, DiskConfig, DiskConfigError, DiskStats, EnergyUse, PowerConfig, PowerManagedDisk,
    SchedulingPolicy,
};
use gordon_blockio::{Completion, Device, Request, Usage};
use gordon_sim::bus::SharedBus;
use gordon_sim::coalesce::Coalescer;
use gordon_sim::stripe::{CHUNK, Stripe, StripeError};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// Configuration of a disk of either kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveConfig {
    /// A disk with a command queue.
    Config(Box<DiskConfig>),
    /// A disk with a segmented buffer.
    Classic(Box<ClassicConfig>),
}

impl DriveConfig {
    /// One-line description.
    pub fn summary(&self) -> &str {
        match self {
            Self::Config(config) => &config.summary,
            Self::Classic(config) => &config.summary,
        }
    }

    /// Power parameters; `None` if unknown.
    pub fn power(&self) -> Option<&PowerConfig> {
        match self {
            Self::Config(config) => Some(&config.power),
            Self::Classic(config) => config.power.as_ref(),
        }
    }

    /// The same disk with other power parameters.
    #[must_use]
    pub fn with_power(&self, power: PowerConfig) -> Self {
        let mut changed = self.clone();
        match &mut changed {
            Self::Config(config) => config.power = power,
            Self::Classic(config) => config.power = Some(power),
        }
        changed
    }
}

/// A stripe of disks (RAID-0; with copies, RAID-1 and RAID-10), with a shared bus and a host queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StripeConfig {
    /// Total number of disks, including copies.
    pub disks: u32,
    /// Stripe unit in bytes.
    pub unit: Bytes,
    /// Number of copies of all data.
    pub copies: u32,
    /// Bandwidth of the bus or host adapter that the disks share, in bytes per second; `None` if
    /// they do not share one.
    pub bus_rate_per_s: Option<Bytes>,
    /// Maximum size of a request that results from merging waiting requests; `None` to merge none.
    pub coalesce: Option<Bytes>,
}

impl Default for StripeConfig {
    fn default() -> Self {
        Self { disks: 1, unit: CHUNK, copies: 1, bus_rate_per_s: None, coalesce: None }
    }
}

/// A disk of either kind, or several.
#[derive(Clone, Debug)]
pub enum Drive {
    /// A disk with a command queue.
    Queued(Box<PowerManagedDisk<Disk>>),
    /// A disk with a segmented buffer.
    Classic(Box<PowerManagedDisk<ClassicDisk>>),
    /// A disk behind a host queue that merges requests.
    Coalesced(Box<Coalescer<Drive>>),
    /// Several disks as one.
    Striped(Box<Stripe<Drive>>),
}

impl Drive {
    /// Builds a single disk; `scheduler` overrides the configured policy.
    ///
    /// # Errors
    /// Returns an error if the config is inconsistent.
    pub fn new(
        config: &DriveConfig,
        scheduler: Option<SchedulingPolicy>,
    ) -> Result<Self, DiskConfigError> {
        match config {
            DriveConfig::Config(config) => {
                let mut config = config.clone();
                config.scheduler.policy = scheduler.unwrap_or(config.scheduler.policy);
                let disk = PowerManagedDisk::new(Disk::new(&config)?, &config.power)?;
                Ok(Self::Queued(Box::new(disk)))
            }
            DriveConfig::Classic(config) => {
                let mut config = config.clone();
                config.scheduler.policy = scheduler.unwrap_or(config.scheduler.policy);
                let drive = ClassicDisk::new(&config)?;
                let drive = match &config.power {
                    Some(power) => PowerManagedDisk::new(drive, power)?,
                    None => PowerManagedDisk::without_states(drive),
                };
                Ok(Self::Classic(Box::new(drive)))
            }
        }
    }

    /// Builds a stripe of copies of this disk.
    ///
    /// # Errors
    /// Returns an error if the disks cannot be striped.
    pub fn striped(self, stripe: StripeConfig) -> Result<Self, StripeError> {
        let StripeConfig { disks, unit, copies, bus_rate_per_s, coalesce } = stripe;
        let link = self.link_rate();
        let one = match coalesce {
            Some(most) => Self::Coalesced(Box::new(Coalescer::new(self, most))),
            None => self,
        };
        if coalesce.is_some() && stripe == (StripeConfig { coalesce, ..StripeConfig::default() }) {
            return Ok(one);
        }
        let mut members = Stripe::of(one, disks, unit)?.mirrored(copies)?;
        if let Some(rate) = bus_rate_per_s {
            members = members.on(SharedBus { rate, link })?;
        }
        Ok(Self::Striped(Box::new(members)))
    }

    /// Makes a single disk idle from time zero on, so that it can sleep before its first request; a
    /// stripe stays as it is.
    pub fn rest(&mut self) {
        match self {
            Self::Queued(disk) => disk.rest(),
            Self::Classic(drive) => drive.rest(),
            Self::Coalesced(_) | Self::Striped(_) => {}
        }
    }

    /// Bandwidth of a single disk's link, in bytes per second.
    fn link_rate(&self) -> Bytes {
        match self {
            Self::Queued(disk) => disk.disk().link_rate(),
            Self::Classic(drive) => drive.disk().link_rate(),
            Self::Coalesced(drive) => drive.device().link_rate(),
            Self::Striped(stripe) => stripe.members().iter().map(Self::link_rate).sum(),
        }
    }

    /// The disks in the drive.
    pub fn disks(&self) -> &[Self] {
        match self {
            Self::Striped(stripe) => stripe.members(),
            one => std::slice::from_ref(one),
        }
    }

    /// Counters of a single disk; zero for a stripe.
    pub fn stats(&self) -> DiskStats {
        match self {
            Self::Queued(disk) => disk.disk().stats(),
            Self::Classic(drive) => drive.disk().stats(),
            Self::Coalesced(drive) => drive.device().stats(),
            Self::Striped(_) => DiskStats::default(),
        }
    }

    /// Number of requests that were merged into others before a single disk.
    pub fn joined(&self) -> u64 {
        match self {
            Self::Coalesced(drive) => drive.joined(),
            _ => 0,
        }
    }

    /// Low-power statistics of a single disk up to `now`, and the energy of a run of length `run`;
    /// `None` for a stripe.
    pub fn energy_use(&self, power: &PowerConfig, now: Ns, run: Ns) -> Option<EnergyUse> {
        match self {
            Self::Queued(disk) => Some(disk.energy_use(power, now, run)),
            Self::Classic(drive) => Some(drive.energy_use(power, now, run)),
            Self::Coalesced(drive) => drive.device().energy_use(power, now, run),
            Self::Striped(_) => None,
        }
    }

    fn device(&self) -> &dyn Device {
        match self {
            Self::Queued(disk) => &**disk,
            Self::Classic(drive) => &**drive,
            Self::Coalesced(drive) => &**drive,
            Self::Striped(stripe) => &**stripe,
        }
    }
}

impl Device for Drive {
    fn capacity(&self) -> Bytes {
        self.device().capacity()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        match self {
            Self::Queued(disk) => disk.submit(at, id, request),
            Self::Classic(drive) => drive.submit(at, id, request),
            Self::Coalesced(drive) => drive.submit(at, id, request),
            Self::Striped(stripe) => stripe.submit(at, id, request),
        }
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        match self {
            Self::Queued(disk) => disk.enlarge(id, request),
            Self::Classic(drive) => drive.enlarge(id, request),
            Self::Coalesced(_) | Self::Striped(_) => false,
        }
    }

    fn next_event(&self) -> Option<Ns> {
        match self {
            Self::Queued(disk) => disk.next_event(),
            Self::Classic(drive) => drive.next_event(),
            Self::Coalesced(drive) => drive.next_event(),
            Self::Striped(stripe) => stripe.next_event(),
        }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        match self {
            Self::Queued(disk) => disk.step(completed),
            Self::Classic(drive) => drive.step(completed),
            Self::Coalesced(drive) => drive.step(completed),
            Self::Striped(stripe) => stripe.step(completed),
        }
    }

    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        match self {
            Self::Queued(disk) => disk.advance(until, completed),
            Self::Classic(drive) => drive.advance(until, completed),
            Self::Coalesced(drive) => drive.advance(until, completed),
            Self::Striped(stripe) => stripe.advance(until, completed),
        }
    }

    fn usage(&self) -> Usage {
        self.device().usage()
    }
}
