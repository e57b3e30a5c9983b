//! Work that another thread watches.

use crate::IoError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Lets another thread see how far work has come, and end it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Steps done.
    pub done: AtomicU64,
    /// Steps in all; 0 until known.
    pub total: AtomicU64,
    /// Set to stop early.
    pub stop: AtomicBool,
}

impl Watch {
    /// An error where the work is to stop.
    pub(crate) fn check(&self) -> Result<(), IoError> {
        if self.stop.load(Ordering::Relaxed) { Err(IoError::Interrupted) } else { Ok(()) }
    }

    /// So many steps more are done.
    pub(crate) fn step(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }
}
