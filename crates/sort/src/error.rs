use gordon_units::{Bytes, Stopped};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why a sort, generator or validator fails. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// The system reported an error.
    #[error("{path}: cannot {what}: {error}{hint}", path = path.display(), hint = hint(error))]
    System {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation.
        what: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A file became shorter while it was read.
    #[error(
        "{path}: was cut to {at} bytes while it was read\n  \
         try: leave the files of a sort alone while it runs",
        path = path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its current length in bytes.
        at: u64,
    },
    /// The keys read back from temporary files are not those that were written.
    #[error(
        "the temporary files do not hold what was written: something changed them, or their device \
         did\n  \
         try: leave the files of a sort alone while it runs; --temp on another device"
    )]
    Changed,
    /// A file is text, and no format was requested, so that the default format of 100-byte records
    /// would apply.
    #[error(
        "{path}: the file is text, and the default format is records of 100 bytes{over}\n  \
         try: --lines for text; --record 100 for records of 100 bytes",
        path = path.display(),
        over = left_over(*over)
    )]
    Text {
        /// The file.
        path: PathBuf,
        /// Bytes after the last whole 100 bytes.
        over: u64,
    },
    /// The length of a file is not a multiple of the record length.
    #[error(
        "{path}: not a multiple of {record}-byte records ({len} bytes left over at byte {at})\n  \
         try: --lines for text; --record N with the length of a record; --partial-last keep to \
         leave the rest at the end of the output",
        path = path.display()
    )]
    Partial {
        /// The file.
        path: PathBuf,
        /// Bytes of a record.
        record: u64,
        /// Offset of the incomplete record.
        at: u64,
        /// Bytes of the incomplete record.
        len: u64,
    },
    /// A device is full.
    #[error(
        "{path}: the device has no room for {len}\n  \
         try: another device (--temp for temporary files), or more memory, so that there are none",
        path = path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// The length that the file should get.
        len: Bytes,
    },
    /// A value is invalid.
    #[error("{what}: {why}\n  try: {hint}")]
    Impossible {
        /// The value.
        what: String,
        /// Why it is invalid.
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
    /// An error of the system, for an operation on a path.
    pub(crate) fn system(path: &Path, what: &str, error: impl Into<io::Error>) -> Self {
        Self::System { path: path.into(), what: what.into(), error: error.into() }
    }

    /// An invalid value.
    pub(crate) fn impossible(what: impl ToString, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.to_string(), why: why.to_string(), hint: hint.into() }
    }
}

/// Text about an incomplete record at the end of a file.
fn left_over(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" ({bytes} bytes left over)") }
}

/// A hint for an error of the system, or an empty text.
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
        Some(Errno::NOENT) => "\n  try: check the name",
        Some(Errno::ROFS) => "\n  try: another place: that file system can only be read",
        _ => "",
    }
}
