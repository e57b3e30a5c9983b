//! The block log: the requests to the block devices of the machine, or to those of nodes, from the
//! block events of the kernel.
//!
//! A thread reads the events of the first source that is available, merges them by time, matches
//! issues to completions, and writes the requests of each route. All queues are bounded. Events
//! that the kernel dropped are counted.

mod format;
mod instance;
mod matcher;
mod perf;
mod ring;
mod route;
mod share;
mod source;
mod tracefs;

use crate::clock::monotonic;
use format::BlockEvent;
use gordon_trace::{BlockLog, TraceError, TracePart};
use gordon_units::Ns;
use instance::TracefsInstance;
use perf::PerfEvents;
pub(crate) use route::BlockRoute;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
pub(crate) use share::{CausedIo, CausedQueue, IoShare, OutstandingIo};
pub(crate) use source::EventSource;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Shortest pause between two reads of the buffers.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause, for sources that report when a buffer fills.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// A younger event may not have reached its buffer yet, if its CPU was delayed.
const SETTLE_TIME: Ns = Ns(10_000_000);

/// Opens the first available source and enables the events. The error says why there is none. If
/// only the requests to `devices` are needed, the source may leave out the others.
pub(crate) fn open(devices: Option<&[u32]>) -> Result<Box<dyn EventSource>, String> {
    let no_instance = match TracefsInstance::open(devices) {
        Ok(instance) => return Ok(Box::new(instance)),
        Err(why) => why,
    };
    match PerfEvents::open() {
        Ok(perf) => Ok(Box::new(perf)),
        Err(why) if why == no_instance => Err(why),
        Err(why) => Err(format!("{no_instance}; {why}")),
    }
}

/// The events of one queue of the source.
#[derive(Default)]
struct EventQueue {
    /// Events that have been read but not merged, in order of time.
    events: Vec<BlockEvent>,
    drained: bool,
}

/// Writes the block log in a thread of its own.
pub(crate) struct BlockLogger {
    window: Arc<Mutex<LogWindow>>,
    /// Dropping it ends the thread.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<Vec<LogResult>>>,
}

/// The file of a log and its counters.
pub(crate) type LogResult = Result<(TracePart, BlockLog), TraceError>;

/// The end of the log, on which both threads agree, so that no later request is kept.
struct LogWindow {
    /// Requests issued later are left out.
    end: Ns,
    /// Requests issued up to this time have been kept.
    kept: Ns,
}

fn lock(window: &Mutex<LogWindow>) -> MutexGuard<'_, LogWindow> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockLogger {
    /// Starts the logs with the requests issued from `start` on, a time of the monotonic clock.
    pub(crate) fn start(
        source: Box<dyn EventSource>,
        mut routes: Vec<BlockRoute>,
        start: Ns,
    ) -> io::Result<Self> {
        let window = Arc::new(Mutex::new(LogWindow { end: Ns::MAX, kept: Ns::ZERO }));
        let (stopped, stop) = io::pipe()?;
        let mut queues = Vec::new();
        queues.resize_with(source.queues(), EventQueue::default);
        routes.iter_mut().for_each(|route| route.set_lossy(source.is_lossy()));
        let log = LoggerThread {
            source,
            window: Arc::clone(&window),
            stopped,
            queues,
            routes,
            start,
            merged: Vec::new(),
        };
        let thread = thread::Builder::new().spawn(move || log.run())?;
        Ok(Self { window, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the thread has ended, which before [`finish`](Self::finish) means an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Sets the end of the log to `now`, a time of the monotonic clock, or to the time up to which
    /// requests have been kept, if that is later. Returns the end.
    pub(crate) fn end(&self, now: Ns) -> Ns {
        let mut window = lock(&self.window);
        window.end = now.max(window.kept);
        window.end
    }

    /// Ends the thread and completes the files: those of each route, in order.
    pub(crate) fn finish(mut self) -> Vec<LogResult> {
        let ended = self.stop().expect("only finishing and dropping stop it");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn stop(&mut self) -> Option<thread::Result<Vec<LogResult>>> {
        self.stop = None;
        Some(self.thread.take()?.join())
    }
}

impl Drop for BlockLogger {
    /// Ends the thread, also during a panic, so that nothing stays enabled in the kernel.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct LoggerThread {
    source: Box<dyn EventSource>,
    window: Arc<Mutex<LogWindow>>,
    stopped: PipeReader,
    queues: Vec<EventQueue>,
    routes: Vec<BlockRoute>,
    start: Ns,
    merged: Vec<BlockEvent>,
}

impl LoggerThread {
    fn run(mut self) -> Vec<LogResult> {
        loop {
            let drained = self.read_queues();
            if self.routes.iter().all(BlockRoute::has_failed) {
                return self.finish(0);
            }
            if self.is_stopped_after(drained) {
                break;
            }
        }
        // Lets the last events and their completions arrive.
        thread::sleep(Duration::from_nanos(2 * SETTLE_TIME.0));
        while !self.read_queues() {}
        self.routes.iter_mut().for_each(|route| route.write(Ns::MAX));
        let lost_events = self.source.finish();
        self.finish(lost_events)
    }

    fn finish(self, lost_events: u64) -> Vec<LogResult> {
        self.routes.into_iter().flat_map(|route| route.finish(lost_events)).collect()
    }

    /// Waits until there are enough events to read, or not at all if the last read left some.
    /// Returns whether to stop.
    fn is_stopped_after(&self, drained: bool) -> bool {
        let stop = PollFd::from_borrowed_fd(self.stopped.as_fd(), PollFlags::IN);
        let mut fds = vec![stop];
        let wait = |fds: &mut [PollFd<'_>], time: Duration| {
            let timeout = Timespec::try_from(time).expect("a second fits");
            match poll(fds, Some(&timeout)) {
                // An interrupted wait is a short pause.
                Ok(_) | Err(Errno::INTR) => {}
                // Avoids a busy loop when the kernel is out of memory.
                Err(_) => thread::sleep(time),
            }
            !fds[0].revents().is_empty()
        };
        if wait(&mut fds, if drained { PAUSE } else { Duration::ZERO }) {
            return true;
        }
        // Kernels before 6.1 report a buffer as filling when it is not empty, hence the pause
        // above.
        fds.extend(
            self.source.fds().into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        drained && fds.len() > 1 && wait(&mut fds, LONG_PAUSE)
    }

    /// Reads the queues up to a bound, and processes the events that are in order. Returns true if
    /// the queues are empty.
    fn read_queues(&mut self) -> bool {
        let settled = monotonic().saturating_sub(SETTLE_TIME);
        for (number, queue) in self.queues.iter_mut().enumerate() {
            queue.drained = self.source.read(number, &mut queue.events);
        }
        // If a queue was not drained, events after its last one are still missing.
        let complete_until = self.queues.iter().filter(|queue| !queue.drained);
        let complete_until = complete_until.filter_map(|queue| queue.events.last()).map(|e| e.at);
        let complete_until = complete_until.fold(settled, Ns::min);
        for queue in &mut self.queues {
            let ready = queue.events.partition_point(|e| e.at <= complete_until);
            self.merged.extend_from_slice(&queue.events[..ready]);
            queue.events.drain(..ready);
        }
        let end = {
            let mut window = lock(&self.window);
            window.kept = complete_until.min(window.end);
            window.end
        };
        // At the same time, an issue precedes a completion.
        self.merged.sort_by_key(|e| (e.at, e.kind));
        for event in self.merged.drain(..) {
            for route in &mut self.routes {
                route.process_event(&event, self.start, end);
            }
        }
        let now = settled.saturating_sub(self.start);
        self.routes.iter_mut().for_each(|route| route.write(now));
        self.queues.iter().all(|queue| queue.drained)
    }
}

#[cfg(test)]
mod live;
#[cfg(test)]
mod tests;
