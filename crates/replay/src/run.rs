//! What runs on any device share: how they are watched, what they come to, what is to be known of a
//! trace before it is replayed.

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

/// What a run comes to.
#[derive(Debug)]
pub struct RunResult<D> {
    /// The summary.
    pub report: Report<D>,
    /// The columns, by name.
    pub tables: Tables,
    /// Why the device could not be kept in a file, where that was asked for.
    pub checkpoint_error: Option<ReplayError>,
}

/// How a run ends.
pub type RunOutcome<D> = Result<RunResult<D>, ReplayError>;

/// Runs all `configs` on all cores, one device each; results in their order, and the same for any
/// number of threads. All are made `ready` before any runs. `progress` counts the steps of all.
///
/// # Errors
/// The first that cannot be run, by its place, and why.
pub fn all<C: Sync, R: Send, D: Send>(
    configs: &[C],
    ready: fn(&C, &Progress) -> Result<R, ReplayError>,
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

/// A load that is known to fit its device, and how it gets there.
pub(crate) struct ValidatedLoad {
    pub source: LoadSource,
    pub policy: HostPolicy,
    pub warnings: Vec<String>,
}

/// What a device is asked for.
pub(crate) enum LoadSource {
    Bench(SyntheticLoad),
    Trace(Box<TraceLoad>, Box<TraceScan>),
}

/// Looks whether a device of this capacity can be asked for `load`; `span` is what a pattern runs
/// over where it does not say.
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
            let load = LoadSource::Bench(bench.resolve(capacity, seed)?);
            (load, pacing, bench.queues.unwrap_or(1) as usize, bench.requests, Vec::new())
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
    warnings.extend(host.weightless(&policy, queues));
    progress.total.fetch_add(requests, Ordering::Relaxed);
    Ok(ValidatedLoad { source, policy, warnings })
}

/// What was learned of a trace before the run.
pub(crate) struct TraceScan {
    pub survey: TraceSurvey,
    /// How it is paced if nothing else is said.
    pub pacing: PacingKind,
    /// How long the load takes by its own times, as often and as fast as it is replayed.
    pub span: Ns,
    pub trace: TraceProvenance,
    pub warnings: Vec<String>,
}

pub(crate) fn open(host: &HostConfig, trace: &TraceLoad) -> Result<TraceSource, ReplayError> {
    let timed = host.pacing.is_none_or(|pacing| pacing == PacingKind::Arrival);
    TraceSource::open(trace, host.queue_by, timed)
}

/// Reads a trace once through.
fn scan_trace(
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
    // MQSim's column of devices says which of its own simulated ones; here there is one.
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
        // Without times nothing says when a request arrives.
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

/// How long a trace is: a trace of our own, whose requests may be a burst of it, as long as the
/// command ran; another from its first request to its last.
fn whole_span(survey: &TraceSurvey, trace: &TraceLoad, format: Format) -> Result<Ns, ReplayError> {
    let of_requests = survey.span();
    if format != Format::Gordon {
        return Ok(of_requests);
    }
    let whole = Trace::open(&trace.path).map_err(FormatError::from)?.manifest().duration;
    Ok(whole.max(of_requests))
}

/// Where the result of a run comes from.
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
