//! The external sort, and the generator and the checker of its benchmark.
//!
//! What is sorted is a [`Shape`]: records of one length, or lines.

mod blocks;
mod distribute;
mod entries;
mod error;
mod file;
mod generate;
mod head;
mod incore;
mod job;
mod memory;
mod merge;
mod one_pass;
mod output;
mod partition;
mod passes;
mod plan;
mod queue;
mod report;
mod shape;
mod space;
mod stream;
mod target;
mod uring;
mod validate;
mod work;

pub use error::SortError;
pub use file::Mode;
pub use generate::{Generate, Generated, Records, generate};
pub use gordon_units::Watch;
pub use incore::InCore;
pub use job::{Job, Partial, Settings};
pub use plan::{Method, Plan, Transfers};
pub use queue::Io;
pub use report::{Phase, Report};
pub use shape::{
    Benchmark, Config, Depth, Fixed, FixedConfig, Lines, LinesConfig, Rest, Shape, Visitor,
};
pub use validate::{Validated, read_summaries, validate, write_summary};
