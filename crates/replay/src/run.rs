//! What runs on any device share: how they are watched, what they come to, what is to be known of a
//! trace before it is replayed.

use crate::ReplayError;
use crate::config::{Fit, HostConfig, PacingKind, QueueBy, TraceLoad};
use crate::results::report::{LeftOut, Provenance, Report, TraceProvenance};
use crate::results::tables::Tables;
use crate::trace::{Survey, TraceSource, survey};
use gordon_trace::formats::Format;
use gordon_units::{Bytes, Watch};
use rayon::prelude::*;
use serde::Serialize;

/// What a run comes to.
#[derive(Clone, Debug)]
pub struct RunResult<D> {
    /// The summary.
    pub report: Report<D>,
    /// The columns, by name.
    pub tables: Tables,
}

/// How a run ends.
pub type Ended<D> = Result<RunResult<D>, ReplayError>;

/// Runs all `configs` on all cores, one device each; results in their order, and the same for any
/// number of threads. `progress` counts the requests of all.
pub fn all<C: Sync, D: Send>(
    configs: &[C],
    run: fn(&C, &Watch) -> Ended<D>,
    progress: &Watch,
) -> Vec<Ended<D>> {
    configs.par_iter().map(|config| run(config, progress)).collect()
}

/// What was learned of a load before the run.
pub(crate) struct Found {
    pub survey: Survey,
    /// How it is paced if nothing else is said.
    pub pacing: PacingKind,
    pub trace: TraceProvenance,
    pub warnings: Vec<String>,
}

pub(crate) fn open(host: &HostConfig, trace: &TraceLoad) -> Result<TraceSource, ReplayError> {
    let timed = host.pacing.is_none_or(|pacing| pacing == PacingKind::Arrival);
    TraceSource::open(trace, host.queue_by, timed)
}

/// Reads a trace once through.
pub(crate) fn look_through(
    host: &HostConfig,
    trace: &TraceLoad,
    capacity: Bytes,
) -> Result<Found, ReplayError> {
    if trace.repeat == 0 {
        let why = "0 times is not a run";
        return Err(ReplayError::impossible("load.trace.repeat", why, "at least 1"));
    }
    let mut source = open(host, trace)?;
    let survey = survey(&mut source, &trace.path, capacity, host.fit == Fit::Wrap)?;
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
        format: format.name(),
        requests: survey.requests,
        end_bytes: survey.end.0,
        left_out: LeftOut::new(&counts, source.first_skipped()),
        crc32: format!("{:08x}", survey.crc32),
    };
    let pacing = if gaps { PacingKind::Gaps } else { PacingKind::Arrival };
    Ok(Found { survey, pacing, trace: provenance, warnings })
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
