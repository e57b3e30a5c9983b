//! Limits of clients.

use gordon_units::Bytes;
use std::time::Duration;

/// Limits of clients. All clients together use at most `memory` for bodies. Beyond that a
/// connection of HTTP/1.1 has at most 64 KiB of buffers, and one of HTTP/2 512 KiB of heads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections; further clients are disconnected.
    pub connections: usize,
    /// Memory for all bodies on their way to clients. While it is exhausted requests are refused
    /// with 503.
    pub memory: Bytes,
    /// Maximum time to send the head of a request, also of the first and of the next one.
    pub head: Duration,
    /// Maximum time in which a client that sends or receives a body makes no progress.
    pub stall: Duration,
    /// Maximum time in which the origin connects, answers, or continues a body.
    pub origin: Duration,
    /// How long a stop waits for requests in flight.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            memory: Bytes(64 << 20),
            head: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            origin: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}
