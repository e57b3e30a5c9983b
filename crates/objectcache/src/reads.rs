//! Reads of the flash, many at a time: by io_uring, or by a few threads. Writes have threads of
//! their own.

use crate::format::PAGE;
use crate::medium::{self, Buffer, Storage};
use crate::oneshot::{self, Receiver};
use crate::ring_reads::{Request, RingReads};
use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads without io_uring.
const THREADS: usize = 4;

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    stopped: bool,
}

/// The requests of the threads.
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    storage: Arc<dyn Storage>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who reads.
enum Way {
    /// The caller, at once.
    Inline(Arc<dyn Storage>),
    Ring(Arc<RingReads>),
    Threads(Arc<Shared>, Mutex<Vec<JoinHandle<()>>>),
}

/// The reads of a cache.
pub(crate) struct Reads(Way);

impl Reads {
    /// Reads that the caller carries out.
    pub fn inline(storage: Arc<dyn Storage>) -> Self {
        Self(Way::Inline(storage))
    }

    /// Starts the threads. Returns how the reads are done, with the reason if not by io_uring.
    pub fn start(storage: Arc<dyn Storage>, file: Option<Arc<File>>) -> Result<(Self, String)> {
        let ring = match file {
            None => Err("not a file".into()),
            Some(file) => {
                RingReads::start(file, Arc::clone(&storage)).map_err(|error| error.to_string())
            }
        };
        match ring {
            Ok(ring) => Ok((Self(Way::Ring(ring)), "io_uring".into())),
            Err(why) => {
                let (queue, arrived) = (Mutex::default(), Condvar::new());
                let shared = Arc::new(Shared { queue, arrived, storage });
                let mut threads = Vec::new();
                for _ in 0..THREADS {
                    let shared = shared.clone();
                    let named = thread::Builder::new().name("cache reads".into());
                    threads.push(named.spawn(move || serve(&shared))?);
                }
                let how = format!("threads (io_uring: {why})");
                Ok((Self(Way::Threads(shared, Mutex::new(threads))), how))
            }
        }
    }

    /// The ring, if reads are done by one.
    pub fn ring(&self) -> Option<&Arc<RingReads>> {
        match &self.0 {
            Way::Ring(ring) => Some(ring),
            Way::Inline(_) | Way::Threads(..) => None,
        }
    }

    /// Reads `len` bytes at `at`, both multiples of a page.
    fn pages(&self, at: u64, len: usize) -> Receiver<Result<Buffer>> {
        let (done, received) = oneshot::channel();
        match &self.0 {
            Way::Inline(storage) => done.send(medium::read(&**storage, at, len)),
            Way::Ring(ring) => ring.start_read(Request { at, len, done }),
            Way::Threads(shared, _) => {
                let mut queue = shared.queue();
                if !queue.stopped {
                    queue.requests.push_back(Request { at, len, done });
                    shared.arrived.notify_one();
                }
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
        match &self.0 {
            Way::Inline(_) => {}
            Way::Ring(ring) => ring.stop(),
            Way::Threads(shared, threads) => {
                {
                    let mut queue = shared.queue();
                    queue.stopped = true;
                    queue.requests.clear();
                }
                shared.arrived.notify_all();
                let mut threads = threads.lock().unwrap_or_else(PoisonError::into_inner);
                for thread in threads.drain(..) {
                    // A thread that panicked has reported that.
                    let _ = thread.join();
                }
            }
        }
    }
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

/// The error of a read after the cache was closed.
pub(crate) fn is_closed(error: &Error) -> bool {
    error.kind() == ErrorKind::NotConnected
}
