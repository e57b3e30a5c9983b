//! The external sort, and the generator and the checker of its benchmark.
//!
//! What is sorted is a [`Shape`]: records of one length, or lines.

#![allow(dead_code)] // until the engine is whole

mod blocks;
mod error;
mod file;
mod generate;
mod memory;
mod queue;
mod shape;
mod validate;
mod watch;

pub use error::SortError;
pub use file::Mode;
pub use generate::{Generate, Generated, Records, generate};
pub use shape::{Benchmark, Shape};
pub use validate::{Validated, read_summaries, validate, write_summary};
pub use watch::Watch;
