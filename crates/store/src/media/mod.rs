//! The interface between an image and the storage of its bytes.
//!
//! [`FileMedia`] is a file accessed through the page cache or with direct I/O. The testkit has an
//! implementation in memory that can fail, and lose data that were not synced.

mod file;

pub use file::{Backend, FileMedia};
pub use gordon_sys::ring::Job;

use std::io::{IoSlice, IoSliceMut, Result};
use std::sync::Arc;

/// Storage of bytes at offsets; parts of it may be holes.
///
/// - Written data can be read at once; a hole reads as zeros.
/// - When [`sync`](Self::sync) has returned, all data written and erased before the call survive a
///   crash of the host. Data that were not synced may survive or not, in blocks of 4 KiB, in any
///   order. A kill of the process loses nothing.
/// - Several threads may call methods at the same time; if their ranges overlap, either order is
///   correct.
pub trait Media: Send + Sync {
    /// Size in bytes.
    fn len(&self) -> u64;

    /// Whether the size is zero.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` with the bytes at offset `at`.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// As [`read`](Self::read), into several consecutive buffers, for page data; may bypass the
    /// page cache.
    fn read_data(&self, at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()>;

    /// Whether [`read_together`](Self::read_together) performs several reads at a time.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Performs reads of page data, in any order.
    fn read_together(&self, jobs: &mut [Job<'_>]) {
        for job in jobs {
            job.result = self.read_data(job.at, &mut [IoSliceMut::new(job.into)]);
        }
    }

    /// Writes `bytes` at offset `at`.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()>;

    /// As [`write`](Self::write), from several buffers, for page data.
    fn write_data(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()>;

    /// Makes a range a hole; both numbers are multiples of 4 KiB.
    fn erase(&self, at: u64, len: u64) -> Result<()>;

    /// The first offset from `at` on that is not known to be in a hole.
    fn next_data(&self, at: u64) -> Result<u64>;

    /// The start of the first known hole from `at` on; the size if there is none.
    fn next_hole(&self, at: u64) -> Result<u64>;

    /// Alignment in bytes of page data, in memory and in the file.
    fn alignment(&self) -> usize {
        1
    }

    /// Grows the storage to at least `len` bytes; the added bytes read as zeros.
    fn grow(&self, len: u64) -> Result<()>;

    /// Makes all earlier writes durable.
    fn sync(&self) -> Result<()>;

    /// After a failed sync: drops cached data, so that reads return what is on the medium.
    fn forget(&self) -> Result<()> {
        Ok(())
    }
}

impl<M: Media + ?Sized> Media for Arc<M> {
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
