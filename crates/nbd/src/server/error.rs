//! Why a server does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server does not start. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbdError {
    /// The socket's path is taken.
    #[error("{path} exists already and is in use, or is not a socket\n  try: another path", path = .0.display())]
    Exists(PathBuf),
    /// A TCP address that others can reach, in the clear.
    #[error(
        "{0} can be reached from other machines, and TLS is not required\n  try: a certificate and key, 127.0.0.1, or the explicit word for it"
    )]
    Beyond(SocketAddr),
    /// The system does not let us listen.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// Where.
        place: String,
        /// What it says.
        error: io::Error,
    },
    /// An export that the protocol does not allow.
    #[error("cannot serve the export {name:?}: {why}")]
    Export {
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Limits that let nobody do anything.
    #[error("limits that are too low: {0}")]
    Limits(&'static str),
    /// A certificate or key that is of no use.
    #[error("{path} is of no use for TLS: {why}\n  try: certificates and a key in PEM files", path = .path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The system lacks something.
    #[error("cannot start the server: {0}")]
    System(#[from] io::Error),
}
