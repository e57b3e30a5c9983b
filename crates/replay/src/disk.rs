//! A run on a hard disk, from its config to its result.

use crate::ReplayError;
use crate::config::{HostConfig, LoadConfig};
use crate::host::{HostPolicy, drive};
use crate::results::Recorder;
use crate::results::disk::DiskReport;
use crate::results::log::RequestLog;
use crate::results::report::{Report, TraceProvenance};
use crate::results::responses::Responses;
use crate::results::series::SampledDevice;
use crate::results::tables;
use crate::run::{self, LoadSource, ValidatedLoad, open, provenance, validate_load};
use crate::source::{Repeat, RequestSource};
use gordon_blockio::Device;
use gordon_hdd as disk;
use gordon_hdd::classic::{ClassicConfig, ClassicDisk};
use gordon_hdd::diskspecs;
use gordon_hdd::drive::{Drive, DriveConfig, StripeConfig};
use gordon_hdd::{DiskStats, SchedulingPolicy};
use gordon_units::{Ns, Progress};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Result of a run on a disk.
pub type RunResult = run::RunResult<DiskReport>;

/// Configuration of a run on a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskRunConfig {
    /// The disk.
    pub device: DiskDevice,
    /// Stripe over several such disks; `None` for a single one.
    #[serde(default)]
    pub stripe: Option<StripeConfig>,
    /// Scheduling policy; `None` for that of the disk.
    #[serde(default)]
    pub scheduler: Option<SchedulingPolicy>,
    /// The load.
    pub load: LoadConfig,
    /// How the host issues the load.
    #[serde(default)]
    pub host: HostConfig,
    /// Random seed of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Parquet file with one row per request.
    #[serde(default)]
    pub requests_out: Option<PathBuf>,
    /// File for response times: one line per request, in milliseconds.
    #[serde(default)]
    pub responses_out: Option<PathBuf>,
}

fn one() -> u64 {
    1
}

/// Description of a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskDevice {
    /// A disk with a command queue.
    Config(Box<disk::DiskConfig>),
    /// A disk with a segmented buffer.
    Classic(Box<ClassicConfig>),
    /// A `.diskspecs` file of DiskSim, and the files that it names.
    Diskspecs(PathBuf),
}

/// A disk whose description was read.
#[derive(Clone, Debug)]
pub struct DiskDescription {
    /// The configuration of the disk.
    pub config: DriveConfig,
    /// Warnings about parts of the description that are not simulated.
    pub warnings: Vec<String>,
}

impl DiskDescription {
    /// Builds a new disk, or a stripe of such disks.
    ///
    /// # Errors
    /// Returns an error if no disk can be built from the description.
    pub fn drive(
        &self,
        scheduler: Option<SchedulingPolicy>,
        stripe: Option<StripeConfig>,
    ) -> Result<Drive, ReplayError> {
        let drive = Drive::new(&self.config, scheduler)?;
        Ok(match stripe {
            Some(stripe) => drive.striped(stripe)?,
            None => drive,
        })
    }
}

impl DiskDevice {
    /// Reads the description.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or is invalid.
    pub fn description(&self) -> Result<DiskDescription, ReplayError> {
        let (config, warnings) = match self {
            Self::Config(config) => (DriveConfig::Config(config.clone()), Vec::new()),
            Self::Classic(config) => {
                (DriveConfig::Classic(config.clone()), ClassicDisk::new(config)?.warnings())
            }
            Self::Diskspecs(path) => {
                let config = diskspecs::read(path)?;
                let drive = ClassicDisk::new(&config)
                    .map_err(|error| diskspecs::SpecError::Drive { path: path.clone(), error })?;
                (DriveConfig::Classic(Box::new(config)), drive.warnings())
            }
        };
        Ok(DiskDescription { config, warnings })
    }

    /// Builds a new disk, or a stripe of such disks.
    ///
    /// # Errors
    /// Returns an error if the description cannot be read, or no disk can be built from it.
    pub fn drive(
        &self,
        scheduler: Option<SchedulingPolicy>,
        stripe: Option<StripeConfig>,
    ) -> Result<Drive, ReplayError> {
        self.description()?.drive(scheduler, stripe)
    }
}

impl SampledDevice for Drive {}

/// Runs `config`; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if the disk is invalid, the trace cannot be read or does not fit, or the run is
/// stopped.
pub fn run(config: &DiskRunConfig, progress: &Progress) -> Result<RunResult, ReplayError> {
    PreparedRun::new(config, progress)?.run(progress)
}

/// A run whose configuration has been checked.
pub struct PreparedRun {
    config: DiskRunConfig,
    made: (Drive, DiskDescription),
    load: ValidatedLoad,
}

impl PreparedRun {
    /// Checks `config` and scans its trace.
    ///
    /// # Errors
    /// Returns an error if the disk is invalid, the trace cannot be read or does not fit, or the
    /// scan is stopped.
    pub fn new(config: &DiskRunConfig, progress: &Progress) -> Result<Self, ReplayError> {
        let described = config.device.description()?;
        let disk = described.drive(config.scheduler, config.stripe)?;
        let room = (disk.capacity(), None);
        let load = validate_load(&config.load, &config.host, room, config.seed, progress)?;
        Ok(Self { config: config.clone(), made: (disk, described), load })
    }

    /// Executes the run.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if the run is stopped.
    pub fn run(self, progress: &Progress) -> Result<RunResult, ReplayError> {
        let Self { config, made, load: ValidatedLoad { source, policy, warnings } } = self;
        match source {
            LoadSource::Bench(load) => {
                replay(&config, made, *load, &policy, (None, warnings), progress)
            }
            LoadSource::Trace(trace, scan) => {
                let load = Repeat::new(|| open(&config.host, &trace), trace.repeat);
                replay(&config, made, load, &policy, (Some(scan.trace), warnings), progress)
            }
        }
    }
}

fn replay(
    config: &DiskRunConfig,
    (mut disk, described): (Drive, DiskDescription),
    load: impl RequestSource,
    policy: &HostPolicy,
    (trace, scan): (Option<TraceProvenance>, Vec<String>),
    progress: &Progress,
) -> Result<RunResult, ReplayError> {
    let DiskDescription { config: of, mut warnings } = described;
    let (name, power) = (of.summary().to_owned(), of.power());
    warnings.extend(scan);
    let log = config.requests_out.as_deref().map(RequestLog::create).transpose()?;
    let responses = config.responses_out.as_deref().map(Responses::create).transpose()?;
    let recorder = Recorder::new(&disk, policy.weights.len(), log);
    let mut recorder = recorder.with_responses(responses);
    let outcome = drive(&mut disk, load, policy, &mut recorder, progress)?;
    let (run, recorded) = recorder.finish(&disk)?;
    let disks = disk.disks();
    let stats: Vec<DiskStats> = disks.iter().map(Drive::stats).collect();
    let mut report = DiskReport::of(name, &stats, disk.usage(), outcome.simulated, &recorded);
    for one in disks {
        report.coalesced += one.joined();
        // Low-power states count up to the end of the run.
        let energy_use = power.and_then(|power| one.energy_use(power, Ns::ZERO, outcome.simulated));
        if let (Some(energy_use), Some(power)) = (energy_use, power) {
            report.add_energy(&energy_use, power);
        }
    }
    let mut provenance = provenance(config.seed, config, trace);
    if let (DiskDevice::Diskspecs(_), DriveConfig::Classic(read)) = (&config.device, of) {
        provenance.config["device"]["classic"] = serde_json::json!(read);
    }
    let report =
        Report::new(&outcome, &run, &recorded, &policy.weights, report, warnings, provenance);
    let tables = tables::of_disks(&run, &recorded, stats.len() as u64);
    Ok(RunResult { report, tables, checkpoint_error: None })
}
