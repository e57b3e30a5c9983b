#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Cache`] stores bodies with metadata by key, as [`Config`] describes it. Its futures are woken
//! by its own threads, and [`block_on`] waits for one without a runtime.

mod blocking;
mod body_pool;
mod cache;
mod config;
mod engine;
mod error;
mod format;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod journal;
mod journal_writer;
mod medium;
mod nand;
mod object;
mod oneshot;
mod open;
mod purges;
mod reads;
mod recover;
mod ring_reads;
mod set_states;
mod set_writer;
mod sets;
mod state;
mod stats;
mod trace;
mod worker;
mod writer;

pub use blocking::block_on;
pub use cache::Cache;
pub use config::{Admission, Config, Flash, Lifetime};
pub use error::Error;
pub use object::Object;
pub use open::Medium;
pub use ring_reads::Completions;
pub use stats::{Checked, Events, NandStats, Put, Recovery, Stats, Tier};
pub use writer::Writer;
