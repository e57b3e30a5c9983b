//! Asynchronous reads and writes: requests are queued, and buffers are returned when they are done.
//!
//! A request owns its buffer until it is done, so that nothing can access bytes that are being
//! transferred. Who carries the requests out is chosen in [`crate::mechanism`].

use crate::SortError;
use crate::file::SortFile;
use crate::memory::Buffer;
pub use gordon_sys::ring::Op;
use std::collections::VecDeque;
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One transfer.
pub struct TransferRequest {
    pub op: Op,
    pub file: Arc<SortFile>,
    /// Offset in the file.
    pub offset: u64,
    pub buffer: Buffer,
    /// The range of the buffer.
    pub part: Range<usize>,
    /// An identifier of the caller's choice.
    pub tag: u64,
    /// Receives the result.
    pub reply: Sender<TransferDone>,
}

/// A completed transfer.
pub struct TransferDone {
    pub tag: u64,
    pub buffer: Buffer,
    pub part: Range<usize>,
    pub result: Result<(), SortError>,
}

impl TransferRequest {
    /// Carries out the transfer and waits for it; the first `done` bytes are already done.
    pub fn carry_out(mut self, done: usize, queue: &IoQueue) {
        let part = self.part.start + done..self.part.end;
        let offset = self.offset + done as u64;
        let result = match self.op {
            Op::Read => self.file.read(offset, &mut self.buffer.get_mut()[part]),
            Op::Write => self.file.write(offset, &self.buffer.get()[part]),
        };
        self.end(result, queue);
    }

    /// Completes the transfer and sends the result.
    pub fn end(self, result: Result<(), SortError>, queue: &IoQueue) {
        let Self { op, buffer, part, tag, reply, .. } = self;
        let moved = if op == Op::Read { &queue.read } else { &queue.written };
        moved.fetch_add(part.len() as u64, Ordering::Relaxed);
        // The receiver may have given up.
        let _ = reply.send(TransferDone { tag, buffer, part, result });
    }
}

/// The answer to a poll of the queue.
pub enum NextTransfer {
    Request(TransferRequest),
    /// The queue is empty; the next request, or closing the queue, wakes the poller
    /// ([`IoQueue::wake_by`]).
    Nothing,
    Closed,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<TransferRequest>,
    closed: bool,
    /// Wakes the thread of io_uring, if there is one.
    wake: Option<Arc<fs::File>>,
    /// Whether that thread sleeps until it is woken.
    asleep: bool,
}

/// A queue of transfers; its threads end when it is closed.
#[derive(Default)]
pub struct IoQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Number of bytes read.
    pub read: AtomicU64,
    /// Number of bytes written.
    pub written: AtomicU64,
}

impl IoQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a transfer. Requests are started in order.
    pub fn submit(&self, request: TransferRequest) {
        let mut state = self.state();
        state.waiting.push_back(request);
        wake(state);
        self.changed.notify_one();
    }

    /// Closes the queue; requests that have not been started are dropped.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        wake(state);
        self.changed.notify_all();
    }

    /// Returns the next request without waiting.
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

    /// Sets the descriptor to write to when the poller must be woken.
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

    /// Carries out requests one by one, until the queue is closed.
    pub fn serve(&self) {
        while let Some(request) = self.next() {
            request.carry_out(0, self);
        }
    }
}

/// Wakes the thread of io_uring if it sleeps.
fn wake(mut state: MutexGuard<'_, QueueState>) {
    if std::mem::take(&mut state.asleep)
        && let Some(wake) = state.wake.clone()
    {
        drop(state);
        // The counter never reaches the value at which a write would block.
        let _ = rustix::io::write(&*wake, &1u64.to_ne_bytes());
    }
}
