//! Real storage, asked directly and timed.
//!
//! A [`Target`] is a file or a block device, opened past the page cache. [`probe()`] asks it for one
//! thing after the other and says when each was issued and done. Every time here is measured, on the
//! monotonic clock.
#![forbid(unsafe_code)]

mod buffer;
mod error;
mod facts;
mod probe;
mod target;
mod watch;

pub use error::IoError;
pub use facts::{Description, Kind};
pub use probe::{Op, Probe, Timed, probe};
pub use target::{Access, Target};
pub use watch::Watch;
