//! Many transfers at a time, by io_uring.
//!
//! The kernel reads and writes memory that it is told of by address, while the program continues.
//! Two ways in which nothing else can touch that memory meanwhile: the buffers of [`Reads`] are
//! lent for a call that ends when the kernel is through with all of them; those of a [`Ring`] are
//! the ring's own until they come back.
//!
//! Not covered: registered files and buffers, polling. They spare time where transfers are small.

mod lent;
mod owned;

pub use lent::{Job, Reads};
pub use owned::{Ended, Op, Ring, Transfer};

use std::io::{Error, ErrorKind};

/// Whether a call to the kernel is to be made again.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy)
}
