//! Requests: what a host asks, and those on their way.

use crate::error::Fault;
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
    /// Make all of it read as zeros: whole logical pages by a trim. Later writes have room for sure,
    /// as everywhere on the device.
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
    pub result: Result<(), Fault>,
    /// A flush, or a request with `fua`: the host is to be told only after a
    /// [`sync`](crate::Syncer::sync). [`Store::submit`](crate::Store::submit) has done that.
    pub durable: bool,
}

/// The bytes of a request on its way.
pub(super) enum Bytes<P> {
    Owned(P),
    /// It was given up: its payload is gone, and a copy stands in for it.
    Orphan(Vec<u8>),
}

/// A request on its way.
pub(super) struct Open<P> {
    pub command: Command,
    pub bytes: Bytes<P>,
    /// The first sector of what is read or written.
    pub first: u64,
    /// Acknowledgements to come.
    pub left: u64,
    /// The next logical page whose piece goes to a buffer, while a write is handed in.
    pub next: u32,
    /// Logical pages whose pieces wait to go to a buffer: the rest of the page is being read, or it
    /// is being programmed. A piece may be acknowledged before.
    pub late: Vec<u32>,
    pub fault: Option<Fault>,
    /// It waits for the flush that follows it.
    pub flushing: bool,
}

impl<P: Payload> Open<P> {
    pub fn new(command: Command, payload: P, first: u64, fault: Option<Fault>) -> Self {
        let (bytes, late) = (Bytes::Owned(payload), Vec::new());
        Self { command, bytes, first, left: 0, next: 0, late, fault, flushing: false }
    }

    /// Whether nothing more is to come.
    pub fn is_over(&self) -> bool {
        self.left == 0 && (self.late.is_empty() || self.fault.is_some())
    }

    /// The piece of this page has gone to a buffer.
    pub fn placed(&mut self, lpn: u32) {
        if lpn >= self.next {
            self.late.extend(self.next..lpn);
            self.next = lpn + 1;
        } else if let Some(at) = self.late.iter().position(|&late| late == lpn) {
            self.late.swap_remove(at);
        }
    }

    /// The part of the payload that starts at this sector; none if it has no bytes of its own.
    pub fn part(&self, sector: u64, sectors: u32) -> Option<&[u8]> {
        let range = self.range(sector, sectors);
        match (&self.command, &self.bytes) {
            (Command::WriteZeroes { .. }, _) => None,
            (_, Bytes::Owned(payload)) => Some(&payload.bytes()[range]),
            (_, Bytes::Orphan(bytes)) => Some(&bytes[range]),
        }
    }

    pub fn part_mut(&mut self, sector: u64, sectors: u32) -> Option<&mut [u8]> {
        let range = self.range(sector, sectors);
        match &mut self.bytes {
            Bytes::Owned(payload) => Some(&mut payload.bytes_mut()[range]),
            Bytes::Orphan(_) => None,
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
pub(super) struct Opens<P> {
    all: Vec<Option<Open<P>>>,
    free: Vec<u32>,
}

impl<P> Opens<P> {
    pub fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    pub fn add(&mut self, open: Open<P>) -> RequestId {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = Some(open);
            return RequestId(at);
        }
        self.all.push(Some(open));
        RequestId(u32::try_from(self.all.len() - 1).expect("fewer than 2^32 requests at once"))
    }

    pub fn get(&mut self, id: RequestId) -> &mut Open<P> {
        self.all[id.0 as usize].as_mut().expect("it is on its way")
    }

    pub fn remove(&mut self, id: RequestId) -> Open<P> {
        self.free.push(id.0);
        self.all[id.0 as usize].take().expect("it is on its way")
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (RequestId, &mut Open<P>)> {
        let all = (0..).map(RequestId).zip(&mut self.all);
        all.filter_map(|(id, open)| Some((id, open.as_mut()?)))
    }
}
