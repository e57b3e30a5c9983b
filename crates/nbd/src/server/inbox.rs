//! Where an export's completions wait for their connection, and how the connection is woken.
//!
//! Completions of the connection's own thread, inside `submit`, cost a lock that nobody contends.
//! Those of other threads ring only where the connection sleeps, once for all that follow.

use super::wait::{PAUSE, TICK, timespec};
use crate::export::{CompletionSink, Op, RequestOutcome};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{self, Shutdown};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A request that has ended.
pub(super) struct CompletedRequest {
    pub(super) cookie: u64,
    pub(super) op: Op,
    pub(super) data: Vec<u8>,
    pub(super) outcome: RequestOutcome,
}

/// What the connection's thread is at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SleepState {
    /// Working: it will look here before it sleeps.
    Not,
    /// In `recv`, with nothing in flight: only an end of the stream wakes it.
    Receiving,
    /// In `poll`, with `wake_fd` among what it waits for.
    Polling,
}

struct InboxState {
    completed: Vec<CompletedRequest>,
    sleep: SleepState,
    stopping: bool,
    cut: bool,
}

/// A connection, as seen by everybody else.
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

    /// What to poll for.
    pub(super) fn wake_fd(&self) -> &OwnedFd {
        &self.wake_fd
    }

    /// Moves what was completed to an empty list; true: the server stops.
    pub(super) fn take(&self, completed: &mut Vec<CompletedRequest>) -> bool {
        let mut state = self.state();
        std::mem::swap(&mut state.completed, completed);
        state.stopping
    }

    /// Before sleeping. False: something has come, look again. `stopping`: that is known.
    pub(super) fn sleep(&self, how: SleepState, stopping: bool) -> bool {
        let mut state = self.state();
        if !state.completed.is_empty() || state.stopping != stopping {
            return false;
        }
        state.sleep = how;
        true
    }

    /// After sleeping.
    pub(super) fn mark_awake(&self) {
        let mut state = self.state();
        let how = std::mem::replace(&mut state.sleep, SleepState::Not);
        drop(state);
        if how != SleepState::Receiving {
            // Nothing to take where nobody rang.
            let _ = rustix::io::read(&self.wake_fd, &mut [0; 8]);
        }
    }

    /// The server stops: finish what is in flight and go.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        let how = std::mem::replace(&mut state.sleep, SleepState::Not);
        drop(state);
        match how {
            SleepState::Not => {}
            SleepState::Polling => self.wake(),
            // Gone already, where it fails.
            SleepState::Receiving => drop(net::shutdown(&*self.socket, Shutdown::Read)),
        }
    }

    /// Waits until something has been completed; how much. Nothing: grace is over.
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
                // The completions still come: look for them without `wake_fd`.
                thread::sleep(PAUSE);
            }
            self.mark_awake();
        }
    }

    /// Grace is over: whatever waits for the client fails.
    pub(super) fn cut(&self) {
        self.state().cut = true;
        // Gone already, where it fails.
        let _ = net::shutdown(&*self.socket, Shutdown::Both);
        self.wake();
    }

    fn wake(&self) {
        // It fails only where 2^64 rings were not heard.
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
