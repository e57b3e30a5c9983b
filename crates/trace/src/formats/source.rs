//! Reads the two kinds of trace files: lines of text, and records of fixed size.

use super::collector::RequestCollector;
use super::entry_error::{EntryError, FilePosition};
use super::error::FormatError;
use super::input::Input;
use std::path::{Path, PathBuf};

/// A source of requests.
pub(super) trait RequestSource: Send {
    /// Reads until about `want` requests are in `collector`. Returns false at the end of the file.
    fn fill(
        &mut self,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
        want: usize,
    ) -> Result<bool, FormatError>;
}

/// A format of lines.
pub(super) trait LineFormat: Send {
    /// Parses a line that is not blank, without its line end.
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError>;

    /// Called for a blank line.
    fn blank(&mut self) {}
}

/// Reads a format of lines.
pub(super) struct TextSource<L> {
    pub lines: L,
    input: Input,
    path: PathBuf,
    format: &'static str,
    number: u64,
    ended: bool,
}

impl<L: LineFormat> TextSource<L> {
    pub fn new(lines: L, input: Input, path: &Path, format: &'static str) -> Self {
        Self { lines, input, path: path.to_owned(), format, number: 0, ended: false }
    }

    /// Parses one line, whose number is `self.number`.
    #[inline]
    fn line(
        &mut self,
        len: usize,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
    ) -> Result<(), FormatError> {
        self.number += 1;
        let line = trimmed(&self.input.bytes()[..len]);
        if line.is_empty() {
            self.lines.blank();
            return Ok(());
        }
        let Err(bad) = self.lines.line(line, collector) else { return Ok(()) };
        let place = FilePosition::Line(self.number);
        skip.bad(&self.path, place, self.format, bad, collector)
    }
}

/// A line without trailing blanks and carriage returns.
#[inline]
pub(super) fn trimmed(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t' | b'\r'] = line {
        line = rest;
    }
    line
}

impl<L: LineFormat> RequestSource for TextSource<L> {
    fn fill(
        &mut self,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
        want: usize,
    ) -> Result<bool, FormatError> {
        while !self.ended && collector.out.len() < want {
            if let Some(len) = memchr::memchr(b'\n', self.input.bytes()) {
                self.line(len, collector, skip)?;
                self.input.advance(len + 1);
                continue;
            }
            let more = self.input.more().map_err(|source| FormatError::Read {
                path: self.path.clone(),
                place: FilePosition::Line(self.number),
                source,
            })?;
            if !more {
                // The last line may lack its line end.
                let len = self.input.bytes().len();
                self.line(len, collector, skip)?;
                self.input.advance(len);
                self.ended = true;
            }
        }
        Ok(!self.ended)
    }
}

/// A format of records of fixed size.
pub(super) trait FixedRecordFormat: Send {
    /// Bytes of a record.
    const SIZE: usize;

    /// Description of a record, for the error if the last one is truncated.
    const EXPECTED: &'static str;

    /// Parses one record of `SIZE` bytes.
    fn record(&mut self, bytes: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError>;
}

/// Reads a format of records.
pub(super) struct RecordSource<R> {
    pub records: R,
    input: Input,
    path: PathBuf,
    format: &'static str,
    number: u64,
    ended: bool,
}

impl<R: FixedRecordFormat> RecordSource<R> {
    pub fn new(records: R, input: Input, path: &Path, format: &'static str) -> Self {
        Self { records, input, path: path.to_owned(), format, number: 0, ended: false }
    }
}

impl<R: FixedRecordFormat> RequestSource for RecordSource<R> {
    fn fill(
        &mut self,
        collector: &mut RequestCollector,
        skip: &mut SkippedEntries,
        want: usize,
    ) -> Result<bool, FormatError> {
        while !self.ended && collector.out.len() < want {
            let bytes = self.input.bytes();
            let whole = bytes.len() / R::SIZE;
            let count = whole.min(want - collector.out.len());
            for i in 0..count {
                let record = &self.input.bytes()[i * R::SIZE..][..R::SIZE];
                self.number += 1;
                if let Err(bad) = self.records.record(record, collector) {
                    let byte = self.input.position() + (i * R::SIZE) as u64;
                    let place = FilePosition::Record(self.number, byte);
                    skip.bad(&self.path, place, self.format, bad, collector)?;
                }
            }
            self.input.advance(count * R::SIZE);
            if count > 0 {
                continue;
            }
            let place = FilePosition::Record(self.number, self.input.position());
            let more = self.input.more();
            let more = more.map_err(|source| FormatError::Read {
                path: self.path.clone(),
                place,
                source,
            })?;
            if !more {
                self.ended = true;
                let left = self.input.bytes().len();
                if left > 0 {
                    let place = FilePosition::Record(self.number + 1, self.input.position());
                    let found = format!("{left} bytes at the end");
                    let bad = EntryError::field("record", found.as_bytes(), R::EXPECTED);
                    skip.bad(&self.path, place, self.format, bad, collector)?;
                }
            }
        }
        Ok(!self.ended)
    }
}

/// Skips malformed entries or returns their error, and remembers the first.
#[derive(Debug, Default)]
pub(super) struct SkippedEntries {
    pub enabled: bool,
    pub first: Option<String>,
}

impl SkippedEntries {
    #[cold]
    pub fn bad(
        &mut self,
        path: &Path,
        place: FilePosition,
        format: &'static str,
        bad: EntryError,
        collector: &mut RequestCollector,
    ) -> Result<(), FormatError> {
        let bad = Box::new(bad);
        let error = FormatError::Bad { path: path.to_owned(), place, format, bad };
        if !self.enabled {
            return Err(error);
        }
        collector.counts.skipped += 1;
        if self.first.is_none() {
            let text = error.to_string();
            self.first = Some(text.lines().next().unwrap_or_default().to_owned());
        }
        Ok(())
    }
}
