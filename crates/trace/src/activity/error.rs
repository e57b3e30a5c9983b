//! Errors of activity traces. Each says what is wrong, where, and what to try.

use crate::error::TraceError;
use crate::formats::FormatError;
use crate::spark::EventLogError;
use std::path::PathBuf;

/// An error of a conversion. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActivityError {
    /// The input cannot be opened or read, or a line of it is malformed.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The input is not an event log of Spark, or is malformed.
    #[error(transparent)]
    EventLog(#[from] EventLogError),
    /// The input is not JSON, or not the JSON of its format.
    #[error("{path}, line {line}, column {column}: {why}\n  try: {hint}", path = .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// What is wrong.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// The input is of another kind.
    #[error("{path}: {why}\n  try: {hint}", path = .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it is.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// The number of cores is unknown or contradictory.
    #[error("{host}: {why}\n  try: --cores N, the number of cores of the machine")]
    Cores {
        /// The host.
        host: String,
        /// What the input states.
        why: String,
    },
    /// The clock is not one of a processor.
    #[error("--clock {mhz} MHz is not between 1 MHz and 1 THz\n  try: --clock 2.5GHz")]
    Clock {
        /// The clock in MHz.
        mhz: f64,
    },
    /// No sample is left.
    #[error("{path} has no sample to convert{why}\n  try: {hint}", path = .path.display())]
    NoSamples {
        /// The first file.
        path: PathBuf,
        /// What was left out.
        why: String,
        /// What to try.
        hint: &'static str,
    },
    /// Two hosts would have the same folder.
    #[error(
        "hosts `{one}` and `{other}` would both be written to the folder {folder}\n  \
         try: convert them one by one"
    )]
    SameFolder {
        /// The first host.
        one: String,
        /// The second host.
        other: String,
        /// Name of the folder.
        folder: String,
    },
}
