//! Errors of block traces in any format. Each says what is wrong, where, and what to try.

use super::entry_error::{EntryError, FilePosition};
use crate::error::TraceError;
use std::io;
use std::path::PathBuf;

/// An error in reading or writing a block trace. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file cannot be opened.
    #[error(
        "cannot open {path}: {source}\n  try: check the name, and who may read it",
        path = .path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The file cannot be read to its end.
    #[error(
        "cannot read {path} after {place}: {source}\n  \
         try: a fresh copy of the file, which may be cut short or damaged",
        path = .path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The last complete line or record.
        place: FilePosition,
        /// The error of the system call or of the decompressor.
        source: io::Error,
    },
    /// A line or record is malformed.
    #[error(
        "{path}, {place}: {bad} (format {format})\n  try: {hint}",
        path = .path.display(),
        hint = entry_hint(.bad, .format)
    )]
    Bad {
        /// The file.
        path: PathBuf,
        /// Position of the line or record.
        place: FilePosition,
        /// Name of the format that was read.
        format: &'static str,
        /// Error of the line or record.
        bad: Box<EntryError>,
    },
    /// The format of the content is unknown.
    #[error(
        "{path} is of no known trace format: {why}\n  \
         try: --format with one of {known}; for requests in other columns --columns \
         \"time=1:s,op=2,lba=3,size=4:B\"",
        path = .path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
        /// The names of all formats.
        known: String,
    },
    /// The content fits several formats.
    #[error(
        "{path}: the format is not clear: {why}\n\
         {candidates}\n  \
         try: the right one of these options, or --columns to describe the columns",
        candidates = list(.candidates), path = .path.display()
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The reason why none is chosen.
        why: String,
        /// The formats that fit.
        candidates: Vec<FormatCandidate>,
    },
    /// There is no format with this name.
    #[error("unknown trace format `{name}`\n  try: one of {known}")]
    Name {
        /// The name.
        name: String,
        /// The names of all formats.
        known: String,
    },
    /// The format has the activity of a machine, and no requests.
    #[error(
        "format {name} has the activity of a machine, not its requests\n  \
         try: gordon trace convert FILE OUT --format {name}, then gordon survey OUT"
    )]
    Activity {
        /// The name of the format.
        name: &'static str,
    },
    /// The version or kind of the file is not supported.
    #[error("{path}: {what}\n  try: {hint}", path = .path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Description of the file.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The trace has no request, or none of the selected ones.
    #[error("{path} holds no request{why}\n  try: {hint}", path = .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The reason, if requests were left out.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// An option has a value that is not accepted.
    #[error("{0}")]
    Option(String),
    /// The file cannot be written.
    #[error(
        "cannot write {path}: {source}\n  try: a folder that exists, is yours and has room",
        path = .path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The caller stopped the conversion.
    #[error("stopped")]
    Stopped,
    /// An error of a trace in our own format.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A format that a file fits, and what the file would mean in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatCandidate {
    /// The options that select this format.
    pub options: String,
    /// Number of requests, bytes and time, and what is implausible.
    pub meaning: String,
}

fn list(candidates: &[FormatCandidate]) -> String {
    let lines = candidates.iter().map(|c| format!("    {}: {}", c.options, c.meaning));
    lines.collect::<Vec<_>>().join("\n")
}

/// What to try after an error of a line or record.
fn entry_hint(error: &EntryError, format: &str) -> &'static str {
    match error {
        EntryError::Field { field, .. } if format == "columns" && field.starts_with("op ") => {
            "--reads, --writes or --trims with this word, or --skip-bad to leave such lines \
             out and count them"
        }
        EntryError::Field { .. } if format == "columns" => {
            "--columns and --separator that fit this line, or --skip-bad to leave out what is \
             malformed and count it"
        }
        EntryError::Field { field, .. } if **field == *"next access" => {
            "a policy that does not need the next accesses, such as --policy lru"
        }
        EntryError::Field { field, .. } if **field == *"object" => {
            "gordon cache replay, which reads objects"
        }
        EntryError::Field { .. } => "--skip-bad to leave out what is malformed and count it",
        EntryError::Backwards { hint, .. } => hint,
    }
}
