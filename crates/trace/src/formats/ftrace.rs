//! Reads the text of the kernel's block tracepoints.
//!
//! Sources are `trace` and `trace_pipe` of tracefs, `trace-cmd report` and `perf script`. A line
//! has a process, a CPU and flags, the seconds with decimals and a colon, and then the event. The
//! fields of an event are those of `include/trace/events/block.h` (Linux 4 to 6): `block_rq_issue:
//! major,minor rwbs bytes () sector + sectors ...`. One event of each request is taken, by default
//! `block_rq_issue`. Events of other tracepoints are left out.
//!
//! Not covered: the latency format (times in microseconds without decimals), and call chains.

use super::collector::RequestCollector;
use super::entry_error::EntryError;
use super::fields::{BLANK, Fields};
use super::options::RequestEvent;
use super::requeue::{DispatchKey, DispatchStep, RequeueTracker};
use super::rwbs::{device, is_durable, is_preflush, letters, of_len, op};
use super::source::LineFormat;
use gordon_units::Ns;

/// Parser of the lines.
pub(super) struct Ftrace {
    event: RequestEvent,
    unit: Ns,
    requeues: RequeueTracker,
}

impl Ftrace {
    pub fn new(event: RequestEvent, unit: Ns) -> Self {
        Self { event, unit, requeues: RequeueTracker::default() }
    }
}

/// The event of a request that a tracepoint records; `None` for other tracepoints.
#[inline]
fn event_of(name: &[u8]) -> Option<RequestEvent> {
    match name {
        b"block_bio_queue" => Some(RequestEvent::Queue),
        b"block_rq_issue" => Some(RequestEvent::Issue),
        // A device that handles bios itself (a device mapper) completes bios; others complete
        // requests.
        b"block_rq_complete" | b"block_bio_complete" => Some(RequestEvent::Complete),
        _ => None,
    }
}

/// Splits a line into its time, the name of the event, and the fields of the event.
fn split(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut f = Fields::<BLANK>::new(line);
    let time = loop {
        match f.word() {
            [] => return None,
            [time @ .., b':'] if is_seconds(time) => break time,
            _ => {}
        }
    };
    let mut name = f.word();
    // perf prints the number of events in a sample.
    if !name.is_empty() && name.iter().all(u8::is_ascii_digit) {
        name = f.word();
    }
    let name = name.strip_suffix(b":")?;
    Some((time, name.strip_prefix(b"block:").unwrap_or(name), f.rest()))
}

fn is_seconds(word: &[u8]) -> bool {
    let Some(point) = memchr::memchr(b'.', word) else { return false };
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    digits(&word[..point]) && digits(&word[point + 1..])
}

/// The event to take, chosen from the first lines.
pub(super) fn event(head: &[u8]) -> RequestEvent {
    let names = head.split(|&b| b == b'\n').filter_map(|line| split(line.trim_ascii_end()));
    let events: Vec<_> = names.filter_map(|(_, name, _)| event_of(name)).collect();
    let first = [RequestEvent::Issue, RequestEvent::Queue, RequestEvent::Complete];
    first.into_iter().find(|event| events.contains(event)).unwrap_or(RequestEvent::Issue)
}

/// Whether a line is not an event but other output of the tools.
fn is_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let of_cpu = line.starts_with(b"CPU ") && line.ends_with(b" is empty");
    line.starts_with(b"#") || line.starts_with(b"cpus=") || line.starts_with(b"version =") || of_cpu
}

/// Reads offset and length of a request in bytes, after `rwbs`; `None` for a command of a driver.
fn range(f: &mut Fields<'_, BLANK>, name: &[u8]) -> Result<Option<(u64, u64)>, EntryError> {
    if name == b"block_rq_issue" {
        f.number("bytes")?;
    }
    if name.starts_with(b"block_rq_") {
        // The bytes of a command, empty for a read or write.
        match f.word() {
            b"()" => {}
            word if word.starts_with(b"(") => return Ok(None),
            other => return Err(EntryError::field("command", other, "`()`")),
        }
    }
    let sector = f.number("sector")?;
    match f.word() {
        b"+" => {}
        other => return Err(EntryError::field("sectors", other, "`+` and a number")),
    }
    let len = f.sectors("sectors")?;
    if len == 0 {
        return Ok(Some((0, 0)));
    }
    let offset = sector.checked_mul(512);
    let offset = offset.ok_or_else(|| {
        EntryError::field("sector", sector.to_string().as_bytes(), "less than 2^55")
    })?;
    Ok(Some((offset, len)))
}

impl LineFormat for Ftrace {
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let Some((time, name, fields)) = split(line) else {
            if is_frame(line) {
                return Ok(());
            }
            let expected = "a process, its CPU, seconds with decimals and a colon, and an event";
            return Err(EntryError::field("event", line.trim_ascii_start(), expected));
        };
        let issues = self.event == RequestEvent::Issue;
        let step = match event_of(name) {
            Some(event) if event == self.event => DispatchStep::Dispatch,
            // The line ends with the error; `[0]` is success.
            Some(RequestEvent::Complete) if issues && !fields.ends_with(b"[0]") => {
                DispatchStep::Failure
            }
            None if issues && name == b"block_rq_requeue" => DispatchStep::Requeue,
            _ => {
                collector.other();
                return Ok(());
            }
        };
        let time = Fields::<BLANK>::new(time).time("time", self.unit)?;
        let mut f = Fields::<BLANK>::new(fields);
        let device = device(f.word())?;
        let rwbs = letters(&mut f)?;
        let request = match op(rwbs) {
            Some(op) => range(&mut f, name)?.map(|(offset, len)| {
                let op = of_len(op, rwbs, len);
                let (preflush, durable) = (is_preflush(op, rwbs), is_durable(op, rwbs));
                DispatchKey { device, op, preflush, durable, offset, len }
            }),
            None => None,
        };
        self.requeues.take(step, time, request, collector)
    }
}
