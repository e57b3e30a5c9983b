//! RAID-0: one device made of several, its addresses dealt out in chunks.
//!
//! Chunk k of the stripe is chunk k / n of member k mod n. The chunks of a request that fall on
//! one member are neighbours there, so a member gets at most one request for each of the stripe's.
//! A request is done when its last part is; a flush or a trim goes to the members like a write.
//!
//! Not covered: redundancy; bytes of a member beyond the smallest one's whole chunks are unused.

use crate::{Cause, Completion, Device, Op, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};

/// The chunk size that most striping software starts with.
pub const CHUNK: Bytes = Bytes(64 << 10);

/// Members at most.
pub const MEMBERS: u32 = 1024;

/// Several devices as one.
#[derive(Clone, Debug)]
pub struct Stripe<D> {
    members: Vec<D>,
    chunk: u64,
    capacity: Bytes,
    /// Requests under way; the members know them by their place here.
    requests: Vec<InParts>,
    unused: Vec<usize>,
    /// What a member has just completed; kept for its memory.
    parts: Vec<Completion>,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct InParts {
    id: u64,
    left: usize,
    /// The last of what its parts waited for.
    cause: Cause,
    failed: bool,
}

/// Devices that cannot be striped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// None to stripe.
    #[error("a stripe of no devices\n  try: give it at least one member")]
    NoMembers,
    /// A chunk size that cannot be.
    #[error(
        "a stripe with chunks of {0}\n  try: a multiple of {SECTOR} and at most the smallest \
         member"
    )]
    Chunk(Bytes),
    /// More than any shelf has.
    #[error("a stripe of {0} devices, more than {MEMBERS}\n  try: fewer")]
    Many(u32),
}

impl<D: Device> Stripe<D> {
    /// Stripes `members` in chunks of `chunk` bytes ([`CHUNK`] where nothing speaks for another).
    ///
    /// # Errors
    /// Where there is no member, or the chunk does not fit them.
    pub fn new(members: Vec<D>, chunk: Bytes) -> Result<Self, StripeError> {
        let smallest = members.iter().map(D::capacity).min().ok_or(StripeError::NoMembers)?;
        if chunk == Bytes::ZERO || !chunk.0.is_multiple_of(SECTOR.0) || chunk > smallest {
            return Err(StripeError::Chunk(chunk));
        }
        let chunks = smallest.0 / chunk.0 * members.len() as u64;
        Ok(Self {
            members,
            chunk: chunk.0,
            capacity: chunk * chunks,
            requests: Vec::new(),
            unused: Vec::new(),
            parts: Vec::new(),
        })
    }

    /// So many like `one` ([`MEMBERS`] at most) in chunks of `chunk` bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new), and where they are too many.
    pub fn of(one: D, members: u32, chunk: Bytes) -> Result<Self, StripeError>
    where
        D: Clone,
    {
        if members > MEMBERS {
            return Err(StripeError::Many(members));
        }
        Self::new(vec![one; members as usize], chunk)
    }

    /// The devices it is made of.
    pub fn members(&self) -> &[D] {
        &self.members
    }

    /// Where on `member` the addresses of the stripe below `at` end.
    fn end_on(&self, member: usize, at: u64) -> u64 {
        let n = self.members.len() as u64;
        let (chunk, within) = (at / self.chunk, at % self.chunk);
        let (row, column) = (chunk / n, chunk % n);
        row * self.chunk
            + match column.cmp(&(member as u64)) {
                std::cmp::Ordering::Greater => self.chunk,
                std::cmp::Ordering::Equal => within,
                std::cmp::Ordering::Less => 0,
            }
    }
}

impl<D: Device> Device for Stripe<D> {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        crate::check::range(self.capacity, id, &request);
        let place = self.unused.pop().unwrap_or(self.requests.len());
        let mut left = 0;
        for member in 0..self.members.len() {
            let (start, end) = match request.op {
                Op::Flush => (0, 0),
                _ => (
                    self.end_on(member, request.offset.0),
                    self.end_on(member, request.offset.0 + request.len.0),
                ),
            };
            if end > start || request.op == Op::Flush {
                let part =
                    Request { op: request.op, offset: Bytes(start), len: Bytes(end - start) };
                self.members[member].submit(at, place as u64, part);
                left += 1;
            }
        }
        if place == self.requests.len() {
            self.requests.push(InParts { id, left, cause: Cause::Buffer, failed: false });
        } else {
            self.requests[place] = InParts { id, left, cause: Cause::Buffer, failed: false };
        }
    }

    fn preload(&mut self, offset: Bytes, len: Bytes) {
        for member in 0..self.members.len() {
            let start = self.end_on(member, offset.0);
            let end = self.end_on(member, offset.0 + len.0);
            if end > start {
                self.members[member].preload(Bytes(start), Bytes(end - start));
            }
        }
    }

    fn next_event(&self) -> Option<Ns> {
        self.members.iter().filter_map(D::next_event).min()
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let events =
            self.members.iter().enumerate().filter_map(|(i, m)| Some((m.next_event()?, i)));
        let Some((_, member)) = events.min() else { return };
        self.members[member].step(&mut self.parts);
        for part in self.parts.drain(..) {
            let place = usize::try_from(part.id).expect("an index of ours");
            let request = &mut self.requests[place];
            request.left -= 1;
            request.cause = request.cause.max(part.cause);
            request.failed |= part.failed;
            // Members step in the order of time: the last part is the latest.
            if request.left == 0 {
                let InParts { id, cause, failed, .. } = *request;
                completed.push(Completion { id, at: part.at, cause, failed });
                self.unused.push(place);
            }
        }
    }

    fn usage(&self) -> Usage {
        self.members.iter().map(D::usage).fold(Usage::default(), |sum, one| Usage {
            read: sum.read + one.read,
            write: sum.write + one.write,
            controller: sum.controller + one.controller,
        })
    }
}
