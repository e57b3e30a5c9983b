//! The port: what an image asks of whatever keeps its bytes.
//!
//! Three adapters: a [`file`](FileMedia) by positioned I/O, through the page cache or past it, and
//! [`memory`](MemoryMedia) for tests, which can lose what was not synced.

mod file;
mod memory;

pub use file::{Backend, FileMedia};
pub use gordon_sys::ring::Job;
pub use memory::MemoryMedia;

use std::io::{IoSlice, IoSliceMut, Result};
use std::sync::Arc;

/// Bytes at places, some of them holes.
///
/// - Whoever has written may read what was written at once; a hole reads as zeros.
/// - After [`sync`](Self::sync) has returned, all that was written and erased before it was called
///   survives a crash of the host. What was not synced may survive or not, in blocks of 4 KiB, in
///   any order. A killed process loses nothing of it.
/// - Calls may come from several threads at once; where their ranges overlap, either order is
///   right.
pub trait Media: Send + Sync {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the buffer with what lies at `at`.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// As [`read`](Self::read), into several buffers, one after the other, and for page data: it
    /// may go past the page cache.
    fn read_data(&self, at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()>;

    /// Whether [`read_together`](Self::read_together) does several reads at a time.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Reads of page data, in any order.
    fn read_together(&self, jobs: &mut [Job<'_>]) {
        for job in jobs {
            job.result = self.read_data(job.at, &mut [IoSliceMut::new(job.into)]);
        }
    }

    /// Writes all of it to `at`.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()>;

    /// As [`write`](Self::write), from several buffers, for page data.
    fn write_data(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()>;

    /// Makes a hole; both numbers are multiples of 4 KiB.
    fn erase(&self, at: u64, len: u64) -> Result<()>;

    /// From `at` on: where the next byte lies that is not known to be in a hole.
    fn next_data(&self, at: u64) -> Result<u64>;

    /// From `at` on: where the next hole that is known begins; without one, where all ends.
    fn next_hole(&self, at: u64) -> Result<u64>;

    /// What buffers of page data must be aligned to, in memory and in the file.
    fn alignment(&self) -> usize {
        1
    }

    /// Makes it at least so long; what is added reads as zeros.
    fn grow(&self, len: u64) -> Result<()>;

    /// Makes what was written before durable.
    fn sync(&self) -> Result<()>;

    /// Lets reads find what is on the medium, where more was written and a sync of it failed.
    fn forget(&self) -> Result<()> {
        Ok(())
    }
}

impl<M: Media> Media for Arc<M> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        (**self).read(at, into)
    }

    fn read_data(&self, at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()> {
        (**self).read_data(at, into)
    }

    fn is_parallel(&self) -> bool {
        (**self).is_parallel()
    }

    fn read_together(&self, jobs: &mut [Job<'_>]) {
        (**self).read_together(jobs);
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        (**self).write(at, bytes)
    }

    fn write_data(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        (**self).write_data(at, parts)
    }

    fn erase(&self, at: u64, len: u64) -> Result<()> {
        (**self).erase(at, len)
    }

    fn next_data(&self, at: u64) -> Result<u64> {
        (**self).next_data(at)
    }

    fn next_hole(&self, at: u64) -> Result<u64> {
        (**self).next_hole(at)
    }

    fn alignment(&self) -> usize {
        (**self).alignment()
    }

    fn grow(&self, len: u64) -> Result<()> {
        (**self).grow(len)
    }

    fn sync(&self) -> Result<()> {
        (**self).sync()
    }

    fn forget(&self) -> Result<()> {
        (**self).forget()
    }
}
