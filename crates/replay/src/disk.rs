//! One run on a hard disk, from its config to its result.

use crate::ReplayError;
use crate::config::{HostConfig, LoadConfig, PacingKind};
use crate::diskspecs;
use crate::host::{Rules, drive};
use crate::results::Recorder;
use crate::results::disk::DiskReport;
use crate::results::log::RequestLog;
use crate::results::report::{Report, TraceProvenance};
use crate::results::responses::Responses;
use crate::results::series::Target;
use crate::results::tables;
use crate::run::{self, Progress, look_through, open, provenance};
use crate::source::{Repeat, Source};
use gordon_device::disk::classic::{Classic, ClassicConfig};
use gordon_device::disk::{self, Disk, Policy, PowerConfig, Sleeper, Stats};
use gordon_device::stripe::Stripe;
use gordon_device::{Completion, Device, Request, Usage};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What a run on a disk comes to.
pub type RunResult = run::RunResult<DiskReport>;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskRunConfig {
    /// The disk.
    pub device: DiskDevice,
    /// So many of it as one; without it, one.
    #[serde(default)]
    pub stripe: Option<StripeConfig>,
    /// Which request comes next, where several wait; without it, as the disk has it.
    #[serde(default)]
    pub scheduler: Option<Policy>,
    /// What it is asked for.
    pub load: LoadConfig,
    /// How.
    #[serde(default)]
    pub host: HostConfig,
    /// Every random number follows from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// A Parquet file for a row for each request.
    #[serde(default)]
    pub requests_out: Option<PathBuf>,
    /// A file for the response time of each request, a line of milliseconds each.
    #[serde(default)]
    pub responses_out: Option<PathBuf>,
}

fn one() -> u64 {
    1
}

/// A disk, as it is described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskDevice {
    /// By a config of ours.
    Config(Box<disk::Config>),
    /// By one of a drive that carries out one command at a time.
    Classic(Box<ClassicConfig>),
    /// By a `.diskspecs` file of DiskSim's and those that it names.
    Diskspecs(PathBuf),
}

/// Several disks as one (RAID-0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StripeConfig {
    /// How many.
    pub disks: u32,
    /// What lies on one before the next has its turn.
    pub unit: Bytes,
}

/// Disks at most: more than any shelf has.
const DISKS: u32 = 1024;

/// A disk of either kind, or several.
#[derive(Clone, Debug)]
enum Drive {
    Queued(Box<Sleeper<Disk>>),
    Classic(Box<Classic>),
    Striped(Box<Stripe<Drive>>),
}

/// A disk that was built.
struct Made {
    disk: Drive,
    name: String,
    /// What it draws, if that is known.
    power: Option<PowerConfig>,
    /// What its description says and it does not do.
    warnings: Vec<String>,
}

impl Drive {
    /// Builds it.
    fn made(device: &DiskDevice, scheduler: Option<Policy>) -> Result<Made, ReplayError> {
        match device {
            DiskDevice::Config(config) => {
                let mut config = config.clone();
                config.scheduler.policy = scheduler.unwrap_or(config.scheduler.policy);
                let disk = Sleeper::new(Disk::new(&config)?, &config.power)?;
                let (name, power) = (config.summary.clone(), Some(config.power));
                Ok(Made { disk: Self::Queued(Box::new(disk)), name, power, warnings: Vec::new() })
            }
            DiskDevice::Classic(config) => {
                let mut config = config.clone();
                config.scheduler.policy = scheduler.unwrap_or(config.scheduler.policy);
                let disk = Self::Classic(Box::new(Classic::new(&config)?));
                let (name, power) = (config.summary, config.power);
                Ok(Made { disk, name, power, warnings: Vec::new() })
            }
            DiskDevice::Diskspecs(path) => {
                let (mut config, warnings) = diskspecs::read(path)?;
                config.scheduler.policy = scheduler.unwrap_or(config.scheduler.policy);
                let drive = Classic::new(&config)
                    .map_err(|error| diskspecs::SpecError::Drive { path: path.clone(), error })?;
                let (name, power) = (config.summary, config.power);
                Ok(Made { disk: Self::Classic(Box::new(drive)), name, power, warnings })
            }
        }
    }

    /// So many of it as one.
    fn striped(self, stripe: StripeConfig) -> Result<Self, ReplayError> {
        let StripeConfig { disks, unit } = stripe;
        if disks > DISKS {
            let why = format!("{disks} disks, more than {DISKS}");
            return Err(ReplayError::impossible("stripe", why, "fewer"));
        }
        let members = vec![self; disks as usize];
        let striped = Stripe::new(members, unit);
        Ok(Self::Striped(Box::new(striped?)))
    }

    /// The disks that it is made of.
    fn disks(&self) -> &[Self] {
        match self {
            Self::Striped(stripe) => stripe.members(),
            one => std::slice::from_ref(one),
        }
    }

    /// What a single one did.
    fn stats(&self) -> Stats {
        match self {
            Self::Queued(disk) => disk.disk().stats(),
            Self::Classic(drive) => drive.stats(),
            Self::Striped(_) => Stats::default(),
        }
    }
}

impl Device for Drive {
    fn capacity(&self) -> Bytes {
        match self {
            Self::Queued(disk) => disk.capacity(),
            Self::Classic(drive) => drive.capacity(),
            Self::Striped(stripe) => stripe.capacity(),
        }
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        match self {
            Self::Queued(disk) => disk.submit(at, id, request),
            Self::Classic(drive) => drive.submit(at, id, request),
            Self::Striped(stripe) => stripe.submit(at, id, request),
        }
    }

    fn next_event(&self) -> Option<Ns> {
        match self {
            Self::Queued(disk) => disk.next_event(),
            Self::Classic(drive) => drive.next_event(),
            Self::Striped(stripe) => stripe.next_event(),
        }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        match self {
            Self::Queued(disk) => disk.step(completed),
            Self::Classic(drive) => drive.step(completed),
            Self::Striped(stripe) => stripe.step(completed),
        }
    }

    fn usage(&self) -> Usage {
        match self {
            Self::Queued(disk) => disk.usage(),
            Self::Classic(drive) => drive.usage(),
            Self::Striped(stripe) => stripe.usage(),
        }
    }
}

impl Target for Drive {}

/// Runs `config`, watched through `progress`.
///
/// # Errors
/// A disk that cannot be, a trace that cannot be read or does not fit, a stop.
pub fn run(config: &DiskRunConfig, progress: &Progress) -> Result<RunResult, ReplayError> {
    let mut made = Drive::made(&config.device, config.scheduler)?;
    if let Some(stripe) = config.stripe {
        made.disk = made.disk.striped(stripe)?;
    }
    let capacity = made.disk.capacity();
    match &config.load {
        LoadConfig::Bench(bench) => {
            let load = bench.clone().resolve(capacity, config.seed)?;
            let queues = bench.queues.unwrap_or(1) as usize;
            let default =
                if bench.every.is_some() { PacingKind::Arrival } else { PacingKind::Closed };
            let rules = config.host.resolve(default, queues)?;
            progress.total.fetch_add(bench.requests, Ordering::Relaxed);
            replay(config, made, load, &rules, (None, Vec::new()), progress)
        }
        LoadConfig::Trace(trace) => {
            let found = look_through(&config.host, trace, capacity)?;
            let rules = config.host.resolve(found.pacing, found.survey.queues.len())?;
            let total = found.survey.requests * u64::from(trace.repeat);
            progress.total.fetch_add(total, Ordering::Relaxed);
            let open = || open(&config.host, trace);
            let load = Repeat::new(open, trace.repeat);
            replay(config, made, load, &rules, (Some(found.trace), found.warnings), progress)
        }
    }
}

fn replay(
    config: &DiskRunConfig,
    made: Made,
    load: impl Source,
    rules: &Rules,
    (trace, found): (Option<TraceProvenance>, Vec<String>),
    progress: &Progress,
) -> Result<RunResult, ReplayError> {
    let Made { mut disk, name, power, mut warnings } = made;
    warnings.extend(found);
    let log = config.requests_out.as_deref().map(RequestLog::create).transpose()?;
    let responses = config.responses_out.as_deref().map(Responses::create).transpose()?;
    let recorder = Recorder::new(&disk, rules.weights.len(), log);
    let mut recorder = recorder.with_responses(responses);
    let outcome = drive(&mut disk, load, rules, &mut recorder, progress)?;
    let (run, recorded) = recorder.finish(&disk)?;
    let disks = disk.disks();
    let stats: Vec<Stats> = disks.iter().map(Drive::stats).collect();
    let mut report = DiskReport::of(name, &stats, disk.usage(), outcome.simulated, &recorded);
    for one in disks {
        if let (Drive::Queued(one), Some(power)) = (one, &power) {
            report.draw(one, power, outcome.simulated);
        }
    }
    let provenance = provenance(config.seed, config, trace);
    let report =
        Report::new(&outcome, &run, &recorded, &rules.weights, report, warnings, provenance);
    let tables =
        vec![("latency", tables::latency(&recorded)), ("outstanding", tables::outstanding(&run))];
    Ok(RunResult { report, tables })
}
