//! Real storage, asked directly and timed.
//!
//! A [`Target`] is a file or a block device, opened past the page cache. [`probe()`] asks it for
//! one thing after the other and says when each was issued and done; [`load()`] keeps so many
//! requests at it and says how much that moves; [`characterise()`] does so for many sizes, depths
//! and patterns. What is written to is decided in one place ([`TestFile`]). Every time here is
//! measured, on the monotonic clock.
#![forbid(unsafe_code)]

mod buffer;
mod characterise;
mod device_facts;
mod error;
mod latency;
mod load;
mod probe;
mod target;
mod test_file;

pub use characterise::{
    CharacteriseConfig, CharacterisePoint, CharacteriseReport, MeasuredPoint, characterise,
};
pub use device_facts::{TargetDescription, TargetKind};
pub use error::ProbeError;
pub use gordon_units::Progress;
pub use latency::{LatencyHistogram, LatencySummary};
pub use load::{ClosedLoopLoad, LoadLimits, LoadResult, Pattern, load};
pub use probe::{Probe, ProbeOp, TimedProbe, probe};
pub use target::{Access, Target};
pub use test_file::TestFile;
