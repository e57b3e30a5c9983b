//! A trace as accesses to objects or pages.

use super::{CacheTrace, PAGE};
use gordon_blockio::IoOp;
use gordon_blockio::SECTOR;
use gordon_cache::{NEVER, NextAccess, NextAccessBuilder, Request};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_replay::dense_ids::DenseIds;
use gordon_replay::results::report::LeftOut;
use gordon_trace::formats::{
    self, Format, InputNote, ObjectReader, ObjectRequest, OpenedTrace, Order, ReadCounts,
    ReadOptions, RequestReader, TraceRequest,
};
use gordon_units::{Ns, Progress};

/// Approximate number of requests in a batch.
const BATCH: usize = 1 << 13;
/// Highest end of a request that [`formats`] reads.
const END: u64 = 1 << 62;

/// A source of accesses.
pub(super) struct Load {
    reader: LoadReader,
    /// Time and operation of each access of the last batch; `None` if not needed.
    pub stamps: Option<Vec<AccessStamp>>,
    crc: crc32fast::Hasher,
    bytes: Vec<u8>,
    first_pass: Option<FirstPass>,
    /// Number of accesses returned so far.
    returned: u64,
}

/// Result of a first pass over the trace.
struct FirstPass {
    next_access: NextAccess,
    /// Checksum of the accesses in the first pass.
    crc: crc32fast::Hasher,
}

/// Time and operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessStamp {
    pub at: Ns,
    pub write: bool,
    /// Whether this is the first access of its request.
    pub first: bool,
}

enum LoadReader {
    Objects(ObjectReader, Vec<ObjectRequest>),
    Blocks(Blocks),
}

/// A block trace.
struct Blocks {
    reader: RequestReader,
    /// Whether each request is one object.
    as_objects: bool,
    ios: Vec<TraceRequest>,
    /// Index in `ios` of the request that is being split into pages.
    at: usize,
    /// Start of the remaining pages of that request; `None` if it has not been started.
    rest: Option<u64>,
    devices: DenseIds,
    without_data: u64,
}

impl Load {
    /// Opens a trace. With `ahead`, at least one policy needs next-access times.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be opened, or cannot be read, twice if necessary, or if
    /// `progress` stops the first pass.
    pub fn open_for(
        trace: &TraceLoad,
        as_objects: bool,
        ahead: bool,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        if ahead {
            Self::with_next_access(trace, as_objects, progress)
        } else {
            Self::open(trace, as_objects)
        }
    }

    /// # Errors
    /// Returns an error if the trace cannot be opened.
    pub fn open(trace: &TraceLoad, as_objects: bool) -> Result<Self, ReplayError> {
        Self::with(trace, as_objects, false)
    }

    /// Opens a trace whose accesses carry the position of the next access to the same object. The
    /// trace contains it, or is read once before.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be opened, read, or read twice, or if `progress` stops
    /// the first pass.
    pub fn with_next_access(
        trace: &TraceLoad,
        as_objects: bool,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        let mut first = Self::with(trace, as_objects, true)?;
        // A trace of this format has the next access of each request.
        if let LoadReader::Objects(of, _) = &first.reader
            && of.format() == Format::OracleGeneral
        {
            return Ok(first);
        }
        if trace.is_stream() {
            let why = "the policy reads the trace twice, and standard input can be read once";
            return Err(ReplayError::impossible("trace -", why, "a file; or another policy"));
        }
        let (mut ahead, mut batch) = (NextAccessBuilder::default(), Vec::new());
        while first.next_batch(&mut batch)? {
            progress.check()?;
            if !batch.iter().all(|request| ahead.record(request.key)) {
                let why = "the policy looks ahead over at most 2^32 requests";
                return Err(ReplayError::impossible("trace", why, "a part of it; another policy"));
            }
        }
        let mut again = Self::with(trace, as_objects, true)?;
        again.first_pass = Some(FirstPass { next_access: ahead.finish(), crc: first.crc });
        Ok(again)
    }

    fn with(trace: &TraceLoad, as_objects: bool, ahead: bool) -> Result<Self, ReplayError> {
        let path = &trace.path;
        if trace.repeat != 1 {
            let why = "a cache replays a trace once";
            return Err(ReplayError::impossible("trace.repeat", why, "1"));
        }
        // Objects have their exact size; pages are of whole sectors.
        let options = ReadOptions { exact: as_objects, ..trace.options(Order::Strict)? };
        let reader = match formats::open_any(path, trace.format, &options, ahead)? {
            OpenedTrace::Objects(objects) => LoadReader::Objects(objects, Vec::new()),
            OpenedTrace::Blocks(reader) => LoadReader::Blocks(Blocks {
                reader,
                as_objects,
                ios: Vec::new(),
                at: 0,
                rest: None,
                devices: DenseIds::default(),
                without_data: 0,
            }),
        };
        let crc = crc32fast::Hasher::new();
        Ok(Self { reader, stamps: None, crc, bytes: Vec::new(), first_pass: None, returned: 0 })
    }

    /// Replaces the content of `batch` with the next accesses. Returns false at the end.
    pub fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, ReplayError> {
        batch.clear();
        if let Some(stamps) = &mut self.stamps {
            stamps.clear();
        }
        self.add_batch(batch)
    }

    /// Appends accesses to `batch`, and their times to `stamps`. Returns false at the end.
    pub fn add_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, ReplayError> {
        let before = batch.len();
        let stamps = self.stamps.as_mut();
        match &mut self.reader {
            LoadReader::Objects(objects, read) => {
                objects.fill(read)?;
                batch.extend(read.iter().map(|object| Request {
                    key: object.key,
                    next: object.next,
                    size: object.size,
                    asked: object.size,
                }));
                if let Some(stamps) = stamps {
                    stamps.extend(read.iter().map(|one| AccessStamp {
                        at: one.at,
                        write: one.write,
                        first: true,
                    }));
                }
            }
            LoadReader::Blocks(blocks) => blocks.fill(batch, stamps)?,
        }
        let batch = &mut batch[before..];
        self.bytes.resize(batch.len() * 16, 0);
        for (bytes, request) in self.bytes.chunks_exact_mut(16).zip(&*batch) {
            bytes[..8].copy_from_slice(&request.key.to_le_bytes());
            bytes[8..].copy_from_slice(&request.asked.to_le_bytes());
        }
        self.crc.update(&self.bytes);
        if let Some(first_pass) = &self.first_pass {
            for (number, request) in (self.returned..).zip(&mut *batch) {
                request.next = first_pass.next_access.after(number);
            }
            if batch.is_empty() && first_pass.crc.clone().finalize() != self.crc.clone().finalize()
            {
                let why = "it changed between its two readings";
                return Err(ReplayError::impossible(
                    "trace",
                    why,
                    "a copy that no program writes to",
                ));
            }
        }
        self.returned += batch.len() as u64;
        Ok(!batch.is_empty())
    }

    /// Memory for next-access times.
    pub fn ahead_bytes(&self) -> u64 {
        self.first_pass.as_ref().map_or(0, |first_pass| first_pass.next_access.memory() as u64)
    }

    /// Cached unit: `object`, `page` or `request`.
    pub fn unit(&self) -> &'static str {
        match &self.reader {
            LoadReader::Objects(..) => "object",
            LoadReader::Blocks(blocks) if blocks.as_objects => "request",
            LoadReader::Blocks(_) => "page",
        }
    }

    /// Format, and counters of the reader.
    fn counts(&self) -> (Format, ReadCounts) {
        match &self.reader {
            LoadReader::Objects(objects, _) => (objects.format(), objects.counts()),
            LoadReader::Blocks(blocks) => (blocks.reader.format(), blocks.reader.counts()),
        }
    }

    /// Description of how the trace is read.
    pub fn note(&self) -> &InputNote {
        match &self.reader {
            LoadReader::Objects(objects, _) => objects.note(),
            LoadReader::Blocks(blocks) => blocks.reader.note(),
        }
    }

    /// Whether the times are whole seconds of an object trace.
    pub fn whole_seconds(&self) -> bool {
        matches!(&self.reader, LoadReader::Objects(objects, _) if objects.whole_seconds())
    }

    /// Notes about records skipped or changed so far, one line each.
    pub fn notes(&self) -> Vec<String> {
        match &self.reader {
            LoadReader::Objects(objects, _) => objects.notes(),
            LoadReader::Blocks(blocks) => {
                let mut notes = blocks.reader.notes();
                if blocks.without_data > 0 {
                    let count = blocks.without_data;
                    notes.push(format!("without data: {count} discards and flushes, left out"));
                }
                notes
            }
        }
    }

    pub fn devices(&self) -> usize {
        match &self.reader {
            LoadReader::Objects(..) => 0,
            LoadReader::Blocks(blocks) => blocks.devices.numbers().len(),
        }
    }

    pub fn first_skipped(&self) -> Option<&str> {
        match &self.reader {
            LoadReader::Objects(objects, _) => objects.first_skipped(),
            LoadReader::Blocks(blocks) => blocks.reader.first_skipped(),
        }
    }

    /// Description of the trace for the report.
    pub fn provenance(&self) -> CacheTrace {
        let (format, counts) = self.counts();
        let without_data = match &self.reader {
            LoadReader::Objects(..) => 0,
            LoadReader::Blocks(blocks) => blocks.without_data,
        };
        CacheTrace {
            format: format.name(),
            requests: counts.requests,
            without_data,
            left_out: LeftOut::new(&counts, self.first_skipped()),
            virtual_hosts: counts.virtual_hosts,
            other_methods: counts.other_methods,
            other_statuses: counts.other_statuses,
            crc32: format!("{:08x}", self.crc.clone().finalize()),
        }
    }
}

impl Blocks {
    /// Appends about [`BATCH`] accesses; none at the end.
    fn fill(
        &mut self,
        batch: &mut Vec<Request>,
        mut stamps: Option<&mut Vec<AccessStamp>>,
    ) -> Result<(), ReplayError> {
        let full = batch.len() + BATCH;
        while batch.len() < full {
            if self.at == self.ios.len() {
                self.at = 0;
                if !self.reader.fill(&mut self.ios)? {
                    return Ok(());
                }
            }
            let io = self.ios[self.at];
            let (before, begun) = (batch.len(), self.rest.is_some());
            if matches!(io.op, IoOp::Flush | IoOp::Discard) {
                self.without_data += 1;
                self.at += 1;
            } else if self.as_objects {
                batch.push(self.object(&io));
                self.at += 1;
            } else {
                self.pages(&io, batch, full);
            }
            if let Some(stamps) = &mut stamps {
                let rest = AccessStamp { at: io.at, write: io.op == IoOp::Write, first: false };
                stamps.resize(batch.len(), rest);
                if let Some(stamp) = stamps.get_mut(before) {
                    stamp.first = !begun;
                }
            }
        }
        Ok(())
    }

    /// The key of the page or request at `offset` of a device. If `offset` is a multiple of
    /// `grain`, as nearly all are, the key is its index, with the devices in consecutive ranges;
    /// otherwise, and beyond 64 bits, it is a hash.
    fn key(&mut self, device: u32, offset: u64, grain: u64) -> u64 {
        let at = u64::from(self.devices.of(device));
        let each = END / grain;
        let base = at.checked_mul(each).filter(|base| base.checked_add(each).is_some());
        match base.filter(|_| offset.is_multiple_of(grain)) {
            Some(base) => base + offset / grain,
            None => mix(mix(at) ^ offset),
        }
    }

    /// A request as one object, identified by its first byte.
    fn object(&mut self, io: &TraceRequest) -> Request {
        let key = self.key(io.device, io.offset.0, SECTOR.0);
        Request { key, next: NEVER, size: io.len.0, asked: io.len.0 }
    }

    /// Appends the pages of a request, from the remaining ones until the batch is full.
    fn pages(&mut self, io: &TraceRequest, batch: &mut Vec<Request>, full: usize) {
        let end = io.offset.0 + io.len.0;
        let mut from = self.rest.unwrap_or(io.offset.0);
        while from < end {
            if batch.len() >= full {
                self.rest = Some(from);
                return;
            }
            let page = from / PAGE * PAGE;
            let to = end.min(page + PAGE);
            let key = self.key(io.device, page, PAGE);
            batch.push(Request { key, next: NEVER, size: PAGE, asked: to - from });
            from = to;
        }
        self.rest = None;
        self.at += 1;
    }
}

/// Mixes all bits of a number; a bijection (Stafford's mix 13, 2011).
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
