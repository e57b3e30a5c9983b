//! The vocabulary of block I/O: operations, requests and completions, and [`Device`], the contract
//! of every simulated device.
//!
//! Offsets and lengths are bytes, multiples of [`SECTOR`]. Times are nanoseconds on a virtual
//! clock.

mod check;
mod device;
mod latency;
mod op;

pub use check::check_range;
pub use device::{Cause, Completion, Device, PREFETCH_STAGES, Request, SECTOR, Usage};
pub use latency::{LatencyHistogram, LatencySummary};
pub use op::IoOp;
