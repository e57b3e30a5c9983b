//! The options of a server, and the events that it reports.

use super::listen::Listen;
use super::tls::Tls;
use crate::export::Export;
use gordon_units::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Limits of clients. All clients together use at most `share` of memory and, for each connection,
/// `reserve` and some 0.5 MiB (5 MiB for a client that requests only block status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of clients; further clients are disconnected.
    pub connections: usize,
    /// Maximum number of requests in flight of a connection; further requests wait.
    pub requests: usize,
    /// Maximum size of the buffers of a connection.
    pub bytes: Bytes,
    /// The part of `bytes` that is reserved for the connection.
    pub reserve: Bytes,
    /// Memory that all connections share beyond their reserves.
    pub share: Bytes,
    /// Maximum duration of a handshake.
    pub handshake: Duration,
    /// A client that uses shared memory while a request of it is incomplete, or replies are unread,
    /// is disconnected if it transfers less than 1 MiB in this time.
    pub stall: Duration,
    /// How long a stop waits for clients with requests in flight.
    pub grace: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            requests: 128,
            bytes: Bytes(64 << 20),
            reserve: Bytes(256 << 10),
            share: Bytes(512 << 20),
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl ConnectionLimits {
    pub(super) fn reserve_bytes(&self) -> usize {
        byte_count(self.reserve)
    }

    pub(super) fn connection_bytes(&self) -> usize {
        byte_count(self.bytes)
    }
}

/// A size of memory as a `usize`.
pub(super) fn byte_count(bytes: Bytes) -> usize {
    usize::try_from(bytes.0).unwrap_or(usize::MAX)
}

/// An export with its name.
pub struct NamedExport {
    /// The name by which clients select it.
    pub name: String,
    /// A description for people; may be empty.
    pub description: String,
    /// The storage.
    pub export: Arc<dyn Export>,
    /// Refuses writes, even if the export takes them.
    pub read_only: bool,
}

/// An event in the life of a client, for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// A client connected.
    Connected {
        /// Number of the client, from 1.
        client: u64,
        /// Address of the client.
        peer: String,
    },
    /// A client was refused, because there are too many or the system lacks resources.
    Refused {
        /// The reason.
        why: String,
    },
    /// A client disconnected, or was disconnected.
    Disconnected {
        /// Number of the client.
        client: u64,
        /// The reason.
        why: String,
    },
}

/// A callback for events of clients. It is called on the threads of the server.
pub type EventCallback = Box<dyn Fn(&ClientEvent) + Send + Sync>;

/// The options of a server.
pub struct ServerOptions {
    /// The exports; the first is the default one.
    pub exports: Vec<NamedExport>,
    /// The addresses at which the server listens.
    pub listen: Vec<Listen>,
    /// The TLS certificate; `None` serves without TLS.
    pub tls: Option<Tls>,
    /// Limits of clients.
    pub limits: ConnectionLimits,
    /// The callback for events of clients.
    pub on_event: Option<EventCallback>,
}

impl ServerOptions {
    /// Options for one export without a name. The caller adds addresses.
    #[must_use]
    pub fn new(export: Arc<dyn Export>) -> Self {
        let (name, description) = (String::new(), String::new());
        Self {
            exports: vec![NamedExport { name, description, export, read_only: false }],
            listen: Vec::new(),
            tls: None,
            limits: ConnectionLimits::default(),
            on_event: None,
        }
    }
}
