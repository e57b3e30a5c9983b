//! Errors of reading and writing, by the path that they are of.

use crate::error::WorkloadError;
use std::io;
use std::path::Path;

impl WorkloadError {
    /// The error of a failed write to `path`: a full file system is an error of its own.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            let why = "the disk is full; nothing was kept".into();
            Self::DiskFull { path: path.to_owned(), why }
        } else {
            Self::Write { path: path.to_owned(), source }
        }
    }

    /// The error of a failed read of `path`.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }
}
