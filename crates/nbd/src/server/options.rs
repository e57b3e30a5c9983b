//! What to serve, where and how; what may happen then.

use super::listen::Listen;
use super::tls::Tls;
use crate::export::Export;
use gordon_units::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// What no client can go beyond. Memory of all clients is at most `share` and, for each connection,
/// `reserve` and some 0.5 MiB (5 MiB for one that asks for nothing but block status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Clients at a time; who comes above is sent away.
    pub connections: usize,
    /// Requests of a connection in flight; who sends more waits.
    pub requests: usize,
    /// Bytes of a connection's requests.
    pub bytes: Bytes,
    /// Of these, what a connection has for itself.
    pub reserve: Bytes,
    /// What all connections have together beside their reserves.
    pub share: Bytes,
    /// How long a handshake may last.
    pub handshake: Duration,
    /// A client that holds of the share and moves less than 1 MiB in that time is sent away.
    pub stall: Duration,
    /// How long a stop waits for clients that are busy.
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

/// Memory, as it is counted.
pub(super) fn byte_count(bytes: Bytes) -> usize {
    usize::try_from(bytes.0).unwrap_or(usize::MAX)
}

/// An export under its name.
pub struct NamedExport {
    /// What clients ask for.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// What holds the bytes.
    pub export: Arc<dyn Export>,
    /// Refuse writes, whatever the export takes.
    pub read_only: bool,
}

/// What happens to clients, for whoever wants to log it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// A client came.
    Connected {
        /// Which one, counted from 1.
        client: u64,
        /// From where.
        peer: String,
    },
    /// A client was sent away: too many are there, or the machine lacks what it needs.
    Refused {
        /// Why.
        why: String,
    },
    /// A client is gone.
    Disconnected {
        /// Which one.
        client: u64,
        /// Why.
        why: String,
    },
}

/// Called with the events of clients, on their threads.
pub type EventCallback = Box<dyn Fn(&ClientEvent) + Send + Sync>;

/// What to serve, where and how.
pub struct ServerOptions {
    /// The exports; the first is the default one.
    pub exports: Vec<NamedExport>,
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// TLS, where it is wanted.
    pub tls: Option<Tls>,
    /// Limits of clients.
    pub limits: ConnectionLimits,
    /// Called for each event of a client.
    pub on_event: Option<EventCallback>,
}

impl ServerOptions {
    /// One export without a name, at no place yet.
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
