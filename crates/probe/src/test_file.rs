//! What is asked, and what may be destroyed by it.
//!
//! In a directory a scratch file is made, which is ours to write to. A file or a block device is
//! read, and written to only where that was said.

use crate::buffer::Buffer;
use crate::probe::length;
use crate::target::{Access, Target};
use crate::{ProbeError, Progress};
use gordon_units::Bytes;
use rustix::fs::statvfs;
use std::path::Path;

/// Bytes of a scratch file where nothing else is said, if there is room for twice that.
const DEFAULT_SPAN: u64 = 1 << 30;
/// Bytes of one write that fills it.
const FILL_SIZE: u64 = 4 << 20;

/// A target, and whose it is.
#[derive(Debug)]
pub struct TestFile {
    /// What is asked.
    pub target: Target,
    /// A file of our own: it has no name, and is gone with the last use of it, however that ends.
    pub scratch: bool,
}

impl TestFile {
    /// Opens `path`: a file or a block device, to be written to only where `write` is said; in a
    /// directory a scratch file of `span` bytes (1 GiB, or half of what is free).
    ///
    /// # Errors
    /// Where `path` does not exist, where there is no storage or no room.
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

    /// Writes all of a scratch file with what cannot be compressed: a hole is not read from a
    /// device.
    ///
    /// # Errors
    /// Where it cannot be written, a stop.
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
