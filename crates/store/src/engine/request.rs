//! Requests: what a host asks, and those on their way.

use crate::error::IoError;
use gordon_ftl::RequestId;

/// The bytes of a request, which go through the store and come back with its completion.
pub trait Payload {
    /// What is to be written.
    fn bytes(&self) -> &[u8];
    /// Where to put what is read: all of it.
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

/// What a host asks. Offsets and lengths are bytes: whole sectors of 512, inside the device. Reads
/// and writes are as long as their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Fill the payload with what lies here.
    Read {
        /// From where.
        offset: u64,
    },
    /// Write the payload.
    Write {
        /// To where.
        offset: u64,
        /// Complete it when it is durable.
        fua: bool,
    },
    /// Make durable what was completed before.
    Flush,
    /// Forget the logical pages that lie wholly here; they read as zeros.
    Trim {
        /// From where.
        offset: u64,
        /// How much.
        length: u64,
        /// Complete it when it is durable.
        fua: bool,
    },
    /// Make all of it read as zeros: whole logical pages by a trim. Later writes have room for
    /// sure, as everywhere on the device.
    WriteZeroes {
        /// From where.
        offset: u64,
        /// How much.
        length: u64,
        /// Complete it when it is durable.
        fua: bool,
    },
}

impl Command {
    /// Whether its completion waits for a sync.
    #[must_use]
    pub fn wants_durable(&self) -> bool {
        match *self {
            Self::Read { .. } => false,
            Self::Flush => true,
            Self::Write { fua, .. } | Self::Trim { fua, .. } | Self::WriteZeroes { fua, .. } => fua,
        }
    }
}

/// A request that has ended.
#[derive(Debug)]
pub struct Completion<P> {
    /// What was asked.
    pub command: Command,
    /// Its payload.
    pub payload: P,
    /// How it ended. A request that failed may have changed any part of its range, and may still.
    pub result: Result<(), IoError>,
    /// A flush, or a request with `fua`: the host is to be told only after a
    /// [`sync`](crate::Syncer::sync). [`Store::submit`](crate::Store::submit) has done that.
    pub durable: bool,
}

/// The bytes of a request on its way.
pub(super) enum RequestBytes<P> {
    Owned(P),
    /// It was given up: its payload is gone, and a copy stands in for it.
    Detached(Vec<u8>),
}

/// A request on its way.
pub(super) struct OpenRequest<P> {
    pub command: Command,
    pub bytes: RequestBytes<P>,
    /// The first sector of what is read or written.
    pub first: u64,
    /// Acknowledgements to come.
    pub left: u64,
    /// The next logical page whose sub-request goes to a buffer, while a write is handed in.
    pub next: u32,
    /// Logical pages whose sub-requests wait to go to a buffer: the rest of the page is being read,
    /// or it is being programmed. A sub-request may be acknowledged before.
    pub deferred_pages: Vec<u32>,
    pub fault: Option<IoError>,
    /// It waits for the flush that follows it.
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

    /// Whether nothing more is to come.
    pub fn is_over(&self) -> bool {
        self.left == 0 && (self.deferred_pages.is_empty() || self.fault.is_some())
    }

    /// The piece of this page has gone to a buffer.
    pub fn mark_copied(&mut self, lpn: u32) {
        if lpn >= self.next {
            self.deferred_pages.extend(self.next..lpn);
            self.next = lpn + 1;
        } else if let Some(at) = self.deferred_pages.iter().position(|&late| late == lpn) {
            self.deferred_pages.swap_remove(at);
        }
    }

    /// The part of the payload that starts at this sector; none if it has no bytes of its own.
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

/// Requests on their way, by number.
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
