//! Errors of a cache.

use std::io;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// Why a cache cannot be opened or used.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A value of the configuration is invalid.
    #[error("{key}: {why}; try {hint}")]
    Config {
        /// Name of the field.
        key: &'static str,
        /// What is wrong with it.
        why: String,
        /// A valid value.
        hint: String,
    },
    /// A file cannot be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The body of a [`Writer`](crate::Writer) does not have the length that was announced.
    #[error("the body has {found} bytes, {expected} were announced")]
    Length {
        /// Announced length in bytes.
        expected: u64,
        /// Bytes written.
        found: u64,
    },
}
