//! The generator of records to sort, as gensort: any record can be made without those before it, so
//! blocks of them are made on all cores.

mod output;
mod random;
mod record;
mod stream;

pub(crate) use output::GeneratorOutput;
pub use record::Records;

use crate::blocks::{self, BLOCK, PIECE};
use crate::validate::{RECORD, checksum};
use crate::{Progress, SortError};
use gordon_units::Bytes;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// What is to be made, and where.
#[derive(Clone, Debug)]
pub struct Generate {
    /// A file, which is there when it is whole; a block device, from its start; a pipe; `-`:
    /// stdout. Several files where it is striped.
    pub outputs: Vec<PathBuf>,
    /// The records lie over the outputs in units of so many bytes: unit n in file n mod their
    /// count.
    pub stripe: Option<Bytes>,
    /// How many.
    pub records: u64,
    /// The number of the first.
    pub start: u128,
    /// Printable characters, and lines; else any bytes.
    pub ascii: bool,
    /// Many keys start alike.
    pub skewed: bool,
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Generated {
    /// How many.
    pub records: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// The sum of the CRC-32 of each, hexadecimal.
    pub checksum: String,
    /// Whether they went past the page cache.
    pub direct: bool,
}

/// Makes records; a file or a block device has them durably.
///
/// # Errors
/// Where there cannot be so many, or they cannot be written; a stop.
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

/// Bytes of all.
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
