//! Turns the parsed entries of any format into requests.
//!
//! The collector filters by device, aligns requests to sectors, makes times relative to the first
//! request, and enforces their order.

use super::entry_error::EntryError;
use super::request::TraceRequest;
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Number of requests that are buffered for sorting by time.
pub const WINDOW: usize = 1 << 16;

const SECTOR: u64 = 512;
/// Largest end of a request. No device is that large, and sums do not overflow 64 bits.
const END: u64 = 1 << 62;

/// What to do with a request that is earlier than the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Return an error.
    #[default]
    Strict,
    /// Keep the order of the file. The request gets the time of the one before it, and is counted.
    Clamp,
    /// Sort by time within a window of [`WINDOW`] requests. A request that is further out of order
    /// is an error.
    Sort,
}

/// Counters of the entries read, and of those left out or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Requests returned.
    pub requests: u64,
    /// Malformed lines or records that were skipped
    /// ([`ReadOptions::skip_bad`](super::ReadOptions)).
    pub skipped: u64,
    /// Requests for other devices than the selected one, and, in our own format, for virtual
    /// devices.
    pub other_devices: u64,
    /// Entries that are not a read, write, discard or flush, or not the event that is taken.
    pub other_kinds: u64,
    /// Reads, writes and discards of zero bytes, and replies without bytes. They are left out.
    pub empty: u64,
    /// Requests of web clients whose line names the site.
    pub virtual_hosts: u64,
    /// Requests of web clients with another method than GET. They are left out.
    pub other_methods: u64,
    /// Requests of web clients with another status than 200. They are left out.
    pub other_statuses: u64,
    /// Requests that did not start and end on a sector, and were extended.
    pub extended: u64,
    /// Flushes that the trace has as a flag of the request after them, returned as requests.
    pub preflushes: u64,
    /// Requests that were given a later time ([`Order::Clamp`]).
    pub clamped: u64,
    /// Text keys of objects, which were hashed to 64 bits.
    pub hashed_keys: u64,
}

impl ReadCounts {
    /// One line for each counter of entries left out or changed. With `events`, entries of other
    /// kinds are a normal part of the format and not reported.
    pub fn notes(&self, first_skipped: Option<&str>, events: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, name: &str, what: &str| {
            if count > 0 {
                notes.push(format!("{}: {count} {what}", name.replace('_', " ")));
            }
        };
        let first = first_skipped.unwrap_or_default();
        note(self.skipped, "skipped", &format!("malformed, left out; the first: {first}"));
        note(self.empty, "empty", "of no bytes, left out");
        note(self.extended, "extended", "made longer, to whole sectors of 512 bytes");
        note(self.preflushes, "preflushes", "flags of other requests, read as flushes before them");
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

/// A request as the trace states it, in bytes, and in nanoseconds on the clock of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRequest {
    pub time: u64,
    pub op: IoOp,
    pub device: u32,
    pub offset: u64,
    pub len: u64,
    pub latency: Option<Ns>,
    pub gap: Option<Ns>,
    pub pid: Option<u32>,
    /// Whether the device flushes its cache before the request.
    pub preflush: bool,
    pub durable: bool,
}

/// Takes parsed entries and collects requests in a batch.
pub(super) struct RequestCollector {
    pub out: Vec<TraceRequest>,
    pub counts: ReadCounts,
    device: Option<u32>,
    order: Order,
    exact: bool,
    /// Time of the first request.
    base: Option<u64>,
    /// Time of the last request returned.
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
        if raw.preflush {
            self.flush_before(raw)?;
        }
        if raw.len == 0 && raw.op != IoOp::Flush {
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
            durable: raw.durable,
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

    /// Takes the flush that precedes a request as a request of its own.
    #[cold]
    fn flush_before(&mut self, raw: RawRequest) -> Result<(), EntryError> {
        self.counts.preflushes += 1;
        let (op, offset, len) = (IoOp::Flush, 0, 0);
        let (latency, gap) = (None, None);
        let flush =
            RawRequest { op, offset, len, latency, gap, preflush: false, durable: false, ..raw };
        self.take(flush)
    }

    /// Counts an entry that moves no data.
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

    /// Returns the requests that are still buffered for sorting.
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
