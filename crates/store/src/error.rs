//! What can be wrong with an image, and why a request fails.

use crate::device::DeviceError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an image cannot be made, opened or used.
#[derive(Debug, Error)]
pub enum ImageError {
    /// There is a file of that name.
    #[error("{0}: exists already; remove it first, or choose another name")]
    Exists(PathBuf),
    /// Another process has it open.
    #[error("{0}: in use by another process; stop it first")]
    InUse(PathBuf),
    /// Not one of ours.
    #[error(
        "{0}: not a NAND image\n  try: `gordon block create` makes one; a plain file is served as a \
         disk: `gordon block serve FILE --preset sata-7200-1tb`"
    )]
    Foreign(PathBuf),
    /// Written by another version.
    #[error("{path}: NAND image of version {version}, this program knows version {known}; {hint}")]
    Version {
        /// Which image.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// Ours.
        known: u32,
        /// What to try.
        hint: &'static str,
    },
    /// Shorter than it says.
    #[error("{path}: cut off: {len} bytes, its superblock says {expected}; restore it from a copy")]
    Truncated {
        /// Which image.
        path: PathBuf,
        /// Bytes there are.
        len: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// Both superblocks are unreadable.
    #[error("{0}: both superblocks are damaged; restore it from a copy")]
    Damaged(PathBuf),
    /// It says impossible things of itself, or is asked to.
    #[error("{path}: {why}")]
    Device {
        /// Which image.
        path: PathBuf,
        /// What.
        why: DeviceError,
    },
    /// Direct I/O does not fit.
    #[error("{0}: units of {1} bytes cannot go past the page cache; use the backend `file`")]
    Unaligned(PathBuf, u64),
    /// Something that decides which data are current is damaged or missing, and nothing else proves
    /// it.
    #[error(
        "{path}: damaged: {}; serving it could return older data\n  try: `gordon block export {path} \
         OUT.raw` to copy what can be proved, `gordon block serve --salvage` to read it, then \
         `gordon block check --repair` to accept the loss", summary(.damage)
    )]
    Unproven {
        /// Which image.
        path: PathBuf,
        /// What is damaged: at least one.
        damage: Vec<String>,
    },
    /// An assertion has fired: a defect of the program.
    #[error(
        "{path}: internal error: {why}\n  try: report it; `gordon block export {path} OUT.raw` copies \
         what can be proved"
    )]
    Internal {
        /// Which image.
        path: PathBuf,
        /// The assertion.
        why: String,
    },
    /// The layer does not come up.
    #[error("{path}: {why}")]
    Layer {
        /// Which image.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file system.
    #[error("{path}: {error}")]
    Io {
        /// Which image.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

/// The first of several kinds of damage, and how many more there are.
fn summary(damage: &[String]) -> String {
    match damage {
        [] => String::new(),
        [one] => one.clone(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }
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
    /// The data cannot be read: more wrong bits than can be corrected.
    #[error("the data cannot be read: more wrong bits than can be corrected")]
    Unreadable,
    /// So many blocks have gone bad that nothing more can be written.
    #[error("read-only: the reserve of good blocks is used up")]
    WornOut,
    /// The file system under the image is full. The same request may succeed later.
    #[error("no space left in the file system under the image")]
    NoSpace,
    /// The file under the image failed.
    #[error("the file under the image failed")]
    Medium,
    /// An assertion has fired, which is a defect of the program. The image is as after a kill.
    #[error("the store has stopped on an internal error; restart it")]
    Stopped,
    /// Not whole sectors, nothing, or past the end.
    #[error("not whole sectors inside the device")]
    Invalid,
    /// The image is served to save what is in it.
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
