use gordon_units::{Bytes, Stopped};
use std::io;
use std::path::{Path, PathBuf};

/// An error in measuring storage. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A system call failed.
    #[error("{path}: cannot {what}: {error}", path = path.display())]
    System {
        /// Path of the target.
        path: PathBuf,
        /// What was attempted.
        what: String,
        /// The error of the system call.
        error: io::Error,
    },
    /// Permission to open the target is denied.
    #[error(
        "{path}: cannot open it: {error}\n  try: as root, or as its owner",
        path = path.display()
    )]
    Denied {
        /// Path of the target.
        path: PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// The path does not exist.
    #[error(
        "{path}: no such file or device\n  try: `lsblk` lists the devices",
        path = .0.display()
    )]
    Missing(PathBuf),
    /// The path is neither a file nor a block device.
    #[error(
        "{path}: neither a regular file nor a block device\n  \
         try: a file, or a block device (`lsblk`)",
        path = .0.display()
    )]
    Kind(PathBuf),
    /// The file system does not support direct I/O.
    #[error(
        "{path}: its file system does not do direct I/O{why}\n  \
         try: a path on a disk (ext4, xfs, btrfs), or a block device",
        path = path.display()
    )]
    NotDirect {
        /// Path of the target.
        path: PathBuf,
        /// The reason; empty if unknown.
        why: &'static str,
    },
    /// The block device is in use and is therefore not written to.
    #[error(
        "{path}: in use (mounted, or part of something): it is not written to\n  \
         try: unmount it first",
        path = .0.display()
    )]
    InUse(PathBuf),
    /// An option has a value that is not accepted.
    #[error("{what}: {why}\n  try: {hint}")]
    Impossible {
        /// Name of the value.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to try.
        hint: String,
    },
    /// A request is not aligned to sectors, or not within the target.
    #[error(
        "{path}: request {number} (from 1): {len} bytes at {offset} are not whole sectors of \
         {sector} bytes inside {capacity}\n  try: multiples of the sector, within the capacity",
        path = path.display()
    )]
    Range {
        /// Path of the target.
        path: PathBuf,
        /// Number of the request, from 1.
        number: usize,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
        /// Sector size in bytes.
        sector: u64,
        /// Size of the target.
        capacity: Bytes,
    },
    /// Writing to an existing file or device was not allowed.
    #[error(
        "{path}: writing to it destroys what is there\n  \
         try: only reads (--patterns sequential-read,random-read), a directory, where a scratch \
         file is made, or --write",
        path = .0.display()
    )]
    Kept(PathBuf),
    /// The target was opened for reading only.
    #[error(
        "{path}: opened to read, not to write\n  try: --write, which destroys what is there",
        path = .0.display()
    )]
    ReadOnly(PathBuf),
    /// The caller stopped the measurement.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for ProbeError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

impl ProbeError {
    /// The error of a system call.
    pub(crate) fn system(path: &Path, what: &str, error: impl Into<io::Error>) -> Self {
        Self::System { path: path.into(), what: what.into(), error: error.into() }
    }

    /// A value that is not accepted.
    pub(crate) fn impossible(what: &str, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.into(), why: why.to_string(), hint: hint.into() }
    }
}
