//! The port: what the server asks of whatever holds the bytes.
//!
//! An export takes batches of requests and completes each when it likes, from any thread, in any
//! order. So one contract serves both kinds: memory completes every request before `submit`
//! returns, and then one thread a connection receives, works and replies without ever waking
//! another; a translation layer with an event loop of its own completes later, and a connection is
//! woken once for all that was completed while it slept. A request is a linear value that carries
//! its buffer and its way home; dropping it answers with an I/O error, so none is ever forgotten.

use gordon_units::Bytes;
use std::fmt;
use std::sync::Arc;

/// What a client is told of an export, fixed while it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// How much it holds.
    pub size: Bytes,
    /// Offsets and lengths are multiples of this: a power of two up to 64 KiB.
    pub minimum: Bytes,
    /// What is efficient: a power of two, at least 512 bytes and the minimum.
    pub preferred: Bytes,
    /// The largest payload of a read or write: at least what is preferred, at most 32 MiB.
    pub maximum: Bytes,
    /// No writes, trims or zeroes; the server refuses them.
    pub read_only: bool,
    /// It has a head that must move.
    pub rotational: bool,
    /// A flush or FUA on one connection covers what was completed on all of them.
    pub multi_conn: bool,
}

impl ExportInfo {
    /// An export of that size with the customary block sizes: any alignment, 4 KiB preferred,
    /// 32 MiB at most.
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

    /// What the protocol does not allow, if anything.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let (minimum, preferred, maximum) = (self.minimum.0, self.preferred.0, self.maximum.0);
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            Some("the minimum block size is not a power of two up to 64 KiB")
        } else if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            Some(
                "the preferred block size is not a power of two of at least 512 bytes and the minimum block size",
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

/// What is asked, checked by the server: inside the export, aligned, not empty, and a write only
/// where the export takes writes. Offsets and lengths are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Fill [`Request::data_mut`] with what lies here.
    Read {
        /// From where.
        offset: u64,
    },
    /// Take [`Request::data`].
    Write {
        /// To where.
        offset: u64,
        /// Complete it when it is durable.
        fua: bool,
    },
    /// Make durable what was completed before this was submitted.
    Flush,
    /// What lies here is no longer needed.
    Trim {
        /// From where.
        offset: u64,
        /// How much.
        length: u64,
        /// Complete it when it is durable.
        fua: bool,
    },
    /// Make it read as zeroes.
    WriteZeroes {
        /// From where.
        offset: u64,
        /// How much.
        length: u64,
        /// Complete it when it is durable.
        fua: bool,
        /// Keep room for it: later writes must not fail for want of space.
        no_hole: bool,
        /// Fail with [`Errno::NotSup`], nothing changed, where this is no faster than writing.
        fast: bool,
    },
    /// It will be read soon.
    Cache {
        /// From where.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Which parts are holes: answered by [`Request::done_with`].
    Status {
        /// From where.
        offset: u64,
        /// How much; [`MAX_EXTENTS`] may cover less, and the last extent may reach further.
        length: u64,
        /// One extent is enough, no longer than asked.
        one: bool,
    },
}

/// The most extents told at a time; clients ask on from where they end.
pub const MAX_EXTENTS: usize = 1024;

/// One piece of the export with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationExtent {
    /// How long.
    pub length: u64,
    /// Nothing is stored for it.
    pub hole: bool,
    /// It reads as zeroes.
    pub zero: bool,
}

/// The errors that the protocol knows, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// Not permitted: a write to what is read-only.
    Perm = 1,
    /// The medium failed.
    Io = 5,
    /// No memory.
    NoMem = 12,
    /// The request makes no sense.
    Inval = 22,
    /// No space left, or a write beyond the end.
    NoSpc = 28,
    /// Too large a length.
    Overflow = 75,
    /// Not faster than writing.
    NotSup = 95,
    /// The server is stopping.
    Shutdown = 108,
}

/// Why a request failed: the number for programs, the words for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What clients see as errno.
    pub errno: Errno,
    /// What clients with structured replies can show.
    pub why: &'static str,
}

/// The result of a request.
#[derive(Debug)]
pub enum RequestOutcome {
    /// It succeeded.
    Done,
    /// A status request succeeded.
    Extents(Vec<AllocationExtent>),
    /// It failed.
    Failed(RequestError),
}

/// The receiver of completed requests: the connection that submitted them.
pub trait CompletionSink: Send + Sync {
    /// Takes the outcome of the request with this cookie, and its buffer back. Called exactly once
    /// for each request, from any thread.
    fn complete(&self, cookie: u64, op: Op, data: Vec<u8>, outcome: RequestOutcome);
}

/// A request on its way through an export.
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

    /// What is asked.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// What to write; its length is the length of the write.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Where to read to, all of it: it may hold bytes of earlier requests of the same client.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// It is done. (A status without extents is answered as data.)
    pub fn done(mut self) {
        self.end(RequestOutcome::Done);
    }

    /// A status is known: extents in order from the offset asked, at least one, none of length 0;
    /// what is above [`MAX_EXTENTS`] is not told.
    pub fn done_with(mut self, extents: Vec<AllocationExtent>) {
        self.end(RequestOutcome::Extents(extents));
    }

    /// It failed.
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

/// Something with bytes in it that clients may read and write.
///
/// - `submit` is called by many connections at once. It takes every request out of the batch and
///   completes each exactly once, then or later, on any thread. It may work, but must not wait for
///   another request or for a client: the connection is not served meanwhile.
/// - Requests in flight have no order among each other; whoever needs one waits for the completion.
/// - After a flush is completed, all that was completed before the flush was submitted survives a
///   power cut; so does a request with `fua` when it is completed. With [`ExportInfo::multi_conn`]
///   this holds across connections.
/// - A request that failed may have changed any part of its own range and nothing else.
pub trait Export: Send + Sync {
    /// What clients are told. The same each time.
    fn info(&self) -> ExportInfo;

    /// Takes all requests of the batch.
    fn submit(&self, batch: &mut Vec<Request>);
}
