//! Converts activity traces of other monitors to our own format: sysstat, Prometheus and rezolus,
//! and estimates one from an event log of Spark.
//!
//! A reader fills one `HostActivity` for each host; `assemble` checks the samples and describes the
//! columns; `write` writes a trace for each host. The samples of an input are in memory: 460 MB for
//! a day of seconds with 16 cores.
//!
//! Not covered: requests (a survey replays such a trace from its counts), the share of the traced
//! command, and counted instructions.

mod accelerators;
mod assemble;
mod cores;
mod detect;
mod disks;
mod error;
mod facts;
mod host;
mod input;
mod left_out;
mod network;
mod prometheus;
mod rezolus;
mod spark;
mod sysstat;
mod write;

pub use crate::activity_format::ActivityFormat;
pub use detect::detect;
pub use error::ActivityError;
pub use left_out::LeftOut;
pub use write::{ActivityReport, HostReport, PendingActivity};

use crate::error::TraceError;
use crate::formats::sizes;
use gordon_units::{Hertz, Progress};
use std::path::{Path, PathBuf};

/// Options of a conversion.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActivityOptions {
    /// Number of cores of each host; `None` for the number that the input states.
    pub cores: Option<u32>,
    /// Clock of the processors; `None` for the clock that the input records, if any.
    pub clock: Option<Hertz>,
    /// Leave out malformed lines, and count them.
    pub skip_bad: bool,
}

/// The files to read: those of the format in each folder, and the other inputs as they are. Files
/// of another format are left out, with a note.
fn files_of(
    inputs: &[PathBuf],
    format: ActivityFormat,
    notes: &mut Vec<String>,
) -> Result<Vec<PathBuf>, ActivityError> {
    let mut files = Vec::new();
    for input in inputs {
        // The reader of event logs knows the folders of a rolled log.
        if !input.is_dir() || format == ActivityFormat::SparkEventlog {
            files.push(input.clone());
            continue;
        }
        let (same, others): (Vec<_>, Vec<_>) =
            detect::records_in(input).into_iter().partition(|(found, _)| *found == format);
        if same.is_empty() {
            let why = format!("the folder holds no file of {format}");
            let hint = "the files themselves, or the folder that has them";
            return Err(ActivityError::Content { path: input.clone(), why, hint });
        }
        if let [(other, first), ..] = &others[..] {
            notes.push(format!(
                "files: {} of other formats in {}, left out, such as {} of {other}",
                others.len(),
                input.display(),
                first.display()
            ));
        }
        files.extend(same.into_iter().map(|(_, file)| file));
    }
    Ok(files)
}

/// Reads `inputs`, files or folders of files, as one and checks them, to be
/// [published](PendingActivity::publish) as `output`, which must not exist. `progress` counts
/// bytes of the files, before decompression, and can stop the reading.
///
/// # Errors
/// When an input cannot be read, or holds nothing that a trace can be made of.
pub fn convert(
    inputs: &[PathBuf],
    output: &Path,
    format: ActivityFormat,
    options: &ActivityOptions,
    progress: &Progress,
) -> Result<PendingActivity, ActivityError> {
    if output.symlink_metadata().is_ok() {
        return Err(TraceError::Exists(output.to_owned()).into());
    }
    if let Some(mhz) = options.clock.map(|clock| clock.0 / 1e6)
        && !(1.0..=1e6).contains(&mhz)
    {
        return Err(ActivityError::Clock { mhz });
    }
    if format == ActivityFormat::SparkEventlog
        && let [_, second, ..] = inputs
    {
        let why = "it is a second event log, and event logs are converted one by one".to_owned();
        let hint = "one log, or the folder of a rolled log";
        return Err(ActivityError::Content { path: second.clone(), why, hint });
    }
    let mut recorded = host::Recorded::default();
    let files = files_of(inputs, format, &mut recorded.skipped.notes)?;
    let inputs = &files[..];
    progress.begin(sizes(inputs));
    let mut event_log = None;
    for path in inputs {
        match format {
            ActivityFormat::Sysstat => sysstat::read(path, options, progress, &mut recorded)?,
            ActivityFormat::Prometheus => prometheus::read(path, progress, &mut recorded)?,
            ActivityFormat::Rezolus => rezolus::read(path, progress, &mut recorded)?,
            ActivityFormat::SparkEventlog => {
                event_log = Some(spark::read(path, options, progress, &mut recorded)?);
            }
        }
    }
    if format == ActivityFormat::Prometheus
        && let Some(first) = inputs.first()
    {
        prometheus::check(&recorded, first)?;
    }
    if format == ActivityFormat::Rezolus {
        rezolus::count_once(&mut recorded);
    }
    let accelerators = std::mem::take(&mut recorded.accelerators);
    let mut skipped = std::mem::take(&mut recorded.skipped);
    let hosts = match format {
        ActivityFormat::Sysstat | ActivityFormat::SparkEventlog => recorded.hosts,
        ActivityFormat::Prometheus | ActivityFormat::Rezolus => prometheus::hosts(recorded.series),
    };
    let mut assembled = assemble::assemble(hosts, inputs, format, options)?;
    accelerators::add(accelerators, &mut assembled, &mut skipped.notes);
    for host in &mut assembled {
        host.manifest.unavailable.extend(skipped.unavailable.iter().cloned());
    }
    Ok(PendingActivity::new(assembled, skipped, event_log, inputs, output, format))
}
