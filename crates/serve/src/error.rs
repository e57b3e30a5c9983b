//! Errors of starting a server. The text of an error has its hint on a line of its own.

use std::io;
use std::path::PathBuf;

/// Why a server does not start, or was not closed cleanly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The folder of files does not exist or is not a folder.
    #[error("{path}: {why}\n  try: --root with a folder of files", path = .path.display())]
    Root {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The origin is not a URL that can be fetched.
    #[error("{url}: {why}\n  try: --origin http://127.0.0.1:9000")]
    Origin {
        /// The URL.
        url: String,
        /// The reason.
        why: String,
    },
    /// The cache cannot be opened.
    #[error(transparent)]
    Cache(#[from] gordon_objectcache::Error),
    /// The system refuses to listen at the address.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// The path or address.
        place: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A file other than a stale socket exists at the path of the control socket.
    #[error(
        "{path} exists already and is in use, or is not a socket\n  try: another path",
        path = .0.display()
    )]
    Exists(PathBuf),
    /// A certificate or key cannot be used.
    #[error(
        "{path} cannot be used for TLS: {why}\n  try: certificates and a key in PEM files",
        path = .path.display()
    )]
    Tls {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The access log cannot be written.
    #[error("{path}: the access log cannot be opened: {error}", path = .path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The limits admit no client.
    #[error("limits that are too low: {0}")]
    Limits(&'static str),
    /// The system refuses a thread or a descriptor.
    #[error("cannot start the server: {0}")]
    System(#[from] io::Error),
}
