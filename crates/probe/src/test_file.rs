//! The target of a benchmark, and whether it may be overwritten.
//!
//! In a directory, a scratch file is created and may be written to. A file or a block device is
//! only read, unless writing was allowed.

use crate::buffer::Buffer;
use crate::probe::length;
use crate::target::{Access, Target};
use crate::{ProbeError, Progress};
use gordon_units::Bytes;
use rustix::fs::statvfs;
use std::path::Path;

/// Default size of a scratch file, if there is space for twice as much.
const DEFAULT_SPAN: u64 = 1 << 30;
/// Bytes per write when a scratch file is filled.
const FILL_SIZE: u64 = 4 << 20;

/// The target of a benchmark.
#[derive(Debug)]
pub struct TestFile {
    /// The opened file or device.
    pub target: Target,
    /// Whether it is a scratch file, which has no name and disappears with its last use, however
    /// the process ends.
    pub scratch: bool,
}

impl TestFile {
    /// Opens `path`. A file or a block device is opened for writing only with `write`. In a
    /// directory, a scratch file of `span` bytes is created (default: 1 GiB, or half of the free
    /// space).
    ///
    /// # Errors
    /// When `path` does not exist, is not on storage, or has not enough space.
    pub fn open(path: &Path, write: bool, span: Option<u64>) -> Result<Self, ProbeError> {
        if !path.is_dir() {
            let access = if write { Access::ReadWrite } else { Access::ReadOnly };
            let target = Target::open(path, access)?;
            if let Some(span) = span.filter(|span| *span > target.capacity()) {
                let why = format!("{} is more than there is", Bytes(span));
                let hint = format!("at most {}", Bytes(target.capacity()));
                return Err(ProbeError::impossible("span", why, &hint));
            }
            return Ok(Self { target, scratch: false });
        }
        let mut target = Target::scratch(path)?;
        let free = statvfs(path).map_err(|e| ProbeError::system(path, "look at it", e))?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        let span = span.unwrap_or(DEFAULT_SPAN.min(free / 2)).next_multiple_of(target.sector());
        if span > free || span == 0 {
            let why = format!("a scratch file of {} where {} are free", Bytes(span), Bytes(free));
            return Err(ProbeError::impossible("span", why, "a smaller --span, or another place"));
        }
        target.resize(span)?;
        Ok(Self { target, scratch: true })
    }

    /// Fills a scratch file with data that cannot be compressed, because reads of a hole do not
    /// reach the device.
    ///
    /// # Errors
    /// When the file cannot be written, or `progress` stops the run.
    pub fn fill(&self, progress: &Progress) -> Result<(), ProbeError> {
        let target = &self.target;
        if !self.scratch {
            return Ok(());
        }
        let len = FILL_SIZE.min(target.capacity());
        let mut buffer = Buffer::random(length(len)?, 2);
        let mut at = 0;
        while at < target.capacity() {
            progress.check()?;
            let now = length(len.min(target.capacity() - at))?;
            buffer.stamp(now);
            target.write(at, &buffer.get()[..now])?;
            at += now as u64;
        }
        target.sync()
    }
}
