//! Host requests: completions, and requests in flight.

use crate::error::IoError;
use gordon_blockio::Command;
use gordon_ftl::RequestId;

/// The buffer of a request, which the store returns with its completion.
pub trait Payload {
    /// The data to write.
    fn bytes(&self) -> &[u8];
    /// The buffer to fill with the data read.
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Payload for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// A completed request.
#[derive(Debug)]
pub struct Completion<P> {
    /// The command of the request.
    pub command: Command,
    /// The payload of the request.
    pub payload: P,
    /// The result. A failed request may have changed any part of its range, and may still do so.
    pub result: Result<(), IoError>,
    /// The request is a flush or has `fua`: its completion may be reported to the host only after a
    /// [`sync`](crate::Syncer::sync). [`Store::submit`](crate::Store::submit) has already done
    /// that.
    pub needs_sync: bool,
}

/// The data of a request in flight.
pub(super) enum RequestBytes<P> {
    Owned(P),
    /// The request was completed early; its payload has been returned, and this copy replaces it.
    Detached(Vec<u8>),
}

/// A request in flight.
pub(super) struct OpenRequest<P> {
    pub command: Command,
    pub bytes: RequestBytes<P>,
    /// First sector of the range.
    pub first: u64,
    /// Number of acknowledgements still expected.
    pub left: u64,
    /// While a write is being submitted: the next logical page to be copied to a buffer.
    pub next: u32,
    /// Logical pages not yet copied to a buffer, because the rest of the page is being read, or
    /// because the page is being programmed. Such a sub-request may already be acknowledged.
    pub deferred_pages: Vec<u32>,
    pub fault: Option<IoError>,
    /// The request waits for the flush that it requires.
    pub flushing: bool,
}

impl<P: Payload> OpenRequest<P> {
    pub fn new(command: Command, payload: P, first: u64, fault: Option<IoError>) -> Self {
        let (bytes, late) = (RequestBytes::Owned(payload), Vec::new());
        Self {
            command,
            bytes,
            first,
            left: 0,
            next: 0,
            deferred_pages: late,
            fault,
            flushing: false,
        }
    }

    /// Whether no acknowledgement or copy is outstanding.
    pub fn is_over(&self) -> bool {
        self.left == 0 && (self.deferred_pages.is_empty() || self.fault.is_some())
    }

    /// Notes that the sub-request on this page was copied to a buffer.
    pub fn mark_copied(&mut self, lpn: u32) {
        if lpn >= self.next {
            self.deferred_pages.extend(self.next..lpn);
            self.next = lpn + 1;
        } else if let Some(at) = self.deferred_pages.iter().position(|&late| late == lpn) {
            self.deferred_pages.swap_remove(at);
        }
    }

    /// The part of the payload from a sector on; `None` if the command has no data of its own.
    pub fn part(&self, sector: u64, sectors: u32) -> Option<&[u8]> {
        let range = self.range(sector, sectors);
        match (&self.command, &self.bytes) {
            (Command::WriteZeroes { .. }, _) => None,
            (_, RequestBytes::Owned(payload)) => Some(&payload.bytes()[range]),
            (_, RequestBytes::Detached(bytes)) => Some(&bytes[range]),
        }
    }

    pub fn part_mut(&mut self, sector: u64, sectors: u32) -> Option<&mut [u8]> {
        let range = self.range(sector, sectors);
        match &mut self.bytes {
            RequestBytes::Owned(payload) => Some(&mut payload.bytes_mut()[range]),
            RequestBytes::Detached(_) => None,
        }
    }

    fn range(&self, sector: u64, sectors: u32) -> std::ops::Range<usize> {
        let start = usize::try_from(sector - self.first).expect("inside the payload") * 512;
        start..start + sectors as usize * 512
    }

    pub fn wants_durable(&self) -> bool {
        self.command.wants_durable()
    }
}

/// The requests in flight, by number.
pub(super) struct OpenRequests<P> {
    all: Vec<Option<OpenRequest<P>>>,
    free: Vec<u32>,
}

impl<P> OpenRequests<P> {
    pub fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    pub fn add(&mut self, open: OpenRequest<P>) -> RequestId {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = Some(open);
            return RequestId(at);
        }
        self.all.push(Some(open));
        RequestId(u32::try_from(self.all.len() - 1).expect("fewer than 2^32 requests at once"))
    }

    pub fn get(&mut self, id: RequestId) -> &mut OpenRequest<P> {
        self.all[id.0 as usize].as_mut().expect("it is on its way")
    }

    pub fn remove(&mut self, id: RequestId) -> OpenRequest<P> {
        self.free.push(id.0);
        self.all[id.0 as usize].take().expect("it is on its way")
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (RequestId, &mut OpenRequest<P>)> {
        let all = (0..).map(RequestId).zip(&mut self.all);
        all.filter_map(|(id, open)| Some((id, open.as_mut()?)))
    }
}
