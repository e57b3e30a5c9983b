//! Several devices as one: RAID-0, its addresses dealt out in chunks; with copies RAID-1 and
//! RAID-10.
//!
//! Chunk k of a stripe of n is chunk k / n of member k mod n. The chunks of a request that fall on
//! one member are neighbours there, so a member gets at most one request for each of the stripe's.
//! A request is done when its last part is; a flush or a trim goes to the members like a write.
//!
//! With copies ([`mirrored`](Stripe::mirrored)) the members of the stripe are groups of so many
//! devices that hold the same: N devices in c copies are a stripe of N / c, the copies side by
//! side, as the near layout of Linux's md raid10 has them. A write, a trim and a flush go to every
//! copy; a read to the one with the fewest requests outstanding, in turn where several have.
//!
//! The devices may share a [bus](crate::bus).
//!
//! Not covered: parity; failures, and the rebuilding after them; bytes of a member beyond the
//! smallest one's whole chunks are unused.

use crate::bus::{BusMembers, SharedBus};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};

/// The chunk size that most striping software starts with.
pub const CHUNK: Bytes = Bytes(64 << 10);

/// Members at most.
pub const MEMBERS: u32 = 1024;

/// Several devices as one.
#[derive(Clone, Debug)]
pub struct Stripe<D> {
    members: BusMembers<D>,
    chunk: u64,
    /// Groups of copies that the chunks are dealt out to.
    columns: u64,
    copies: Mirrors,
    capacity: Bytes,
    /// Requests under way; the members know them by their place here.
    requests: Vec<SplitRequest>,
    unused: Vec<usize>,
    /// What a member has just completed; kept for its memory.
    parts: Vec<Completion>,
}

/// Devices that hold the same.
#[derive(Clone, Debug)]
struct Mirrors {
    /// How many of each.
    count: usize,
    /// Requests at each device, and the copy of each group whose turn it is. Empty without copies.
    outstanding: Vec<u32>,
    turns: Vec<usize>,
}

impl Mirrors {
    /// Which devices get the part of a request for `column`.
    fn of(&mut self, column: usize, op: IoOp) -> std::ops::Range<usize> {
        let first = column * self.count;
        if self.count == 1 {
            return first..first + 1;
        }
        let mut devices = first..first + self.count;
        if op == IoOp::Read {
            let turn = self.turns[column];
            let in_turn = (0..self.count).map(|i| (turn + i) % self.count);
            let least = in_turn.min_by_key(|copy| self.outstanding[first + copy]).unwrap_or(turn);
            self.turns[column] = (least + 1) % self.count;
            devices = first + least..first + least + 1;
        }
        self.outstanding[devices.clone()].iter_mut().for_each(|count| *count += 1);
        devices
    }

    /// A device is done with so many.
    fn done(&mut self, device: usize, parts: usize) {
        if let Some(outstanding) = self.outstanding.get_mut(device) {
            *outstanding -= u32::try_from(parts).expect("as many as it was given");
        }
    }
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct SplitRequest {
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
    /// So many cannot all be held as often.
    #[error("a stripe of {0} devices with {1} copies of everything\n  try: {hint}", hint = multiple(*.1))]
    Copies(usize, u32),
    /// Nothing ever crosses it.
    #[error("a bus of {0} a second\n  try: more than none")]
    Bus(Bytes),
}

fn multiple(copies: u32) -> String {
    if copies == 0 { "at least 1".into() } else { format!("a multiple of {copies} devices") }
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
        let columns = members.len() as u64;
        Ok(Self {
            members: BusMembers::new(members),
            chunk: chunk.0,
            columns,
            copies: Mirrors { count: 1, outstanding: Vec::new(), turns: Vec::new() },
            capacity: chunk * (smallest.0 / chunk.0 * columns),
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

    /// The same devices with everything on so many of them; before the first request.
    ///
    /// # Errors
    /// Where their number is no multiple of that.
    pub fn mirrored(mut self, copies: u32) -> Result<Self, StripeError> {
        let devices = self.members.all().len();
        let count = copies as usize;
        if copies == 0 || !devices.is_multiple_of(count) {
            return Err(StripeError::Copies(devices, copies));
        }
        let each = self.capacity / self.columns;
        let columns = devices / count;
        self.columns = columns as u64;
        self.capacity = each * self.columns;
        let counted = if count == 1 { 0 } else { devices };
        self.copies = Mirrors { count, outstanding: vec![0; counted], turns: vec![0; columns] };
        Ok(self)
    }

    /// The same devices on a bus that they share; before the first request.
    ///
    /// # Errors
    /// Where it carries nothing.
    pub fn on(self, bus: SharedBus) -> Result<Self, StripeError> {
        let slower = bus.rate.min(bus.link);
        if slower == Bytes::ZERO {
            return Err(StripeError::Bus(slower));
        }
        Ok(Self { members: self.members.on(bus), ..self })
    }

    /// The devices it is made of; copies of the same side by side.
    pub fn members(&self) -> &[D] {
        self.members.all()
    }

    /// Where in a column the addresses of the stripe below `at` end.
    fn end_in(&self, column: u64, at: u64) -> u64 {
        let (chunk, within) = (at / self.chunk, at % self.chunk);
        let (row, last) = (chunk / self.columns, chunk % self.columns);
        row * self.chunk
            + match last.cmp(&column) {
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
        gordon_blockio::check_range(self.capacity, id, &request);
        let place = self.unused.pop().unwrap_or(self.requests.len());
        let mut left = 0;
        for column in 0..self.columns {
            let (start, end) = match request.op {
                IoOp::Flush => (0, 0),
                _ => (
                    self.end_in(column, request.offset.0),
                    self.end_in(column, request.offset.0 + request.len.0),
                ),
            };
            if end > start || request.op == IoOp::Flush {
                let part =
                    Request { op: request.op, offset: Bytes(start), len: Bytes(end - start) };
                #[allow(clippy::cast_possible_truncation)] // fewer than devices
                for device in self.copies.of(column as usize, request.op) {
                    self.members.submit(device, at, place as u64, part);
                    left += 1;
                }
            }
        }
        if place == self.requests.len() {
            self.requests.push(SplitRequest { id, left, cause: Cause::Buffer, failed: false });
        } else {
            self.requests[place] = SplitRequest { id, left, cause: Cause::Buffer, failed: false };
        }
    }

    fn preload(&mut self, offset: Bytes, len: Bytes) {
        for device in 0..self.members.all().len() {
            let column = (device / self.copies.count) as u64;
            let start = self.end_in(column, offset.0);
            let end = self.end_in(column, offset.0 + len.0);
            if end > start {
                self.members.preload(device, Bytes(start), Bytes(end - start));
            }
        }
    }

    fn next_event(&self) -> Option<Ns> {
        self.members.next_event()
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let device = self.members.step(&mut self.parts);
        self.copies.done(device, self.parts.len());
        for part in self.parts.drain(..) {
            let place = usize::try_from(part.id).expect("an index of ours");
            let request = &mut self.requests[place];
            request.left -= 1;
            request.cause = request.cause.max(part.cause);
            request.failed |= part.failed;
            // Members step in the order of time: the last part is the latest.
            if request.left == 0 {
                let SplitRequest { id, cause, failed, .. } = *request;
                completed.push(Completion { id, at: part.at, cause, failed });
                self.unused.push(place);
            }
        }
    }

    fn usage(&self) -> Usage {
        self.members.usage()
    }
}
