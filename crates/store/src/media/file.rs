//! Storage in a file.

use super::{Job, Media};
use gordon_sys::ring::Reads;
use rustix::fs::{Advice, FallocateFlags, OFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags};
use std::fs;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How page data reach the file. Metadata always go through the page cache. Batches of reads use
/// io_uring if the kernel supports it; everything else uses positioned I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Through the page cache.
    #[default]
    File,
    /// Bypasses the page cache (`O_DIRECT`).
    Direct,
}

/// A file that is locked while it is open.
pub struct FileMedia {
    file: fs::File,
    /// The same file opened with `O_DIRECT`, if that is used for page data.
    direct: Option<fs::File>,
    /// For batches of reads; `None` if the kernel does not support io_uring.
    ring: Option<Reads>,
    len: AtomicU64,
}

/// Repeats an attempt that returns `None` while a file is in use. A file that was just closed may
/// remain in use for a moment, by a child process being started or by the kernel's queue of reads.
fn patiently<T>(mut attempt: impl FnMut() -> Option<Result<T>>) -> Result<T> {
    for _ in 0..20 {
        if let Some(done) = attempt() {
            return done;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(ErrorKind::ResourceBusy.into())
}

fn lock(try_lock: impl Fn() -> std::result::Result<(), fs::TryLockError>) -> Result<()> {
    patiently(|| match try_lock() {
        Ok(()) => Some(Ok(())),
        Err(fs::TryLockError::WouldBlock) => None,
        Err(fs::TryLockError::Error(error)) => Some(Err(error)),
    })
}

/// Alignment of direct I/O in bytes.
const DIRECT: usize = 4096;

impl FileMedia {
    /// Creates a file of this length without allocated space. Returns an error if the file exists.
    pub fn create(path: &Path, len: u64, backend: Backend) -> Result<Self> {
        let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        lock(|| file.try_lock())?;
        file.set_len(len)?;
        Self::with(file, path, backend, true)
    }

    /// Opens a file; with `write` it is locked against all others, else against writers.
    ///
    /// # Errors
    /// Also, with `write`, if it is a block device that is mounted.
    pub fn open(path: &Path, backend: Backend, write: bool) -> Result<Self> {
        let is_device = fs::metadata(path)?.file_type().is_block_device();
        let exclusive = if write && is_device { OFlags::EXCL } else { OFlags::empty() };
        let flags = i32::try_from(exclusive.bits()).map_err(Error::other)?;
        let open = || fs::OpenOptions::new().read(true).write(write).custom_flags(flags).open(path);
        let file = patiently(|| match open() {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => None,
            opened => Some(opened),
        })?;
        lock(|| if write { file.try_lock() } else { file.try_lock_shared() })?;
        Self::with(file, path, backend, write)
    }

    fn with(file: fs::File, path: &Path, backend: Backend, write: bool) -> Result<Self> {
        // A block device has no length in its metadata.
        let len = rustix::fs::seek(&file, SeekFrom::End(0))?;
        let direct = match backend {
            Backend::File => None,
            Backend::Direct => {
                let flags = i32::try_from(OFlags::DIRECT.bits()).map_err(Error::other)?;
                let mut options = fs::OpenOptions::new();
                Some(options.read(true).write(write).custom_flags(flags).open(path)?)
            }
        };
        Ok(Self { file, direct, ring: Reads::new(), len: AtomicU64::new(len) })
    }

    /// Another descriptor of the file, through which page data are accessed.
    ///
    /// # Errors
    /// Returns an error if the process has too many open files.
    pub fn data_file(&self) -> Result<fs::File> {
        self.data().try_clone()
    }

    fn data(&self) -> &fs::File {
        self.direct.as_ref().unwrap_or(&self.file)
    }
}

impl Media for FileMedia {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn read_data(&self, mut at: u64, mut into: &mut [IoSliceMut<'_>]) -> Result<()> {
        if let [one] = into
            && self.direct.is_none()
        {
            return self.file.read_exact_at(one, at);
        }
        while !into.is_empty() {
            match rustix::io::preadv(self.data(), into, at) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    at += read as u64;
                    IoSliceMut::advance_slices(&mut into, read);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_parallel(&self) -> bool {
        self.ring.is_some()
    }

    fn read_together(&self, jobs: &mut [Job<'_>]) {
        // Data in the page cache are read without waiting.
        let mut cold: Vec<&mut Job<'_>> = Vec::new();
        for job in jobs {
            if self.direct.is_some() || !self.read_cached(job.at, job.into) {
                cold.push(job);
            }
        }
        match (&self.ring, &mut *cold) {
            (Some(ring), [_, _, ..]) => ring.read(self.data(), &mut cold),
            _ => {
                for job in cold {
                    job.result = self.read_data(job.at, &mut [IoSliceMut::new(job.into)]);
                }
            }
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn write_data(&self, mut at: u64, mut parts: &mut [IoSlice<'_>]) -> Result<()> {
        while !parts.is_empty() {
            match rustix::io::pwritev(self.data(), parts, at) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    at += written as u64;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn erase(&self, at: u64, len: u64) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, at, len) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeros(at, len),
            Err(error) => Err(error.into()),
        }
    }

    fn next_data(&self, at: u64) -> Result<u64> {
        if at >= self.len() {
            return Ok(at);
        }
        // Nothing else uses the file's own position.
        match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
            Ok(next) => Ok(next),
            Err(Errno::NXIO) => Ok(self.len()),
            Err(Errno::INVAL) => Ok(at),
            Err(error) => Err(error.into()),
        }
    }

    fn next_hole(&self, at: u64) -> Result<u64> {
        match rustix::fs::seek(&self.file, SeekFrom::Hole(at)) {
            Ok(next) => Ok(next),
            Err(Errno::NXIO | Errno::INVAL) => Ok(self.len()),
            Err(error) => Err(error.into()),
        }
    }

    fn alignment(&self) -> usize {
        if self.direct.is_some() { DIRECT } else { 1 }
    }

    fn grow(&self, len: u64) -> Result<()> {
        if self.len() < len {
            // Fails on a block device, whose length is fixed.
            self.file.set_len(len)?;
            self.len.store(len, Ordering::Relaxed);
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(rustix::fs::fdatasync(&self.file)?)
    }

    fn forget(&self) -> Result<()> {
        Ok(rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }
}

impl FileMedia {
    /// Reads data that are in the page cache; returns false unless all of them are.
    fn read_cached(&self, at: u64, into: &mut [u8]) -> bool {
        let len = into.len();
        let into = &mut [IoSliceMut::new(into)];
        rustix::io::preadv2(&self.file, into, at, ReadWriteFlags::NOWAIT) == Ok(len)
    }

    /// Writes zeros, for file systems without holes.
    #[cold]
    fn write_zeros(&self, at: u64, len: u64) -> Result<()> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        let (mut at, end) = (at, at + len);
        while at < end {
            let now = ZEROS.len().min(usize::try_from(end - at).unwrap_or(ZEROS.len()));
            self.file.write_all_at(&ZEROS[..now], at)?;
            at += now as u64;
        }
        Ok(())
    }
}
