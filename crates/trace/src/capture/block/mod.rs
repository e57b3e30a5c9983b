//! The block log: every request of the machine's block devices, from the kernel's block events.
//!
//! The events come through a tracefs instance of our own, read page by page from each CPU's
//! buffer, are merged by time, matched and written. All queues are bounded; what the kernel threw
//! away before it was read is counted.

mod format;
mod matcher;
mod ring;
mod tracefs;

use crate::error::TraceError;
use crate::manifest::{BlockLog, Part};
use crate::model::BlockIo;
use crate::write::BlockWriter;
use format::{Event, Formats, What};
use gordon_units::Ns;
use matcher::Matcher;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tracefs::Instance;

/// Kernel buffers of all CPUs together, and of one. An event takes 65 bytes; at 60,000 requests a
/// second on one CPU, 4 MiB hold half a second.
const BUFFERS_KB: usize = 64 << 10;
const BUFFER_KB: std::ops::RangeInclusive<usize> = 1 << 10..=4 << 10;
/// Between looks into the buffers.
const NAP: Duration = Duration::from_millis(50);
/// Pages read from one CPU before the others have their turn, so that no more wait for merging.
const PAGES_A_TURN: usize = 256;
/// An event younger than this may still be on its way into its buffer, on a CPU that is held up.
const SETTLED: Ns = Ns(10_000_000);

/// The kernel's side of the block log, ready to be read.
pub(crate) struct Source {
    cpus: Vec<Cpu>,
    formats: Formats,
    // Last: it is removed when nothing in it is open.
    instance: Instance,
}

struct Cpu {
    pipe: File,
    /// Read, not yet merged; in order of time.
    events: std::collections::VecDeque<Event>,
    drained: bool,
}

impl Source {
    /// Turns the events on. The text says why they cannot be had.
    pub(crate) fn open() -> Result<Self, String> {
        let instance = Instance::create()?;
        let formats = instance.formats()?;
        let count = instance.cpus()?;
        let kb = (BUFFERS_KB / count.len().max(1)).clamp(*BUFFER_KB.start(), *BUFFER_KB.end());
        instance.start(kb)?;
        let cpus = count.iter().map(|cpu| {
            let pipe = instance.pipe(*cpu)?;
            Ok(Cpu { pipe, events: std::collections::VecDeque::new(), drained: false })
        });
        let cpus = cpus.collect::<Result<Vec<_>, String>>()?;
        Ok(Self { cpus, formats, instance })
    }
}

/// Reads the block log in a thread of its own.
pub(crate) struct Logger {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Logged>>,
}

type Logged = Result<(Part, BlockLog), TraceError>;

struct Shared {
    stop: AtomicBool,
    bounds: Mutex<Bounds>,
}

/// The end of the trace is agreed on by both threads, so that no request behind it is kept.
struct Bounds {
    /// Later requests are left out.
    end: Ns,
    /// Requests up to here have been kept.
    kept: Ns,
}

impl Shared {
    fn bounds(&self) -> MutexGuard<'_, Bounds> {
        self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Logger {
    /// Logs what is issued from `start` (on the monotonic clock) on.
    pub(crate) fn start(source: Source, writer: BlockWriter, start: Ns) -> Self {
        let bounds = Mutex::new(Bounds { end: Ns::MAX, kept: Ns::ZERO });
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), bounds });
        let log = Log {
            source,
            writer,
            start,
            matcher: Matcher::new(),
            tally: BlockLog::default(),
            process: ([0xff; 16], 0),
            merged: Vec::new(),
            page: Vec::new(),
        };
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || log.run(&theirs));
        Self { shared, thread: Some(thread) }
    }

    /// Whether it has ended by itself, which it does only in error.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Leaves out what is issued after `now` (on the monotonic clock), or a little later where
    /// later requests were kept already; says from when on.
    pub(crate) fn end(&self, now: Ns) -> Ns {
        let mut bounds = self.shared.bounds();
        bounds.end = now.max(bounds.kept);
        bounds.end
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Logged {
        let ended = self.stop().expect("only finishing and dropping stop it");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn stop(&mut self) -> Option<thread::Result<Logged>> {
        self.shared.stop.store(true, Ordering::Release);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        Some(thread.join())
    }
}

impl Drop for Logger {
    /// Ends the thread, and with it what it holds in the kernel; in a panic too.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct Log {
    source: Source,
    writer: BlockWriter,
    start: Ns,
    matcher: Matcher,
    tally: BlockLog,
    /// The process of the last request, by its name in events and in the file.
    process: ([u8; 16], u32),
    merged: Vec<Event>,
    page: Vec<u8>,
}

impl Log {
    fn run(mut self, shared: &Shared) -> Logged {
        while !shared.stop.load(Ordering::Acquire) {
            self.turn(shared)?;
            thread::park_timeout(NAP);
        }
        // Events of the last moment settle, and their completions arrive.
        thread::sleep(Duration::from_nanos(2 * SETTLED.0));
        while !self.turn(shared)? {}
        while let Some(io) = self.matcher.next(Ns::MAX) {
            self.writer.push(io)?;
        }
        self.tally.lost_events = self.source.instance.lost(self.source.cpus.len());
        self.tally.without_latency = self.matcher.without_latency;
        Ok((self.writer.finish()?, self.tally))
    }

    /// Reads what the CPUs have, up to a bound, and passes on what is in order. True if nothing is
    /// left.
    fn turn(&mut self, shared: &Shared) -> Result<bool, TraceError> {
        let settled = super::monotonic().saturating_sub(SETTLED);
        for cpu in &mut self.source.cpus {
            cpu.read(&self.source.formats, &mut self.page);
        }
        // Of a CPU that has more to give, only what is older than its last event is known whole.
        let whole = self.source.cpus.iter().filter(|cpu| !cpu.drained);
        let whole = whole.filter_map(|cpu| cpu.events.back()).map(|e| e.at).fold(settled, Ns::min);
        for cpu in &mut self.source.cpus {
            let ready = cpu.events.partition_point(|e| e.at <= whole);
            self.merged.extend(cpu.events.drain(..ready));
        }
        let end = {
            let mut bounds = shared.bounds();
            bounds.kept = whole.min(bounds.end);
            bounds.end
        };
        // At the same instant an issue goes before a completion.
        self.merged.sort_by_key(|e| (e.at, e.what));
        for event in std::mem::take(&mut self.merged) {
            self.take(&event, end);
        }
        while let Some(io) = self.matcher.next(settled.saturating_sub(self.start)) {
            self.writer.push(io)?;
        }
        Ok(self.source.cpus.iter().all(|cpu| cpu.drained))
    }

    fn take(&mut self, event: &Event, end: Ns) {
        self.tally.events += 1;
        if event.at < self.start {
            return;
        }
        let Some(op) = event.op else {
            self.tally.other_requests += u64::from(event.what == What::Issued);
            return;
        };
        let in_time = event.at <= end;
        let event = Event { at: event.at - self.start, ..*event };
        if event.what != What::Issued {
            self.matcher.end(&event, op);
        } else if in_time {
            // Requests of one process come in runs.
            if self.process.0 != event.comm {
                let len = event.comm.iter().position(|&b| b == 0).unwrap_or(event.comm.len());
                let name = String::from_utf8_lossy(&event.comm[..len]);
                self.process = (event.comm, self.writer.process(&name));
            }
            self.matcher.issue(BlockIo {
                at: event.at,
                device: event.device,
                sector: event.sector,
                sectors: event.sectors,
                op,
                flags: event.flags,
                pid: event.pid,
                process: self.process.1,
                latency: None,
            });
        }
    }
}

impl Cpu {
    fn read(&mut self, formats: &Formats, page: &mut Vec<u8>) {
        page.resize(formats.page.page, 0);
        for _ in 0..PAGES_A_TURN {
            // One that is far ahead of the others waits for them.
            if self.events.len() > PAGES_A_TURN * 64 {
                self.drained = false;
                return;
            }
            let len = match self.pipe.read(page) {
                Ok(0) => break,
                Ok(len) => len,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                // Nothing there now, or the CPU has gone.
                Err(_) => break,
            };
            // A page that is not understood is skipped as a whole: its events come out missing
            // against the kernel's counters, which is better than events that never were.
            let _ = ring::entries(&page[..len], formats.page, |at, record| {
                self.events.extend(formats.event(at, record));
            });
            self.drained = false;
            if len < page.len() {
                break;
            }
        }
        self.drained = true;
    }
}

#[cfg(test)]
mod tests;
