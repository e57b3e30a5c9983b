//! Several devices as one: RAID-0, and with mirrored copies RAID-1 and RAID-10.
//!
//! The address space is divided into chunks. In a stripe of n members, chunk k is chunk k / n of
//! member k mod n. The chunks of a request that fall on one member are contiguous there, so each
//! request sends at most one request to a member. A request is done when its last part is done.
//! Flushes and trims go to the members like writes.
//!
//! With mirrored copies ([`mirrored`](Stripe::mirrored)) each member of the stripe (a column) is a
//! group of c devices with the same data: N devices in c copies are a stripe of N / c columns, and
//! the copies are adjacent devices, as in the near layout of Linux's md raid10. Writes, trims and
//! flushes go to every copy. A read goes to the copy with the fewest outstanding requests; ties are
//! broken round-robin.
//!
//! The devices may share a [bus](crate::bus).
//!
//! Not covered: parity, failures and rebuilds. Bytes of a member beyond the whole chunks of the
//! smallest member are unused.

use crate::bus::{BusMembers, SharedBus};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_units::{Bytes, Ns};

/// Default chunk size: that of most striping software.
pub const CHUNK: Bytes = Bytes(64 << 10);

/// Maximum number of members.
pub const MEMBERS: u32 = 1024;

/// A stripe of devices.
#[derive(Clone, Debug)]
pub struct Stripe<D> {
    members: BusMembers<D>,
    chunk: u64,
    /// Number of columns: groups of copies that chunks are distributed over.
    columns: u64,
    copies: Mirrors,
    capacity: Bytes,
    /// Requests in flight. Members know a request by its index in this list.
    requests: Vec<SplitRequest>,
    unused: Vec<usize>,
    /// Completions of one member step; kept to reuse its memory.
    parts: Vec<Completion>,
}

/// State of groups of devices with the same data.
#[derive(Clone, Debug)]
struct Mirrors {
    /// Devices in each group; 1 without mirroring.
    count: usize,
    /// Outstanding requests of each device, and next copy of each group in the round-robin order.
    /// Both are empty without mirroring.
    outstanding: Vec<u32>,
    turns: Vec<usize>,
}

impl Mirrors {
    /// Devices that get the part of a request that falls on `column`.
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

    /// Counts `parts` requests of `device` as done.
    fn done(&mut self, device: usize, parts: usize) {
        if let Some(outstanding) = self.outstanding.get_mut(device) {
            *outstanding -= u32::try_from(parts).expect("as many as it was given");
        }
    }
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct SplitRequest {
    id: u64,
    left: usize,
    /// The highest cause among the completed parts.
    cause: Cause,
    failed: bool,
}

/// Reason why devices cannot be striped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// There are no members.
    #[error("a stripe of no devices\n  try: give it at least one member")]
    NoMembers,
    /// The chunk size is not a positive multiple of the sector, or exceeds the smallest member.
    #[error(
        "a stripe with chunks of {0}\n  try: a multiple of {SECTOR} and at most the smallest \
         member"
    )]
    Chunk(Bytes),
    /// More than [`MEMBERS`] devices.
    #[error("a stripe of {0} devices, more than {MEMBERS}\n  try: fewer")]
    Many(u32),
    /// The number of devices is not a multiple of the number of copies: devices, copies.
    #[error(
        "a stripe of {0} devices with {1} copies of everything\n  try: {hint}",
        hint = multiple(*.1)
    )]
    Copies(usize, u32),
    /// The bandwidth of the bus is zero.
    #[error("a bus of {0} a second\n  try: more than none")]
    Bus(Bytes),
}

fn multiple(copies: u32) -> String {
    if copies == 0 { "at least 1".into() } else { format!("a multiple of {copies} devices") }
}

impl<D: Device> Stripe<D> {
    /// Stripes `members` in chunks of `chunk` bytes (see [`CHUNK`]).
    ///
    /// # Errors
    /// Returns [`StripeError::NoMembers`] if there is no member, and [`StripeError::Chunk`] if the
    /// chunk size is invalid.
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

    /// Stripes `members` copies of the device `one` in chunks of `chunk` bytes.
    ///
    /// # Errors
    /// Returns [`StripeError::Many`] if there are more than [`MEMBERS`], or an error of
    /// [`new`](Self::new).
    pub fn of(one: D, members: u32, chunk: Bytes) -> Result<Self, StripeError>
    where
        D: Clone,
    {
        if members > MEMBERS {
            return Err(StripeError::Many(members));
        }
        Self::new(vec![one; members as usize], chunk)
    }

    /// Keeps `copies` copies of all data on different devices. Must precede the first request.
    ///
    /// # Errors
    /// Returns [`StripeError::Copies`] if the number of devices is not a multiple of `copies`.
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

    /// Attaches the devices to a shared bus. Must precede the first request.
    ///
    /// # Errors
    /// Returns [`StripeError::Bus`] if the bus or the links have no bandwidth.
    pub fn on(self, bus: SharedBus) -> Result<Self, StripeError> {
        let slower = bus.rate.min(bus.link);
        if slower == Bytes::ZERO {
            return Err(StripeError::Bus(slower));
        }
        Ok(Self { members: self.members.on(bus), ..self })
    }

    /// The devices; those with the same data are adjacent.
    pub fn members(&self) -> &[D] {
        self.members.all()
    }

    /// The devices, for their statistics after the last request.
    pub fn into_members(self) -> Vec<D> {
        self.members.into_all()
    }

    /// End in a column of the part of the addresses below `at` that falls on it.
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
                let part = request.with_range(Bytes(start), Bytes(end - start));
                #[allow(clippy::cast_possible_truncation)] // less than the number of devices
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
            // Members step in time order, so the last part is the latest.
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
