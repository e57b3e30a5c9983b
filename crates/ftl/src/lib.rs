//! Gordon's flash translation layer (section 4.2.2 of the paper) as a state machine.
//!
//! [`Ftl::handle`] receives events ([`Input`]), and [`Ftl::poll`] returns instructions for the
//! driver ([`Action`]); these types document the contract. The layer handles buffer handles rather
//! than bytes, and depends on the order of events rather than on time. So the same code is
//! simulated, tested, and used to store data.
//!
//! The crate uses no files, clocks or threads, and is `no_std`.
#![no_std]

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
