//! Errors of starting a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server does not start. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbdError {
    /// A file other than a stale socket exists at the path of the socket.
    #[error(
        "{path} exists already and is in use, or is not a socket\n  try: another path",
        path = .0.display()
    )]
    Exists(PathBuf),
    /// Clients on other machines could reach the TCP address without TLS.
    #[error(
        "{0} can be reached from other machines, and TLS is not required\n  try: a certificate and \
         key, 127.0.0.1, or --insecure"
    )]
    Beyond(SocketAddr),
    /// The system refuses to listen at the address.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// The path or address.
        place: String,
        /// The error of the system.
        error: io::Error,
    },
    /// An export that the protocol does not allow.
    #[error("cannot serve the export {name:?}: {why}")]
    Export {
        /// The name of the export.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// The limits are too low to serve any request.
    #[error("limits that are too low: {0}")]
    Limits(&'static str),
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
    /// The system refuses a thread or a descriptor.
    #[error("cannot start the server: {0}")]
    System(#[from] io::Error),
}
