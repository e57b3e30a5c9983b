//! What is wrong with a line or a record, and where it is.

use gordon_units::Ns;
use std::borrow::Cow;
use std::fmt;

/// A position in a file, after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// Number of a line, from 1; 0 for the start of the file.
    Line(u64),
    /// Number of a record, from 1, and its first byte.
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

/// Error of one line or record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// A field has an invalid value.
    Field {
        /// Name of the field.
        field: Box<str>,
        /// The value.
        found: Box<str>,
        /// A description of valid values.
        expected: Cow<'static, str>,
    },
    /// A request is earlier than the one before it.
    Backwards {
        /// Difference between the two times.
        by: Ns,
        /// Time of the earlier entry, since the first request.
        last: Ns,
        /// What to try with such a trace.
        hint: &'static str,
    },
}

impl EntryError {
    /// An invalid field. A long value is truncated.
    #[cold]
    pub(crate) fn field(field: &'static str, found: &[u8], expected: &'static str) -> Self {
        Self::of_field(field, found, Cow::Borrowed(expected))
    }

    /// An invalid field whose valid values depend on the trace.
    #[cold]
    pub(crate) fn named(field: &'static str, found: &[u8], expected: String) -> Self {
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

    /// Adds the number of the column, counted from 0, to the name of the field.
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
