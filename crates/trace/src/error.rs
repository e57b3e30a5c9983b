//! What can go wrong with a trace: what, where, and what to try.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing lies at the path.
    #[error("no trace at {path}: it does not exist\n  try: gordon trace -o {path} -- COMMAND", path = .0.display())]
    Missing(PathBuf),
    /// Something else lies at the path.
    #[error("{path} is not a gordon trace: {why}\n  try: a folder that `gordon trace -o` made", path = .path.display())]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What gave it away.
        why: String,
    },
    /// A trace of a format this version does not read.
    #[error("{path} has trace format version {found}, this gordon reads version {known}\n  try: the gordon that wrote it ({gordon})", path = .path.display())]
    Version {
        /// Where.
        path: PathBuf,
        /// The version it has.
        found: u64,
        /// The version known here.
        known: u32,
        /// What wrote it.
        gordon: String,
    },
    /// A file of the trace is cut short, altered or not there.
    #[error("{path} is damaged: {why}\n  try: a fresh copy of the trace, or trace the job again", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The trace holds no block log.
    #[error("{path} has no block log: {why}\n  try: trace the job again as root", path = .path.display())]
    NoBlockLog {
        /// The trace.
        path: PathBuf,
        /// Why capture had none.
        why: String,
    },
    /// The trace holds the block log alone.
    #[error("{path} holds block requests alone, converted from {format}: nothing of processors, memory and network\n  try: gordon flash replay {path}, or trace the job itself with `gordon trace`", path = .path.display())]
    BlockLogOnly {
        /// The trace.
        path: PathBuf,
        /// The format they come from.
        format: String,
    },
    /// The place for a new trace is taken.
    #[error("{path} exists already\n  try: another name, or remove it first", path = .0.display())]
    Exists(PathBuf),
    /// No room for the trace.
    #[error("the disk is full while writing {path}; the trace was removed\n  try: -o on a disk with more room", path = .0.display())]
    DiskFull(PathBuf),
    /// A file of the trace cannot be written.
    #[error("cannot write {path}: {source}\n  try: a folder that exists and is yours", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of the trace cannot be read.
    #[error("cannot read {path}: {source}\n  try: check who may read it", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// An option makes no sense.
    #[error("{option}: {why}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is wrong and what to try.
        why: String,
    },
}

impl TraceError {
    /// A failed write to `path`, told apart by whether the disk is full.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            Self::DiskFull(path.to_owned())
        } else {
            Self::Write { path: path.to_owned(), source }
        }
    }

    /// The same of a file that the user knows by another name.
    pub(crate) fn of(self, path: &Path) -> Self {
        match self {
            Self::Write { source, .. } => Self::Write { path: path.to_owned(), source },
            Self::DiskFull(_) => Self::DiskFull(path.to_owned()),
            other => other,
        }
    }

    pub(crate) fn parquet_write(path: &Path, error: parquet::errors::ParquetError) -> Self {
        Self::write(path, io_error(error))
    }

    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn foreign(path: &Path, why: impl Into<String>) -> Self {
        Self::Foreign { path: path.to_owned(), why: why.into() }
    }
}

/// The system's answer inside a Parquet error, if there is one.
fn io_error(error: parquet::errors::ParquetError) -> io::Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
