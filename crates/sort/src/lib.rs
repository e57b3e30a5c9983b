//! The external sort, and the generator and the checker of its benchmark.
//!
//! What is sorted is a [`Shape`]: records of one length, or lines.

#![allow(dead_code)] // until the engine is whole

mod error;
mod file;
mod memory;
mod queue;
mod shape;
mod watch;

pub use error::SortError;
pub use file::Mode;
pub use shape::{Benchmark, Shape};
pub use watch::Watch;
