//! A run on a flash device, from its config to its result.

use crate::ReplayError;
use crate::checkpoint;
use crate::config::RunConfig;
use crate::host::{HostPolicy, drive};
use crate::results::flash::{
    FlashReport, buffer_warning, spare_warning, table_warning, write_point_warning,
};
use crate::results::log::RequestLog;
use crate::results::report::{Report, TraceProvenance};
use crate::results::tables::tables;
use crate::results::{Recorder, counted};
use crate::run::{self, LoadSource, ValidatedLoad, open, provenance, validate_load};
use crate::source::{Repeat, RequestSource};
use gordon_blockio::{Device, SECTOR};
use gordon_ftl::VictimPolicy;
use gordon_ssd::{Ssd, SsdConfig, VictimChooser};
use gordon_units::{Bytes, Ns, Progress};
use std::sync::Arc;

/// Result of a run on a flash device.
pub type RunResult = run::RunResult<FlashReport>;

/// Runs `config`; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if a value is invalid, the trace cannot be read or does not fit, or the run is
/// stopped.
pub fn run(config: &RunConfig, progress: &Progress) -> Result<RunResult, ReplayError> {
    PreparedRun::new(config, progress)?.run(progress)
}

/// A run whose configuration has been checked as far as possible without preparing its device.
pub struct PreparedRun {
    config: RunConfig,
    load: ValidatedLoad,
    own: Option<OwnVictims>,
}

/// A policy of garbage collection that the caller brings.
#[derive(Clone, Debug)]
pub struct OwnVictims {
    /// Its name in results.
    pub name: String,
    /// It chooses the victims.
    pub chooser: Arc<dyn VictimChooser>,
}

impl PreparedRun {
    /// Checks `config` and scans its trace.
    ///
    /// # Errors
    /// Returns an error if a value is invalid, the trace cannot be read or does not fit, or the
    /// scan is stopped.
    pub fn new(config: &RunConfig, progress: &Progress) -> Result<Self, ReplayError> {
        let config = config.clone();
        if let Some(fraction) = config.precondition
            && !(0.0..=1.0).contains(&fraction)
        {
            let why = format!("{fraction} is not a part of the capacity");
            return Err(ReplayError::option("precondition", why, "a number from 0 to 1"));
        }
        if config.from_checkpoint.is_some() && config.precondition.is_some() {
            let why =
                "cannot be combined with --from-checkpoint: the checkpoint already has its data";
            return Err(ReplayError::option("precondition", why, "leave one of them out"));
        }
        if let Some(path) = &config.checkpoint {
            checkpoint::check(path)?;
        }
        if let Some(path) = &config.from_checkpoint {
            // The checkpoint is verified before the trace is scanned, which may take long.
            checkpoint::verify(&config.device, path, progress)?;
        }
        // The tables take no memory until they are used.
        let ssd = Ssd::with_seed(&config.device, config.seed)?;
        let capacity = ssd.capacity();
        let preconditioned = config.precondition.filter(|fraction| *fraction > 0.0);
        let span = preconditioned.map(|fraction| fraction_of(capacity, fraction));
        let RunConfig { load, host, seed, .. } = &config;
        let load = validate_load(load, host, (capacity, span), *seed, progress)?;
        Ok(Self { config, load, own: None })
    }

    /// Lets a policy choose the victims of garbage collection in place of the device's own. A
    /// preconditioned device still starts in the steady state of the latter.
    pub fn choose_victims_by(mut self, own: OwnVictims) -> Self {
        self.own = Some(own);
        self
    }

    /// Executes the run. A checkpoint that cannot be written is reported in the result.
    ///
    /// # Errors
    /// Returns an error if a checkpoint cannot be read, another file cannot be written, or the run
    /// is stopped.
    pub fn run(self, progress: &Progress) -> Result<RunResult, ReplayError> {
        let Self { config, load: ValidatedLoad { source, policy, warnings }, own } = self;
        let mut ssd = match &config.from_checkpoint {
            None => Ssd::with_seed(&config.device, config.seed)?,
            Some(path) => checkpoint::load(&config.device, path, progress)?,
        };
        let new = config.from_checkpoint.is_none();
        match source {
            LoadSource::Bench(load) => {
                if new {
                    preload(&mut ssd, [(0, load.preloaded().0)]);
                }
                let source = (None, Ns::ZERO, warnings);
                replay((&config, own), ssd, *load, &policy, source, progress)
            }
            LoadSource::Trace(trace, scan) => {
                if new {
                    preload(&mut ssd, scan.survey.reads.ranges());
                }
                let load = Repeat::new(|| open(&config.host, &trace), trace.repeat);
                let source = (Some(scan.trace), scan.span, warnings);
                replay((&config, own), ssd, load, &policy, source, progress)
            }
        }
    }
}

fn preload(ssd: &mut impl Device, ranges: impl IntoIterator<Item = (u64, u64)>) {
    let capacity = ssd.capacity().0;
    for (start, end) in ranges {
        // Ranges are in whole grains, while the capacity is in sectors.
        ssd.preload(Bytes(start), Bytes(end.min(capacity) - start));
    }
}

/// A warning if `ftl.choices` is given but the policy ignores it.
fn unused_choices_warning(config: &SsdConfig) -> Option<String> {
    let victim = config.ftl.victim.as_ref().map(|policy| **policy).unwrap_or_default();
    let given = config.ftl.choices.as_ref().filter(|_| victim != VictimPolicy::DChoices)?;
    Some(format!(
        "ftl.choices={} changes nothing: only d-choices chooses, and ftl.victim is another",
        **given
    ))
}

/// A fraction of the capacity, in whole sectors.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn fraction_of(capacity: Bytes, fraction: f64) -> Bytes {
    let sectors = (capacity.0 / SECTOR.0) as f64 * fraction;
    SECTOR * (sectors as u64)
}

fn replay(
    (config, own): (&RunConfig, Option<OwnVictims>),
    mut ssd: Ssd,
    load: impl RequestSource,
    policy: &HostPolicy,
    (trace, span, mut warnings): (Option<TraceProvenance>, Ns, Vec<String>),
    progress: &Progress,
) -> Result<RunResult, ReplayError> {
    match config.precondition {
        Some(fraction) => ssd.precondition(fraction, progress)?,
        None => ssd.load(progress)?,
    }
    let own_name = own.map(|own| {
        ssd.choose_victims_by(own.chooser);
        own.name
    });
    let worn_before = ssd.ftl().is_worn_out();
    let erased: Vec<u32> = ssd.erases().collect();
    let log = config.requests_out.as_deref().map(RequestLog::create).transpose()?;
    let mut recorder = Recorder::new(&ssd, policy.weights.len(), log);
    let outcome = drive(&mut ssd, load, policy, &mut recorder, progress)?;
    let (run, recorded) = recorder.finish(&ssd)?;
    let times = (outcome.simulated, span.max(outcome.simulated));
    let flash = FlashReport::of(&ssd, &config.device, times, &erased, &recorded);
    warnings.extend(table_warning(&ssd, &config.device));
    warnings.extend(spare_warning(&ssd).filter(|_| flash.collections > 0));
    warnings.extend(write_point_warning(&ssd, &config.device));
    warnings.extend(unused_choices_warning(&config.device));
    if flash.unmapped_reads > 0 {
        let pieces = counted(flash.unmapped_reads, "piece of a read", "pieces of reads");
        warnings.push(format!("{pieces} found nothing mapped and returned zeros in no time"));
    }
    warnings.extend(buffer_warning(&ssd, flash.buffered_at_end));
    let failed = || {
        format!(
            "{} of {} failed, and count neither in latencies nor in rates",
            outcome.failed,
            counted(outcome.requests, "request", "requests")
        )
    };
    if worn_before {
        let what = "the device was worn out before the run";
        warnings.push(match recorded.worn_out {
            Some(_) => format!("{what}: {}", failed()),
            None => what.into(),
        });
    } else if let Some((at, bytes)) = recorded.worn_out {
        warnings.push(format!(
            "the device wore out {} into the run, after {} of writes: {}",
            at.human(),
            Bytes(bytes).human(),
            failed()
        ));
    } else if flash.worn_out {
        warnings.push("the device wore out with the last writes of the run".into());
    }
    let mut provenance = provenance(config.seed, config, trace);
    if let Some(name) = own_name {
        provenance.config["device"]["ftl"]["victim"] = name.into();
    }
    let tables = tables(&run, &recorded, &ssd, &config.device);
    let saved = config.checkpoint.as_ref();
    let saved = saved.map(|path| checkpoint::save(&mut ssd, &config.device, path, progress));
    // The report is complete even if the checkpoint cannot be written.
    let checkpoint_error = match saved.transpose() {
        Err(ReplayError::Interrupted) => return Err(ReplayError::Interrupted),
        Err(error) => Some(error),
        Ok(given_up) => {
            if let Some(given_up @ 1..) = given_up {
                warnings.push(format!(
                    "the worn-out device could not write out {} of the write buffer: in the \
                     checkpoint there is what was there on the array",
                    counted(given_up, "page", "pages")
                ));
            }
            None
        }
    };
    let report =
        Report::new(&outcome, &run, &recorded, &policy.weights, flash, warnings, provenance);
    Ok(RunResult { report, tables, checkpoint_error })
}
