//! Reads fio's I/O log, which `--write_iolog` writes and `--read_iolog` reads.
//!
//! Version 2 (fio 1.17 and later) has no times except `wait` lines in microseconds. Version 3 (fio
//! 3.31 and later) has microseconds since the start on each line. Source: "Trace file format v2"
//! and "v3" in fio's HOWTO.

use super::collector::{RawRequest, RequestCollector};
use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use super::source::LineFormat;
use gordon_blockio::IoOp;
use gordon_units::Ns;

/// First line of version 2.
pub(super) const V2: &[u8] = b"fio version 2 iolog";
/// First line of version 3.
pub(super) const V3: &[u8] = b"fio version 3 iolog";
const MOST_FILES: usize = 1 << 16;

/// Parser of the lines. Each file is a device, numbered in order of appearance.
pub(super) struct Fio {
    unit: Ns,
    version: u8,
    /// Sum of the waits so far (version 2).
    clock: u64,
    files: Vec<Box<[u8]>>,
}

impl Fio {
    pub fn new(unit: Ns) -> Self {
        Self { unit, version: 0, clock: 0, files: Vec::new() }
    }

    #[inline]
    fn device(&mut self, name: &[u8]) -> Result<u32, EntryError> {
        // A log has few files, usually one.
        let number = match self.files.iter().position(|file| **file == *name) {
            Some(known) => known,
            None if self.files.len() < MOST_FILES => {
                self.files.push(name.into());
                self.files.len() - 1
            }
            None => {
                return Err(EntryError::field("file name", name, "one of at most 65,536 files"));
            }
        };
        Ok(u32::try_from(number).expect("files are bounded"))
    }
}

impl LineFormat for Fio {
    #[inline]
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        if self.version == 0 {
            self.version = match line {
                V2 => 2,
                V3 => 3,
                other => {
                    let expected = "`fio version 2 iolog` or `fio version 3 iolog`";
                    return Err(EntryError::field("first line", other, expected));
                }
            };
            return Ok(());
        }
        let mut f = Fields::<BLANK>::new(line);
        let time = if self.version == 3 { f.time("timestamp", self.unit)? } else { self.clock };
        let name = f.word();
        let op = match f.word() {
            b"read" => IoOp::Read,
            b"write" => IoOp::Write,
            b"trim" => IoOp::Discard,
            b"sync" | b"datasync" => IoOp::Flush,
            b"add" | b"open" | b"close" => {
                self.device(name)?;
                collector.other();
                return Ok(());
            }
            b"wait" if self.version == 2 => {
                let wait = f.time("wait", self.unit)?;
                self.clock = self.clock.saturating_add(wait);
                return Ok(());
            }
            other => {
                let expected =
                    "read, write, trim, sync, datasync, add, open, close (version 2: wait)";
                return Err(EntryError::field("action", other, expected));
            }
        };
        let device = self.device(name)?;
        let (mut offset, mut len) = (f.number("offset")?, f.number("length")?);
        if !f.is_done() {
            return Err(EntryError::field("columns", f.rest(), "the end of the line"));
        }
        if op == IoOp::Flush {
            (offset, len) = (0, 0);
        }
        let raw = RawRequest {
            time,
            op,
            device,
            offset,
            len,
            latency: None,
            gap: None,
            pid: None,
            preflush: false,
            durable: false,
        };
        collector.take(raw)
    }
}
