//! Traces of real jobs: what a machine and a command did, interval by interval, and every request
//! its block devices served.
//!
//! Block traces in the formats of others are read by [`formats`].
//!
//! [`record`] makes one from a running command, [`TraceWriter`] from numbers, [`Trace`] reads it
//! back. The format is described in `docs/TRACE.md`.

mod capture;
mod columns;
mod error;
pub mod formats;
mod manifest;
mod model;
mod profile;
mod read;
mod summary;
mod write;

pub use capture::{CaptureOptions, Outcome, Quiet, Watch, record};
pub use columns::{Column, Columns, Kind};
pub use error::TraceError;
pub use manifest::{
    BlockLog, Disk, End, FORMAT, Imported, Interface, Machine, Manifest, Part, Unavailable, VERSION,
};
pub use model::{BlockFlags, BlockIo, BlockOp, CommandSample, DiskSample, Sample};
pub use profile::Profile;
pub use read::{BlockReader, Trace};
pub use summary::{BlockSummary, Latency, Requests, Series, Summary};
pub use write::{BlockWriter, TraceWriter};
