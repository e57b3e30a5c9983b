//! Timed requests to real storage.
//!
//! A [`Target`] is a file or a block device, opened for direct I/O. [`probe()`] sends requests
//! sequentially and returns the times of issue and completion of each. [`load()`] keeps a number of
//! requests outstanding and returns throughput and latency. [`characterise()`] does so for many
//! sizes, depths and patterns. [`TestFile`] decides what may be overwritten. All times are measured
//! with the monotonic clock.
#![forbid(unsafe_code)]

mod buffer;
mod characterise;
mod device_facts;
mod error;
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
pub use load::{ClosedLoopLoad, LoadLimits, LoadResult, Pattern, load};
pub use probe::{Probe, ProbeOp, TimedProbe, probe};
pub use target::{Access, Target};
pub use test_file::TestFile;
