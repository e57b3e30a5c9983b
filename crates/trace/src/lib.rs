//! Traces of real jobs: the activity of a machine and a command in each interval, and every request
//! to the block devices.
//!
//! [`TraceWriter`] writes a trace, [`Trace`] reads one; `docs/TRACE.md` specifies the files. Block
//! traces in the formats of other programs are read and written by [`formats`], activity traces of
//! other monitors are converted by [`activity`], and the event logs of Spark are read by [`spark`].

pub mod activity;
mod activity_format;
mod anonymise;
mod columns;
mod error;
mod estimate;
mod foreign;
pub mod formats;
mod interfaces;
mod manifest;
mod model;
mod profile;
mod read;
mod rename;
mod scope;
pub mod spark;
mod summary;
mod write;

pub use anonymise::{AnonymiseReport, anonymise};
pub use columns::{Column, ColumnKind, Columns};
pub use error::TraceError;
pub use estimate::{CycleEstimate, ProfileRates};
pub use interfaces::{LinkFacts, counted_links};
pub use manifest::{
    BLOCK_LOG, BlockLog, CommandEnd, CommandReads, DiskInfo, FORMAT, ImportSource, InterfaceInfo,
    MachineInfo, Manifest, OUTLIVING_WORK, TracePart, Unavailable, VERSION,
};
pub use model::{BlockFlags, BlockIo, CommandSample, DiskSample, Sample};
pub use profile::Profile;
pub use read::{BlockReader, Trace};
pub use scope::{NodeScope, Scope, ScopePart, Shared};
pub use summary::{BlockSummary, DeviceSummary, RequestTotals, SampleSeries, TraceSummary};
pub use write::{ActivityWriter, BlockFileWriter, BlockWriter, TraceFolder, TraceWriter};
