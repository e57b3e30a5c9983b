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
