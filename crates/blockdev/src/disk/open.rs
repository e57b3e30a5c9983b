//! A file that is to be a disk, opened and looked at.

use super::file_bytes::FileBytes;
use crate::error::DiskFileError;
use gordon_blockio::{Device, SECTOR};
use gordon_hdd::PowerConfig;
use gordon_hdd::drive::Drive;
use gordon_store::{Backend, FileMedia, Media, is_image};
use std::io;
use std::path::{Path, PathBuf};

/// The disks in whose time a file is served.
pub struct DiskPart {
    /// One, or several as one.
    pub drive: Drive,
    /// What to call it.
    pub name: String,
    /// What one draws, if that is known.
    pub power: Option<PowerConfig>,
}

/// A file that is open to be served.
pub struct DiskFile {
    pub(super) path: PathBuf,
    pub(super) bytes: FileBytes,
    pub(super) part: DiskPart,
}

impl DiskFile {
    /// Opens a file and locks it: to write against all others, to read against those who write.
    ///
    /// # Errors
    /// Where it cannot be had, or does not fit the disk.
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

    /// The same on any medium.
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
