//! Gordon's flash translation layer (section 4.2.2 of the paper) as a state machine.
//!
//! [`Ftl::handle`] takes what happened ([`Input`]), [`Ftl::poll`] hands out what is to be done
//! ([`Action`]); see there for the contract. It sees no bytes, only buffer handles; no
//! time, only order. So one and the same layer is simulated, tested and holds data.
//!
//! No files, clocks or threads; `no_std`.
#![no_std]

extern crate alloc;

mod blocks;
mod buffer;
mod check;
mod checkpoint;
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
mod precondition;
mod preload;
mod request;
mod stats;
mod trim_journal;
mod write_point;

pub use check::Inconsistency;
pub use checkpoint::CheckpointError;
pub use config::{Config, FtlConfigError, MOST_CHOICES, Victim};
pub use io::{
    AckSource, Action, ActionSink, Extent, HostRequest, Input, PageSegment, RequestId, SubRequest,
};
pub use machine::Ftl;
pub use mount::{CleanShutdownState, Mount, MountError, ScanRequest, ScanResult};
pub use preload::{OnProgram, PAGES_A_STEP, PreloadError};
pub use stats::Stats;
pub use trim_journal::TrimRecord;
