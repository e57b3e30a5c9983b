use gordon_units::{Bytes, Stopped};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why a sort, a generator or a checker cannot go on. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// The system's own word.
    #[error("{path}: cannot {what}: {error}{hint}", path = path.display(), hint = hint(error))]
    System {
        /// Of what.
        path: PathBuf,
        /// What was to be done.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// A file ends where there were bytes before.
    #[error(
        "{path}: ends at byte {at}, before its length of a moment ago: something cut it\n  \
         try: leave the files of a sort alone while it runs",
        path = path.display()
    )]
    Short {
        /// Which.
        path: PathBuf,
        /// Where.
        at: u64,
    },
    /// Keys that were written are not those that were read.
    #[error(
        "the temporary files do not hold what was written: something changed them, or their device did\n  \
         try: leave the files of a sort alone while it runs; --temp on another device"
    )]
    Changed,
    /// A file is text, and nobody said that it holds records of the default format.
    #[error(
        "{path}: the file is text, and the default format is records of 100 bytes{over}\n  \
         try: --lines for text; --record 100 for records of 100 bytes",
        path = path.display(),
        over = left_over(*over)
    )]
    Text {
        /// Which.
        path: PathBuf,
        /// Bytes behind the last 100 bytes.
        over: u64,
    },
    /// A file is not whole records.
    #[error(
        "{path}: not a multiple of {record}-byte records ({len} bytes left over at byte {at})\n  \
         try: --lines for text; --record N with the length of a record; --partial-last keep to \
         leave the rest at the end of the output",
        path = path.display()
    )]
    Partial {
        /// Which.
        path: PathBuf,
        /// Bytes of a record.
        record: u64,
        /// Where the part of a record starts.
        at: u64,
        /// How long it is.
        len: u64,
    },
    /// A device has no more place.
    #[error(
        "{path}: no place on the device for {len}\n  \
         try: another device (--temp for temporary files), or more memory, so that there are none",
        path = path.display()
    )]
    Full {
        /// Of what.
        path: PathBuf,
        /// What it was to be long.
        len: Bytes,
    },
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
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for SortError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

impl SortError {
    /// The system's word on something.
    pub(crate) fn system(path: &Path, what: &str, error: impl Into<io::Error>) -> Self {
        Self::System { path: path.into(), what: what.into(), error: error.into() }
    }

    /// A value that cannot be.
    pub(crate) fn impossible(what: impl ToString, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.to_string(), why: why.to_string(), hint: hint.into() }
    }
}

/// The part of a record at a file's end.
fn left_over(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" ({bytes} bytes left over)") }
}

/// What may help, where something may.
fn hint(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            "\n  try: a place of your own, or as the user whose it is"
        }
        Some(Errno::FBIG) => {
            "\n  try: a higher limit (ulimit -f), or a file system of larger files"
        }
        Some(Errno::IO) => {
            "\n  try: dmesg, which says what is wrong with the device; another device"
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            "\n  try: fewer files at a time, or a higher limit (ulimit -n)"
        }
        Some(Errno::NOENT) => "\n  try: ls, whether it is there",
        Some(Errno::ROFS) => "\n  try: another place: that file system can only be read",
        _ => "",
    }
}
