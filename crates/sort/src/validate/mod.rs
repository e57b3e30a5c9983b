//! The validator of sorted files, as valsort: order, equal keys, and a checksum that shows whether
//! all records are present.
//!
//! Blocks are checked on all cores independently; then their summaries are joined in order.

mod summary;

pub use summary::Validated;

use crate::blocks::{self, BLOCK, RECORD};
use crate::file::{CacheMode, SortFile};
use crate::generate::GeneratorOutput;
use crate::head::refuse_text;
use crate::{Progress, SortError};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Validates files or block devices that together form one output; returns a summary of each.
/// [`Validated::whole`] joins them. With `records`, only that many records of each are checked.
///
/// # Errors
/// Returns an error if a file cannot be read, has no records, or ends within one, or if a stop is
/// requested.
pub fn validate(
    paths: &[PathBuf],
    records: Option<u64>,
    progress: &Progress,
) -> Result<Vec<Validated>, SortError> {
    let opened: Vec<(SortFile, u64)> = paths
        .iter()
        .map(|path| {
            let file = SortFile::open(path, CacheMode::Direct)?;
            let all = file.len()?;
            if records.is_none() {
                refuse_text(path, all, |head| file.read(0, head)).map_err(not_lines)?;
            }
            let len = length(path, all, records)?;
            Ok((file, len))
        })
        .collect::<Result<_, SortError>>()?;
    progress.total.store(opened.iter().map(|(_, len)| len).sum(), Ordering::Relaxed);
    opened.iter().map(|(file, len)| check(file, *len, progress)).collect()
}

/// Adapts the error for text, since the validator accepts records only.
fn not_lines(error: SortError) -> SortError {
    let SortError::Text { path, .. } = error else { return error };
    let why = "the file is text, not records of 100 bytes";
    let hint = "LC_ALL=C sort -c for lines; --records N for records of 100 bytes";
    SortError::impossible(path.display(), why, hint)
}

/// The number of bytes to check of a file of `len` bytes.
fn length(path: &Path, len: u64, records: Option<u64>) -> Result<u64, SortError> {
    let (what, record) = (path.display(), RECORD as u64);
    if len < record {
        let why = format!("no record in {len} bytes: one has {RECORD}");
        return Err(SortError::impossible(what, why, "a file of at least one record"));
    }
    if let Some(records) = records {
        let asked = records.checked_mul(record).filter(|asked| (1..=len).contains(asked));
        return asked.ok_or_else(|| {
            let why = format!("{records} records of {}", len / record);
            SortError::impossible(what, why, "1 to as many as there are")
        });
    }
    let over = len % record;
    if over > 0 {
        let why = format!(
            "{len} bytes are not whole records of {RECORD}: {over} are left over from byte {} on",
            len - over
        );
        let hint = "the whole file; of a block device, --records: as many as were written";
        return Err(SortError::impossible(what, why, hint));
    }
    Ok(len)
}

/// The summary joined so far, and later blocks that wait for earlier ones.
#[derive(Default)]
struct JoinedSummary {
    next: u64,
    waiting: BTreeMap<u64, Validated>,
    whole: Option<Validated>,
}

impl JoinedSummary {
    fn add(&mut self, block: u64, found: Validated) {
        self.waiting.insert(block, found);
        while let Some(found) = self.waiting.remove(&self.next) {
            self.next += 1;
            match &mut self.whole {
                Some(whole) => whole.join(&found),
                None => self.whole = Some(found),
            }
        }
    }
}

/// Validates one file of at least one record.
fn check(file: &SortFile, len: u64, progress: &Progress) -> Result<Validated, SortError> {
    let joined = Mutex::new(JoinedSummary::default());
    blocks::each(len.div_ceil(BLOCK as u64), progress, |buffer, block| {
        let start = block * BLOCK as u64;
        let bytes = (len - start).min(BLOCK as u64);
        #[allow(clippy::cast_possible_truncation)] // at most a block
        let buffer = &mut buffer.get_mut()[..bytes as usize];
        file.read(start, buffer)?;
        if let Some(found) = Validated::of(buffer.as_chunks().0) {
            joined.lock().unwrap_or_else(PoisonError::into_inner).add(block, found);
        }
        progress.step(bytes);
        Ok(())
    })?;
    let joined = joined.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Some(whole) = joined.whole else { unreachable!("at least one block") };
    Ok(whole)
}

/// Writes a summary as valsort's -o does, to any output of [`crate::generate()`].
///
/// # Errors
/// Returns an error if it cannot be written, or if a stop is requested.
pub fn write_summary(what: &Validated, path: &Path, progress: &Progress) -> Result<(), SortError> {
    let bytes = what.to_bytes();
    let output = GeneratorOutput::open(path, bytes.len() as u64, progress)?;
    output.write(0, &bytes)?;
    output.finish().map(drop)
}

/// Reads concatenated summaries of partitions, in the format of [`Validated::to_bytes`] and
/// valsort.
///
/// # Errors
/// Returns an error if the file cannot be read or holds other data.
pub fn read_summaries(path: &Path) -> Result<Vec<Validated>, SortError> {
    let bytes = fs::read(path).map_err(|error| SortError::system(path, "read it", error))?;
    let (summaries, rest) = bytes.as_chunks();
    let read: Option<Vec<Validated>> = summaries.iter().map(Validated::from_bytes).collect();
    match read {
        Some(read) if rest.is_empty() && !read.is_empty() => Ok(read),
        _ => {
            let why = format!("not summaries of {} bytes, one behind the other", summary::BYTES);
            Err(SortError::impossible(path.display(), why, "files that --summary wrote"))
        }
    }
}
