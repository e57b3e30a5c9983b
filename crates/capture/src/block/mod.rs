//! The block log: every request of the machine's block devices, from the kernel's block events.
//!
//! The events come from the first source that the machine has, are merged by time, matched and
//! written. All queues are bounded; what the kernel threw away before it was read is counted.

mod format;
mod instance;
mod matcher;
mod perf;
mod ring;
mod source;
mod tracefs;

use crate::clock::monotonic;
use format::{BlockEvent, EventKind};
use gordon_trace::{BlockIo, BlockLog, BlockWriter, TraceError, TracePart};
use gordon_units::Ns;
use instance::TracefsInstance;
use matcher::Matcher;
use perf::PerfEvents;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use source::EventSource;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between looks into the buffers, at least.
const PAUSE: Duration = Duration::from_millis(50);
/// And at most, where the kernel says when one fills.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// An event younger than this may still be on its way into its buffer, on a CPU that is held up.
const SETTLE_TIME: Ns = Ns(10_000_000);

/// Turns the events on. The text says why they cannot be had.
pub(crate) fn open() -> Result<Box<dyn EventSource>, String> {
    let no_instance = match TracefsInstance::open() {
        Ok(instance) => return Ok(Box::new(instance)),
        Err(why) => why,
    };
    match PerfEvents::open() {
        Ok(perf) => Ok(Box::new(perf)),
        Err(why) if why == no_instance => Err(why),
        Err(why) => Err(format!("{no_instance}; {why}")),
    }
}

/// Events of one queue of the source.
#[derive(Default)]
struct EventQueue {
    /// Read, not yet merged; in order of time.
    events: Vec<BlockEvent>,
    drained: bool,
}

/// Reads the block log in a thread of its own.
pub(crate) struct BlockLogger {
    window: Arc<Mutex<LogWindow>>,
    /// Closed to end the thread.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<LogResult>>,
}

type LogResult = Result<(TracePart, BlockLog), TraceError>;

/// The end of the trace is agreed on by both threads, so that no request behind it is kept.
struct LogWindow {
    /// Later requests are left out.
    end: Ns,
    /// Requests up to here have been kept.
    kept: Ns,
}

fn lock(window: &Mutex<LogWindow>) -> MutexGuard<'_, LogWindow> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockLogger {
    /// Logs what is issued from `start` (on the monotonic clock) on.
    pub(crate) fn start(
        source: Box<dyn EventSource>,
        writer: BlockWriter,
        start: Ns,
    ) -> io::Result<Self> {
        let window = Arc::new(Mutex::new(LogWindow { end: Ns::MAX, kept: Ns::ZERO }));
        let (stopped, stop) = io::pipe()?;
        let mut queues = Vec::new();
        queues.resize_with(source.queues(), EventQueue::default);
        let matcher = Matcher::new(source.is_lossy());
        let log = LoggerThread {
            source,
            window: Arc::clone(&window),
            stopped,
            queues,
            writer,
            start,
            matcher,
            tally: BlockLog::default(),
            process: ([0xff; 16], 0),
            merged: Vec::new(),
        };
        let thread = thread::Builder::new().spawn(move || log.run())?;
        Ok(Self { window, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether it has ended by itself, which it does only in error.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Leaves out what is issued after `now` (on the monotonic clock), or a little later where
    /// later requests were kept already; says from when on.
    pub(crate) fn end(&self, now: Ns) -> Ns {
        let mut window = lock(&self.window);
        window.end = now.max(window.kept);
        window.end
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> LogResult {
        let ended = self.stop().expect("only finishing and dropping stop it");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn stop(&mut self) -> Option<thread::Result<LogResult>> {
        self.stop = None;
        Some(self.thread.take()?.join())
    }
}

impl Drop for BlockLogger {
    /// Ends the thread, and with it what it holds in the kernel; in a panic too.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct LoggerThread {
    source: Box<dyn EventSource>,
    window: Arc<Mutex<LogWindow>>,
    stopped: PipeReader,
    queues: Vec<EventQueue>,
    writer: BlockWriter,
    start: Ns,
    matcher: Matcher,
    tally: BlockLog,
    /// The process of the last request, by its name in events and in the file.
    process: ([u8; 16], u32),
    merged: Vec<BlockEvent>,
}

impl LoggerThread {
    fn run(mut self) -> LogResult {
        loop {
            let drained = self.turn()?;
            if self.is_stopped_after(drained) {
                break;
            }
        }
        // Events of the last moment settle, and their completions arrive.
        thread::sleep(Duration::from_nanos(2 * SETTLE_TIME.0));
        while !self.turn()? {}
        while let Some(io) = self.matcher.next(Ns::MAX) {
            self.writer.push(io)?;
        }
        self.tally.lost_events = self.source.finish();
        self.tally.without_latency = self.matcher.without_latency;
        Ok((self.writer.finish()?, self.tally))
    }

    /// Waits until there is enough to read, at once if more was left; says whether to stop.
    fn is_stopped_after(&self, drained: bool) -> bool {
        let stop = PollFd::from_borrowed_fd(self.stopped.as_fd(), PollFlags::IN);
        let mut fds = vec![stop];
        let wait = |fds: &mut [PollFd<'_>], time: Duration| {
            let timeout = Timespec::try_from(time).expect("a second fits");
            match poll(fds, Some(&timeout)) {
                // Interrupted, it was a short nap.
                Ok(_) | Err(Errno::INTR) => {}
                // Not a busy loop where the kernel lacks memory.
                Err(_) => thread::sleep(time),
            }
            !fds[0].revents().is_empty()
        };
        if wait(&mut fds, if drained { PAUSE } else { Duration::ZERO }) {
            return true;
        }
        // Kernels before 6.1 say that a buffer fills when it is not empty, hence the nap before.
        fds.extend(
            self.source.fds().into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        drained && fds.len() > 1 && wait(&mut fds, LONG_PAUSE)
    }

    /// Reads what the queues have, up to a bound, and passes on what is in order. True if nothing
    /// is left.
    fn turn(&mut self) -> Result<bool, TraceError> {
        let settled = monotonic().saturating_sub(SETTLE_TIME);
        for (queue, queue_) in self.queues.iter_mut().enumerate() {
            queue_.drained = self.source.read(queue, &mut queue_.events);
        }
        // Of a queue that has more to give, only what is older than its last event is known whole.
        let whole = self.queues.iter().filter(|queue_| !queue_.drained);
        let whole = whole.filter_map(|queue_| queue_.events.last()).map(|e| e.at);
        let whole = whole.fold(settled, Ns::min);
        for queue_ in &mut self.queues {
            let ready = queue_.events.partition_point(|e| e.at <= whole);
            self.merged.extend_from_slice(&queue_.events[..ready]);
            queue_.events.drain(..ready);
        }
        let end = {
            let mut window = lock(&self.window);
            window.kept = whole.min(window.end);
            window.end
        };
        // At the same instant an issue goes before a completion.
        self.merged.sort_by_key(|e| (e.at, e.kind));
        let mut merged = std::mem::take(&mut self.merged);
        for event in merged.drain(..) {
            self.take(&event, end);
        }
        self.merged = merged;
        while let Some(io) = self.matcher.next(settled.saturating_sub(self.start)) {
            self.writer.push(io)?;
        }
        Ok(self.queues.iter().all(|queue_| queue_.drained))
    }

    fn take(&mut self, event: &BlockEvent, end: Ns) {
        self.tally.events += 1;
        if event.at < self.start {
            return;
        }
        let Some(op) = event.op else {
            self.tally.other_requests += u64::from(event.kind == EventKind::Issued);
            return;
        };
        let in_time = event.at <= end;
        let event = BlockEvent { at: event.at - self.start, ..*event };
        if event.kind != EventKind::Issued {
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

#[cfg(test)]
mod live;
#[cfg(test)]
mod tests;
