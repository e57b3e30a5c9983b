#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Ftl::handle`] receives events ([`Input`]), and [`Ftl::poll`] returns instructions for the
//! driver ([`Action`]); these types document the contract. [`Config`] has the settings, with the
//! defaults of section 4.2.2 of the Gordon paper (Caulfield, Grupp and Swanson, ASPLOS 2009).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod blocks;
mod buffer;
mod check;
mod checkpoint;
mod collector;
mod completion;
mod config;
mod dispatch;
mod flush;
mod gc;
mod io;
mod machine;
mod map;
mod mount;
mod packed;
mod permutation;
mod precondition;
mod preload;
mod request;
mod stats;
mod stripes;
mod trim_journal;
mod trim_recording;
mod victim;
mod victim_chooser;
mod write_point;

pub use check::Inconsistency;
pub use checkpoint::CheckpointError;
pub use config::{Config, FtlConfigError, MOST_CHOICES, Victim, VictimPolicy};
pub use io::{
    AckSource, Action, ActionSink, Extent, HostRequest, Input, PageSegment, RequestId, SubRequest,
};
pub use machine::Ftl;
pub use mount::{CleanShutdownState, Mount, MountError, ScanRequest, ScanResult};
pub use preload::{OnProgram, PAGES_A_STEP, PreloadError};
pub use stats::Stats;
pub use trim_journal::TrimRecord;
pub use victim_chooser::VictimChooser;
