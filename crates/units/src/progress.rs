//! Progress of a long operation, shared between the thread that does it and one that watches it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress counters and a stop flag, shared between threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Steps or bytes done.
    pub done: AtomicU64,
    /// Steps or bytes in total; 0 until known.
    pub total: AtomicU64,
    /// Set to stop early.
    pub stop: AtomicBool,
}

/// The operation ended early because [`Progress::stop`] was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl Progress {
    /// Whether the operation has been requested to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns at once unless the operation has been requested to stop.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the stop flag is set.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.stopped() { Err(Stopped) } else { Ok(()) }
    }

    /// Starts an operation, or its next phase, of `total` steps or bytes (0 if unknown).
    pub fn begin(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Adds `more` to the steps or bytes done.
    pub fn step(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Steps or bytes done, and the total (0 until known).
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
