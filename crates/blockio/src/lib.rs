//! The vocabulary of block I/O: operations, requests and completions, and [`Device`], the contract
//! of every simulated device.
//!
//! Offsets and lengths are bytes, multiples of [`SECTOR`]. Times are nanoseconds on a virtual
//! clock.

#![no_std]

extern crate alloc;

mod check;
mod device;

pub use check::check_range;
pub use device::{Cause, Completion, Device, IoOp, PREFETCH_STAGES, Request, SECTOR, Usage};
