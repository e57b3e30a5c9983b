//! What can go wrong with a block trace of any format: what, where, and what to try.

use super::Format;
use crate::error::TraceError;
use gordon_units::Ns;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// A line, counted from 1, of the text as it is after decompression; 0 before the first.
    Line(u64),
    /// A record, counted from 1, and the byte it starts at, after decompression.
    Record(u64, u64),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(0) => f.write_str("its start"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record(record, byte) => write!(f, "record {record} (byte {byte})"),
        }
    }
}

/// What is wrong with one line or record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// A field is not what it should be.
    Field {
        /// Which.
        field: Box<str>,
        /// What is there.
        found: Box<str>,
        /// What should be.
        expected: Cow<'static, str>,
    },
    /// A request is earlier than the one before it.
    Backwards {
        /// By how much.
        by: Ns,
        /// When the one before it was issued, since the first request.
        last: Ns,
        /// What helps with a trace of this kind.
        hint: &'static str,
    },
}

impl EntryError {
    /// A field that is not what it should be; long content is cut.
    #[cold]
    pub(super) fn field(field: &'static str, found: &[u8], expected: &'static str) -> Self {
        Self::of_field(field, found, Cow::Borrowed(expected))
    }

    /// The same where what is expected depends on the trace.
    #[cold]
    pub(super) fn named(field: &'static str, found: &[u8], expected: String) -> Self {
        Self::of_field(field, found, Cow::Owned(expected))
    }

    fn of_field(field: &'static str, found: &[u8], expected: Cow<'static, str>) -> Self {
        const SHOWN: usize = 40;
        let cut = &found[..found.len().min(SHOWN)];
        let mut text: String =
            String::from_utf8_lossy(cut).chars().flat_map(char::escape_debug).collect();
        if found.len() > SHOWN {
            text.push_str("...");
        }
        Self::Field { field: field.into(), found: text.into(), expected }
    }

    /// The same with the number of the column, counted from 0, that holds the field.
    #[cold]
    pub(super) fn in_column(self, at: usize) -> Self {
        match self {
            Self::Field { field, found, expected } => {
                let field = format!("{field} (column {})", at + 1).into();
                Self::Field { field, found, expected }
            }
            other => other,
        }
    }

    /// What to try.
    fn hint(&self, format: Format) -> &'static str {
        match self {
            Self::Field { field, .. } if format == Format::Columns && field.starts_with("op ") => {
                "--reads, --writes or --trims with this word, or --skip-bad to leave such lines \
                 out and count them"
            }
            Self::Field { .. } if format == Format::Columns => {
                "--columns and --separator that fit this line, or --skip-bad to leave out what is \
                 malformed and count it"
            }
            Self::Field { field, .. } if **field == *"next access" => {
                "a policy that does not need the next accesses, such as --policy lru"
            }
            Self::Field { field, .. } if **field == *"object" => {
                "gordon cache replay, which reads objects"
            }
            Self::Field { .. } => "--skip-bad to leave out what is malformed and count it",
            Self::Backwards { hint, .. } => hint,
        }
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { field, found, expected } if found.is_empty() => {
                write!(f, "{field}: expected {expected}, found nothing")
            }
            Self::Field { field, found, expected } => {
                write!(f, "{field}: expected {expected}, found `{found}`")
            }
            Self::Backwards { by, last, .. } => {
                write!(f, "time goes backwards by {by}, {last} into the trace")
            }
        }
    }
}

/// An error in reading or writing a block trace. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {source}\n  try: check the name, and who may read it", path = .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file cannot be read to its end.
    #[error("cannot read {path} after {place}: {source}\n  try: a fresh copy of the file, which may be cut short or damaged", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The last line or record that was whole.
        place: FilePosition,
        /// The system's or the decompressor's answer.
        source: io::Error,
    },
    /// A line or record is malformed.
    #[error(
        "{path}, {place}: {bad} (format {format})\n  try: {hint}",
        path = .path.display(),
        hint = .bad.hint(*.format)
    )]
    Bad {
        /// The file.
        path: PathBuf,
        /// Where.
        place: FilePosition,
        /// As which format it was read.
        format: Format,
        /// What is wrong.
        bad: EntryError,
    },
    /// The content is of no known format.
    #[error("{path} is of no known trace format: {why}\n  try: --columns \"time=1:s,op=2,lba=3,size=4:B\" to describe its columns, or --format with one of {names}", names = Format::names(), path = .path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What speaks against the formats.
        why: String,
    },
    /// The content fits several formats.
    #[error("{path}: the format is not clear: {why}\n{candidates}\n  try: the right one of these options, or --columns to describe the columns", candidates = list(.candidates), path = .path.display())]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// Why none is chosen.
        why: String,
        /// Those it fits.
        candidates: Vec<FormatCandidate>,
    },
    /// No format has this name.
    #[error("unknown trace format `{0}`\n  try: one of {names}", names = Format::names())]
    Name(String),
    /// The file is of a version or kind that is not read.
    #[error("{path}: {what}\n  try: {hint}", path = .path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The trace holds no request that was asked for.
    #[error("{path} holds no request{why}\n  try: {hint}", path = .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Why, where something was left out.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}\n  try: a folder that exists, is yours and has room", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// Our own format's.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A format that a file fits, and what the file would mean in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatCandidate {
    /// The options that choose it.
    pub options: String,
    /// Requests, bytes, time, and what is implausible.
    pub meaning: String,
}

fn list(candidates: &[FormatCandidate]) -> String {
    let lines = candidates.iter().map(|c| format!("    {}: {}", c.options, c.meaning));
    lines.collect::<Vec<_>>().join("\n")
}
