//! Traces a running job: starts a command, and records the activity of the command and of the
//! machine. [`nodes`] records parts of a machine instead, until it is stopped.
//!
//! [`record`] probes first which counters the machine has. The manifest states for each column
//! whether it is measured, scaled, estimated or missing, and its source. The counters are then read
//! at absolute deadlines and at the end of the command, and stored as totals since the start. A
//! separate thread reads the block log. If capture fails, the command still runs to its end. A
//! trace is either complete or not there.

mod accelerators;
mod block;
mod cgroup;
mod clock;
mod command;
mod error;
mod machine;
mod machine_counters;
mod machine_info;
pub mod nodes;
mod observer;
mod owner_tag;
mod pmu;
mod process_tree;
mod record;
mod recording;
mod signals;
mod throttling;

pub use error::CaptureError;
pub use observer::{CaptureObserver, NoObserver};
pub use record::{CaptureOptions, CaptureOutcome, record};
