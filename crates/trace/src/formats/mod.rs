//! Reads and writes block traces in the formats of other programs, as a stream of [`TraceRequest`],
//! and object traces as a stream of [`ObjectRequest`].
//!
//! [`open`] detects the format and returns a [`RequestReader`]. Compressed files are decompressed
//! while they are read. Memory is bounded: a buffer of at most 1 MiB per file, and [`WINDOW`]
//! requests if they have to be sorted. `docs/FORMATS.md` states for each format what it contains,
//! what is read, and what the reader was tested with.
//!
//! Not covered: the data of requests, names of processes, and completions as separate events.

mod blkparse;
mod blktrace;
mod clf;
mod collector;
mod convert;
mod delimited;
mod detect;
mod disksim_validate;
mod entry_error;
mod error;
mod fields;
mod fio;
mod format;
mod ftrace;
mod gordon;
mod input;
mod input_note;
mod java_blocks;
mod line_sample;
mod objects;
mod options;
mod reader;
mod records;
mod request;
mod requeue;
mod rwbs;
mod source;
mod write;

pub use collector::{Order, ReadCounts, WINDOW};
pub use convert::{ConversionReport, PendingConversion, RequestLine, convert};
pub use delimited::{ColumnMap, DelimitedFormat, DescribedFormat, OpWords, Separator};
pub use entry_error::{EntryError, FilePosition};
pub use error::{FormatCandidate, FormatError};
pub use format::Format;
pub(crate) use input::{open_input, sizes};
pub use input_note::{FormatChoice, InputNote};
pub use objects::ObjectReader;
pub use options::{ReadOptions, RequestEvent, columns};
pub use reader::{OpenedTrace, RequestReader, detect, note, open, open_any};
pub use request::{NEVER, ObjectRequest, TraceRequest};
