//! Reads the text output of blkparse in its default format.
//!
//! A line is `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`. Other
//! lines (names of input files, statistics, comments) are ignored. One event of each request is
//! taken, by default D (issue). Sources: "DEFAULT FORMAT" in blkparse(1), and `blkparse_fmt.c` of
//! blktrace 1.2.

use super::RequestEvent;
use super::collector::{RawRequest, RequestCollector};
use super::error::EntryError;
use super::fields::{BLANK, Fields};
use super::requeue::{DispatchKey, DispatchStep, RequeueTracker};
use super::source::LineFormat;
use crate::model::BlockOp;
use gordon_units::Ns;

/// Parser of the lines.
pub(super) struct Blkparse {
    event: u8,
    unit: Ns,
    requeues: RequeueTracker,
}

const fn letter(event: RequestEvent) -> u8 {
    match event {
        RequestEvent::Queue => b'Q',
        RequestEvent::Issue => b'D',
        RequestEvent::Complete => b'C',
    }
}

impl Blkparse {
    pub fn new(event: RequestEvent, unit: Ns) -> Self {
        Self { event: letter(event), unit, requeues: RequeueTracker::default() }
    }
}

/// The event to take, chosen from the first lines.
pub(super) fn event(head: &[u8]) -> RequestEvent {
    let mut seen = [false; 2];
    for line in head.split(|&b| b == b'\n') {
        let mut f = Fields::<BLANK>::new(line);
        for _ in 0..5 {
            f.word();
        }
        match f.word() {
            b"D" => return RequestEvent::Issue,
            b"Q" => seen[0] = true,
            b"C" => seen[1] = true,
            _ => {}
        }
    }
    match seen {
        [true, _] => RequestEvent::Queue,
        [false, true] => RequestEvent::Complete,
        [false, false] => RequestEvent::Issue,
    }
}

/// Letters in `rwbs`, of blkparse and of the kernel's own events. `E` is a secure erase, `U` an
/// atomic write; `Z` is write zeroes, or with `A`, `R`, `O`, `C` or `F` a zone operation.
const RWBS: &[u8] = b"RWDNFBSAMEUZOC";

/// Whether blkparse has this action. `m` is a message; `UT` is the old name of `T`.
fn is_action(action: &[u8]) -> bool {
    match action {
        [letter] => b"ABCDFGIMPQRSTUWXm".contains(letter),
        _ => action == b"UT",
    }
}

/// The operation in `rwbs`; `None` if it moves no data.
#[inline]
pub(super) fn op(rwbs: &[u8]) -> Option<BlockOp> {
    // An optional flush before the request, then the operation, then flags.
    let (preflush, rest) = match rwbs {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest.first() {
        Some(b'R') => Some(BlockOp::Read),
        Some(b'W') if rest.get(1) != Some(&b'Z') => Some(BlockOp::Write),
        Some(b'D') => Some(BlockOp::Discard),
        Some(b'F') => Some(BlockOp::Flush),
        _ if preflush => Some(BlockOp::Flush),
        _ => None,
    }
}

/// Beginnings of the other lines that blkparse and blktrace print, without leading blanks:
/// statistics (`show_stats` of `blkparse.c`), names of input files, and diagnostics that a shell
/// redirected to the same file. Comments start with `#`.
const FRAME: &[&str] = &[
    "#",
    "===",
    "CPU",
    "Total",
    "Throughput (R/W):",
    "Events (",
    "Skips:",
    "Input file ",
    "Reads Queued:",
    "Read Dispatches:",
    "Reads Requeued:",
    "Reads Completed:",
    "Read Merges:",
    "Read depth:",
    "PC Reads Queued:",
    "PC Read Disp.:",
    "PC Reads Req.:",
    "PC Reads Compl.:",
    "IO unplugs:",
    "Allocation wait:",
    "Dispatch wait:",
    "Completion wait:",
    "merge not found for (",
    "issue not found for (",
    "complete not found for (",
    "sector alias (",
];

/// Whether a line is not an event. `NAME (PID)` and `NAME (PID, ...)` precede the statistics of a
/// process.
fn is_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let of_process = || {
        let pid = line.strip_suffix(b", ...)").or(line.strip_suffix(b")"))?;
        let open = memchr::memrchr(b'(', pid)?;
        let digits = &pid[open + 1..];
        Some(open > 0 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    };
    FRAME.iter().any(|start| line.starts_with(start.as_bytes())) || of_process() == Some(true)
}

/// Parses `major,minor` into a device number of Linux.
#[inline]
pub(super) fn device(word: &[u8]) -> Result<u32, EntryError> {
    let mut f = Fields::<{ super::fields::COMMA }>::new(word);
    match (f.small("device"), f.small("device")) {
        (Ok(major @ ..0x1000), Ok(minor @ ..0x10_0000)) => Ok(major << 20 | minor),
        _ => Err(EntryError::field("device", word, "MAJOR,MINOR")),
    }
}

/// Reads the letters of `rwbs`; other characters are an error.
#[inline]
pub(super) fn letters<'a>(f: &mut Fields<'a, BLANK>) -> Result<&'a [u8], EntryError> {
    let rwbs = f.word();
    if rwbs.is_empty() || !rwbs.iter().all(|letter| RWBS.contains(letter)) {
        return Err(EntryError::field("rwbs", rwbs, "letters such as R, WS or FWFSM"));
    }
    Ok(rwbs)
}

/// The operation of a request of `len` bytes. A write without data is only its preceding flush.
#[inline]
pub(super) fn of_len(op: BlockOp, rwbs: &[u8], len: u64) -> BlockOp {
    if len == 0 && rwbs[0] == b'F' { BlockOp::Flush } else { op }
}

impl LineFormat for Blkparse {
    #[inline]
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let mut f = Fields::<BLANK>::new(line);
        let device = match device(f.word()) {
            Ok(device) => device,
            Err(_) if is_frame(line) => return Ok(()),
            Err(bad) => return Err(bad),
        };
        let _cpu = f.number("CPU")?;
        let _sequence = f.number("sequence")?;
        let time = f.time("time", self.unit)?;
        let _pid = f.number("pid")?;
        let action = f.word();
        if !is_action(action) {
            return Err(EntryError::field("action", action, "an action such as Q, D or C"));
        }
        let step = match action {
            [letter] if *letter == self.event => DispatchStep::Dispatch,
            b"R" if self.event == b'D' => DispatchStep::Requeue,
            // The line ends with the error; `[0]` is success.
            b"C" if self.event == b'D' && !self.requeues.is_empty() && !line.ends_with(b"[0]") => {
                DispatchStep::Failure
            }
            _ => {
                collector.other();
                return Ok(());
            }
        };
        let rwbs = letters(&mut f)?;
        let range = match op(rwbs) {
            Some(op) => {
                range(&mut f, op)?.map(|(offset, len)| (of_len(op, rwbs, len), offset, len))
            }
            None => None,
        };
        let Some((op, offset, len)) = range else {
            collector.other();
            return Ok(());
        };
        let request = DispatchKey { device, op, offset, len };
        if self.event == b'D' && !self.requeues.is_first_dispatch(step, request) {
            collector.other();
            return Ok(());
        }
        collector.take(RawRequest {
            time,
            op,
            device,
            offset,
            len,
            latency: None,
            gap: None,
            pid: None,
        })?;
        Ok(())
    }
}

/// Reads offset and length of a request in bytes: `sector + sectors`. Returns `None` for a command
/// of a driver, which has its size and content instead: `36 (12 00 ...) [process]`.
///
/// A request without data has no range (`[process]`), or, on completion, only the sector (`0 [0]`).
#[inline]
fn range(f: &mut Fields<'_, BLANK>, op: BlockOp) -> Result<Option<(u64, u64)>, EntryError> {
    if op == BlockOp::Flush || f.rest().starts_with(b"[") {
        return Ok(Some((0, 0)));
    }
    if f.rest().starts_with(b"(") {
        return Ok(None);
    }
    let offset = f.sectors("sector")?;
    match f.word() {
        b"+" => {
            let len = f.sectors("sectors")?;
            Ok(Some(if len == 0 { (0, 0) } else { (offset, len) }))
        }
        word if word.starts_with(b"[") => Ok(Some((0, 0))),
        word if word.starts_with(b"(") => Ok(None),
        other => Err(EntryError::field("sectors", other, "`+` and a number")),
    }
}
