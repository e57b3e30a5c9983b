//! A block trace of any format as a source of requests.
//!
//! A trace is streamed twice: first to find what it reads, where it ends and its checksum, then for
//! the run. Of a trace with several devices, one can be selected; otherwise all requests go to the
//! one simulated device at their own addresses. Measured latencies are ignored.

use crate::ReplayError;
use crate::config::{QueueBy, TraceLoad};
use crate::dense_ids::DenseIds;
use crate::footprint::Footprint;
use crate::source::{RequestSource, TimedRequest};
use gordon_blockio::IoOp;
use gordon_trace::formats::{
    self, Format, InputNote, Order, ReadCounts, RequestReader, TraceRequest,
};
use gordon_units::{Bytes, Ns, Progress};
use std::collections::BTreeSet;
use std::path::Path;

/// Source of the requests of a trace.
#[derive(Debug)]
pub struct TraceSource {
    reader: RequestReader,
    ios: Vec<TraceRequest>,
    by: QueueBy,
    queues: DenseIds,
    /// Devices found so far.
    devices: DenseIds,
    /// Whether any request named its process.
    processes: bool,
}

impl TraceSource {
    /// Opens `trace`; `by` assigns its requests to queues. If its times are not used (`timed` is
    /// false), they may go backwards unless the trace's options forbid it.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be opened, or can be read only once.
    pub fn open(trace: &TraceLoad, by: QueueBy, timed: bool) -> Result<Self, ReplayError> {
        let path = &trace.path;
        if trace.is_stream() {
            let stdin = path.as_os_str() == "-";
            let what = if stdin { "standard input".into() } else { path.display().to_string() };
            let why = "a trace is read twice, first to learn what it reads and where it ends; a \
                       pipe can be read once";
            let from = if stdin { "-".into() } else { path.display().to_string() };
            let hint = format!("`gordon trace convert {from} FILE`, then FILE");
            return Err(ReplayError::Impossible { what, why: why.into(), hint });
        }
        let options = trace.options(if timed { Order::Strict } else { Order::Clamp })?;
        let reader = formats::open(path, trace.format, &options)?;
        let (ios, queues, devices) = (Vec::new(), DenseIds::default(), DenseIds::default());
        Ok(Self { reader, ios, by, queues, devices, processes: false })
    }

    /// The trace's numbers of the devices found so far.
    pub fn devices(&self) -> &[u32] {
        self.devices.numbers()
    }

    /// Whether any request so far named its process.
    pub fn has_processes(&self) -> bool {
        self.processes
    }

    /// Description of how the trace is read.
    pub fn note(&self) -> &InputNote {
        self.reader.note()
    }

    /// Notes about records skipped or changed so far, one line each.
    pub fn notes(&self) -> Vec<String> {
        self.reader.notes()
    }

    /// Format of the trace.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// Counters of records read and skipped so far.
    pub fn counts(&self) -> ReadCounts {
        self.reader.counts()
    }

    /// Error of the first skipped line or record; `None` if nothing was skipped.
    pub fn first_skipped(&self) -> Option<&str> {
        self.reader.first_skipped()
    }
}

impl RequestSource for TraceSource {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        batch.clear();
        self.reader.fill(&mut self.ios)?;
        for io in &self.ios {
            let device = self.devices.of(io.device);
            let queue = match self.by {
                QueueBy::One => 0,
                QueueBy::Device => device,
                QueueBy::Process => {
                    self.processes |= io.pid.is_some();
                    self.queues.of(io.pid.unwrap_or(0))
                }
            };
            batch.push(TimedRequest {
                at: io.at,
                gap: io.gap.unwrap_or(Ns::ZERO),
                offset: io.offset.0,
                len: io.len.0,
                op: io.op,
                durable: io.durable,
                queue,
            });
        }
        Ok(())
    }
}

/// Result of the first pass over a load.
#[derive(Clone, Debug, Default)]
pub struct TraceSurvey {
    /// Number of requests.
    pub requests: u64,
    /// Bytes by operation; 0 for flushes.
    pub bytes: [u64; 4],
    /// Ranges that are read.
    pub reads: Footprint,
    /// End of the highest range.
    pub end: Bytes,
    /// Queues that are used.
    pub queues: BTreeSet<u32>,
    /// Times of the earliest and the latest request.
    pub times: Option<(Ns, Ns)>,
    /// CRC-32 of times, operations and ranges of the requests.
    pub crc32: u32,
}

impl TraceSurvey {
    /// Time from the earliest to the latest request.
    pub fn span(&self) -> Ns {
        self.times.map_or(Ns::ZERO, |(first, last)| last.saturating_sub(first))
    }
}

/// Reads a load to its end; errors name `path`. With `wrap`, ranges beyond `capacity` are taken
/// modulo the capacity.
///
/// # Errors
/// Returns an error if the load cannot be read, a range does not fit, or `progress` stops the scan.
pub fn survey(
    source: &mut impl RequestSource,
    path: &Path,
    capacity: Bytes,
    wrap: bool,
    progress: &Progress,
) -> Result<TraceSurvey, ReplayError> {
    let (mut found, mut crc) = (TraceSurvey::default(), crc32fast::Hasher::new());
    let mut batch = Vec::new();
    // Number and end of the first request that does not fit.
    let mut past = None;
    loop {
        progress.check()?;
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        for request in &batch {
            found.requests += 1;
            let TimedRequest { at, offset, len, op, queue, .. } = *request;
            let (first, last) = found.times.unwrap_or((at, at));
            found.times = Some((first.min(at), last.max(at)));
            let bytes = &mut found.bytes[op as usize];
            *bytes = bytes.saturating_add(len);
            found.queues.insert(queue);
            let mut bytes = [0; 25];
            bytes[..8].copy_from_slice(&at.0.to_le_bytes());
            bytes[8..16].copy_from_slice(&offset.to_le_bytes());
            bytes[16..24].copy_from_slice(&len.to_le_bytes());
            bytes[24] = op as u8;
            crc.update(&bytes);
            if op == IoOp::Flush || len == 0 {
                continue;
            }
            let number = found.requests;
            let end = offset.saturating_add(len);
            found.end.0 = found.end.0.max(end);
            if end > capacity.0 && !wrap {
                past.get_or_insert((number, end));
                continue;
            }
            if len > capacity.0 {
                return Err(ReplayError::Larger { number, len: Bytes(len), capacity });
            }
            if op == IoOp::Read && past.is_none() {
                let start = if end > capacity.0 { offset % capacity.0 } else { offset };
                let before_end = len.min(capacity.0 - start);
                found.reads.add(start, before_end);
                found.reads.add(0, len - before_end);
            }
        }
    }
    if let Some((number, end)) = past {
        let (path, reach) = (path.to_owned(), found.end);
        return Err(ReplayError::TracePast { path, number, end: Bytes(end), capacity, reach });
    }
    found.crc32 = crc.finalize();
    Ok(found)
}
