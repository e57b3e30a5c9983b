//! Writes the traces of a conversion. The traces of several hosts are folders in one folder, which
//! has a temporary name until all are complete.

use super::assemble::AssembledHost;
use super::error::ActivityError;
use super::host::Skipped;
use super::left_out::LeftOut;
use crate::activity_format::ActivityFormat;
use crate::error::TraceError;
use crate::model::Sample;
use crate::spark::{EventLog, NamedStage};
use crate::summary::RequestTotals;
use crate::write::{ActivityWriter, TraceFolder};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// A conversion that has been read and checked, and not yet written.
///
/// The end of a piped input may mean that its program was killed. The caller can check that before
/// it publishes the output.
#[must_use]
pub struct PendingActivity {
    hosts: Vec<AssembledHost>,
    /// The log that the traces were estimated from, whose tables are written with them.
    event_log: Option<EventLog>,
    output: PathBuf,
    report: ActivityReport,
}

/// Report of a conversion.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActivityReport {
    /// The files that were read.
    pub input: Vec<String>,
    /// Name of the input format.
    pub from: &'static str,
    /// Name of the output format.
    pub to: &'static str,
    /// Samples of all hosts.
    pub samples: u64,
    /// Reads of all hosts, as sums of counts.
    pub read: RequestTotals,
    /// Writes of all hosts, as sums of counts.
    pub write: RequestTotals,
    /// A trace for each host.
    pub hosts: Vec<HostReport>,
    /// Malformed lines that were left out.
    pub skipped: u64,
    /// Error of the first malformed line.
    pub first_skipped: Option<String>,
    /// Series of metrics that a trace has no place for.
    pub other_series: u64,
    /// What was lost or changed, one sentence each.
    pub warnings: Vec<String>,
    /// The stages of an event log, in seconds after the start of the traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<NamedStage>,
}

/// The trace of one host. Amounts are totals of the machine, without virtual disks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HostReport {
    /// Name of the host in the input.
    pub host: String,
    /// Folder of the trace.
    pub path: String,
    /// Number of logical processors, from the input or `--cores`.
    pub cores: u32,
    /// Samples in the trace.
    pub samples: u64,
    /// Length of all samples together in seconds.
    pub span_s: f64,
    /// The most frequent length of a sample.
    pub interval_s: f64,
    /// Busy time of all cores.
    pub cpu_s: f64,
    /// Time of the cores without work while a request was in flight.
    pub iowait_s: f64,
    /// Time in which a core had work and the hypervisor ran others.
    pub steal_s: f64,
    /// Number and bytes of the reads.
    pub read: RequestTotals,
    /// Number and bytes of the writes.
    pub write: RequestTotals,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Samples that were left out, and irregular times.
    pub left_out: LeftOut,
}

impl PendingActivity {
    pub(super) fn new(
        hosts: Vec<AssembledHost>,
        skipped: Skipped,
        event_log: Option<EventLog>,
        inputs: &[PathBuf],
        output: &Path,
        format: ActivityFormat,
    ) -> Self {
        let several = hosts.len() > 1;
        let mut report = ActivityReport {
            input: inputs.iter().map(|path| path.display().to_string()).collect(),
            from: format.name(),
            to: "gordon",
            samples: 0,
            read: RequestTotals::default(),
            write: RequestTotals::default(),
            hosts: Vec::new(),
            skipped: skipped.lines,
            first_skipped: skipped.first,
            other_series: skipped.series,
            warnings: skipped.notes,
            stages: event_log.as_ref().map(|log| log.named_stages(log.start)).unwrap_or_default(),
        };
        if let Some(first) = &report.first_skipped {
            report.warnings.push(format!(
                "skipped: {} malformed lines, left out; the first: {first}",
                report.skipped
            ));
        }
        if skipped.not_finite > 0 {
            let count = skipped.not_finite;
            report.warnings.push(format!("values: {count} that are not finite, left out"));
        }
        if skipped.contradictions > 0 {
            report.warnings.push(format!(
                "contradictions: {} values that repeat a time of their series with another value, \
                 left out; series may differ only in a label that is not read",
                skipped.contradictions
            ));
        }
        let of_server = skipped.of_server.iter();
        report.warnings.extend(of_server.map(|text| format!("the server warned: {text}")));
        for host in &hosts {
            let path = if several { output.join(folder(&host.name)) } else { output.to_owned() };
            let of_host = HostReport::new(host, &path);
            report.samples += of_host.samples;
            for (sum, of) in [(&mut report.read, of_host.read), (&mut report.write, of_host.write)]
            {
                sum.requests += of.requests;
                sum.bytes += of.bytes;
            }
            let name = if several { format!("{}: ", host.name) } else { String::new() };
            report.warnings.extend(host.warnings.iter().map(|text| format!("{name}{text}")));
            report.hosts.push(of_host);
        }
        Self { hosts, event_log, output: output.to_owned(), report }
    }

    /// Writes the traces: `output` is the trace of a single host, or a folder with a trace for each
    /// host.
    ///
    /// # Errors
    /// When they cannot be written, or two hosts would have the same folder. Nothing is left then.
    pub fn publish(self) -> Result<ActivityReport, ActivityError> {
        let Self { hosts, event_log, output, report } = self;
        let mut folders: BTreeMap<String, &str> = BTreeMap::new();
        for host in &hosts {
            let folder = folder(&host.name);
            if let Some(one) = folders.insert(folder.clone(), &host.name) {
                let (one, other) = (one.to_owned(), host.name.clone());
                return Err(ActivityError::SameFolder { one, other, folder });
            }
        }
        let parent = TraceFolder::create(&output)?;
        if let Some(log) = event_log {
            log.write_tables(parent.path())?;
        }
        match hosts.as_slice() {
            [host] => write(host, parent)?,
            several => {
                for host in several {
                    write(host, TraceFolder::create(&parent.file(&folder(&host.name)))?)?;
                }
                parent.publish()?;
            }
        }
        Ok(report)
    }
}

fn write(host: &AssembledHost, folder: TraceFolder) -> Result<(), TraceError> {
    let mut activity = ActivityWriter::create(&folder, &host.columns)?;
    activity.push(Sample::default())?;
    host.totals(|totals| activity.push(totals.clone()))?;
    let mut manifest = host.manifest.clone();
    manifest.parts = activity.finish(None)?.into();
    folder.commit(&manifest)
}

/// The folder of a host: its name, with `_` for what is not a letter, a digit or one of `._-:`.
fn folder(host: &str) -> String {
    let known = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    let name: String = host.chars().map(|c| if known(c) { c } else { '_' }).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

impl HostReport {
    fn new(host: &AssembledHost, path: &Path) -> Self {
        let mut totals = Sample::default();
        let Ok(()) = host.totals(|total| {
            totals.clone_from(total);
            Ok::<(), Infallible>(())
        });
        let spent = host.cpu_seconds();
        let mut read = RequestTotals::default();
        let mut write = RequestTotals::default();
        let is_virtual = |device: u32| {
            host.manifest.machine.disks.iter().any(|disk| disk.device == device && disk.is_virtual)
        };
        for disk in totals.disks.iter().filter(|disk| !is_virtual(disk.device)) {
            read.requests += disk.reads;
            read.bytes += disk.read_bytes.0;
            write.requests += disk.writes;
            write.bytes += disk.write_bytes.0;
        }
        Self {
            host: host.name.clone(),
            path: path.display().to_string(),
            cores: host.manifest.machine.cores,
            samples: host.len(),
            span_s: totals.end().as_secs(),
            interval_s: host.manifest.interval.as_secs(),
            cpu_s: totals.cpu().as_secs(),
            iowait_s: spent.iowait,
            steal_s: spent.steal,
            read,
            write,
            rx_bytes: totals.rx_bytes.0,
            tx_bytes: totals.tx_bytes.0,
            left_out: host.left_out.clone(),
        }
    }
}
