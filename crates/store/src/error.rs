//! Errors of images, and the causes of failed requests.

use crate::resolved_device::DeviceError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an image cannot be created, opened or used.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A file of this name already exists.
    #[error("{0}: exists already; remove it first, or choose another name")]
    Exists(PathBuf),
    /// Another process has the image open.
    #[error("{0}: in use by another process; stop it first")]
    InUse(PathBuf),
    /// The file is not an image.
    #[error(
        "{0}: not a NAND image\n  \
         try: `gordon block create` makes one; a plain file is served as a disk: `gordon block \
         serve FILE --preset sata-7200-1tb`"
    )]
    Foreign(PathBuf),
    /// The image has a version that this program does not support.
    #[error("{path}: NAND image of version {version}, this program knows version {known}; {hint}")]
    Version {
        /// The image.
        path: PathBuf,
        /// Version of the image.
        version: u32,
        /// Version that this program writes.
        known: u32,
        /// What to try.
        hint: &'static str,
    },
    /// The image holds a cache of objects, which uses its blocks without the translation layer.
    #[error(
        "{0}: holds a cache of objects, not a block device\n  \
         try: `gordon cache serve --flash {0}`, or another image (`gordon block create`)"
    )]
    Raw(PathBuf),
    /// The image holds the data of a block device.
    #[error(
        "{0}: holds the data of a block device\n  \
         try: a new image (`gordon block create`)"
    )]
    HoldsDevice(PathBuf),
    /// The file is shorter than its superblock says.
    #[error("{path}: cut off: {len} bytes, its superblock says {expected}; restore it from a copy")]
    Truncated {
        /// The image.
        path: PathBuf,
        /// Actual length in bytes.
        len: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// Both superblocks are unreadable.
    #[error("{0}: both superblocks are damaged; restore it from a copy")]
    Damaged(PathBuf),
    /// The device parameters of the image are invalid.
    #[error("{path}: {why}")]
    Device {
        /// The image.
        path: PathBuf,
        /// The invalid parameter.
        why: DeviceError,
    },
    /// The unit is not a multiple of the alignment of direct I/O.
    #[error("{0}: units of {1} bytes cannot go past the page cache; use the backend `file`")]
    Unaligned(PathBuf, u64),
    /// Metadata that determine the current data are damaged or missing, and no redundant metadata
    /// prove them.
    #[error(
        "{path}: damaged: {}; serving it could return older data\n  \
         try: `gordon block export {path} OUT.raw` to copy what can be proved, `gordon block serve \
         --salvage` to read it, then `gordon block check --repair` to accept the \
         loss", summary(.damage)
    )]
    Unproven {
        /// The image.
        path: PathBuf,
        /// Descriptions of the damage; at least one.
        damage: Vec<String>,
    },
    /// An assertion failed, which is a bug of the program.
    #[error(
        "{path}: internal error: {why}\n  \
         try: report it; `gordon block export {path} OUT.raw` copies what can be proved"
    )]
    Internal {
        /// The image.
        path: PathBuf,
        /// Message of the assertion.
        why: String,
    },
    /// The layer cannot be mounted.
    #[error("{path}: {why}")]
    Layer {
        /// The image.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The file system returned an error.
    #[error("{path}: {error}{}", name_hint(.error))]
    Io {
        /// The image.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// The first kind of damage, and the number of others.
fn summary(damage: &[String]) -> String {
    match damage {
        [] => String::new(),
        [one] => one.clone(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }
}

/// A hint for a file that does not exist, or an empty text.
fn name_hint(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::NotFound { "\n  try: check the name" } else { "" }
}

impl ImageError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            io::ErrorKind::ResourceBusy => Self::InUse(path),
            _ => Self::Io { path, error },
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IoError {
    /// The data are unreadable: more wrong bits than can be corrected.
    #[error("the data cannot be read: more wrong bits than can be corrected")]
    Unreadable,
    /// Too many blocks have gone bad for further writes.
    #[error("read-only: the reserve of good blocks is used up")]
    WornOut,
    /// The file system under the image is full. The same request may succeed later.
    #[error("no space left in the file system under the image")]
    NoSpace,
    /// The file under the image failed.
    #[error("the file under the image failed")]
    Medium,
    /// An assertion failed, which is a bug of the program. The image is as after a kill.
    #[error("the store has stopped on an internal error; restart it")]
    Stopped,
    /// The range is empty, is not whole sectors, or exceeds the device.
    #[error("not whole sectors inside the device")]
    Invalid,
    /// The image is being salvaged, so it is read-only.
    #[error("read-only: a damaged image is being salvaged")]
    Salvaging,
}

impl IoError {
    /// The fault that an error of the file under the image causes.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Medium,
        }
    }
}
