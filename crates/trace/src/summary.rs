//! The summary of a trace for reports: [`Trace::summary`].

use crate::columns::ColumnKind;
use crate::error::TraceError;
use crate::manifest::{ACTIVITY_FILE, Manifest};
use crate::model::Sample;
use crate::read::Trace;
use gordon_blockio::{IoOp, LatencyHistogram, LatencySummary};
use serde::Serialize;
use std::collections::BTreeMap;

/// The summary of a trace. Quantities with a unit are strings; the key of a plain number names its
/// unit.
#[derive(Debug, Serialize)]
pub struct TraceSummary {
    /// Folder of the trace.
    pub path: String,
    /// The complete manifest.
    pub manifest: Manifest,
    /// The activity over time.
    pub samples: SampleSeries,
    /// How each column of the activity was obtained.
    pub kinds: BTreeMap<String, ColumnKind>,
    /// The block log; `None` if the trace has none.
    pub block: Option<BlockSummary>,
    /// Limitations of the figures, such as lost events.
    pub warnings: Vec<String>,
}

/// The samples as columns, with one entry per sample.
#[derive(Debug, Default, Serialize)]
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
}

/// Totals of the requests of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestTotals {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their sizes.
    pub bytes: u64,
}

/// Figures of the block log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
        match self.activity() {
            Ok(all) => all.iter().for_each(|sample| samples.push(sample, self)),
            Err(TraceError::BlockLogOnly { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(TraceSummary {
            path: self.path().display().to_string(),
            kinds: self.kinds(),
            manifest,
            samples,
            block,
            warnings,
        })
    }

    /// How each column of the activity was obtained.
    pub fn kinds(&self) -> BTreeMap<String, ColumnKind> {
        let activity = self.manifest().part(ACTIVITY_FILE);
        activity.into_iter().flat_map(|p| &p.columns).map(|c| (c.name.clone(), c.kind)).collect()
    }

    /// Whether a device is made of other devices or of memory.
    pub fn is_virtual(&self, device: u32) -> bool {
        self.manifest().machine.disks.iter().any(|d| d.device == device && d.is_virtual)
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
        let disks = || sample.disks.iter().filter(|d| !trace.is_virtual(d.device));
        self.disk_read_bytes.push(disks().map(|d| d.read_bytes.0).sum());
        self.disk_write_bytes.push(disks().map(|d| d.write_bytes.0).sum());
        self.disk_ios.push(disks().map(|d| d.reads + d.writes + d.discards + d.flushes).sum());
    }
}
