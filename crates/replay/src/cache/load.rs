//! A trace as requests for objects.

use super::{CacheTrace, PAGE};
use crate::ReplayError;
use crate::config::TraceLoad;
use gordon_cache::{Kind, NEVER, Request};
use gordon_device::SECTOR;
use gordon_trace::BlockOp;
use gordon_trace::formats::{self, Counts, Format, Io, Object, Objects, Options, Order, Reader};
use gordon_units::Ns;
use std::path::Path;

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
    /// # Errors
    /// Where the trace cannot be opened, or not for this policy.
    pub fn open(trace: &TraceLoad, whole: bool, kind: Kind) -> Result<Self, ReplayError> {
        let path = &trace.path;
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
        if kind.sees_ahead() && format != Format::OracleGeneral {
            return Err(cannot_see(path, format, kind));
        }
        let from = if format.is_objects() {
            From::Objects(Objects::open(path, format, &options, kind.sees_ahead())?, Vec::new())
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
        Ok(Self { from, stamps: None, crc: crc32fast::Hasher::new(), bytes: Vec::new() })
    }

    /// Replaces the content of `batch`; false at the end.
    pub fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, ReplayError> {
        batch.clear();
        let mut stamps = self.stamps.as_mut();
        if let Some(stamps) = &mut stamps {
            stamps.clear();
        }
        match &mut self.from {
            From::Objects(objects, read) => {
                objects.fill(read)?;
                batch.extend(read.iter().map(|object| Request {
                    key: object.key,
                    next: object.next.unwrap_or(NEVER),
                    size: object.size,
                    asked: object.size,
                }));
                if let Some(stamps) = stamps {
                    let at = |second: &u32| Ns::SECOND * u64::from(*second);
                    let seconds = objects.seconds().iter();
                    stamps.extend(seconds.map(|second| Stamp { at: at(second), write: false }));
                }
            }
            From::Blocks(blocks) => blocks.fill(batch, stamps)?,
        }
        self.bytes.clear();
        for request in &*batch {
            self.bytes.extend_from_slice(&request.key.to_le_bytes());
            self.bytes.extend_from_slice(&request.asked.to_le_bytes());
        }
        self.crc.update(&self.bytes);
        Ok(!batch.is_empty())
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
    pub fn finish(self) -> CacheTrace {
        let first_skipped = self.first_skipped().map(str::to_owned);
        let (format, counts, without_data) = match &self.from {
            From::Objects(objects, _) => (objects.format(), objects.counts(), 0),
            From::Blocks(b) => (b.reader.format(), b.reader.counts(), b.without_data),
        };
        CacheTrace {
            format: format.name(),
            requests: counts.requests,
            without_data,
            skipped: counts.skipped,
            first_skipped,
            clamped: counts.clamped,
            extended: counts.aligned,
            empty: counts.empty,
            other_devices: counts.other_devices,
            other_kinds: counts.other_kinds,
            other_methods: counts.other_methods,
            other_statuses: counts.other_statuses,
            crc32: format!("{:08x}", self.crc.finalize()),
        }
    }
}

fn cannot_see(path: &Path, format: Format, kind: Kind) -> ReplayError {
    let (path, kind) = (path.display(), kind.name());
    let why = format!("{kind} sees ahead, and {path} of format {format} does not say what comes");
    let hint =
        "an oracleGeneral trace, which has the next request for each object; or another policy";
    ReplayError::impossible("policy", why, hint)
}

impl Blocks {
    /// About [`BATCH`] requests more; none at the end.
    fn fill(
        &mut self,
        batch: &mut Vec<Request>,
        mut stamps: Option<&mut Vec<Stamp>>,
    ) -> Result<(), ReplayError> {
        while batch.len() < BATCH {
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
                self.pages(&io, batch)?;
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
    fn pages(&mut self, io: &Io, batch: &mut Vec<Request>) -> Result<(), ReplayError> {
        let end = io.offset.0 + io.len.0;
        let mut from = self.rest.unwrap_or(io.offset.0);
        while from < end {
            if batch.len() >= BATCH {
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
