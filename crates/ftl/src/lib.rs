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
mod config;
mod dispatch;
mod done;
mod flush;
mod gc;
mod host;
mod io;
mod log;
mod machine;
mod map;
mod mount;
mod packed;
mod place;
mod precondition;
mod preload;
mod random;
mod stats;

pub use check::Inconsistency;
pub use checkpoint::CheckpointError;
pub use config::{Config, ConfigError, MOST_CHOICES, Victim};
pub use io::{Action, Extent, Host, How, Input, Out, Part, RequestId, SubRequest};
pub use log::Record;
pub use machine::Ftl;
pub use mount::{Found, Look, Mount, MountError, Standing};
pub use preload::{PAGES_A_STEP, Placed, PreloadError};
pub use stats::Stats;
