//! The requests of a trace, for blocks or for objects.

use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};

/// A request of a block trace in any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// Time of issue, since the first request returned.
    pub at: Ns,
    /// Read, write, discard or flush.
    pub op: IoOp,
    /// Whether a write was to be durable when it completes (FUA); false if the format does not say.
    pub durable: bool,
    /// Device number of the trace; `major << 20 | minor` in traces of Linux.
    pub device: u32,
    /// First byte, a multiple of 512 unless [`exact`](super::ReadOptions::exact).
    pub offset: Bytes,
    /// Number of bytes, a multiple of 512 unless [`exact`](super::ReadOptions::exact); zero only
    /// for a flush.
    pub len: Bytes,
    /// Time from issue to completion on the traced machine; `None` if the format does not have it.
    /// Simulations never use it.
    pub latency: Option<Ns>,
    /// Time from the completion to the issue of the next request; `None` if the format does not
    /// have it. A replay in closed loop waits for this time.
    pub gap: Option<Ns>,
    /// Process number, in our own traces.
    pub pid: Option<u32>,
}

/// [`ObjectRequest::next`] if there is no next request, or it is unknown.
pub const NEVER: u64 = u64::MAX;

/// One request for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRequest {
    /// The object.
    pub key: u64,
    /// Number of the next request for the object, or [`NEVER`].
    pub next: u64,
    /// Size of the object in bytes, at least 1.
    pub size: u64,
    /// Time on the clock of the trace; it never decreases.
    pub at: Ns,
    /// Whether the request writes the object.
    pub write: bool,
}
