//! Work that another thread watches.

use crate::SortError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Lets another thread see how far work has come, and end it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Bytes done.
    pub done: AtomicU64,
    /// Bytes in all; 0 until known.
    pub total: AtomicU64,
    /// Set to stop early.
    pub stop: AtomicBool,
}

impl Watch {
    /// An error where the work is to stop.
    pub(crate) fn check(&self) -> Result<(), SortError> {
        if self.stop.load(Ordering::Relaxed) { Err(SortError::Interrupted) } else { Ok(()) }
    }

    /// So many bytes more are done.
    pub(crate) fn step(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}
