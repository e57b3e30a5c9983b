//! A block trace of any format as a source of requests.
//!
//! A trace is streamed twice: once to learn what it reads, where it ends and its checksum, once to
//! run. Of a trace of several devices, one is chosen; without a choice all go to the one simulated
//! device at their own addresses. Latencies measured are no input.

use crate::ReplayError;
use crate::config::{QueueBy, TraceLoad};
use crate::footprint::Footprint;
use crate::numbers::Numbers;
use crate::source::{RequestSource, TimedRequest};
use gordon_blockio::IoOp;
use gordon_trace::formats::{
    self, Format, InputNote, Order, ReadCounts, RequestReader, TraceRequest,
};
use gordon_units::{Bytes, Ns, Progress};
use std::collections::BTreeSet;
use std::path::Path;

/// Requests of a trace.
#[derive(Debug)]
pub struct TraceSource {
    reader: RequestReader,
    ios: Vec<TraceRequest>,
    by: QueueBy,
    queues: Numbers,
    /// Devices met so far.
    devices: Numbers,
    /// A request said which process it is of.
    processes: bool,
}

impl TraceSource {
    /// Requests of `trace`, spread over queues `by` what they have. Where its times are not used,
    /// it may go back in time, unless it is told not to.
    ///
    /// # Errors
    /// Where it cannot be opened, or not be read twice.
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
        let (ios, queues, devices) = (Vec::new(), Numbers::default(), Numbers::default());
        Ok(Self { reader, ios, by, queues, devices, processes: false })
    }

    /// The trace's devices that requests met so far go to.
    pub fn devices(&self) -> &[u32] {
        self.devices.theirs()
    }

    /// Whether any request met so far says which process it is of.
    pub fn has_processes(&self) -> bool {
        self.processes
    }

    /// How the trace is read.
    pub fn note(&self) -> &InputNote {
        self.reader.note()
    }

    /// What was left out or changed so far, a line each.
    pub fn notes(&self) -> Vec<String> {
        self.reader.notes()
    }

    /// What it is read as.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// What was read so far, and what was left out.
    pub fn counts(&self) -> ReadCounts {
        self.reader.counts()
    }

    /// What was wrong with the first line or record left out.
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
                queue,
            });
        }
        Ok(())
    }
}

/// What a first pass over a load found.
#[derive(Clone, Debug, Default)]
pub struct TraceSurvey {
    /// Requests.
    pub requests: u64,
    /// Bytes read, written, trimmed; nothing for flushes.
    pub bytes: [u64; 4],
    /// What it reads.
    pub reads: Footprint,
    /// Where it ends.
    pub end: Bytes,
    /// The queues it has.
    pub queues: BTreeSet<u32>,
    /// The times of its earliest and its latest request.
    pub times: Option<(Ns, Ns)>,
    /// CRC-32 of its requests: times, operations, ranges.
    pub crc32: u32,
}

impl TraceSurvey {
    /// From its earliest request to its latest.
    pub fn span(&self) -> Ns {
        self.times.map_or(Ns::ZERO, |(first, last)| last.saturating_sub(first))
    }
}

/// Reads a load through; `path` is named in errors. Ranges past `capacity` are taken modulo, if
/// `wrap`.
///
/// # Errors
/// Where it cannot be read, or a range does not fit; where `progress` says to stop.
pub fn survey(
    source: &mut impl RequestSource,
    path: &Path,
    capacity: Bytes,
    wrap: bool,
    progress: &Progress,
) -> Result<TraceSurvey, ReplayError> {
    let (mut found, mut crc) = (TraceSurvey::default(), crc32fast::Hasher::new());
    let mut batch = Vec::new();
    // The first that does not fit: its number and end.
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
