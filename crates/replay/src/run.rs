//! Shared parts of runs on any device: results, parallel execution, and the scan of a trace before
//! it is replayed.

use crate::ReplayError;
use crate::config::{Fit, HostConfig, LoadConfig, PacingKind, QueueBy, TraceLoad};
use crate::host::HostPolicy;
use crate::load::SyntheticLoad;
use crate::results::report::{LeftOut, Provenance, Report, TraceProvenance};
use crate::results::tables::Tables;
use crate::threads::on_all_cores;
use crate::trace::{TraceSource, TraceSurvey, survey};
use gordon_trace::Trace;
use gordon_trace::formats::{Format, FormatError};
use gordon_units::{Bytes, Ns, Progress};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// Result of a run.
#[derive(Debug)]
pub struct RunResult<D> {
    /// The summary.
    pub report: Report<D>,
    /// Tables by name.
    pub tables: Tables,
    /// Reason why the requested checkpoint was not written; `None` if it was, or none was
    /// requested.
    pub checkpoint_error: Option<ReplayError>,
}

/// Result of a run, or the reason why there is none.
pub type RunOutcome<D> = Result<RunResult<D>, ReplayError>;

/// Runs all `configs` in parallel on all cores, with one device each. Results are in the order of
/// the configs and independent of the number of threads. `ready` checks all configs before any of
/// them runs. `progress` counts the steps of all runs.
///
/// # Errors
/// Returns the index and the error of the first config that cannot be run.
pub fn all<C: Sync, R: Send, D: Send>(
    configs: &[C],
    ready: impl Fn(&C, &Progress) -> Result<R, ReplayError> + Sync,
    run: fn(R, &Progress) -> RunOutcome<D>,
    progress: &Progress,
) -> Result<Vec<RunResult<D>>, (usize, ReplayError)> {
    on_all_cores(|| {
        let ready = configs.par_iter().map(|config| ready(config, progress));
        let ready = in_order(ready.collect())?;
        in_order(ready.into_par_iter().map(|ready| run(ready, progress)).collect())
    })
}

fn in_order<T>(ended: Vec<Result<T, ReplayError>>) -> Result<Vec<T>, (usize, ReplayError)> {
    let numbered = ended.into_iter().enumerate();
    numbered.map(|(at, ended)| ended.map_err(|error| (at, error))).collect()
}

/// A load that is known to fit its device, and how it is issued.
pub(crate) struct ValidatedLoad {
    pub source: LoadSource,
    pub policy: HostPolicy,
    pub warnings: Vec<String>,
}

/// Source of the requests of a run.
pub(crate) enum LoadSource {
    Bench(Box<SyntheticLoad>),
    Trace(Box<TraceLoad>, Box<TraceScan>),
}

/// Checks that a device of this capacity can serve `load`; `span` is the default span of a
/// synthetic load.
pub(crate) fn validate_load(
    load: &LoadConfig,
    host: &HostConfig,
    (capacity, span): (Bytes, Option<Bytes>),
    seed: u64,
    progress: &Progress,
) -> Result<ValidatedLoad, ReplayError> {
    let (source, pacing, queues, requests, mut warnings) = match load {
        LoadConfig::Bench(bench) => {
            let mut bench = bench.clone();
            bench.span = bench.span.or(span);
            let pacing =
                if bench.every.is_some() { PacingKind::Arrival } else { PacingKind::Closed };
            let load = bench.resolve(capacity, seed)?;
            let requests = load.requests();
            let load = LoadSource::Bench(Box::new(load));
            (load, pacing, bench.queues.unwrap_or(1) as usize, requests, Vec::new())
        }
        LoadConfig::Trace(trace) => {
            let mut scan = scan_trace(host, trace, capacity, progress)?;
            let warnings = std::mem::take(&mut scan.warnings);
            let (pacing, queues) = (scan.pacing, scan.survey.queues.len());
            let requests = scan.survey.requests * u64::from(trace.repeat);
            (
                LoadSource::Trace(Box::new(trace.clone()), Box::new(scan)),
                pacing,
                queues,
                requests,
                warnings,
            )
        }
    };
    let policy = host.resolve(pacing, queues)?;
    warnings.extend(host.unused_weights_warning(&policy, queues));
    progress.total.fetch_add(requests, Ordering::Relaxed);
    Ok(ValidatedLoad { source, policy, warnings })
}

/// Result of the scan of a trace before the run.
pub(crate) struct TraceScan {
    pub survey: TraceSurvey,
    /// Default pacing.
    pub pacing: PacingKind,
    /// Duration of the load at its own times, with repetitions and the configured speed.
    pub span: Ns,
    pub trace: TraceProvenance,
    pub warnings: Vec<String>,
}

pub(crate) fn open(host: &HostConfig, trace: &TraceLoad) -> Result<TraceSource, ReplayError> {
    let timed = host.pacing.is_none_or(|pacing| pacing == PacingKind::Arrival);
    TraceSource::open(trace, host.queue_by, timed)
}

/// Reads a trace once.
pub(crate) fn scan_trace(
    host: &HostConfig,
    trace: &TraceLoad,
    capacity: Bytes,
    progress: &Progress,
) -> Result<TraceScan, ReplayError> {
    if trace.repeat == 0 {
        let why = "0 times is not a run";
        return Err(ReplayError::impossible("load.trace.repeat", why, "at least 1"));
    }
    let mut source = open(host, trace)?;
    let survey = survey(&mut source, &trace.path, capacity, host.fit == Fit::Wrap, progress)?;
    let (format, counts, devices) = (source.format(), source.counts(), source.devices());
    let mut warnings = Vec::new();
    // The device column of MQSim traces selects one of its simulated devices; here there is one.
    if devices.len() > 1 && format != Format::MQSIM {
        warnings.push(format!(
            "the trace has requests of {} devices ({}); all go to the one simulated device, at \
             their own addresses; --device picks one",
            devices.len(),
            devices.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ));
    }
    warnings.extend(source.note().doubts.iter().map(|doubt| format!("implausible: {doubt}")));
    warnings.extend(source.notes());
    let gaps = format == Format::DisksimValidate;
    if !gaps && host.pacing == Some(PacingKind::Gaps) {
        warnings.push(format!(
            "format {format} has no gaps: each request is issued as one before it completes"
        ));
    }
    if host.queue_by == QueueBy::Process && !source.has_processes() {
        warnings.push(format!(
            "format {format} does not say which process asked: all requests go to one queue"
        ));
    }
    let provenance = TraceProvenance {
        input: source.note().clone(),
        format: format.name(),
        requests: survey.requests,
        end_bytes: survey.end.0,
        left_out: LeftOut::new(&counts, source.first_skipped()),
        crc32: format!("{:08x}", survey.crc32),
    };
    let pacing = match source.note().time_unit_ns {
        _ if gaps => PacingKind::Gaps,
        // Without times, arrivals are unknown.
        None => PacingKind::Closed,
        Some(_) => PacingKind::Arrival,
    };
    let span = whole_span(&survey, trace, format)?;
    let speed = match host.pacing.unwrap_or(pacing) {
        PacingKind::Arrival => host.speed,
        PacingKind::Closed | PacingKind::Gaps => 1.0,
    };
    let span =
        Ns::from_secs(span.as_secs() * f64::from(trace.repeat) / speed.max(f64::MIN_POSITIVE));
    Ok(TraceScan { survey, pacing, span, trace: provenance, warnings })
}

/// Duration of a trace. For a trace of `gordon capture` it is the run time of the traced command,
/// since its requests may be only a burst. For all others, also a block log that is a single file,
/// it is the time from the first to the last request.
fn whole_span(survey: &TraceSurvey, trace: &TraceLoad, format: Format) -> Result<Ns, ReplayError> {
    let of_requests = survey.span();
    if format != Format::Gordon || trace.path.is_file() {
        return Ok(of_requests);
    }
    let whole = Trace::open(&trace.path).map_err(FormatError::from)?.manifest().duration;
    Ok(whole.max(of_requests))
}

/// Provenance of the result of a run.
pub(crate) fn provenance(
    seed: u64,
    config: &impl Serialize,
    trace: Option<TraceProvenance>,
) -> Provenance {
    Provenance {
        version: env!("CARGO_PKG_VERSION"),
        seed,
        config: serde_json::to_value(config).expect("a config that was parsed can be written"),
        trace,
    }
}
