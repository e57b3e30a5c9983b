//! Reads of the flash, many at a time: by io_uring on one thread, or by a few threads. Writes have
//! threads of their own.

use crate::format::PAGE;
use crate::medium::{self, Buffer, Storage};
use crate::oneshot::{self, Receiver, Sender};
use bytes::Bytes;
use gordon_sys::ring::{Ended, Op, Ring, Transfer};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Reads in flight in the ring; one more is that of the wake-up descriptor.
const DEPTH: u32 = 64;
/// Threads without io_uring.
const THREADS: usize = 4;
/// The identifier of the read of the wake-up descriptor.
const WAKE: u64 = u64::MAX;

/// A read of whole pages.
struct Request {
    at: u64,
    len: usize,
    done: Sender<Result<Buffer>>,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    stopped: bool,
    /// Whether the ring's thread has been woken since it last looked.
    woken: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    storage: Arc<dyn Storage>,
    /// Wakes the thread of the ring.
    wake: Option<File>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        match &self.wake {
            Some(wake) => {
                // An eventfd takes a write unless its counter overflows.
                let _ = (&*wake).write(&1_u64.to_ne_bytes());
            }
            None => self.arrived.notify_all(),
        }
    }
}

/// The reads of a cache.
pub(crate) struct Reads {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether reads are carried out at once by the caller.
    inline: bool,
}

impl Reads {
    /// Reads that the caller carries out.
    pub fn inline(storage: Arc<dyn Storage>) -> Self {
        let (queue, arrived) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { queue, arrived, storage, wake: None });
        Self { shared, threads: Mutex::default(), inline: true }
    }

    /// Starts the threads. Returns how the reads are done, with the reason if not by io_uring.
    pub fn start(storage: Arc<dyn Storage>, file: Option<Arc<File>>) -> Result<(Self, String)> {
        let ring = match file {
            None => Err("not a file".into()),
            Some(file) => Ring::new(DEPTH + 1)
                .and_then(|ring| Ok((ring, file, eventfd()?)))
                .map_err(|error| error.to_string()),
        };
        let (queue, arrived) = (Mutex::default(), Condvar::new());
        let named = |name: &str| thread::Builder::new().name(name.into());
        match ring {
            Ok((ring, file, wake)) => {
                let heard = Arc::new(wake.try_clone()?);
                let shared = Arc::new(Shared { queue, arrived, storage, wake: Some(wake) });
                let ringing = shared.clone();
                let thread = named("cache reads").spawn(move || {
                    RingThread { shared: ringing, ring, file, heard }.run();
                })?;
                let threads = Mutex::new(vec![thread]);
                Ok((Self { shared, threads, inline: false }, "io_uring".into()))
            }
            Err(why) => {
                let shared = Arc::new(Shared { queue, arrived, storage, wake: None });
                let mut threads = Vec::new();
                for _ in 0..THREADS {
                    let shared = shared.clone();
                    threads.push(named("cache reads").spawn(move || serve(&shared))?);
                }
                let threads = Mutex::new(threads);
                let how = format!("threads (io_uring: {why})");
                Ok((Self { shared, threads, inline: false }, how))
            }
        }
    }

    /// Reads `len` bytes at `at`, both multiples of a page.
    fn pages(&self, at: u64, len: usize) -> Receiver<Result<Buffer>> {
        let (done, received) = oneshot::channel();
        if self.inline {
            done.send(medium::read(&*self.shared.storage, at, len));
            return received;
        }
        let mut queue = self.shared.queue();
        if !queue.stopped {
            queue.requests.push_back(Request { at, len, done });
            let must_wake = !std::mem::replace(&mut queue.woken, true);
            drop(queue);
            if must_wake || self.shared.wake.is_none() {
                self.shared.wake();
            }
        }
        received
    }

    /// Reads the bytes of a range. The read starts at once.
    pub fn read(&self, at: u64, len: usize) -> impl Future<Output = Result<Bytes>> + use<> {
        let page = PAGE as u64;
        let start = at / page * page;
        #[allow(clippy::cast_possible_truncation)] // less than a page
        let skip = (at - start) as usize;
        let whole = (skip + len).div_ceil(PAGE) * PAGE;
        let received = self.pages(start, whole);
        async move {
            match received.await {
                Some(Ok(Buffer { bytes, part })) => {
                    Ok(Bytes::from(bytes).slice(part.start + skip..part.start + skip + len))
                }
                Some(Err(error)) => Err(error),
                None => Err(ErrorKind::NotConnected.into()),
            }
        }
    }

    /// Ends the threads. Reads that are waiting fail.
    pub fn stop(&self) {
        {
            let mut queue = self.shared.queue();
            queue.stopped = true;
            queue.requests.clear();
        }
        self.shared.wake();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has reported that.
            let _ = thread.join();
        }
    }
}

fn eventfd() -> Result<File> {
    let fd: OwnedFd = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
    Ok(File::from(fd))
}

/// Serves reads on a thread without io_uring.
fn serve(shared: &Shared) {
    loop {
        let mut queue = shared.queue();
        let request = loop {
            if queue.stopped {
                return;
            }
            if let Some(request) = queue.requests.pop_front() {
                break request;
            }
            queue = shared.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        drop(queue);
        request.done.send(medium::read(&*shared.storage, request.at, request.len));
    }
}

struct RingThread {
    shared: Arc<Shared>,
    ring: Ring,
    file: Arc<File>,
    heard: Arc<File>,
}

impl RingThread {
    fn run(mut self) {
        let mut waiting: Vec<Option<Request>> = (0..DEPTH).map(|_| None).collect();
        let mut free: Vec<u64> = (0..u64::from(DEPTH)).collect();
        let mut ended: Vec<Ended> = Vec::new();
        let mut parts: Vec<Option<std::ops::Range<usize>>> = (0..DEPTH).map(|_| None).collect();
        self.listen();
        loop {
            {
                let mut queue = self.shared.queue();
                if queue.stopped {
                    return;
                }
                queue.woken = false;
                while !free.is_empty() && self.ring.has_place() {
                    let Some(request) = queue.requests.pop_front() else { break };
                    let key = free.pop().unwrap_or_default();
                    let Buffer { bytes, part } = Buffer::new(request.len);
                    let transfer = Transfer {
                        op: Op::Read,
                        file: self.file.clone(),
                        offset: request.at,
                        buffer: bytes,
                        part: part.clone(),
                        key,
                    };
                    if self.ring.start(transfer).is_err() {
                        free.push(key);
                        queue.requests.push_front(request);
                        break;
                    }
                    #[allow(clippy::cast_possible_truncation)] // below the depth
                    let slot = key as usize;
                    (waiting[slot], parts[slot]) = (Some(request), Some(part));
                }
            }
            if self.ring.wait(&mut ended).is_err() {
                // The kernel refuses further calls: all reads fail from now on.
                self.shared.queue().stopped = true;
                return;
            }
            for Ended { key, buffer, result } in ended.drain(..) {
                if key == WAKE {
                    self.listen();
                    continue;
                }
                #[allow(clippy::cast_possible_truncation)] // below the depth
                let slot = key as usize;
                free.push(key);
                let (request, part) = (waiting[slot].take(), parts[slot].take());
                let (Some(request), Some(part)) = (request, part) else { continue };
                let whole = part.len();
                let buffer = Buffer { bytes: buffer, part };
                let result = match result {
                    Ok(read) if read == whole => Ok(buffer),
                    // Cut short or cancelled by the kernel: positioned reads say why.
                    _ => medium::read(&*self.shared.storage, request.at, request.len),
                };
                request.done.send(result);
            }
        }
    }

    /// Starts a read of the wake-up descriptor.
    fn listen(&mut self) {
        let transfer = Transfer {
            op: Op::Read,
            file: self.heard.clone(),
            offset: 0,
            buffer: vec![0; 8],
            part: 0..8,
            key: WAKE,
        };
        // The depth of the ring includes this transfer.
        let started = self.ring.start(transfer);
        debug_assert!(started.is_ok(), "the ring has a place for the wake-up descriptor");
    }
}

/// The error of a read after the cache was closed.
pub(crate) fn is_closed(error: &Error) -> bool {
    error.kind() == ErrorKind::NotConnected
}
