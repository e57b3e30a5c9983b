//! One run, from its config to its result; many at once.

use crate::ReplayError;
use crate::config::{Fit, LoadConfig, PacingKind, RunConfig, TraceLoad};
use crate::host::{Rules, drive};
use crate::results::Recorder;
use crate::results::flash::FlashReport;
use crate::results::log::RequestLog;
use crate::results::report::{Provenance, Report, TraceProvenance};
use crate::results::tables::{Tables, tables};
use crate::source::{Repeat, Source};
use crate::trace::{Survey, TraceSource, survey};
use gordon_device::ssd::Ssd;
use gordon_device::{Device, SECTOR};
use gordon_trace::formats::Format;
use gordon_units::Bytes;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Lets another thread watch a run and end it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests handed to the device, about.
    pub done: AtomicU64,
    /// Requests in all; 0 until known.
    pub total: AtomicU64,
    /// Set to stop early.
    pub stop: AtomicBool,
}

/// What a run comes to.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The summary.
    pub report: Report,
    /// The columns, by name.
    pub tables: Tables,
}

/// Runs `config`, watched through `progress`.
///
/// # Errors
/// A value that cannot be, a trace that cannot be read or does not fit, a stop.
pub fn run(config: &RunConfig, progress: &Progress) -> Result<RunResult, ReplayError> {
    let scaled;
    let config = match config.capacity {
        None => config,
        Some(capacity) => {
            scaled = RunConfig {
                device: config.device.clone().with_capacity(capacity),
                capacity: None,
                ..config.clone()
            };
            &scaled
        }
    };
    if let Some(fraction) = config.precondition
        && !(0.0..=1.0).contains(&fraction)
    {
        let why = format!("{fraction} is not a part of the capacity");
        return Err(ReplayError::impossible("precondition", why, "a number from 0 to 1"));
    }
    let mut ssd = Ssd::with_seed(&config.device, config.seed)?;
    let capacity = ssd.capacity();
    match &config.load {
        LoadConfig::Bench(bench) => {
            let mut bench = bench.clone();
            if let (None, Some(fraction)) = (bench.span, config.precondition.filter(|f| *f > 0.0)) {
                bench.span = Some(part(capacity, fraction));
            }
            let load = bench.resolve(capacity, config.seed)?;
            let queues = bench.queues.unwrap_or(1) as usize;
            let default =
                if bench.every.is_some() { PacingKind::Arrival } else { PacingKind::Closed };
            let rules = config.host.resolve(default, queues)?;
            progress.total.fetch_add(bench.requests, Ordering::Relaxed);
            preload(&mut ssd, [(0, load.preloaded().0)]);
            replay(config, ssd, load, &rules, (None, Vec::new()), progress)
        }
        LoadConfig::Trace(trace) => {
            let found = look_through(config, trace, capacity)?;
            let rules = config.host.resolve(found.pacing, found.survey.queues.len())?;
            let total = found.survey.requests * u64::from(trace.repeat);
            progress.total.fetch_add(total, Ordering::Relaxed);
            preload(&mut ssd, found.survey.reads.ranges());
            let open = || open(config, trace);
            let load = Repeat::new(open, trace.repeat);
            replay(config, ssd, load, &rules, (found.trace, found.warnings), progress)
        }
    }
}

/// Runs `configs` on all cores, one device each; results in their order, and the same for any
/// number of threads. `progress` counts the requests of all.
pub fn run_all(configs: &[RunConfig], progress: &Progress) -> Vec<Result<RunResult, ReplayError>> {
    configs.par_iter().map(|config| run(config, progress)).collect()
}

/// What was learned of a load before the run.
struct Found {
    survey: Survey,
    /// How it is paced if nothing else is said.
    pacing: PacingKind,
    trace: Option<TraceProvenance>,
    warnings: Vec<String>,
}

fn open(config: &RunConfig, trace: &TraceLoad) -> Result<TraceSource, ReplayError> {
    let timed = config.host.pacing.is_none_or(|pacing| pacing == PacingKind::Arrival);
    TraceSource::open(trace, config.host.queue_by, timed)
}

fn look_through(
    config: &RunConfig,
    trace: &TraceLoad,
    capacity: Bytes,
) -> Result<Found, ReplayError> {
    if trace.repeat == 0 {
        let why = "0 times is not a run";
        return Err(ReplayError::impossible("load.trace.repeat", why, "at least 1"));
    }
    let mut source = open(config, trace)?;
    let survey = survey(&mut source, &trace.path, capacity, config.host.fit == Fit::Wrap)?;
    let (format, counts, devices) = (source.format(), source.counts(), source.devices());
    let mut warnings = Vec::new();
    // MQSim's column of devices says which of its own simulated ones; here there is one.
    if devices.len() > 1 && format != Format::Mqsim {
        warnings.push(format!(
            "the trace has requests of {} devices ({}); all go to the one simulated device, at \
             their own addresses; --device picks one",
            devices.len(),
            devices.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(first) = source.first_skipped() {
        let skipped = counts.skipped;
        warnings.push(format!("{skipped} malformed were left out, the first: {first}"));
    }
    if counts.clamped > 0 && trace.order.is_some() {
        let clamped = counts.clamped;
        warnings
            .push(format!("{clamped} requests came before their predecessor: its time is taken"));
    }
    let gaps = format == Format::DisksimValidate;
    if !gaps && config.host.pacing == Some(PacingKind::Gaps) {
        warnings.push(format!(
            "format {format} has no gaps: each request is issued as one before it completes"
        ));
    }
    let provenance = TraceProvenance {
        format: format.name(),
        requests: survey.requests,
        end_bytes: survey.end.0,
        skipped: counts.skipped,
        first_skipped: source.first_skipped().map(str::to_owned),
        clamped: counts.clamped,
        extended: counts.aligned,
        empty: counts.empty,
        other_devices: counts.other_devices,
        other_kinds: counts.other_kinds,
        crc32: format!("{:08x}", survey.crc32),
    };
    let pacing = if gaps { PacingKind::Gaps } else { PacingKind::Arrival };
    Ok(Found { survey, pacing, trace: Some(provenance), warnings })
}

fn preload(ssd: &mut Ssd, ranges: impl IntoIterator<Item = (u64, u64)>) {
    let capacity = ssd.capacity().0;
    for (start, end) in ranges {
        // Ranges come in whole grains, the capacity in sectors.
        ssd.preload(Bytes(start), Bytes(end.min(capacity) - start));
    }
}

/// A part of the capacity, in whole sectors.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn part(capacity: Bytes, fraction: f64) -> Bytes {
    let sectors = (capacity.0 / SECTOR.0) as f64 * fraction;
    SECTOR * (sectors as u64)
}

fn replay(
    config: &RunConfig,
    mut ssd: Ssd,
    load: impl Source,
    rules: &Rules,
    (trace, mut warnings): (Option<TraceProvenance>, Vec<String>),
    progress: &Progress,
) -> Result<RunResult, ReplayError> {
    match config.precondition {
        Some(fraction) => ssd.precondition(fraction),
        None => ssd.load(),
    }
    let log = config.requests_out.as_deref().map(RequestLog::create).transpose()?;
    let mut recorder = Recorder::new(&ssd, rules.weights.len(), log);
    let outcome = drive(&mut ssd, load, rules, &mut recorder, progress)?;
    let (run, recorded) = recorder.finish(&ssd)?;
    let flash = FlashReport::of(&ssd, &config.device, outcome.simulated, &recorded);
    if flash.unmapped_reads > 0 {
        warnings.push(format!(
            "{} pieces of reads found nothing mapped and returned zeros in no time",
            flash.unmapped_reads
        ));
    }
    if let Some((at, bytes)) = recorded.worn_out {
        warnings.push(format!(
            "the device wore out {at} into the run, after {} of writes: {} of {} requests failed, \
             and count neither in latencies nor in rates",
            Bytes(bytes),
            outcome.failed,
            outcome.requests
        ));
    } else if flash.worn_out {
        warnings.push("the device wore out with the last writes of the run".into());
    }
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION"),
        seed: config.seed,
        config: serde_json::to_value(config).expect("a config that was parsed can be written"),
        trace,
    };
    let tables = tables(&run, &recorded, &ssd, &config.device);
    let report =
        Report::new(&outcome, &run, &recorded, &rules.weights, flash, warnings, provenance);
    Ok(RunResult { report, tables })
}
