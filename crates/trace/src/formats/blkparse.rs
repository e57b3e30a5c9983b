//! Reads the text output of blkparse in its default format.
//!
//! A line is `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`. Other
//! lines (names of input files, statistics, comments) are ignored. One event of each request is
//! taken, by default D (issue). Sources: "DEFAULT FORMAT" in blkparse(1), and `blkparse_fmt.c` of
//! blktrace 1.2.

use super::collector::RequestCollector;
use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use super::options::RequestEvent;
use super::requeue::{DispatchKey, DispatchStep, RequeueTracker};
use super::rwbs::{device, is_durable, is_preflush, letters, of_len, op};
use super::source::LineFormat;
use gordon_blockio::IoOp;
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

/// Whether blkparse has this action. `m` is a message; `UT` is the old name of `T`.
fn is_action(action: &[u8]) -> bool {
    match action {
        [letter] => b"ABCDFGIMPQRSTUWXm".contains(letter),
        _ => action == b"UT",
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
        let request = match op(rwbs) {
            Some(op) => range(&mut f, op)?.map(|(offset, len)| {
                let op = of_len(op, rwbs, len);
                let (preflush, durable) = (is_preflush(op, rwbs), is_durable(op, rwbs));
                DispatchKey { device, op, preflush, durable, offset, len }
            }),
            None => None,
        };
        self.requeues.take(step, time, request, collector)
    }
}

/// Reads offset and length of a request in bytes: `sector + sectors`. Returns `None` for a command
/// of a driver, which has its size and content instead: `36 (12 00 ...) [process]`.
///
/// A request without data has no range (`[process]`), or, on completion, only the sector (`0 [0]`).
#[inline]
fn range(f: &mut Fields<'_, BLANK>, op: IoOp) -> Result<Option<(u64, u64)>, EntryError> {
    if op == IoOp::Flush || f.rest().starts_with(b"[") {
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
