//! One run on a flash device, from its config to its result.

use crate::ReplayError;
use crate::checkpoint;
use crate::config::{LoadConfig, PacingKind, RunConfig};
use crate::host::{Rules, drive};
use crate::results::Recorder;
use crate::results::flash::{FlashReport, table_warning};
use crate::results::log::RequestLog;
use crate::results::report::{Report, TraceProvenance};
use crate::results::tables::tables;
use crate::run::{self, look_through, open, provenance};
use crate::source::{Repeat, Source};
use gordon_device::ssd::Ssd;
use gordon_device::{Device, SECTOR};
use gordon_units::{Bytes, Watch};
use std::sync::atomic::Ordering;

/// What a run on a flash device comes to.
pub type RunResult = run::RunResult<FlashReport>;

/// Runs `config`, watched through `progress`.
///
/// # Errors
/// A value that cannot be, a trace that cannot be read or does not fit, a stop.
pub fn run(config: &RunConfig, progress: &Watch) -> Result<RunResult, ReplayError> {
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
    if let Some(path) = &config.checkpoint {
        checkpoint::check(path)?;
    }
    let mut ssd = match &config.from_checkpoint {
        None => Ssd::with_seed(&config.device, config.seed)?,
        Some(_) if config.precondition.is_some() => {
            let why = "the device of a checkpoint is what it is";
            let hint = "leave it out, or precondition a new device";
            return Err(ReplayError::impossible("precondition", why, hint));
        }
        Some(path) => checkpoint::load(&config.device, path)?,
    };
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
            let warnings = Vec::from_iter(config.host.weightless(&rules, queues));
            progress.total.fetch_add(bench.requests, Ordering::Relaxed);
            if config.from_checkpoint.is_none() {
                preload(&mut ssd, [(0, load.preloaded().0)]);
            }
            replay(config, ssd, load, &rules, (None, warnings), progress)
        }
        LoadConfig::Trace(trace) => {
            let mut found = look_through(&config.host, trace, capacity)?;
            let queues = found.survey.queues.len();
            let rules = config.host.resolve(found.pacing, queues)?;
            found.warnings.extend(config.host.weightless(&rules, queues));
            let total = found.survey.requests * u64::from(trace.repeat);
            progress.total.fetch_add(total, Ordering::Relaxed);
            if config.from_checkpoint.is_none() {
                preload(&mut ssd, found.survey.reads.ranges());
            }
            let open = || open(&config.host, trace);
            let load = Repeat::new(open, trace.repeat);
            replay(config, ssd, load, &rules, (Some(found.trace), found.warnings), progress)
        }
    }
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
    progress: &Watch,
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
    warnings.extend(table_warning(&ssd, &config.device));
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
    let provenance = provenance(config.seed, config, trace);
    let tables = tables(&run, &recorded, &ssd, &config.device);
    let report =
        Report::new(&outcome, &run, &recorded, &rules.weights, flash, warnings, provenance);
    if let Some(path) = &config.checkpoint {
        checkpoint::save(&mut ssd, &config.device, path)?;
    }
    Ok(RunResult { report, tables })
}
