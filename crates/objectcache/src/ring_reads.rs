//! Reads by io_uring. The caller submits its read; the thread of the cache, or the event loop of a
//! program ([`Completions`]), takes what has completed and wakes the callers.

use crate::medium::{self, Buffer, Storage};
use crate::oneshot::Sender;
use gordon_sys::ring::{Ended, Op, Ring, Transfer};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Result, Write as _};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Reads in flight.
const DEPTH: u32 = 64;

/// A read of whole pages.
pub(crate) struct Request {
    pub at: u64,
    pub len: usize,
    pub done: Sender<Result<Buffer>>,
}

/// A read in flight, and the part of its buffer.
type Reading = (Request, Range<usize>);

struct State {
    ring: Ring,
    /// Reads in flight by their keys in the ring.
    reading: Vec<Option<Reading>>,
    free: Vec<usize>,
    /// Reads for which there is no place.
    waiting: VecDeque<Request>,
    stopped: bool,
}

/// The reads.
pub(crate) struct RingReads {
    state: Mutex<State>,
    file: Arc<File>,
    storage: Arc<dyn Storage>,
    /// Readable while completed reads can be taken.
    completed: OwnedFd,
    /// Readable when the thread must end.
    end: File,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl RingReads {
    /// Makes the ring, and starts the thread that takes completed reads.
    pub fn start(file: Arc<File>, storage: Arc<dyn Storage>) -> Result<Arc<Self>> {
        let ring = Ring::new(DEPTH)?;
        let completed = ring.descriptor()?;
        let state = State {
            ring,
            reading: (0..DEPTH).map(|_| None).collect(),
            free: (0..DEPTH as usize).rev().collect(),
            waiting: VecDeque::new(),
            stopped: false,
        };
        let end = File::from(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (state, thread) = (Mutex::new(state), Mutex::new(None));
        let reads = Arc::new(Self { state, file, storage, completed, end, thread });
        reads.start_thread()?;
        Ok(reads)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a read.
    pub fn start_read(&self, request: Request) {
        let mut state = self.state();
        if !state.stopped {
            state.waiting.push_back(request);
            self.submit(&mut state);
        }
    }

    /// Submits the reads for which there is a place.
    fn submit(&self, state: &mut State) {
        let before = state.free.len();
        while let (Some(&at), true) = (state.free.last(), state.ring.has_place()) {
            let Some(request) = state.waiting.pop_front() else { break };
            let Buffer { bytes, part } = Buffer::new(request.len);
            let transfer = Transfer {
                op: Op::Read,
                file: Arc::clone(&self.file),
                offset: request.at,
                buffer: bytes,
                part: part.clone(),
                key: at as u64,
            };
            if state.ring.start(transfer).is_err() {
                state.waiting.push_front(request);
                break;
            }
            state.free.pop();
            state.reading[at] = Some((request, part));
        }
        if state.free.len() < before && state.ring.submit().is_err() {
            // The kernel refuses further calls: all reads fail from now on.
            state.stopped = true;
            state.waiting.clear();
            state.reading.iter_mut().for_each(|reading| *reading = None);
        }
    }

    /// Takes the completed reads, and wakes those who wait for them.
    fn take(&self) {
        let mut ended: Vec<Ended> = Vec::new();
        let mut done: Vec<(Reading, Ended)> = Vec::new();
        {
            let mut state = self.state();
            state.ring.reap(&mut ended);
            for ended in ended {
                let at = usize::try_from(ended.key).unwrap_or(usize::MAX);
                let Some(reading) = state.reading.get_mut(at).and_then(Option::take) else {
                    continue;
                };
                state.free.push(at);
                done.push((reading, ended));
            }
            self.submit(&mut state);
        }
        for ((request, part), Ended { buffer, result, .. }) in done {
            let result = match result {
                Ok(read) if read == part.len() => Ok(Buffer { bytes: buffer, part }),
                // Cut short or cancelled by the kernel: positioned reads say why.
                _ => medium::read(&*self.storage, request.at, request.len),
            };
            request.done.send(result);
        }
    }

    fn start_thread(self: &Arc<Self>) -> Result<()> {
        let reads = Arc::clone(self);
        let named = thread::Builder::new().name("cache reads".into());
        let thread = named.spawn(move || {
            loop {
                let mut ready = [
                    PollFd::new(&reads.completed, PollFlags::IN),
                    PollFd::new(&reads.end, PollFlags::IN),
                ];
                // An interrupted call is repeated.
                let _ = poll(&mut ready, None);
                if ready[1].revents().contains(PollFlags::IN) {
                    return;
                }
                reads.take();
            }
        })?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    fn end_thread(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = thread.take() else { return };
        // An eventfd takes a write unless its counter overflows.
        let _ = (&self.end).write(&1_u64.to_ne_bytes());
        // A thread that panicked has reported that.
        let _ = thread.join();
        let mut count = [0; 8];
        let _ = std::io::Read::read(&mut &self.end, &mut count);
    }

    /// Ends the thread. Reads that are waiting fail.
    pub fn stop(&self) {
        {
            let mut state = self.state();
            state.stopped = true;
            state.waiting.clear();
            state.reading.iter_mut().for_each(|reading| *reading = None);
        }
        self.end_thread();
    }

    /// Ends the thread in favour of an event loop.
    pub fn completions(self: &Arc<Self>) -> Completions {
        self.end_thread();
        Completions(Arc::clone(self))
    }
}

/// Reads of flash that an event loop completes, in place of a thread of the cache: a read then
/// costs no change of threads. Whenever the descriptor is readable, [`run`](Self::run) must be
/// called. When this is dropped, a thread does it again.
pub struct Completions(Arc<RingReads>);

impl Completions {
    /// Takes the completed reads, and wakes those who wait for them. It does not wait.
    pub fn run(&self) {
        self.0.take();
    }
}

impl AsFd for Completions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.completed.as_fd()
    }
}

impl AsRawFd for Completions {
    fn as_raw_fd(&self) -> RawFd {
        self.0.completed.as_raw_fd()
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        if !self.0.state().stopped && self.0.start_thread().is_err() {
            // Without a thread nobody would take completed reads.
            self.0.stop();
        }
    }
}
