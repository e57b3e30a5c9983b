//! The vocabulary of block I/O: operations, requests and completions, and [`Device`], the contract
//! of every simulated device; and [`Command`], what hosts order of devices that hold data.
//!
//! Offsets and lengths are bytes; those of simulated devices are multiples of [`SECTOR`]. Times are
//! nanoseconds on a virtual clock.

mod check;
mod command;
mod device;
mod latency;
mod op;

pub use check::check_range;
pub use command::Command;
pub use device::{Cause, Completion, Device, PREFETCH_STAGES, Request, SECTOR, Usage};
pub use latency::{LatencyHistogram, LatencySummary};
pub use op::IoOp;
