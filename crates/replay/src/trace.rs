//! A trace as a source of requests.
//!
//! A trace is streamed: once to learn what it reads, where it ends and its checksum, once to run.
//! Of a trace of several devices, one is chosen; without a choice all go to the one simulated
//! device at their own addresses.

use crate::ReplayError;
use crate::config::QueueBy;
use crate::footprint::Footprint;
use crate::source::{Source, Timed};
use gordon_device::{Op, SECTOR};
use gordon_trace::{BlockIo, BlockOp, BlockReader, Trace};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeSet;
use std::path::Path;

/// Requests of a trace.
pub struct TraceSource {
    reader: BlockReader,
    rows: Vec<BlockIo>,
    device: Option<u32>,
    by: QueueBy,
    /// The trace's numbers of queues, by ours.
    queues: Vec<u32>,
    /// Devices met so far.
    devices: Vec<u32>,
}

impl TraceSource {
    /// Requests of the trace at `path`, of `device` alone if given.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(path: &Path, device: Option<u32>, by: QueueBy) -> Result<Self, ReplayError> {
        let reader = Trace::open(path)?.block()?;
        let (rows, queues, devices) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { reader, rows, device, by, queues, devices })
    }

    /// The trace's devices that requests met so far go to.
    pub fn devices(&self) -> &[u32] {
        &self.devices
    }
}

/// Numbers the trace's queues from 0 in the order in which they come.
fn dense(known: &mut Vec<u32>, number: u32) -> u32 {
    let at = known.iter().position(|known| *known == number).unwrap_or_else(|| {
        known.push(number);
        known.len() - 1
    });
    u32::try_from(at).expect("fewer queues than numbers")
}

impl Source for TraceSource {
    fn next_batch(&mut self, batch: &mut Vec<Timed>) -> Result<(), ReplayError> {
        batch.clear();
        while batch.is_empty() && self.reader.next_batch(&mut self.rows)? {
            for io in &self.rows {
                if self.device.is_some_and(|device| device != io.device) {
                    continue;
                }
                dense(&mut self.devices, io.device);
                let queue = match self.by {
                    QueueBy::One => 0,
                    QueueBy::Device => dense(&mut self.queues, io.device),
                    QueueBy::Process => dense(&mut self.queues, io.pid),
                };
                let op = match io.op {
                    BlockOp::Read => Op::Read,
                    BlockOp::Write => Op::Write,
                    BlockOp::Discard => Op::Trim,
                    BlockOp::Flush => Op::Flush,
                };
                batch.push(Timed {
                    at: io.at,
                    gap: Ns::ZERO,
                    offset: io.sector.saturating_mul(SECTOR.0),
                    len: io.bytes().0,
                    op,
                    queue,
                });
            }
        }
        Ok(())
    }
}

/// What a first pass over a load found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Requests.
    pub requests: u64,
    /// Bytes read, written, trimmed; nothing for flushes.
    pub bytes: [u64; 4],
    /// What it reads.
    pub reads: Footprint,
    /// The queues it has.
    pub queues: BTreeSet<u32>,
    /// CRC-32 of its requests: times, operations, ranges.
    pub crc32: u32,
}

/// Reads a load through. Ranges past `capacity` are taken modulo, if `wrap`.
///
/// # Errors
/// Where it cannot be read, or a range does not fit.
pub fn survey(
    source: &mut impl Source,
    capacity: Bytes,
    wrap: bool,
) -> Result<Survey, ReplayError> {
    let (mut found, mut crc) = (Survey::default(), crc32fast::Hasher::new());
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            found.crc32 = crc.finalize();
            return Ok(found);
        }
        for request in &batch {
            found.requests += 1;
            let Timed { at, offset, len, op, queue, .. } = *request;
            found.bytes[op as usize] += len;
            found.queues.insert(queue);
            let mut bytes = [0; 25];
            bytes[..8].copy_from_slice(&at.0.to_le_bytes());
            bytes[8..16].copy_from_slice(&offset.to_le_bytes());
            bytes[16..24].copy_from_slice(&len.to_le_bytes());
            bytes[24] = op as u8;
            crc.update(&bytes);
            if op == Op::Flush || len == 0 {
                continue;
            }
            let number = found.requests;
            let end = offset.saturating_add(len);
            if end > capacity.0 && !wrap {
                return Err(ReplayError::Past { number, end, capacity });
            }
            if len > capacity.0 {
                return Err(ReplayError::Larger { number, len: Bytes(len), capacity });
            }
            if op == Op::Read {
                let start = if end > capacity.0 { offset % capacity.0 } else { offset };
                let before_end = len.min(capacity.0 - start);
                found.reads.add(start, before_end);
                found.reads.add(0, len - before_end);
            }
        }
    }
}
