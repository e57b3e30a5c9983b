//! Work that another thread watches.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Lets another thread see how far work has come, and end it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Steps or bytes done.
    pub done: AtomicU64,
    /// Of how many in all; 0 until known.
    pub total: AtomicU64,
    /// Set to stop early.
    pub stop: AtomicBool,
}

/// The work was to stop early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl Progress {
    /// Whether the work is to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Continues or ends.
    ///
    /// # Errors
    /// [`Stopped`] where the work is to stop.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.stopped() { Err(Stopped) } else { Ok(()) }
    }

    /// So many more are done.
    pub fn step(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// How many are done, and of how many.
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
