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
mod machine;
mod observer;
mod own;
mod pmu;
mod record;
mod signals;
mod system;
mod tree;

pub use error::CaptureError;
pub use observer::{Quiet, Watch};
pub use record::{CaptureOptions, Outcome, record};
