//! Errors of Spark's event logs. Each says what is wrong, where, and what to try.

use std::io;
use std::path::PathBuf;

/// An error in reading an event log. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventLogError {
    /// The log cannot be opened.
    #[error(
        "cannot open {path}: {source}\n  try: check the name, and who may read it",
        path = .path.display()
    )]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file of the log cannot be read to its end.
    #[error(
        "cannot read {path} after line {line}: {source}\n  \
         try: a fresh copy of the file, which may be damaged",
        path = .path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Number of lines that were read.
        line: u64,
        /// The error of the system call or of the decompressor.
        source: io::Error,
    },
    /// The input is not an event log.
    #[error("{path} is not a Spark event log: {why}\n  try: {hint}", path = .path.display())]
    NotEventLog {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// The log is compressed in a way that is not supported.
    #[error(
        "{path} is compressed with {codec}, which is not supported\n  try: {hint}",
        path = .path.display()
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// Name of the compression.
        codec: &'static str,
        /// What to try.
        hint: &'static str,
    },
    /// A line of the log is malformed.
    #[error(
        "{path}, line {line}: {why}\n  \
         try: a fresh copy of the log, or --skip-bad to leave out such lines and count them",
        path = .path.display()
    )]
    Bad {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The log has the events of several applications.
    #[error(
        "{path}, line {line}: a second application starts, and a log has one\n  \
         try: a file for each application; the events of the second start at about this line",
        path = .path.display()
    )]
    SecondApplication {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
    },
    /// The log records no task that can be used.
    #[error("{path}: {why}\n  try: {hint}", path = .path.display())]
    Content {
        /// The file or folder.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// The caller stopped the reading.
    #[error("stopped")]
    Stopped,
}
