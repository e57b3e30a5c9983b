//! Reads the binary events of the kernel's block tracer.
//!
//! An event has 48 bytes (`struct blk_io_trace`, include/uapi/linux/blktrace_api.h, version 7) and
//! a payload whose length it states, in the byte order of the traced machine. blktrace writes one
//! file per CPU, `NAME.blktrace.N`. The files of all CPUs are read and merged, whether the path is
//! one of them or `NAME`. Each may be compressed. A single stream of all CPUs (`blkparse -d`,
//! `blktrace -o -`) is read as it is. One event of each request is taken, by default D (issue).
//!
//! Not covered: version 8 events (`struct blk_io_trace2`, Linux 6.19 and later).

use super::collector::RequestCollector;
use super::entry_error::{EntryError, FilePosition};
use super::error::FormatError;
use super::format::Format;
use super::input::{HEAD, Input, open_input};
use super::options::RequestEvent;
use super::requeue::{DispatchKey, DispatchStep, RequeueTracker};
use super::source::{RequestSource, SkippedEntries};
use gordon_blockio::IoOp;
use std::path::{Path, PathBuf};

const SIZE: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u8 = 7;
const MOST_CPUS: u32 = 1 << 14;

// Lower half of an action: the event.
const QUEUE: u32 = 1;
const REQUEUE: u32 = 6;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
// Upper half of an action: flags of the request.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const DRIVER_COMMAND: u32 = 1 << 25;
const MESSAGE: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct BlktraceEvent {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    error: u16,
    payload_len: u16,
}

/// The events of one file.
struct CpuStream {
    input: Input,
    path: PathBuf,
    big_endian: bool,
    number: u64,
    /// The next event, by whose time the streams are merged.
    next: Option<BlktraceEvent>,
}

/// Merges the files of a trace by time.
pub(super) struct Blktrace {
    streams: Vec<CpuStream>,
    action: u32,
    requeues: RequeueTracker,
}

/// Whether `head` starts with an event in big-endian byte order; `None` if it does not start with
/// an event.
pub(super) fn byte_order(head: &[u8]) -> Option<bool> {
    let magic = head.first_chunk::<4>()?;
    match (u32::from_le_bytes(*magic) & !0xff, u32::from_be_bytes(*magic) & !0xff) {
        (MAGIC, _) => Some(false),
        (_, MAGIC) => Some(true),
        _ => None,
    }
}

/// Suffixes of file names, of plain and of compressed files.
const ENDS: [&str; 3] = ["", ".gz", ".zst"];

/// `NAME`, if `path` is `NAME.blktrace.N`.
fn stem(path: &str) -> Option<&str> {
    let bare = path.strip_suffix(".gz").or(path.strip_suffix(".zst")).unwrap_or(path);
    let (stem, cpu) = bare.rsplit_once(".blktrace.")?;
    cpu.parse::<u32>().is_ok().then_some(stem)
}

/// Whether the name of `path` is that of the file of a CPU.
pub(super) fn is_per_cpu(path: &Path) -> bool {
    stem(&path.to_string_lossy()).is_some()
}

/// All files of the trace whose stem is `path`, or to which the file `path` belongs. If a CPU has
/// several files, the first suffix is used.
fn files(path: &Path) -> Vec<PathBuf> {
    let text = path.to_string_lossy();
    let stem = match stem(&text) {
        Some(stem) => stem,
        None if path.is_file() => return vec![path.to_owned()],
        None => &text,
    };
    let of_cpu = |cpu: u32| {
        let names = ENDS.map(|end| format!("{stem}.blktrace.{cpu}{end}"));
        names.into_iter().map(PathBuf::from).find(|path| path.is_file())
    };
    let found: Vec<PathBuf> = (0..MOST_CPUS).filter_map(of_cpu).collect();
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

/// Whether `path` does not exist, but is the stem of the files of a trace.
pub(super) fn is_stem(path: &Path) -> bool {
    !path.exists() && files(path).first().is_some_and(|first| first != path)
}

impl Blktrace {
    /// Opens all files of the trace.
    pub fn open(path: &Path, event: Option<RequestEvent>) -> Result<Self, FormatError> {
        if path.as_os_str() == "-" {
            let input = open_input(path)?;
            return Self::one(path, input, event);
        }
        let streams = files(path).into_iter().map(|path| {
            let source = open_input(&path)?;
            Ok((path, source))
        });
        Self::new(streams.collect::<Result<_, FormatError>>()?, event)
    }

    /// Reads a single stream.
    pub fn one(
        path: &Path,
        input: Input,
        event: Option<RequestEvent>,
    ) -> Result<Self, FormatError> {
        Self::new(vec![(path.to_owned(), input)], event)
    }

    fn new(files: Vec<(PathBuf, Input)>, event: Option<RequestEvent>) -> Result<Self, FormatError> {
        let mut streams = Vec::with_capacity(files.len());
        let mut seen = [false; 3];
        for (path, mut input) in files {
            input.want(HEAD).map_err(|source| FormatError::Read {
                path: path.clone(),
                place: FilePosition::Record(0, 0),
                source,
            })?;
            // The file of a CPU without events is empty.
            let big_endian = byte_order(input.bytes()).unwrap_or(false);
            actions(input.bytes(), big_endian, &mut seen);
            streams.push(CpuStream { input, path, big_endian, number: 0, next: None });
        }
        let action = match (event, seen) {
            (Some(RequestEvent::Queue), _) | (None, [true, false, _]) => QUEUE,
            (Some(RequestEvent::Complete), _) | (None, [false, false, true]) => COMPLETE,
            (Some(RequestEvent::Issue), _) | (None, _) => ISSUE,
        };
        Ok(Self { streams, action, requeues: RequeueTracker::default() })
    }
}

/// Records which of queue, issue and complete occur among the first events.
fn actions(mut head: &[u8], big_endian: bool, seen: &mut [bool; 3]) {
    while let Some(bytes) = head.get(..SIZE) {
        if byte_order(bytes) != Some(big_endian) {
            return;
        }
        let entry = entry(bytes, big_endian);
        if entry.action & (MESSAGE | DRIVER_COMMAND) == 0 {
            match entry.action & 0xffff {
                QUEUE => seen[0] = true,
                ISSUE => seen[1] = true,
                COMPLETE => seen[2] = true,
                _ => {}
            }
        }
        head = head.get(SIZE + usize::from(entry.payload_len)..).unwrap_or_default();
    }
}

#[inline]
fn entry(b: &[u8], big_endian: bool) -> BlktraceEvent {
    #[inline]
    fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        bytes[at..at + N].try_into().expect("a slice of N bytes")
    }
    let u32_at = |at| match big_endian {
        true => u32::from_be_bytes(array(b, at)),
        false => u32::from_le_bytes(array(b, at)),
    };
    let u64_at = |at| match big_endian {
        true => u64::from_be_bytes(array(b, at)),
        false => u64::from_le_bytes(array(b, at)),
    };
    let u16_at = |at| match big_endian {
        true => u16::from_be_bytes(array(b, at)),
        false => u16::from_le_bytes(array(b, at)),
    };
    BlktraceEvent {
        time: u64_at(8),
        sector: u64_at(16),
        bytes: u32_at(24),
        action: u32_at(28),
        device: u32_at(36),
        error: u16_at(44),
        payload_len: u16_at(46),
    }
}

impl BlktraceEvent {
    /// Whether this is the event to take, or one that is needed to track requeued requests: a
    /// requeue, or a completion with an error.
    fn is_relevant(&self, counts: u32) -> bool {
        match self.action & 0xffff {
            action if action == counts => true,
            REQUEUE => counts == ISSUE,
            COMPLETE => counts == ISSUE && self.error != 0,
            _ => false,
        }
    }

    /// The operation of the event; `None` for a command of a driver.
    ///
    /// The kernel flags discards as writes too, and flushes without data as reads. Write zeroes and
    /// zone resets look like writes.
    fn op(&self) -> Option<IoOp> {
        if self.action & DRIVER_COMMAND != 0 {
            return None;
        }
        Some(if self.action & DISCARD != 0 {
            IoOp::Discard
        } else if self.bytes == 0 && self.action & FLUSH != 0 {
            IoOp::Flush
        } else if self.action & WRITE != 0 {
            IoOp::Write
        } else {
            IoOp::Read
        })
    }
}

impl CpuStream {
    fn place(&self) -> FilePosition {
        FilePosition::Record(self.number, self.input.position())
    }

    fn bad(&self, field: &'static str, found: &[u8], expected: &'static str) -> FormatError {
        let place = FilePosition::Record(self.number + 1, self.input.position());
        let bad = EntryError::field(field, found, expected);
        FormatError::Bad {
            path: self.path.clone(),
            place,
            format: Format::Blktrace.name(),
            bad: Box::new(bad),
        }
    }

    /// Returns the next event to take, or to track requeued requests with; `None` at the end.
    fn advance(
        &mut self,
        action: u32,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
    ) -> Result<Option<BlktraceEvent>, FormatError> {
        loop {
            if !self.at_hand(SIZE)? {
                let left = self.input.bytes().len();
                if left == 0 {
                    return Ok(None);
                }
                return self.cut(left, collector, skip);
            }
            let bytes = &self.input.bytes()[..SIZE];
            if byte_order(bytes) != Some(self.big_endian) {
                let found = format!("{:02x?}", &bytes[..4]);
                let expected = "the magic number of an event, 0x65617407";
                return Err(self.bad("magic", found.as_bytes(), expected));
            }
            let version = if self.big_endian { bytes[3] } else { bytes[0] };
            if version != VERSION {
                return Err(FormatError::Unsupported {
                    path: self.path.clone(),
                    what: format!("events of version {version}; version {VERSION} is read"),
                    hint: "blkparse of the machine that traced it, and --format blkparse",
                });
            }
            let entry = entry(bytes, self.big_endian);
            if !self.at_hand(SIZE + usize::from(entry.payload_len))? {
                return self.cut(self.input.bytes().len(), collector, skip);
            }
            self.input.advance(SIZE + usize::from(entry.payload_len));
            self.number += 1;
            if entry.action & MESSAGE != 0 || !entry.is_relevant(action) {
                collector.other();
                continue;
            }
            return Ok(Some(entry));
        }
    }

    /// Buffers `len` bytes. Returns false if the file has fewer.
    #[inline]
    fn at_hand(&mut self, len: usize) -> Result<bool, FormatError> {
        if self.input.bytes().len() >= len {
            return Ok(true);
        }
        let place = self.place();
        let got = self.input.want(len);
        got.map_err(|source| FormatError::Read { path: self.path.clone(), place, source })?;
        Ok(self.input.bytes().len() >= len)
    }

    /// Handles an event that is truncated by the end of the file.
    fn cut(
        &mut self,
        left: usize,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
    ) -> Result<Option<BlktraceEvent>, FormatError> {
        let place = FilePosition::Record(self.number + 1, self.input.position());
        let found = format!("{left} bytes at the end");
        let bad = EntryError::field("event", found.as_bytes(), "48 bytes and those it announces");
        skip.bad(&self.path, place, Format::Blktrace.name(), bad, collector)?;
        self.input.advance(left);
        Ok(None)
    }
}

impl RequestSource for Blktrace {
    fn fill(
        &mut self,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
        want: usize,
    ) -> Result<bool, FormatError> {
        // At the first call, every stream gets its first event.
        if self.streams.iter().all(|s| s.number == 0 && s.next.is_none()) {
            for stream in &mut self.streams {
                stream.next = stream.advance(self.action, collector, skip)?;
            }
        }
        // The collector may hold requests for sorting, so taken events are counted, not returned
        // requests.
        for _ in 0..want {
            let first = self.streams.iter_mut().filter(|s| s.next.is_some());
            let Some(stream) = first.min_by_key(|s| s.next.map(|e| e.time)) else {
                return Ok(false);
            };
            let Some(entry) = stream.next.take() else { return Ok(false) };
            stream.next = stream.advance(self.action, collector, skip)?;
            let Some(op) = entry.op() else {
                collector.other();
                continue;
            };
            let (mut offset, mut len) = (entry.sector.saturating_mul(512), u64::from(entry.bytes));
            if op == IoOp::Flush {
                (offset, len) = (0, 0);
            }
            let preflush = op != IoOp::Flush && entry.action & FLUSH != 0;
            let durable = op == IoOp::Write && entry.action & FUA != 0;
            let issues = self.action == ISSUE;
            let step = match entry.action & 0xffff {
                REQUEUE if issues => DispatchStep::Requeue,
                COMPLETE if issues => DispatchStep::Failure,
                _ => DispatchStep::Dispatch,
            };
            let request = DispatchKey { device: entry.device, op, preflush, durable, offset, len };
            if let Err(bad) = self.requeues.take(step, entry.time, Some(request), collector) {
                skip.bad(&stream.path, stream.place(), Format::Blktrace.name(), bad, collector)?;
            }
        }
        Ok(true)
    }
}
