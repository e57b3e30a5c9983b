//! Why a device is not served.

use gordon_ssd::SsdError;
use gordon_store::{DeviceError, ImageError, IoError};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a device cannot be served. The text has the hint on its own line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The part that gives the times.
    #[error(transparent)]
    Part(#[from] SsdError),
    /// The part cannot become an image.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The file that is to be a disk.
    #[error(transparent)]
    Disk(#[from] DiskFileError),
    /// It could not be left in order.
    #[error("the image could not be left in order: {0}; the next start makes it good")]
    Close(IoError),
    /// The system lacks something.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

/// Why a file cannot be served as a disk.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskFileError {
    /// It is not there.
    #[error("{0}: no such file\n  try: truncate -s 8G {0}")]
    Missing(PathBuf),
    /// Somebody else has it.
    #[error("{0}: in use by another process\n  try: stop it first")]
    InUse(PathBuf),
    /// It cannot be opened.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nothing in it.
    #[error("{0}: an empty file\n  try: truncate -s 8G {0}")]
    Empty(PathBuf),
    /// Not a disk's.
    #[error(
        "{path}: {len} bytes are not a multiple of 512-byte sectors\n  try: truncate -s %512 {path}"
    )]
    Ragged {
        /// Which.
        path: PathBuf,
        /// How long it is.
        len: u64,
    },
    /// It is what the store makes.
    #[error(
        "{path}: a flash image, and {name} is a disk\n  try: a plain file, or no preset of a disk"
    )]
    Image {
        /// Which.
        path: PathBuf,
        /// The disk.
        name: String,
    },
    /// More than the disks hold.
    #[error(
        "{path}: {len} bytes do not fit on {name}, which holds {capacity}\n  try: a larger disk, or --stripe {stripe}"
    )]
    Large {
        /// Which.
        path: PathBuf,
        /// How long it is.
        len: u64,
        /// The disk.
        name: String,
        /// What it holds.
        capacity: u64,
        /// So many of it would do.
        stripe: u64,
    },
    /// The last sync.
    #[error("{0}: could not be synced: {1}")]
    Sync(PathBuf, io::Error),
}
