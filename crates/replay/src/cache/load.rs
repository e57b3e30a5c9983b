//! A trace as requests for objects.

use super::{CacheTrace, PAGE};
use crate::ReplayError;
use crate::config::TraceLoad;
use crate::results::report::LeftOut;
use gordon_cache::{Ahead, NEVER, Nexts, Request};
use gordon_device::SECTOR;
use gordon_trace::BlockOp;
use gordon_trace::formats::{self, Counts, Format, Io, Object, Objects, Options, Order, Reader};
use gordon_units::{Ns, Watch};

/// Requests of a batch, about.
const BATCH: usize = 1 << 13;
/// Where a request can end: [`formats`] reads no other.
const END: u64 = 1 << 62;

/// Where requests come from.
pub(super) struct Load {
    from: From,
    /// When the requests of the last batch came, and which of them write, where that is of interest.
    pub stamps: Option<Vec<Stamp>>,
    crc: crc32fast::Hasher,
    bytes: Vec<u8>,
    nexts: Option<Known>,
    /// Requests handed out.
    given: u64,
}

/// What a first reading found.
struct Known {
    nexts: Nexts,
    /// Of what it read.
    crc: crc32fast::Hasher,
}

/// When a request came, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Of objects: in whole seconds.
    pub at: Ns,
    pub write: bool,
}

enum From {
    Objects(Objects, Vec<Object>),
    Blocks(Blocks),
}

/// A block trace.
struct Blocks {
    reader: Reader,
    /// Each request is one object.
    whole: bool,
    ios: Vec<Io>,
    /// The request of `ios` that is cut into pages.
    at: usize,
    /// Where the rest of it starts, if it was begun.
    rest: Option<u64>,
    /// The trace's devices, in the order in which they come.
    devices: Vec<u32>,
    without_data: u64,
}

impl Load {
    /// For policies of which one sees `ahead`, or none does.
    ///
    /// # Errors
    /// Where the trace cannot be opened, or read, or not twice; a stop.
    pub fn for_some(
        trace: &TraceLoad,
        whole: bool,
        ahead: bool,
        progress: &Watch,
    ) -> Result<Self, ReplayError> {
        if ahead { Self::seeing_ahead(trace, whole, progress) } else { Self::open(trace, whole) }
    }

    /// # Errors
    /// Where the trace cannot be opened.
    pub fn open(trace: &TraceLoad, whole: bool) -> Result<Self, ReplayError> {
        Self::with(trace, whole, false)
    }

    /// Its requests know the next one for the same object: the trace says so, or it is read once
    /// before.
    ///
    /// # Errors
    /// Where the trace cannot be opened, or read, or not twice; a stop.
    pub fn seeing_ahead(
        trace: &TraceLoad,
        whole: bool,
        progress: &Watch,
    ) -> Result<Self, ReplayError> {
        let mut first = Self::with(trace, whole, true)?;
        if matches!(&first.from, From::Objects(of, _) if of.format() == Format::OracleGeneral) {
            return Ok(first);
        }
        if trace.path.as_os_str() == "-" {
            let why = "who sees ahead reads it twice, and standard input can be read once";
            return Err(ReplayError::impossible("trace -", why, "a file; or another policy"));
        }
        let (mut ahead, mut batch) = (Ahead::default(), Vec::new());
        while first.next_batch(&mut batch)? {
            progress.check()?;
            if !batch.iter().all(|request| ahead.saw(request.key)) {
                let why = "more than 2^32 requests are too many to see ahead";
                return Err(ReplayError::impossible("trace", why, "a part of it; another policy"));
            }
        }
        let mut again = Self::with(trace, whole, true)?;
        again.nexts = Some(Known { nexts: ahead.finish(), crc: first.crc });
        Ok(again)
    }

    fn with(trace: &TraceLoad, whole: bool, ahead: bool) -> Result<Self, ReplayError> {
        let path = &trace.path;
        if trace.repeat != 1 {
            let why = "a cache is asked for a trace once";
            return Err(ReplayError::impossible("trace.repeat", why, "1"));
        }
        let options = Options {
            skip_bad: trace.skip_bad,
            device: trace.device,
            order: trace.order.map_or(Order::Strict, Into::into),
            time_unit: trace.time_unit,
            event: trace.event.map(Into::into),
        };
        let format = match trace.format {
            Some(format) => format,
            None if path.as_os_str() == "-" => {
                let why = "standard input can be read once, and not be looked at before";
                return Err(ReplayError::impossible("trace -", why, "--format with its format"));
            }
            None => formats::detect(path)?,
        };
        let from = if format.is_objects() {
            From::Objects(Objects::open(path, format, &options, ahead)?, Vec::new())
        } else {
            From::Blocks(Blocks {
                reader: formats::open(path, Some(format), &options)?,
                whole,
                ios: Vec::new(),
                at: 0,
                rest: None,
                devices: Vec::new(),
                without_data: 0,
            })
        };
        let crc = crc32fast::Hasher::new();
        Ok(Self { from, stamps: None, crc, bytes: Vec::new(), nexts: None, given: 0 })
    }

    /// Replaces the content of `batch`; false at the end.
    pub fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, ReplayError> {
        batch.clear();
        if let Some(stamps) = &mut self.stamps {
            stamps.clear();
        }
        self.add_batch(batch)
    }

    /// Adds to `batch`, and to the stamps; false at the end.
    pub fn add_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, ReplayError> {
        let before = batch.len();
        let stamps = self.stamps.as_mut();
        match &mut self.from {
            From::Objects(objects, read) => {
                objects.fill(read)?;
                batch.extend(read.iter().map(|object| Request {
                    key: object.key,
                    next: object.next,
                    size: object.size,
                    asked: object.size,
                }));
                if let Some(stamps) = stamps {
                    let at = |object: &Object| Ns::SECOND * u64::from(object.second);
                    stamps.extend(read.iter().map(|one| Stamp { at: at(one), write: false }));
                }
            }
            From::Blocks(blocks) => blocks.fill(batch, stamps)?,
        }
        let batch = &mut batch[before..];
        self.bytes.resize(batch.len() * 12, 0);
        for (bytes, request) in self.bytes.chunks_exact_mut(12).zip(&*batch) {
            bytes[..8].copy_from_slice(&request.key.to_le_bytes());
            bytes[8..].copy_from_slice(&request.asked.to_le_bytes());
        }
        self.crc.update(&self.bytes);
        if let Some(known) = &self.nexts {
            for (number, request) in (self.given..).zip(&mut *batch) {
                request.next = known.nexts.after(number);
            }
            if batch.is_empty() && known.crc.clone().finalize() != self.crc.clone().finalize() {
                let why = "it was read twice, and was another the second time";
                return Err(ReplayError::impossible("trace", why, "a copy that nobody writes to"));
            }
        }
        self.given += batch.len() as u64;
        Ok(!batch.is_empty())
    }

    /// Memory that it takes to see ahead.
    pub fn ahead_bytes(&self) -> u64 {
        self.nexts.as_ref().map_or(0, |known| known.nexts.memory() as u64)
    }

    /// What is cached.
    pub fn unit(&self) -> &'static str {
        match &self.from {
            From::Objects(..) => "object",
            From::Blocks(blocks) if blocks.whole => "request",
            From::Blocks(_) => "page",
        }
    }

    /// What of a web server's log was left out, but for what is malformed.
    pub fn left_out_of_log(&self) -> Option<Counts> {
        match &self.from {
            From::Objects(objects, _) if objects.format() == Format::Clf => Some(objects.counts()),
            _ => None,
        }
    }

    pub fn devices(&self) -> usize {
        match &self.from {
            From::Objects(..) => 0,
            From::Blocks(blocks) => blocks.devices.len(),
        }
    }

    pub fn first_skipped(&self) -> Option<&str> {
        match &self.from {
            From::Objects(objects, _) => objects.first_skipped(),
            From::Blocks(blocks) => blocks.reader.first_skipped(),
        }
    }

    /// What was read of the trace.
    pub fn told(&self) -> CacheTrace {
        let left_out = |counts| LeftOut::new(&counts, self.first_skipped());
        let (format, counts, without_data) = match &self.from {
            From::Objects(objects, _) => (objects.format(), objects.counts(), 0),
            From::Blocks(b) => (b.reader.format(), b.reader.counts(), b.without_data),
        };
        CacheTrace {
            format: format.name(),
            requests: counts.requests,
            without_data,
            left_out: left_out(counts),
            other_methods: counts.other_methods,
            other_statuses: counts.other_statuses,
            crc32: format!("{:08x}", self.crc.clone().finalize()),
        }
    }
}

impl Blocks {
    /// About [`BATCH`] requests more; none at the end.
    fn fill(
        &mut self,
        batch: &mut Vec<Request>,
        mut stamps: Option<&mut Vec<Stamp>>,
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
            if matches!(io.op, BlockOp::Flush | BlockOp::Discard) {
                self.without_data += 1;
                self.at += 1;
            } else if self.whole {
                batch.push(self.object(&io)?);
                self.at += 1;
            } else {
                self.pages(&io, batch, full)?;
            }
            if let Some(stamps) = &mut stamps {
                stamps.resize(batch.len(), Stamp { at: io.at, write: io.op == BlockOp::Write });
            }
        }
        Ok(())
    }

    /// The key of the `number`-th thing of `size` bytes on a device: the first device's are their
    /// numbers.
    fn key(&mut self, device: u32, number: u64, size: u64) -> Result<u64, ReplayError> {
        // Most requests are for the device of the one before.
        let found = self.devices.iter().rposition(|known| *known == device);
        let at = found.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        }) as u64;
        let each = END / size;
        let base = at.checked_mul(each).filter(|base| base.checked_add(each).is_some());
        base.map(|base| base + number).ok_or_else(|| {
            let (what, why) = ("trace", format!("more than {at} devices share no cache"));
            ReplayError::impossible(what, why, "--device with one of them")
        })
    }

    /// A request as one object: its first sector names it.
    fn object(&mut self, io: &Io) -> Result<Request, ReplayError> {
        let size = u32::try_from(io.len.0).map_err(|_| {
            let why = format!("a request of {} is no object: there are none of 4 GiB", io.len);
            ReplayError::impossible("objects", why, "pages: leave --objects out")
        })?;
        let key = self.key(io.device, io.offset.0 / SECTOR.0, SECTOR.0)?;
        Ok(Request { key, next: NEVER, size, asked: size })
    }

    /// Pages of a request, from where it was left to where the batch is full.
    fn pages(&mut self, io: &Io, batch: &mut Vec<Request>, full: usize) -> Result<(), ReplayError> {
        let end = io.offset.0 + io.len.0;
        let mut from = self.rest.unwrap_or(io.offset.0);
        while from < end {
            if batch.len() >= full {
                self.rest = Some(from);
                return Ok(());
            }
            let page = from / PAGE;
            let to = end.min((page + 1) * PAGE);
            let key = self.key(io.device, page, PAGE)?;
            batch.push(Request { key, next: NEVER, size: PAGE as u32, asked: (to - from) as u32 });
            from = to;
        }
        self.rest = None;
        self.at += 1;
        Ok(())
    }
}
