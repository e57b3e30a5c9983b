//! Opening a file that is served as a disk.

use super::file_bytes::FileBytes;
use crate::error::DiskFileError;
use gordon_blockio::{Device, SECTOR};
use gordon_hdd::PowerConfig;
use gordon_hdd::drive::Drive;
use gordon_store::{Backend, FileMedia, Media, is_image};
use std::io;
use std::path::{Path, PathBuf};

/// The simulated disks that give a file its timing.
pub struct DiskPart {
    /// A disk, or a stripe of disks.
    pub drive: Drive,
    /// Name for the status and messages.
    pub name: String,
    /// Power of one disk; `None` if it is unknown.
    pub power: Option<PowerConfig>,
}

/// An open file that can be served as a disk.
pub struct DiskFile {
    pub(super) path: PathBuf,
    pub(super) bytes: FileBytes,
    pub(super) part: DiskPart,
}

impl DiskFile {
    /// Opens a file and locks it: for writing against all other processes, for reading only against
    /// writers.
    ///
    /// # Errors
    /// The file cannot be opened or locked, or does not fit on the disk.
    pub fn open(path: &Path, part: DiskPart, write: bool) -> Result<Self, DiskFileError> {
        let fail = |error: io::Error| {
            let path = path.to_owned();
            match error.kind() {
                io::ErrorKind::NotFound => DiskFileError::Missing(path),
                io::ErrorKind::ResourceBusy => DiskFileError::InUse(path),
                _ => DiskFileError::Io { path, error },
            }
        };
        let file = FileMedia::open(path, Backend::File, write).map_err(fail)?;
        if is_image(&file).map_err(fail)? {
            let (path, name) = (path.to_owned(), part.name);
            return Err(DiskFileError::Image { path, name });
        }
        Self::on(path, Box::new(file), part)
    }

    /// Checks the medium of a file that is open.
    pub(super) fn on(
        path: &Path,
        media: Box<dyn Media>,
        part: DiskPart,
    ) -> Result<Self, DiskFileError> {
        let (path, len) = (path.to_owned(), media.len());
        let capacity = part.drive.capacity().0;
        if len == 0 {
            return Err(DiskFileError::Empty(path));
        }
        if !len.is_multiple_of(SECTOR.0) {
            return Err(DiskFileError::Ragged { path, len });
        }
        if len > capacity {
            let one = part.drive.disks()[0].capacity();
            let (name, stripe) = (part.name, len.div_ceil(one.0));
            return Err(DiskFileError::Large { path, len, name, capacity, stripe });
        }
        Ok(Self { path, bytes: FileBytes::new(media), part })
    }
}
