//! What becomes of a request once its fields are read: the same for every format.
//!
//! Its device is looked at, its ends are put on sectors, its time is counted from the first
//! request's and held against the one before it.

use super::error::{EntryError, FormatError};
use crate::model::BlockOp;
use gordon_units::{Bytes, Ns};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::str::FromStr;

/// Requests that are looked ahead to put them in order of time.
pub const WINDOW: usize = 1 << 16;

const SECTOR: u64 = 512;
/// Nothing lies beyond: no device is that large, and sums stay within 64 bits.
const END: u64 = 1 << 62;

/// One request of a block trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// When it was issued, since the first request handed out.
    pub at: Ns,
    /// What it asks for.
    pub op: BlockOp,
    /// The device: a number of the trace's own; `major << 20 | minor` of Linux' traces.
    pub device: u32,
    /// Where it starts: a multiple of 512 bytes, unless [`exact`](super::Options::exact).
    pub offset: Bytes,
    /// How long it is: a multiple of 512 bytes, unless [`exact`](super::Options::exact); zero only
    /// of a flush.
    pub len: Bytes,
    /// From issue to completion on the traced machine, where the format has it. Never an input of
    /// a simulation.
    pub latency: Option<Ns>,
    /// From its completion to the issue of the next request, where the format has it: replay in
    /// closed loop waits so long.
    pub gap: Option<Ns>,
    /// The process that asked for it, in our own traces.
    pub pid: Option<u32>,
}

/// What to do with requests that are earlier than the one before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The first one is an error.
    #[default]
    Strict,
    /// Keep the file's order: such a request gets the time of the one before it, and is counted.
    Clamp,
    /// Put them in order of time, looking [`WINDOW`] requests ahead; what is further out of order
    /// is an error.
    Sort,
}

impl FromStr for Order {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "strict" => Ok(Self::Strict),
            "clamp" => Ok(Self::Clamp),
            "sort" => Ok(Self::Sort),
            _ => Err(FormatError::Option(format!(
                "unknown order `{text}`\n  try: strict, clamp or sort"
            ))),
        }
    }
}

/// What was read, and what was not handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Requests handed out.
    pub requests: u64,
    /// Malformed lines or records that were skipped ([`ReadOptions::skip_bad`](super::Options)).
    pub skipped: u64,
    /// Requests for other devices than the one asked for, and for virtual ones (our own format).
    pub other_devices: u64,
    /// Entries that are no read, write, discard or flush, or not the event that is taken.
    pub other_kinds: u64,
    /// Reads, writes and discards of no bytes, and replies without, left out.
    pub empty: u64,
    /// Requests of web clients for an object of a virtual host that the log names.
    pub virtual_hosts: u64,
    /// Requests of web clients that are no GET, left out.
    pub other_methods: u64,
    /// Those that were answered otherwise than with the whole object, left out.
    pub other_statuses: u64,
    /// Requests that did not start or end on a sector, and were extended to it.
    pub extended: u64,
    /// Requests that were given a later time ([`Order::Clamp`]).
    pub clamped: u64,
    /// Keys of objects that are text, and were hashed to 64 bits.
    pub hashed_keys: u64,
}

impl ReadCounts {
    /// What was left out or changed, a line each, by the names of these fields. Of a format of
    /// `events`, entries of other kinds are its normal content.
    pub fn notes(&self, first_skipped: Option<&str>, events: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, name: &str, what: &str| {
            if count > 0 {
                notes.push(format!("{name}: {count} {what}"));
            }
        };
        let first = first_skipped.unwrap_or_default();
        note(self.skipped, "skipped", &format!("malformed, left out; the first: {first}"));
        note(self.empty, "empty", "of no bytes, left out");
        note(self.extended, "extended", "made longer, to whole sectors of 512 bytes");
        note(self.clamped, "clamped", "earlier than the one before, given its time");
        note(self.other_devices, "other_devices", "for other devices, left out");
        if !events {
            note(self.other_kinds, "other_kinds", "of other operations, left out");
        }
        note(self.other_methods, "other_methods", "of other methods than GET, left out");
        note(self.other_statuses, "other_statuses", "of other statuses than 200, left out");
        if (1..self.requests).contains(&self.virtual_hosts) {
            let what = format!(
                "of {} requests name their site, the others are objects of their own",
                self.requests
            );
            note(self.virtual_hosts, "virtual_hosts", &what);
        }
        note(self.hashed_keys, "hashed_keys", "keys that are text, hashed to 64 bits");
        notes
    }
}

/// A request as the trace has it: bytes, and nanoseconds on a clock of the trace's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRequest {
    pub time: u64,
    pub op: BlockOp,
    pub device: u32,
    pub offset: u64,
    pub len: u64,
    pub latency: Option<Ns>,
    pub gap: Option<Ns>,
    pub pid: Option<u32>,
}

/// Takes requests and gathers those to hand out.
pub(super) struct RequestCollector {
    pub out: Vec<TraceRequest>,
    pub counts: ReadCounts,
    device: Option<u32>,
    order: Order,
    exact: bool,
    /// Time of the first request.
    base: Option<u64>,
    /// Time of the last one handed out.
    last: u64,
    reorder_heap: BinaryHeap<Reverse<ReorderEntry>>,
    sequence: u64,
}

struct ReorderEntry {
    time: u64,
    sequence: u64,
    io: TraceRequest,
}

impl Ord for ReorderEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}
impl PartialOrd for ReorderEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for ReorderEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for ReorderEntry {}

impl RequestCollector {
    /// With `exact`, requests are not extended to sectors.
    pub fn new(device: Option<u32>, order: Order, exact: bool) -> Self {
        Self {
            out: Vec::new(),
            counts: ReadCounts::default(),
            device,
            order,
            exact,
            base: None,
            last: 0,
            reorder_heap: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Takes a request. Inlined into each reader: a call would copy the request, which costs 5 to
    /// 10 % of the rate (`formats_rate`).
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn take(&mut self, raw: RawRequest) -> Result<(), EntryError> {
        if self.device.is_some_and(|device| device != raw.device) {
            self.counts.other_devices += 1;
            return Ok(());
        }
        if raw.len == 0 && raw.op != BlockOp::Flush {
            self.counts.empty += 1;
            return Ok(());
        }
        let Some(mut end) = raw.offset.checked_add(raw.len).filter(|&end| end <= END) else {
            return Err(too_far(raw));
        };
        let mut offset = raw.offset;
        if !self.exact && !(offset | end).is_multiple_of(SECTOR) {
            offset -= offset % SECTOR;
            end = end.next_multiple_of(SECTOR);
            self.counts.extended += 1;
        }
        let io = TraceRequest {
            at: Ns::ZERO,
            op: raw.op,
            device: raw.device,
            offset: Bytes(offset),
            len: Bytes(end - offset),
            latency: raw.latency,
            gap: raw.gap,
            pid: raw.pid,
        };
        if self.order == Order::Sort {
            return self.sort(raw.time, io);
        }
        self.hand_out(raw.time, io)
    }

    /// An entry that moves no data.
    #[inline]
    pub fn other(&mut self) {
        self.counts.other_kinds += 1;
    }

    #[inline]
    fn hand_out(&mut self, time: u64, mut io: TraceRequest) -> Result<(), EntryError> {
        let base = match self.base {
            Some(base) => base,
            None => {
                self.last = time;
                *self.base.insert(time)
            }
        };
        if time >= self.last {
            self.last = time;
        } else if self.order == Order::Clamp {
            self.counts.clamped += 1;
        } else {
            return Err(self.backwards(time, base));
        }
        io.at = Ns(self.last - base);
        self.out.push(io);
        self.counts.requests += 1;
        Ok(())
    }

    #[cold]
    fn backwards(&self, time: u64, base: u64) -> EntryError {
        let hint = if self.order == Order::Sort {
            "--order clamp, which keeps the file's order"
        } else {
            "--order sort if only neighbours are out of order, or --order clamp, which keeps the \
             file's order"
        };
        EntryError::Backwards { by: Ns(self.last - time), last: Ns(self.last - base), hint }
    }

    fn sort(&mut self, time: u64, io: TraceRequest) -> Result<(), EntryError> {
        if let Some(base) = self.base
            && time < self.last
        {
            return Err(self.backwards(time, base));
        }
        self.sequence += 1;
        self.reorder_heap.push(Reverse(ReorderEntry { time, sequence: self.sequence, io }));
        if self.reorder_heap.len() > WINDOW { self.release() } else { Ok(()) }
    }

    fn release(&mut self) -> Result<(), EntryError> {
        match self.reorder_heap.pop() {
            Some(Reverse(first)) => self.hand_out(first.time, first.io),
            None => Ok(()),
        }
    }

    /// Hands out what was held back for sorting.
    pub fn finish(&mut self) -> Result<(), EntryError> {
        while !self.reorder_heap.is_empty() {
            self.release()?;
        }
        Ok(())
    }
}

#[cold]
fn too_far(raw: RawRequest) -> EntryError {
    let found = format!("{} + {}", raw.offset, raw.len);
    EntryError::field("offset and length", found.as_bytes(), "an end within 2^62 bytes")
}
