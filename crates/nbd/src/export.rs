//! The port between the server and the storage that it serves.
//!
//! An export takes batches of requests and completes each request at any later time, from any
//! thread, in any order. One contract therefore fits both kinds of storage. An export in memory
//! completes every request before `submit` returns, so that the thread of the connection receives,
//! works and replies without waking another thread. An export with an event loop of its own
//! completes requests later, and one wake-up of the connection covers all that completed while it
//! slept. A [`Request`] owns its buffer and the means to complete it; a request that is dropped is
//! answered with an I/O error, so no request stays without a reply.

use gordon_blockio::Command;
use gordon_units::Bytes;
use std::fmt;
use std::sync::Arc;

/// Properties of an export that the server announces to clients. They do not change while the
/// export is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// Size of the export.
    pub size: Bytes,
    /// Offsets and lengths of requests must be multiples of this: a power of two up to 64 KiB.
    pub minimum: Bytes,
    /// Block size that is efficient: a power of two, at least 512 bytes and the minimum.
    pub preferred: Bytes,
    /// Largest payload of a read or write: at least the preferred size, at most 32 MiB.
    pub maximum: Bytes,
    /// The server refuses writes, trims and zeroes.
    pub read_only: bool,
    /// The device has a head that must seek.
    pub rotational: bool,
    /// A flush or FUA on one connection covers requests that completed on any connection.
    pub multi_conn: bool,
}

impl ExportInfo {
    /// A writable export with the usual block sizes: any alignment, 4 KiB preferred, payloads up to
    /// 32 MiB.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        Self {
            size,
            minimum: Bytes(1),
            preferred: Bytes(4096),
            maximum: Bytes(32 << 20),
            read_only: false,
            rotational: false,
            multi_conn: true,
        }
    }

    /// The reason why the protocol does not allow these properties, if any.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let (minimum, preferred, maximum) = (self.minimum.0, self.preferred.0, self.maximum.0);
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            Some("the minimum block size is not a power of two up to 64 KiB")
        } else if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            Some(
                "the preferred block size is not a power of two of at least 512 bytes and the \
                 minimum block size",
            )
        } else if maximum < preferred || maximum > 32 << 20 {
            Some("the largest payload is not between the preferred block size and 32 MiB")
        } else if !self.size.0.is_multiple_of(minimum) || self.size.0 > i64::MAX as u64 {
            Some("the size is not a multiple of the minimum block size, or is above 2^63")
        } else {
            None
        }
    }
}

/// The operation of a request. The server has checked it: the range is inside the export, aligned
/// and not empty, and a read-only export gets no writes. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A read fills [`Request::data_mut`], a write stores [`Request::data`]. Zeroes that have to be
    /// fast fail with [`Errno::NotSup`] if they are not.
    Command(Command),
    /// Announces a read of the range.
    Cache {
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        length: u64,
    },
    /// Reports the holes in the range, with [`Request::done_with`].
    Status {
        /// Start of the range.
        offset: u64,
        /// Length of the range. The extents may cover less of it (see [`MAX_EXTENTS`]), and the
        /// last one may reach beyond its end.
        length: u64,
        /// The reply has one extent, which does not reach beyond the range.
        one: bool,
    },
}

/// Maximum number of extents in a reply. Clients send another request for the rest.
pub const MAX_EXTENTS: usize = 1024;

/// A range of the export that is all hole or all data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationExtent {
    /// Length in bytes.
    pub length: u64,
    /// No storage is allocated for it.
    pub hole: bool,
    /// The extent reads as zeroes.
    pub zero: bool,
}

/// The error numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// Not permitted: a write to a read-only export.
    Perm = 1,
    /// The medium failed.
    Io = 5,
    /// Out of memory.
    NoMem = 12,
    /// Invalid request.
    Inval = 22,
    /// No space left, or a write beyond the end.
    NoSpc = 28,
    /// The length is too large.
    Overflow = 75,
    /// A fast zeroing is not faster than a write.
    NotSup = 95,
    /// The server is stopping.
    Shutdown = 108,
}

/// Why a request failed: a number for programs, a text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// The errno that the client sees.
    pub errno: Errno,
    /// The message for clients with structured replies.
    pub why: &'static str,
}

/// The result of a request.
#[derive(Debug)]
pub enum RequestOutcome {
    /// The request succeeded.
    Done,
    /// A status request succeeded.
    Extents(Vec<AllocationExtent>),
    /// The request failed.
    Failed(RequestError),
}

/// The receiver of completed requests: the connection that submitted them.
pub trait CompletionSink: Send + Sync {
    /// Takes the outcome of the request with this cookie, and its buffer back. Called exactly once
    /// for each request, from any thread.
    fn complete(&self, cookie: u64, op: Op, data: Vec<u8>, outcome: RequestOutcome);
}

/// A request in flight. Dropping it completes it with an I/O error.
pub struct Request {
    op: Op,
    cookie: u64,
    data: Vec<u8>,
    sink: Option<Arc<dyn CompletionSink>>,
}

impl Request {
    /// Creates a request. `data` is the payload of a write, or the buffer of a read, and is as
    /// long as the range; other requests leave it empty. `cookie` is passed back to `sink`.
    #[must_use]
    pub fn new(cookie: u64, op: Op, data: Vec<u8>, sink: Arc<dyn CompletionSink>) -> Self {
        Self { op, cookie, data, sink: Some(sink) }
    }

    /// The operation.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// The payload of a write, as long as the write; empty for other operations.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The buffer of a read. The export must fill all of it, because it may hold bytes of earlier
    /// requests of the same client.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Completes the request. A status request is answered as allocated data.
    pub fn done(mut self) {
        self.end(RequestOutcome::Done);
    }

    /// Completes a status request. The extents are in order, begin at the offset of the request,
    /// and none has length 0; there is at least one. Extents beyond [`MAX_EXTENTS`] are left out.
    pub fn done_with(mut self, extents: Vec<AllocationExtent>) {
        self.end(RequestOutcome::Extents(extents));
    }

    /// Completes the request with an error.
    pub fn fail(mut self, errno: Errno, why: &'static str) {
        self.end(RequestOutcome::Failed(RequestError { errno, why }));
    }

    fn end(&mut self, outcome: RequestOutcome) {
        if let Some(sink) = self.sink.take() {
            sink.complete(self.cookie, self.op, std::mem::take(&mut self.data), outcome);
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.end(RequestOutcome::Failed(RequestError {
            errno: Errno::Io,
            why: "the device gave no answer",
        }));
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("op", &self.op).field("bytes", &self.data.len()).finish()
    }
}

/// Storage that clients may read and write.
///
/// - `submit` is called by many connections at once. It takes every request out of the batch and
///   completes each exactly once, at once or later, on any thread. It may do the work itself, but
///   must not wait for another request or for a client, because the connection is not served until
///   it returns.
/// - Requests in flight are not ordered. A client that needs an order waits for completions.
/// - When a flush completes, every request that completed before the flush was submitted survives a
///   power cut. A request with `fua` survives one when it completes. With
///   [`ExportInfo::multi_conn`] this holds across connections.
/// - A request that failed may have changed any part of its own range and nothing else.
pub trait Export: Send + Sync {
    /// The properties that clients see; the same at each call.
    fn info(&self) -> ExportInfo;

    /// Takes all requests of the batch. The server answers those that are left in it with an error.
    fn submit(&self, batch: &mut Vec<Request>);
}
