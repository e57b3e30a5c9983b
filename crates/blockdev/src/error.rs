//! Errors of serving a device. The text of an error has its hint on a line of its own.

use gordon_ssd::SsdError;
use gordon_store::{DeviceError, ImageError, IoError};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a device cannot be served, or was not closed cleanly.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The image cannot be opened or mounted.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The part is invalid.
    #[error(transparent)]
    Part(#[from] SsdError),
    /// No image can be made of the part.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The file cannot be served as a disk.
    #[error(transparent)]
    Disk(#[from] DiskFileError),
    /// The image could not be closed cleanly.
    #[error("the image could not be shut down in order: {0}; the next start repairs it")]
    Close(IoError),
    /// The system refuses a thread.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

/// Why a file cannot be served as a disk.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskFileError {
    /// The file does not exist.
    #[error("{0}: no such file\n  try: truncate -s 8G {0}")]
    Missing(PathBuf),
    /// Another process has locked the file.
    #[error("{0}: in use by another process\n  try: stop it first")]
    InUse(PathBuf),
    /// The file cannot be opened.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is empty.
    #[error("{0}: an empty file\n  try: truncate -s 8G {0}")]
    Empty(PathBuf),
    /// The length is not a multiple of the sector size.
    #[error(
        "{path}: {len} bytes are not a multiple of 512-byte sectors\n  try: truncate -s %512 {path}"
    )]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
    },
    /// The file is a flash image of the store.
    #[error(
        "{path}: a flash image, and {name} is a disk\n  try: a plain file, or no preset of a disk"
    )]
    Image {
        /// The file.
        path: PathBuf,
        /// Name of the disk as which it was to be served.
        name: String,
    },
    /// The file is larger than the disks.
    #[error(
        "{path}: {len} bytes do not fit on {name}, which holds {capacity}\n  \
         try: a larger disk, or --stripe {stripe}"
    )]
    Large {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// Name of the disk.
        name: String,
        /// Capacity of the disks in bytes.
        capacity: u64,
        /// Number of disks that are large enough together.
        stripe: u64,
    },
    /// The sync at the end failed.
    #[error("{0}: could not be synced: {1}")]
    Sync(PathBuf, io::Error),
}
