use gordon_units::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// Why a sort, a generator or a checker cannot go on. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
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
    /// A file is not whole records.
    #[error(
        "{path}: {len} bytes at byte {at}, its end, are no whole record\n  \
         try: --partial-last keep, which puts them at the end of the output, or drop",
        path = path.display()
    )]
    Partial {
        /// Which.
        path: PathBuf,
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
