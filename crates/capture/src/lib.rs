//! Capture: runs a command and records what it and the machine do.
//!
//! What the machine offers is probed first and goes into the manifest: columns are measured,
//! scaled, estimated or missing, each with its source. Then counters are read on absolute
//! deadlines and at the command's end, and stored as totals; the block log has a thread of its
//! own. Whatever happens to capture, the command runs to its end, and either a whole trace is left
//! or none.

mod block;
mod cgroup;
mod clock;
mod command;
mod error;
mod estimate;
mod machine_counters;
mod machine_info;
mod observer;
mod owner_tag;
mod pmu;
mod process_tree;
mod record;
mod signals;

pub use error::CaptureError;
pub use observer::{CaptureObserver, NoObserver};
pub use record::{CaptureOptions, CaptureOutcome, record};
