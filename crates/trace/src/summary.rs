//! The summary of a trace for reports: [`Trace::summary`].

use crate::columns::ColumnKind;
use crate::error::TraceError;
use crate::manifest::{ACTIVITY_FILE, DISKS_FILE, Manifest};
use crate::model::Sample;
use crate::read::Trace;
use gordon_blockio::{IoOp, LatencyHistogram, LatencySummary};
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Read amplification above which the traced machine's settings decide its I/O. The error of the
/// figure is on one side: it is a lower bound.
const MUCH_READ_AMPLIFICATION: f64 = 1.3;

/// The summary of a trace. Quantities with a unit are strings; the key of a plain number names its
/// unit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceSummary {
    /// Folder of the trace.
    pub path: String,
    /// The complete manifest.
    pub manifest: Manifest,
    /// The activity over time.
    pub samples: SampleSeries,
    /// How each column of the activity was obtained.
    pub kinds: BTreeMap<String, ColumnKind>,
    /// The devices that served requests.
    pub devices: Vec<DeviceSummary>,
    /// A lower bound of the bytes fetched from storage for each byte that the command requested;
    /// `None` if unknown.
    pub read_amplification: Option<f64>,
    /// The block log; `None` if the trace has none.
    pub block: Option<BlockSummary>,
    /// Limitations of the figures, such as lost events.
    pub warnings: Vec<String>,
}

/// A device that served requests, with the kernel's settings. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceSummary {
    /// Name without `/dev/`.
    pub name: String,
    /// Model of the drive, or name of the mapped volume.
    pub model: Option<String>,
    /// Whether it has rotating media.
    pub rotational: Option<bool>,
    /// The most that the kernel reads ahead.
    pub read_ahead_bytes: Option<u64>,
    /// Scheduler of its requests.
    pub scheduler: Option<String>,
    /// The largest request that the kernel sends to it.
    pub max_request_bytes: Option<u64>,
    /// Whether its requests appear a second time at the devices below it.
    pub is_virtual: bool,
    /// Names of the devices that it is made of.
    pub members: Vec<String>,
    /// Bytes read during the trace.
    pub read_bytes: u64,
    /// Bytes written during the trace.
    pub write_bytes: u64,
}

/// The samples as columns, with one entry per sample.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SampleSeries {
    start_s: Vec<f64>,
    span_s: Vec<f64>,
    cpu_s: Vec<f64>,
    instructions: Vec<u64>,
    llc_misses: Vec<u64>,
    memory_bytes: Vec<u64>,
    rx_bytes: Vec<u64>,
    tx_bytes: Vec<u64>,
    command_cpu_s: Vec<f64>,
    command_memory_bytes: Vec<u64>,
    disk_read_bytes: Vec<u64>,
    disk_write_bytes: Vec<u64>,
    disk_ios: Vec<u64>,
    throttled_s: Vec<f64>,
    psi_cpu_some_s: Vec<f64>,
    psi_io_full_s: Vec<f64>,
}

/// Totals of the requests of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestTotals {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their sizes.
    pub bytes: u64,
}

/// Figures of the block log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BlockSummary {
    /// Number of requests of all operations.
    pub events: u64,
    /// Events that the kernel dropped.
    pub lost: u64,
    /// Reads.
    pub read: RequestTotals,
    /// Writes.
    pub write: RequestTotals,
    /// Discards.
    pub discard: RequestTotals,
    /// Flushes.
    pub flush: RequestTotals,
    /// Latency of reads and writes.
    pub latency_us: LatencySummary,
}

impl Trace {
    /// Reads the whole trace and summarizes it. Requests to virtual devices are left out, because
    /// they appear a second time at the devices below.
    ///
    /// # Errors
    /// When a file is damaged.
    pub fn summary(&self) -> Result<TraceSummary, TraceError> {
        let manifest = self.manifest().clone();
        let block = match self.block_summary() {
            Ok(block) => Some(block),
            Err(TraceError::NoBlockLog { .. }) => None,
            Err(error) => return Err(error),
        };
        let mut warnings: Vec<String> =
            manifest.unavailable.iter().map(|u| format!("no {}: {}", u.what, u.why)).collect();
        if let Some(lost @ 1..) = block.map(|b| b.lost) {
            warnings.push(format!("block log: {lost} events lost by the kernel"));
        }
        let mut samples = SampleSeries::default();
        let mut devices = Vec::new();
        match self.activity() {
            Ok(all) => {
                all.iter().for_each(|sample| samples.push(sample, self));
                devices = self.devices(&all);
                warnings.extend(self.read_amplification_note(&devices));
            }
            Err(TraceError::BlockLogOnly { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(TraceSummary {
            path: self.path().display().to_string(),
            kinds: self.kinds(),
            devices,
            read_amplification: self.read_amplification(),
            manifest,
            samples,
            block,
            warnings,
        })
    }

    /// How each column of the activity was obtained.
    pub fn kinds(&self) -> BTreeMap<String, ColumnKind> {
        self.kinds_of(ACTIVITY_FILE)
    }

    /// How each column of the block devices was obtained; empty if the trace has none.
    pub fn disk_kinds(&self) -> BTreeMap<String, ColumnKind> {
        self.kinds_of(DISKS_FILE)
    }

    fn kinds_of(&self, file: &str) -> BTreeMap<String, ColumnKind> {
        let part = self.manifest().part(file);
        part.into_iter().flat_map(|p| &p.columns).map(|c| (c.name.clone(), c.kind)).collect()
    }

    /// Whether a device is made of other devices or of memory.
    pub fn is_virtual(&self, device: u32) -> bool {
        self.manifest().machine.disks.iter().any(|d| d.device == device && d.is_virtual)
    }

    /// The devices that served requests in `samples`, with their settings.
    pub fn devices(&self, samples: &[Sample]) -> Vec<DeviceSummary> {
        let mut used: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for disk in samples.iter().flat_map(|s| &s.disks).filter(|disk| !disk.is_idle()) {
            let (read, written) = used.entry(disk.device).or_default();
            *read += disk.read_bytes.0;
            *written += disk.write_bytes.0;
        }
        let known = &self.manifest().machine.disks;
        let summary = |(number, (read_bytes, write_bytes)): (u32, (u64, u64))| {
            let Some(disk) = known.iter().find(|disk| disk.device == number) else {
                // The disk was removed before the end of the trace.
                let name = format!("{}:{}", number >> 20, number & 0xf_ffff);
                return DeviceSummary { name, read_bytes, write_bytes, ..DeviceSummary::default() };
            };
            DeviceSummary {
                name: disk.name.clone(),
                model: disk.model.clone(),
                rotational: self.manifest().imported.is_none().then_some(disk.rotational),
                read_ahead_bytes: disk.read_ahead.map(|size| size.0),
                scheduler: disk.scheduler.clone(),
                max_request_bytes: disk.max_request.map(|size| size.0),
                is_virtual: disk.is_virtual,
                members: disk.members.clone(),
                read_bytes,
                write_bytes,
            }
        };
        used.into_iter().map(summary).collect()
    }

    /// A lower bound of the bytes fetched from storage for each byte that the command requested;
    /// `None` if unknown.
    pub fn read_amplification(&self) -> Option<f64> {
        self.manifest().reads.and_then(|reads| reads.amplification())
    }

    /// A warning if much more was fetched from storage than the command requested. `devices` are
    /// those of the trace.
    pub fn read_amplification_note(&self, devices: &[DeviceSummary]) -> Option<String> {
        let found = self.read_amplification().filter(|found| *found > MUCH_READ_AMPLIFICATION)?;
        let read_ahead: Vec<String> = devices
            .iter()
            .filter(|device| device.read_bytes > 0)
            .filter_map(|device| {
                Some(format!("{} of {}", Bytes(device.read_ahead_bytes?).human(), device.name))
            })
            .collect();
        let read_ahead = match read_ahead.as_slice() {
            [] => "read-ahead".to_owned(),
            all => format!("read-ahead ({})", all.join(", ")),
        };
        let memory = match self.manifest().memory_limit {
            Some(limit) => format!("memory limit ({})", limit.human()),
            None => format!("memory ({})", self.manifest().machine.memory.human()),
        };
        Some(format!(
            "read amplification {found:.2}: storage read more bytes than the command requested. \
             The block I/O is that of the traced machine's {read_ahead} and {memory}, and differs \
             under other settings"
        ))
    }

    fn block_summary(&self) -> Result<BlockSummary, TraceError> {
        let mut summary =
            BlockSummary { lost: self.manifest().lost_events(), ..Default::default() };
        let mut latencies = LatencyHistogram::default();
        for batch in self.block()? {
            for io in batch? {
                if self.is_virtual(io.device) {
                    continue;
                }
                summary.events += 1;
                let of = match io.op {
                    IoOp::Read => &mut summary.read,
                    IoOp::Write => &mut summary.write,
                    IoOp::Discard => &mut summary.discard,
                    IoOp::Flush => &mut summary.flush,
                };
                of.requests += 1;
                of.bytes += io.bytes().0;
                if let (IoOp::Read | IoOp::Write, Some(latency)) = (io.op, io.latency) {
                    latencies.record(latency);
                }
            }
        }
        summary.latency_us = latencies.summary();
        Ok(summary)
    }
}

impl SampleSeries {
    fn push(&mut self, sample: &Sample, trace: &Trace) {
        self.start_s.push(sample.start.as_secs());
        self.span_s.push(sample.span.as_secs());
        self.cpu_s.push(sample.cpu().as_secs());
        self.instructions.push(sample.instructions);
        self.llc_misses.push(sample.llc_misses);
        self.memory_bytes.push(sample.memory.0);
        self.rx_bytes.push(sample.rx_bytes.0);
        self.tx_bytes.push(sample.tx_bytes.0);
        self.command_cpu_s.push(sample.command.cpu.as_secs());
        self.command_memory_bytes.push(sample.command.memory.0);
        self.throttled_s.push(sample.throttled.as_secs());
        self.psi_cpu_some_s.push(sample.psi_cpu_some.as_secs());
        self.psi_io_full_s.push(sample.psi_io_full.as_secs());
        let disks = || sample.disks.iter().filter(|d| !trace.is_virtual(d.device));
        self.disk_read_bytes.push(disks().map(|d| d.read_bytes.0).sum());
        self.disk_write_bytes.push(disks().map(|d| d.write_bytes.0).sum());
        self.disk_ios.push(disks().map(|d| d.reads + d.writes + d.discards + d.flushes).sum());
    }
}
