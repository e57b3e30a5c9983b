//! Files with positioned reads and writes, which bypass the page cache if the file system supports
//! it.

use crate::SortError;
use crate::memory::PAGE;
use gordon_sys::ring::Op;
use gordon_units::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, SeekFrom};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether transfers use the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Mode")]
pub enum CacheMode {
    /// Transfers bypass the page cache if the file system supports it, which avoids copies and
    /// leaves other cached data in place.
    #[default]
    Direct,
    /// Transfers use the page cache.
    Buffered,
}

/// A file of the system, opened a second time with `O_DIRECT` for transfers of whole pages.
#[derive(Debug)]
struct FilePart {
    path: PathBuf,
    cached: Arc<fs::File>,
    direct: Option<Arc<fs::File>>,
}

/// A file, or several files as one striped file: unit n is in file n mod their count.
#[derive(Debug)]
pub struct SortFile {
    parts: Vec<Arc<FilePart>>,
    /// Bytes of a stripe unit.
    unit: u64,
}

/// The part of a transfer that one call can do: file, offset and length.
pub struct IoSegment<'a> {
    part: &'a FilePart,
    pub file: &'a Arc<fs::File>,
    pub offset: u64,
    pub len: usize,
}

impl SortFile {
    /// Opens an existing file for reading.
    pub fn open(path: &Path, mode: CacheMode) -> Result<Self, SortError> {
        // The type is checked before opening, since opening a pipe would wait for its other end.
        let meta = fs::metadata(path).map_err(|error| SortError::system(path, "open it", error))?;
        if !meta.is_file() && !meta.file_type().is_block_device() {
            return Err(SortError::impossible(
                path.display(),
                "neither a regular file nor a block device",
                "a file; what comes through a pipe has to be in one first",
            ));
        }
        let mut options = OpenOptions::new();
        FilePart::with(path, mode, options.read(true)).map(Self::of)
    }

    /// Creates a file that must not exist yet, for reading and writing by this process alone.
    pub fn create(path: &Path, mode: CacheMode) -> Result<Self, SortError> {
        let mut options = OpenOptions::new();
        let made = FilePart::with(
            path,
            CacheMode::Buffered,
            options.read(true).write(true).create_new(true),
        );
        let mut part = made?;
        // If files cannot be locked, the process number in the name has to suffice.
        let _ = rustix::fs::flock(&part.cached, FlockOperation::NonBlockingLockExclusive);
        part.direct = direct(path, mode, OpenOptions::new().read(true).write(true))?.map(Arc::new);
        Ok(Self::of(part))
    }

    /// Whether no process that created this file still holds it.
    pub fn is_free(path: &Path) -> bool {
        let locked = fs::File::open(path).map(|file| {
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
                == Err(Errno::WOULDBLOCK)
        });
        matches!(locked, Ok(false))
    }

    /// Opens an existing file for reading and writing.
    pub fn open_to_write(path: &Path, mode: CacheMode) -> Result<Self, SortError> {
        FilePart::with(path, mode, OpenOptions::new().read(true).write(true)).map(Self::of)
    }

    fn of(part: FilePart) -> Self {
        Self { parts: vec![Arc::new(part)], unit: u64::MAX }
    }

    /// Several files as one, striped in units of `unit` bytes.
    pub fn striped(files: &[Arc<Self>], unit: u64) -> Self {
        Self { parts: files.iter().flat_map(|file| file.parts.iter().cloned()).collect(), unit }
    }

    /// Opens existing files, striped in units of `unit` bytes, for reading.
    pub fn open_striped(
        paths: &[PathBuf],
        unit: Bytes,
        mode: CacheMode,
    ) -> Result<Self, SortError> {
        let opened = paths.iter().map(|path| Self::open(path, mode).map(Arc::new));
        let file =
            Self::striped(&opened.collect::<Result<Vec<_>, _>>()?, unit_over(unit, paths.len())?);
        let all = file.len()?;
        for (part, share) in file.part_lens(all) {
            let len = part.len()?;
            if len != share {
                let why = format!(
                    "it has {len} bytes, and would have {share} if {all} lay over {} files in \
                     units of {unit}",
                    paths.len()
                );
                let hint = "all files of the stripe, in their order, and the unit that they were \
                            written with";
                return Err(SortError::impossible(part.path.display(), why, hint));
            }
        }
        Ok(file)
    }

    /// Current length in bytes.
    pub fn len(&self) -> Result<u64, SortError> {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Whether transfers bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.parts.iter().all(|part| part.direct.is_some())
    }

    /// The first part of a transfer of `len` bytes at `offset` that one call can do.
    pub fn segment(&self, offset: u64, len: usize) -> IoSegment<'_> {
        let (count, number) = (self.parts.len() as u64, offset / self.unit);
        let (part, within) = (&*self.parts[(number % count) as usize], offset % self.unit);
        let offset = number / count * self.unit + within;
        let len = (self.unit - within).min(len as u64) as usize;
        // Whole pages bypass the page cache.
        let blocks = len - len % PAGE;
        match &part.direct {
            Some(direct) if blocks > 0 && offset.is_multiple_of(PAGE as u64) => {
                IoSegment { part, file: direct, offset, len: blocks }
            }
            _ => IoSegment { part, file: &part.cached, offset, len },
        }
    }

    /// Allocates `len` bytes, so that a full device is an error now and not later.
    pub fn reserve(&self, len: u64) -> Result<(), SortError> {
        self.part_lens(len).try_for_each(|(part, len)| part.reserve(len))
    }

    pub fn set_len(&self, len: u64) -> Result<(), SortError> {
        self.part_lens(len).try_for_each(|(part, len)| part.set_len(len))
    }

    /// Number of bytes in file `n`, of a striped file of `len` bytes.
    pub fn part_len(&self, n: usize, len: u64) -> u64 {
        let row = self.unit.saturating_mul(self.parts.len() as u64);
        let before = self.unit.saturating_mul(n as u64);
        len / row * self.unit + (len % row).saturating_sub(before).min(self.unit)
    }

    fn part_lens(&self, len: u64) -> impl Iterator<Item = (&FilePart, u64)> {
        self.parts.iter().enumerate().map(move |(n, part)| (&**part, self.part_len(n, len)))
    }

    /// Reads at `offset` until `into` is filled.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), SortError> {
        let mut done = 0;
        while done < into.len() {
            let way = self.segment(offset + done as u64, into.len() - done);
            let part = &mut into[done..done + way.len];
            done += way.after(Op::Read, rustix::io::pread(way.file, part, way.offset))?;
        }
        Ok(())
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), SortError> {
        let mut done = 0;
        while done < bytes.len() {
            let way = self.segment(offset + done as u64, bytes.len() - done);
            let part = &bytes[done..done + way.len];
            done += way.after(Op::Write, rustix::io::pwrite(way.file, part, way.offset))?;
        }
        Ok(())
    }

    /// Makes the contents and the length durable.
    pub fn sync(&self) -> Result<(), SortError> {
        self.parts.iter().try_for_each(|part| {
            part.cached.sync_all().map_err(|error| part.failed("make it durable", error))
        })
    }
}

impl IoSegment<'_> {
    /// The number of bytes that a transfer of this segment moved, or its error, from the result of
    /// the system call.
    pub fn after(&self, op: Op, moved: Result<usize, Errno>) -> Result<usize, SortError> {
        let what = match op {
            Op::Read => "read",
            Op::Write => "write",
        };
        match moved {
            Ok(0) if op == Op::Read => {
                Err(SortError::Short { path: self.part.path.clone(), at: self.offset })
            }
            Ok(0) => Err(self.part.failed(what, ErrorKind::WriteZero.into())),
            Ok(moved) => Ok(moved),
            Err(Errno::INTR) => Ok(0),
            Err(Errno::NOSPC | Errno::DQUOT) if op == Op::Write => {
                Err(self.part.full(self.offset + self.len as u64))
            }
            Err(error) => {
                let what = format!("{what} at byte {}", self.offset);
                Err(self.part.failed(&what, error.into()))
            }
        }
    }
}

impl FilePart {
    fn with(path: &Path, mode: CacheMode, options: &mut OpenOptions) -> Result<Self, SortError> {
        let cached =
            options.open(path).map_err(|error| SortError::system(path, "open it", error))?;
        let direct = direct(path, mode, options)?.map(Arc::new);
        Ok(Self { path: path.into(), cached: Arc::new(cached), direct })
    }

    fn len(&self) -> Result<u64, SortError> {
        // The end is found by seeking, which also works for block devices.
        let end = rustix::fs::seek(&self.cached, SeekFrom::End(0));
        end.map_err(|error| self.failed("look at it", error.into()))
    }

    fn reserve(&self, len: u64) -> Result<(), SortError> {
        if len == 0 {
            return Ok(());
        }
        if self.least_missing(len) > 0 {
            return Err(self.full(len));
        }
        match rustix::fs::fallocate(&self.cached, FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.set_len(len),
            Err(Errno::NOSPC | Errno::DQUOT) => Err(self.full(len)),
            Err(error) => Err(self.failed("take its place", error.into())),
        }
    }

    /// Bytes of a file of `len` bytes for which the file system has no block. Allocating them would
    /// take all blocks from others before it fails. 0 if that is unknown.
    fn least_missing(&self, len: u64) -> u64 {
        let Ok(system) = rustix::fs::fstatvfs(&self.cached) else { return 0 };
        let Ok(file) = self.cached.metadata() else { return 0 };
        // Blocks are counted in units of 512 bytes, whatever their size.
        let allocated = file.blocks().saturating_mul(512);
        let free = system.f_bfree.saturating_mul(system.f_frsize);
        // Some file systems count no blocks.
        let is_known = file.is_file() && system.f_blocks > 0;
        if is_known { len.saturating_sub(allocated.saturating_add(free)) } else { 0 }
    }

    fn set_len(&self, len: u64) -> Result<(), SortError> {
        let what = format!("make it {len} bytes long");
        self.cached.set_len(len).map_err(|error| self.failed(&what, error))
    }

    #[cold]
    fn failed(&self, what: &str, error: Error) -> SortError {
        SortError::system(&self.path, what, error)
    }

    #[cold]
    fn full(&self, len: u64) -> SortError {
        SortError::Full { path: self.path.clone(), len: Bytes(len) }
    }
}

/// Validates the stripe unit over a number of files.
pub fn unit_over(unit: Bytes, files: usize) -> Result<u64, SortError> {
    if files == 0 {
        return Err(SortError::impossible("stripe", "over no files", "their names, in order"));
    }
    if unit.0 == 0 || !unit.0.is_multiple_of(PAGE as u64) {
        let why = format!("a unit of {unit} is not whole pages of 4KiB");
        return Err(SortError::impossible("stripe", why, "256KiB"));
    }
    Ok(unit.0)
}

/// Opens a file with `O_DIRECT`; `None` if that is not wanted, or not supported by the file system.
fn direct(
    path: &Path,
    mode: CacheMode,
    options: &mut OpenOptions,
) -> Result<Option<fs::File>, SortError> {
    if mode == CacheMode::Buffered {
        return Ok(None);
    }
    match options.custom_flags(bits(OFlags::DIRECT)).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Ok(None),
        Err(error) => Err(SortError::system(path, "open it", error)),
    }
}

#[allow(clippy::cast_possible_wrap)] // flags are bits
fn bits(flags: OFlags) -> i32 {
    flags.bits() as i32
}
