#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Job::run`] sorts files. Records have a [`RecordFormat`], which [`RecordConfig`] names;
//! [`Settings`] do not change the result. [`generate`] and [`validate`] are those of the benchmark.

mod blocks;
mod checksum;
mod context;
mod distribute;
mod entries;
mod error;
mod file;
mod format;
mod generate;
mod head;
mod incore;
mod job;
mod mechanism;
mod memory;
mod merge;
mod one_pass;
mod output;
mod partition;
mod passes;
mod plan;
mod queue;
mod report;
mod space;
mod stop;
mod stream;
mod target;
mod temporary;
mod threads;
mod uring;
mod validate;

pub use error::SortError;
pub use file::CacheMode;
pub use format::{
    Benchmark, Fixed, FixedConfig, FormatVisitor, KeyOffset, Lines, LinesConfig, RecordConfig,
    RecordFormat, Tiebreak,
};
pub use generate::{Generate, Generated, Records, generate};
pub use gordon_units::Progress;
pub use incore::InCore;
pub use job::{Job, Partial, Settings};
pub use mechanism::{Io, io_uring_error};
pub use plan::{Method, Plan, Transfers};
pub use report::{Phase, SortReport};
pub use validate::{Validated, read_summaries, validate, write_summary};
