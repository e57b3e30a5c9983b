//! Reads our own format: the block log of a trace folder, or a single-file block log.
//!
//! Requests to virtual devices (loop, device mapper, RAID) are left out, because they appear a
//! second time at the devices below. They are read if the device is selected by its number.

use super::collector::{RawRequest, RequestCollector};
use super::entry_error::FilePosition;
use super::error::FormatError;
use super::format::Format;
use super::source::{RequestSource, SkippedEntries};
use crate::model::BlockFlags;
use crate::model::BlockIo;
use crate::read::{BlockReader, Trace};
use gordon_blockio::IoOp;
use std::path::{Path, PathBuf};

/// Source of the requests in a block log.
pub(super) struct GordonSource {
    reader: BlockReader,
    batch: Vec<BlockIo>,
    left_out: Vec<u32>,
    path: PathBuf,
    number: u64,
}

impl GordonSource {
    pub fn open(path: &Path, device: Option<u32>) -> Result<Self, FormatError> {
        if path.is_file() {
            let (reader, path) = (BlockReader::file(path)?, path.to_owned());
            return Ok(Self { reader, batch: Vec::new(), left_out: Vec::new(), path, number: 0 });
        }
        let trace = Trace::open(path)?;
        let disks = &trace.manifest().machine.disks;
        let left_out = disks.iter().filter(|d| d.is_virtual && device != Some(d.device));
        let left_out = left_out.map(|d| d.device).collect();
        let reader = trace.block()?;
        Ok(Self { reader, batch: Vec::new(), left_out, path: path.to_owned(), number: 0 })
    }
}

impl RequestSource for GordonSource {
    fn fill(
        &mut self,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
        _want: usize,
    ) -> Result<bool, FormatError> {
        let more = self.reader.next_batch(&mut self.batch)?;
        for io in &self.batch {
            self.number += 1;
            if self.left_out.contains(&io.device) {
                collector.counts.other_devices += 1;
                continue;
            }
            let raw = RawRequest {
                time: io.at.0,
                op: io.op,
                device: io.device,
                offset: io.sector.saturating_mul(512),
                len: io.bytes().0,
                latency: io.latency,
                gap: None,
                // Zero means unknown.
                pid: (io.pid != 0).then_some(io.pid),
                preflush: io.op != IoOp::Flush && io.flags.contains(BlockFlags::PREFLUSH),
                durable: io.op == IoOp::Write && io.flags.contains(BlockFlags::FUA),
            };
            if let Err(bad) = collector.take(raw) {
                let found = FilePosition::Record(self.number, 0);
                skip.bad(&self.path, found, Format::Gordon.name(), bad, collector)?;
            }
        }
        Ok(more)
    }
}
