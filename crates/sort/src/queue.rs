//! Reads and writes that go on while others sort: requests in, buffers back.
//!
//! A request owns its buffer until it is done, so that nothing can look at bytes that are under way.
//! Each is one positioned call on one of a few threads; with transfers of megabytes a thread costs
//! nothing beside them.

use crate::SortError;
use crate::file::File;
use crate::memory::Buffer;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Scope;

/// What is to be done with a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It is filled from a file.
    Read,
    /// It goes to a file.
    Write,
}

/// One transfer.
pub struct Request {
    pub op: Op,
    pub file: Arc<File>,
    /// Where in the file.
    pub offset: u64,
    pub buffer: Buffer,
    /// Which part of the buffer.
    pub part: Range<usize>,
    /// The asker's own mark.
    pub tag: u64,
    /// Who hears of it.
    pub reply: Sender<Done>,
}

/// A transfer that has ended.
pub struct Done {
    pub tag: u64,
    pub buffer: Buffer,
    pub part: Range<usize>,
    pub result: Result<(), SortError>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Request>,
    closed: bool,
}

/// The queue; its threads end when it is closed.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes that were read.
    pub read: AtomicU64,
    /// Bytes that were written.
    pub written: AtomicU64,
}

impl Queue {
    /// Starts threads that carry requests out.
    pub fn start<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>, threads: usize) {
        for _ in 0..threads {
            scope.spawn(|| self.serve());
        }
    }

    /// Asks for a transfer. Requests are begun in order.
    pub fn ask(&self, request: Request) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.push_back(request);
        self.changed.notify_one();
    }

    /// The work has ended: nobody wants what is not begun.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn next(&self) -> Option<Request> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn serve(&self) {
        while let Some(request) = self.next() {
            let Request { op, file, offset, mut buffer, part, tag, reply } = request;
            let (result, moved) = match op {
                Op::Read => (file.read(offset, &mut buffer.get_mut()[part.clone()]), &self.read),
                Op::Write => (file.write(offset, &buffer.get()[part.clone()]), &self.written),
            };
            moved.fetch_add(part.len() as u64, Ordering::Relaxed);
            // Who asked may have given up.
            let _ = reply.send(Done { tag, buffer, part, result });
        }
    }
}
