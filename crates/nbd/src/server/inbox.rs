//! The inbox of a connection: it holds completed requests and wakes the connection.
//!
//! A completion inside `submit`, on the thread of the connection, costs only an uncontended lock. A
//! completion on another thread writes to `wake_fd` only if the connection sleeps; further
//! completions before it wakes do not write again.

use super::wait::{PAUSE, TICK, timespec};
use crate::export::{CompletionSink, Op, RequestOutcome};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{self, Shutdown};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub(super) struct CompletedRequest {
    pub(super) cookie: u64,
    pub(super) op: Op,
    pub(super) data: Vec<u8>,
    pub(super) outcome: RequestOutcome,
}

/// What the thread of the connection is doing, as far as waking it is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SleepState {
    /// The connection works, and will check the inbox before it sleeps.
    Not,
    /// The connection waits in `recv` with nothing in flight. Only input or a shutdown of the
    /// socket wakes it.
    Receiving,
    /// The connection waits in `poll`, also for `wake_fd`.
    Polling,
}

struct InboxState {
    completed: Vec<CompletedRequest>,
    sleep: SleepState,
    stopping: bool,
    cut: bool,
}

/// The part of a connection that other threads use.
pub(super) struct Inbox {
    socket: Arc<OwnedFd>,
    wake_fd: OwnedFd,
    state: Mutex<InboxState>,
}

impl Inbox {
    pub(super) fn new(socket: Arc<OwnedFd>) -> io::Result<Self> {
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (completed, sleep) = (Vec::new(), SleepState::Not);
        let state = InboxState { completed, sleep, stopping: false, cut: false };
        Ok(Self { socket, wake_fd, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The descriptor that becomes readable to wake the connection.
    pub(super) fn wake_fd(&self) -> &OwnedFd {
        &self.wake_fd
    }

    /// Swaps the completed requests with the list, which must be empty. Returns whether the server
    /// stops.
    pub(super) fn take(&self, completed: &mut Vec<CompletedRequest>) -> bool {
        let mut state = self.state();
        std::mem::swap(&mut state.completed, completed);
        state.stopping
    }

    /// Announces that the connection is going to sleep. Returns false if it must not, because a
    /// request has completed or `stopping` is out of date.
    pub(super) fn sleep(&self, how: SleepState, stopping: bool) -> bool {
        let mut state = self.state();
        if !state.completed.is_empty() || state.stopping != stopping {
            return false;
        }
        state.sleep = how;
        true
    }

    /// Announces that the connection is awake.
    pub(super) fn mark_awake(&self) {
        let mut state = self.state();
        let how = std::mem::replace(&mut state.sleep, SleepState::Not);
        drop(state);
        if how != SleepState::Receiving {
            // The read fails if nothing was written to `wake_fd`.
            let _ = rustix::io::read(&self.wake_fd, &mut [0; 8]);
        }
    }

    /// Stops the connection: it finishes the requests in flight and ends.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        let how = std::mem::replace(&mut state.sleep, SleepState::Not);
        drop(state);
        match how {
            SleepState::Not => {}
            SleepState::Polling => self.wake(),
            // The shutdown fails if the client has already disconnected.
            SleepState::Receiving => drop(net::shutdown(&*self.socket, Shutdown::Read)),
        }
    }

    /// Waits for completions and drops them. Returns their number, or 0 if [`cut`](Self::cut) was
    /// called.
    pub(super) fn await_completions(&self) -> usize {
        loop {
            let mut state = self.state();
            let count = state.completed.len();
            state.completed.clear();
            if count > 0 || state.cut {
                return count;
            }
            state.sleep = SleepState::Polling;
            drop(state);
            let waited =
                poll(&mut [PollFd::new(&self.wake_fd, PollFlags::IN)], Some(&timespec(TICK)));
            if waited.is_err_and(|error| error != Errno::INTR) {
                // Completions still arrive: look for them periodically, without `wake_fd`.
                thread::sleep(PAUSE);
            }
            self.mark_awake();
        }
    }

    /// Disconnects the client, so that its thread stops waiting.
    pub(super) fn cut(&self) {
        self.state().cut = true;
        // The shutdown fails if the client has already disconnected.
        let _ = net::shutdown(&*self.socket, Shutdown::Both);
        self.wake();
    }

    fn wake(&self) {
        // The write fails only if the counter overflows, after 2^64 writes.
        let _ = rustix::io::write(&self.wake_fd, &1u64.to_ne_bytes());
    }
}

impl CompletionSink for Inbox {
    fn complete(&self, cookie: u64, op: Op, data: Vec<u8>, outcome: RequestOutcome) {
        let mut state = self.state();
        state.completed.push(CompletedRequest { cookie, op, data, outcome });
        if state.sleep == SleepState::Polling {
            state.sleep = SleepState::Not;
            drop(state);
            self.wake();
        }
    }
}
