//! The generator of records to sort, as gensort: any record can be generated without the earlier
//! ones, so blocks are generated on all cores.

mod output;
mod random;
mod record;
mod stream;

pub(crate) use output::GeneratorOutput;
pub use record::Records;

use crate::blocks::{self, BLOCK, PIECE, RECORD};
use crate::checksum::checksum;
use crate::{Progress, SortError};
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// The records to generate, and their destination.
#[derive(Clone, Debug)]
pub struct Generate {
    /// The outputs: a file (which gets its name when it is complete), a block device (from its
    /// start), a pipe, or `-` for stdout; several files with `stripe`.
    pub outputs: Vec<PathBuf>,
    /// Stripe the records over the outputs in units of this size: unit n is in file n mod their
    /// count.
    pub stripe: Option<Bytes>,
    /// Number of records.
    pub records: u64,
    /// Number of the first record.
    pub start: u128,
    /// Generate printable characters and lines instead of arbitrary bytes.
    pub ascii: bool,
    /// Generate skewed keys, many of which share their first bytes.
    pub skewed: bool,
}

/// A summary of the generated records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Generated {
    /// Number of records.
    pub records: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// The sum of the CRC-32 of each record, in hexadecimal.
    pub checksum: String,
    /// Whether the writes bypassed the page cache.
    pub direct: bool,
}

/// Generates records; in a file or on a block device they are durable on return.
///
/// # Errors
/// Returns an error if the number of records is invalid, a write fails, or a stop is requested.
pub fn generate(what: &Generate, progress: &Progress) -> Result<Generated, SortError> {
    let bytes = length(what)?;
    progress.total.store(bytes, Ordering::Relaxed);
    let records = Records::new(what.ascii, what.skewed);
    let output = match (what.stripe, &what.outputs[..]) {
        (Some(unit), paths) => GeneratorOutput::striped(paths, unit, bytes)?,
        (None, [path]) => GeneratorOutput::open(path, bytes, progress)?,
        (None, paths) => {
            let why = format!("{} of them", paths.len());
            return Err(SortError::impossible("outputs", why, "one, or --stripe SIZE"));
        }
    };
    let sum = Mutex::new(0);
    blocks::each(bytes.div_ceil(BLOCK as u64), progress, |buffer, block| {
        let start = block * BLOCK as u64;
        let len = (bytes - start).min(BLOCK as u64);
        #[allow(clippy::cast_possible_truncation)] // at most a block
        let buffer = &mut buffer.get_mut()[..len as usize];
        let mut first = what.start + u128::from(start / RECORD as u64);
        let mut part = 0;
        for piece in buffer.chunks_mut(PIECE) {
            records.fill(first, piece);
            first = first.wrapping_add((PIECE / RECORD) as u128);
            part += checksum(piece.as_chunks().0);
        }
        *sum.lock().unwrap_or_else(PoisonError::into_inner) += part;
        output.write(block, buffer)?;
        progress.step(len);
        Ok(())
    })?;
    let direct = output.finish()?;
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Generated { records: what.records, bytes, checksum: format!("{sum:x}"), direct })
}

/// Total size in bytes.
fn length(what: &Generate) -> Result<u64, SortError> {
    let bytes =
        what.records.checked_mul(RECORD as u64).filter(|bytes| i64::try_from(*bytes).is_ok());
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
        let most = i64::MAX / RECORD as i64;
        return Err(SortError::impossible(
            "records",
            format!("{} of them", what.records),
            &format!("1 to {most}: no file is longer"),
        ));
    };
    if what.start.checked_add(u128::from(what.records) - 1).is_none() {
        return Err(SortError::impossible(
            "start",
            format!("{} and {} records behind it", what.start, what.records - 1),
            "numbers below 2^128",
        ));
    }
    Ok(bytes)
}
