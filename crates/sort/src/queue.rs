//! Reads and writes that go on while others sort: requests in, buffers back.
//!
//! A request owns its buffer until it is done, so that nothing can look at bytes that are under
//! way. Some threads carry them out, one positioned call each; or one thread tells them all to
//! io_uring ([`crate::uring`]).

use crate::SortError;
use crate::context::start;
use crate::file::SortFile;
use crate::memory::Buffer;
use crate::uring::Uring;
pub use gordon_sys::ring::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// Mechanism that carries out transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// `uring` if the system permits it, otherwise `threads`.
    #[default]
    Auto,
    /// io_uring, the asynchronous I/O interface of Linux.
    Uring,
    /// A pool of threads. Each thread waits for one transfer at a time.
    Threads,
}

/// One transfer.
pub struct TransferRequest {
    pub op: Op,
    pub file: Arc<SortFile>,
    /// Where in the file.
    pub offset: u64,
    pub buffer: Buffer,
    /// Which part of the buffer.
    pub part: Range<usize>,
    /// The asker's own mark.
    pub tag: u64,
    /// Who hears of it.
    pub reply: Sender<TransferDone>,
}

/// A transfer that has ended.
pub struct TransferDone {
    pub tag: u64,
    pub buffer: Buffer,
    pub part: Range<usize>,
    pub result: Result<(), SortError>,
}

impl TransferRequest {
    /// Does what is left of it but for so many bytes, and waits for it.
    pub fn carry_out(mut self, done: usize, queue: &IoQueue) {
        let part = self.part.start + done..self.part.end;
        let offset = self.offset + done as u64;
        let result = match self.op {
            Op::Read => self.file.read(offset, &mut self.buffer.get_mut()[part]),
            Op::Write => self.file.write(offset, &self.buffer.get()[part]),
        };
        self.end(result, queue);
    }

    /// Tells who asked.
    pub fn end(self, result: Result<(), SortError>, queue: &IoQueue) {
        let Self { op, buffer, part, tag, reply, .. } = self;
        let moved = if op == Op::Read { &queue.read } else { &queue.written };
        moved.fetch_add(part.len() as u64, Ordering::Relaxed);
        // Who asked may have given up.
        let _ = reply.send(TransferDone { tag, buffer, part, result });
    }
}

/// What a queue has for who asks and does not wait.
pub enum NextTransfer {
    Request(TransferRequest),
    /// Whoever puts something in, or closes it, wakes who asked ([`IoQueue::wake_by`]).
    Nothing,
    Closed,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<TransferRequest>,
    closed: bool,
    /// Wakes the thread of io_uring, where there is one.
    wake: Option<Arc<fs::File>>,
    /// Whether it does not look by itself.
    asleep: bool,
}

/// The queue; its threads end when it is closed.
#[derive(Default)]
pub struct IoQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Bytes that were read.
    pub read: AtomicU64,
    /// Bytes that were written.
    pub written: AtomicU64,
}

impl IoQueue {
    /// Starts what carries requests out, so many at a time; answers with what that is.
    pub fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        io: Io,
        depth: u32,
    ) -> Result<Io, SortError> {
        let uring = if io == Io::Threads { None } else { Some(Uring::new(depth)) };
        match uring {
            Some(Ok(uring)) => {
                start(scope, || uring.serve(self))?;
                Ok(Io::Uring)
            }
            Some(Err(error)) if io == Io::Uring => {
                let why = format!("the system does not let us use io_uring: {error}");
                Err(SortError::impossible("--io uring", why, "--io auto, or threads"))
            }
            _ => {
                for _ in 0..depth {
                    start(scope, || self.serve())?;
                }
                Ok(Io::Threads)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a transfer. Requests are begun in order.
    pub fn submit(&self, request: TransferRequest) {
        let mut state = self.state();
        state.waiting.push_back(request);
        wake(state);
        self.changed.notify_one();
    }

    /// The work has ended: nobody wants what is not begun.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        wake(state);
        self.changed.notify_all();
    }

    /// What there is now.
    pub fn poll(&self) -> NextTransfer {
        let mut state = self.state();
        match state.waiting.pop_front() {
            Some(request) => NextTransfer::Request(request),
            None if state.closed => NextTransfer::Closed,
            None => {
                state.asleep = true;
                NextTransfer::Nothing
            }
        }
    }

    /// What to write to for somebody who polls and sleeps.
    pub fn wake_by(&self, wake: Arc<fs::File>) {
        self.state().wake = Some(wake);
    }

    fn next(&self) -> Option<TransferRequest> {
        let mut state = self.state();
        loop {
            if let Some(request) = state.waiting.pop_front() {
                return Some(request);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Carries requests out, one after the other.
    pub fn serve(&self) {
        while let Some(request) = self.next() {
            request.carry_out(0, self);
        }
    }
}

/// Wakes the thread of io_uring, where it sleeps.
fn wake(mut state: MutexGuard<'_, QueueState>) {
    if std::mem::take(&mut state.asleep)
        && let Some(wake) = state.wake.clone()
    {
        drop(state);
        // It never holds as much as would have us wait.
        let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
    }
}
