use gordon_units::{Bytes, Stopped};
use std::io;
use std::path::{Path, PathBuf};

/// Why storage cannot be asked. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The system's own word.
    #[error("{path}: cannot {what}: {error}", path = path.display())]
    System {
        /// Of what.
        path: PathBuf,
        /// What was to be done.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// The system does not let us.
    #[error(
        "{path}: cannot open it: {error}\n  try: as root, or as its owner",
        path = path.display()
    )]
    Denied {
        /// What.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// There is none.
    #[error("{path}: no such file or device\n  try: `lsblk` lists the devices", path = .0.display())]
    Missing(PathBuf),
    /// Neither a file nor a block device.
    #[error(
        "{path}: neither a regular file nor a block device\n  \
         try: a file, or a block device (`lsblk`)",
        path = .0.display()
    )]
    Kind(PathBuf),
    /// The file system cannot go past the page cache.
    #[error(
        "{path}: its file system does not do direct I/O{why}\n  \
         try: a path on a disk (ext4, xfs, btrfs), or a block device",
        path = path.display()
    )]
    NotDirect {
        /// Of what.
        path: PathBuf,
        /// Why, where that is known.
        why: &'static str,
    },
    /// A block device that something uses is not written to.
    #[error(
        "{path}: in use (mounted, or part of something): it is not written to\n  \
         try: unmount it first",
        path = .0.display()
    )]
    InUse(PathBuf),
    /// A value that cannot be.
    #[error("{what}: {why}\n  try: {hint}")]
    Impossible {
        /// Which value.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to try.
        hint: String,
    },
    /// A request that is not whole sectors inside the target.
    #[error(
        "{path}: request {number} (from 1): {len} bytes at {offset} are not whole sectors of \
         {sector} bytes inside {capacity}\n  try: multiples of the sector, within the capacity",
        path = path.display()
    )]
    Range {
        /// Of what.
        path: PathBuf,
        /// Which.
        number: usize,
        /// Where it starts.
        offset: u64,
        /// How long it is.
        len: u64,
        /// The unit of addressing.
        sector: u64,
        /// What there is.
        capacity: Bytes,
    },
    /// What exists is not written to unless that is said.
    #[error(
        "{path}: writing to it destroys what is there\n  \
         try: only reads (--patterns sequential-read,random-read), a directory, where a scratch file is \
         made, or --write",
        path = .0.display()
    )]
    Kept(PathBuf),
    /// Opened to be read only.
    #[error("{path}: opened to read, not to write\n  try: --write, which destroys what is there", path = .0.display())]
    ReadOnly(PathBuf),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for ProbeError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

impl ProbeError {
    /// The system's word on something.
    pub(crate) fn system(path: &Path, what: &str, error: impl Into<io::Error>) -> Self {
        Self::System { path: path.into(), what: what.into(), error: error.into() }
    }

    /// A value that cannot be.
    pub(crate) fn impossible(what: &str, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.into(), why: why.to_string(), hint: hint.into() }
    }
}
