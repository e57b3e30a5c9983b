//! A file or a block device, opened for direct I/O.

use crate::ProbeError;
use crate::device_facts::{DeviceFacts, TargetDescription, TargetKind};
use gordon_units::Bytes;
use rustix::fs::{AtFlags, OFlags, StatxFlags, fstatfs, ioctl_blksszget, statx};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How a target may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    ReadOnly,
    /// Reads and writes. Existing data are overwritten.
    ReadWrite,
}

/// Sector size if the system reports none. Every current device accepts it.
const SECTOR: u64 = 4096;

/// File systems in memory (linux/magic.h). They accept direct I/O, but there is no storage below
/// them.
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// A file or a block device, opened for direct I/O.
#[derive(Debug)]
pub struct Target {
    file: File,
    access: Access,
    description: TargetDescription,
}

impl Target {
    /// Opens a target. A block device is opened for writing only if nothing else uses it.
    ///
    /// # Errors
    /// When the path is neither a file nor a block device, cannot be opened, is empty, or its file
    /// system
    /// does not support direct I/O.
    pub fn open(path: &Path, access: Access) -> Result<Self, ProbeError> {
        // Checked before the file is opened, because opening a pipe would block.
        let kind = fs::metadata(path).map_err(|e| refused(path, e))?.file_type();
        let (kind, exclusive) = if kind.is_block_device() {
            (TargetKind::BlockDevice, access == Access::ReadWrite)
        } else if kind.is_file() {
            (TargetKind::File, false)
        } else {
            return Err(ProbeError::Kind(path.into()));
        };
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::ReadWrite);
        let flags = if exclusive { OFlags::DIRECT | OFlags::EXCL } else { OFlags::DIRECT };
        let file = options.custom_flags(bits(flags)).open(path).map_err(|e| refused(path, e))?;
        let target = Self::of(file, path, kind, access)?;
        if target.capacity() == 0 {
            let len = target.file.metadata().map_or(0, |meta| meta.len());
            let (path, sector) = (path.display(), target.sector());
            let why = match len {
                0 => format!("{path} is empty"),
                len => format!("{path} has {len} bytes, less than a sector of {sector}"),
            };
            return Err(ProbeError::impossible("target", why, "a larger file, or a block device"));
        }
        Ok(target)
    }

    /// Creates a file without a name, which disappears when it is closed, however the process ends.
    pub(crate) fn scratch(folder: &Path) -> Result<Self, ProbeError> {
        let path = folder.join(format!(".gordon-scratch-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.custom_flags(bits(OFlags::DIRECT)).open(&path);
        // If direct I/O is refused, the file may have been created nevertheless.
        let removed = fs::remove_file(&path);
        let file = file.map_err(|error| refused(folder, error))?;
        removed.map_err(|error| ProbeError::system(&path, "remove it", error))?;
        Self::of(file, folder, TargetKind::File, Access::ReadWrite)
    }

    fn of(
        mut file: File,
        path: &Path,
        kind: TargetKind,
        access: Access,
    ) -> Result<Self, ProbeError> {
        let fail = |error: Error| ProbeError::system(path, "look at it", error);
        let meta = file.metadata().map_err(fail)?;
        let (facts, capacity, sector) = match kind {
            TargetKind::BlockDevice => {
                let capacity = file.seek(SeekFrom::End(0)).map_err(fail)?;
                let sector = ioctl_blksszget(&file).map_err(|e| fail(e.into()))?;
                (DeviceFacts::of(meta.rdev()), capacity, Some(sector.into()))
            }
            TargetKind::File => {
                check_storage(&file, path)?;
                (DeviceFacts::of(meta.dev()), meta.len(), direct_alignment(&file, path)?)
            }
        };
        let sector = sector.or(facts.sector).unwrap_or(SECTOR);
        let sparse = kind == TargetKind::File && meta.blocks() * 512 < capacity;
        let description = TargetDescription {
            path: path.into(),
            kind,
            capacity: capacity - capacity % sector,
            sector,
            device: facts.device,
            rotational: facts.rotational,
            model: facts.model,
            sparse,
        };
        Ok(Self { file, access, description })
    }

    /// Description of the target.
    #[must_use]
    pub fn description(&self) -> &TargetDescription {
        &self.description
    }

    /// Size in bytes, a multiple of the sector size.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.description.capacity
    }

    /// Sector size in bytes. Offsets and lengths are multiples of it.
    #[must_use]
    pub fn sector(&self) -> u64 {
        self.description.sector
    }

    /// Path of the target.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.description.path
    }

    /// Whether writes are allowed.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Changes the length of a file.
    pub(crate) fn resize(&mut self, len: u64) -> Result<(), ProbeError> {
        let set = rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, len);
        let set = match set {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.file.set_len(len),
            other => other.map_err(Error::from),
        };
        set.map_err(|error| {
            ProbeError::system(self.path(), &format!("take {}", Bytes(len)), error)
        })?;
        self.description.capacity = len;
        Ok(())
    }

    /// Checks that a request is aligned to sectors and within the target.
    pub(crate) fn check(&self, number: usize, offset: u64, len: u64) -> Result<(), ProbeError> {
        let (sector, capacity) = (self.sector(), self.capacity());
        let fits = offset.checked_add(len).is_some_and(|end| end <= capacity);
        if fits && len > 0 && offset.is_multiple_of(sector) && len.is_multiple_of(sector) {
            return Ok(());
        }
        let (path, capacity) = (self.path().into(), Bytes(capacity));
        Err(ProbeError::Range { path, number, offset, len, sector, capacity })
    }

    /// Reads into the buffer `into`.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), ProbeError> {
        let mut done = 0;
        while done < into.len() {
            match rustix::io::pread(&self.file, &mut into[done..], offset + done as u64) {
                Ok(0) => return Err(self.failed("read", offset, ErrorKind::UnexpectedEof.into())),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed("read", offset, error.into())),
            }
        }
        Ok(())
    }

    /// Writes `bytes`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), ProbeError> {
        let mut done = 0;
        while done < bytes.len() {
            match rustix::io::pwrite(&self.file, &bytes[done..], offset + done as u64) {
                Ok(0) => return Err(self.failed("write", offset, ErrorKind::WriteZero.into())),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed("write", offset, error.into())),
            }
        }
        Ok(())
    }

    /// Makes earlier writes durable.
    pub(crate) fn sync(&self) -> Result<(), ProbeError> {
        let synced = rustix::fs::fdatasync(&self.file);
        synced.map_err(|error| ProbeError::system(self.path(), "flush it", error))
    }

    #[cold]
    fn failed(&self, what: &str, offset: u64, error: Error) -> ProbeError {
        ProbeError::system(self.path(), &format!("{what} at byte {offset}"), error)
    }
}

#[allow(clippy::cast_possible_wrap)] // flags are bits
fn bits(flags: OFlags) -> i32 {
    flags.bits() as i32
}

/// The error of a failed open.
fn refused(path: &Path, error: Error) -> ProbeError {
    match Errno::from_io_error(&error) {
        Some(Errno::INVAL) => ProbeError::NotDirect { path: path.into(), why: "" },
        Some(Errno::ACCESS | Errno::PERM) => ProbeError::Denied { path: path.into(), error },
        Some(Errno::BUSY) => ProbeError::InUse(path.into()),
        Some(Errno::NOENT) => ProbeError::Missing(path.into()),
        _ => ProbeError::system(path, "open it", error),
    }
}

/// Returns an error if the file is not on storage.
fn check_storage(file: &File, path: &Path) -> Result<(), ProbeError> {
    let found = fstatfs(file).map_err(|e| ProbeError::system(path, "look at it", e))?;
    #[allow(clippy::cast_sign_loss, clippy::useless_conversion)] // only 32 bits are used
    let magic = found.f_type as u64 & 0xffff_ffff;
    if magic == TMPFS || magic == RAMFS {
        return Err(ProbeError::NotDirect { path: path.into(), why: ": it is in memory" });
    }
    Ok(())
}

/// Alignment of offsets in a file, if the kernel reports it (Linux 6.1).
fn direct_alignment(file: &File, path: &Path) -> Result<Option<u64>, ProbeError> {
    match statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(found) if found.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            match found.stx_dio_offset_align {
                0 => Err(ProbeError::NotDirect { path: PathBuf::from(path), why: "" }),
                align => Ok(Some(align.into())),
            }
        }
        _ => Ok(None),
    }
}
