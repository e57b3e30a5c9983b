//! Asynchronous file transfers through io_uring.
//!
//! The kernel reads or writes a buffer while the program runs, so nothing else may touch the buffer
//! meanwhile. There are two ways to ensure that. [`Reads`] borrows the caller's buffers for one
//! call, which returns only when the kernel has completed every read. A [`Ring`] owns the buffers
//! of its transfers until they complete.
//!
//! Not covered: registered files, registered buffers and polling, which reduce the cost of small
//! transfers.

mod lent;
mod owned;

pub use lent::{Job, Reads};
pub use owned::{Ended, Op, Ring, Transfer};

use std::io::{Error, ErrorKind};

/// Whether the error is transient, so that the call can be retried.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy)
}
