//! Errors of traces. Each says what is wrong, where, and what to try.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a trace. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The path does not exist.
    #[error(
        "no trace at {path}: it does not exist\n  try: gordon trace -o {path} -- COMMAND",
        path = .0.display()
    )]
    Missing(PathBuf),
    /// The path holds something else than a trace.
    #[error("{path} is not a gordon trace: {why}\n  try: {hint}", path = .path.display())]
    Foreign {
        /// The path that was opened.
        path: PathBuf,
        /// The reason why it is not a trace.
        why: String,
        /// What to try.
        hint: String,
    },
    /// The path is a folder of the traces of several hosts.
    #[error(
        "{path} holds the traces of several hosts: {}\n  try: one of them: {}", list(.traces),
        .path.join(.traces.first().map_or("", String::as_str)).display(), path = .path.display()
    )]
    Several {
        /// The folder that was opened.
        path: PathBuf,
        /// The names of the traces in it.
        traces: Vec<String>,
    },
    /// The trace has a format version that this program does not read.
    #[error(
        "{path} has trace format version {found}, this gordon reads up to version {known}\n  \
         try: the gordon that wrote it ({gordon})",
        path = .path.display()
    )]
    Version {
        /// The folder of the trace.
        path: PathBuf,
        /// The version of the trace.
        found: u64,
        /// The newest version that this program reads.
        known: u32,
        /// The version of Gordon that wrote the trace.
        gordon: String,
    },
    /// A file of the trace is missing, truncated or altered.
    #[error(
        "{path} is damaged: {why}\n  try: a fresh copy of the trace, or trace the job again",
        path = .path.display()
    )]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The trace holds no block log.
    #[error(
        "{path} has no block log: {why}\n  try: trace the job again as root",
        path = .path.display()
    )]
    NoBlockLog {
        /// The folder of the trace.
        path: PathBuf,
        /// The reason that capture gave.
        why: String,
    },
    /// The trace was converted and holds only the block log.
    #[error(
        "{path} holds block requests alone, converted from {format}: nothing of processors, memory \
         and network\n  \
         try: gordon flash replay {path}, or trace the job itself with `gordon trace`",
        path = .path.display()
    )]
    BlockLogOnly {
        /// The folder of the trace.
        path: PathBuf,
        /// The format that the requests were converted from.
        format: String,
    },
    /// The path of a new trace exists already.
    #[error("{path} exists already\n  try: another name, or remove it first", path = .0.display())]
    Exists(PathBuf),
    /// The file system has no space left for the trace.
    #[error(
        "the disk is full while writing {path}; the trace was removed\n  \
         try: -o on a disk with more room",
        path = .0.display()
    )]
    DiskFull(PathBuf),
    /// A file of the trace cannot be written.
    #[error(
        "cannot write {path}: {source}\n  try: a folder that exists and is yours",
        path = .path.display()
    )]
    Write {
        /// The file that cannot be written.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file of the trace cannot be read.
    #[error("cannot read {path}: {source}\n  try: check who may read it", path = .path.display())]
    Read {
        /// The file that cannot be read.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// An option has a value that is not accepted.
    #[error("{option}: {why}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// What is wrong with its value, and what to try.
        why: String,
    },
}

impl TraceError {
    /// The error of a failed write to `path`: a full file system is an error of its own.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            Self::DiskFull(path.to_owned())
        } else {
            Self::Write { path: path.to_owned(), source }
        }
    }

    /// The same error with the path under which the user knows the file.
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
        let hint = "a folder that `gordon trace -o` or `gordon trace convert` made".to_owned();
        Self::Foreign { path: path.to_owned(), why: why.into(), hint }
    }
}

/// The first names of a list, and the number of the others.
fn list(names: &[String]) -> String {
    /// Names that are listed.
    const LISTED: usize = 8;
    let listed = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// The I/O error inside a Parquet error, if any.
fn io_error(error: parquet::errors::ParquetError) -> io::Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
