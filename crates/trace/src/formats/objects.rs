//! Reads traces of objects. A request has a key, a size and, if the trace knows it, the number of
//! the next request for the same object.
//!
//! These are oracleGeneral, which [`open`](super::open) can also read as blocks, logs of web
//! servers, and text with a column of keys. Only oracleGeneral has the numbers of the next
//! requests.

use super::collector::{Order, ReadCounts};
use super::delimited::{DelimitedLines, ParsedLine};
use super::entry_error::{EntryError, FilePosition};
use super::error::FormatError;
use super::format::Format;
use super::input::{HEAD, Input, open_input};
use super::input_note::{DetectedFormat, FormatChoice, InputNote};
use super::options::ReadOptions;
use super::records::OracleRecord;
use super::request::{NEVER, ObjectRequest};
use super::source::trimmed;
use super::{clf, records};
use gordon_blockio::IoOp;
use gordon_units::Ns;
use std::path::{Path, PathBuf};

const SIZE: usize = 24;
/// Requests per batch: few enough to be still in the L1 cache when they are used.
const BATCH: usize = 1 << 10;

/// Reads the requests of a trace of objects in batches, in the order of the file.
pub struct ObjectReader {
    note: InputNote,
    path: PathBuf,
    format: Format,
    /// The columns, for text with columns.
    columns: Option<DelimitedLines>,
    input: Input,
    options: ReadOptions,
    /// Whether the numbers of next requests are checked.
    sees_ahead: bool,
    counts: ReadCounts,
    first_skipped: Option<String>,
    number: u64,
    last: Ns,
}

impl ObjectReader {
    /// Opens a trace in a format of objects ([`Format::is_objects`]); `-` is standard input. With
    /// `sees_ahead`, the number of a next request must be that of a later request.
    ///
    /// # Errors
    /// When the file cannot be opened, or the options do not fit it.
    pub fn open(
        path: &Path,
        format: Format,
        options: &ReadOptions,
        sees_ahead: bool,
    ) -> Result<Self, FormatError> {
        if !format.is_objects() {
            let why = format!(
                "format {format} is a trace of blocks, not of objects\n  try: --format with one of \
                 objects"
            );
            return Err(FormatError::Option(why));
        }
        let input = open_input(path)?;
        Self::new(
            path,
            &DetectedFormat::new(format, FormatChoice::Format),
            input,
            options,
            sees_ahead,
        )
    }

    /// Reads `input` in the detected format.
    pub(super) fn new(
        path: &Path,
        detected: &DetectedFormat,
        mut input: Input,
        options: &ReadOptions,
        sees_ahead: bool,
    ) -> Result<Self, FormatError> {
        if let Some(device @ 1..) = options.device {
            let why = format!(
                "--device {device}: a trace of objects has no devices\n  try: leave out --device"
            );
            return Err(FormatError::Option(why));
        }
        if options.order == Order::Sort {
            let why = "--order sort: objects are read in the file's order\n  \
                       try: --order clamp, which keeps that order";
            return Err(FormatError::Option(why.to_owned()));
        }
        // A read error occurs again when the trace is read, and is reported then with its position.
        let _ = input.want(HEAD);
        let format = detected.format;
        let mut options = options.clone();
        if options.clamps_logs && format == Format::Clf {
            options.order = Order::Clamp;
        }
        let description = format.delimited(&options);
        let columns =
            description.map(|description| DelimitedLines::new(&description, options.time_unit));
        Ok(Self {
            note: InputNote::new(path, detected, &options, true),
            path: path.to_owned(),
            format,
            columns,
            input,
            options,
            sees_ahead,
            counts: ReadCounts::default(),
            first_skipped: None,
            number: 0,
            last: Ns::ZERO,
        })
    }

    /// Replaces the content of `batch` with the next requests. Returns false at the end.
    ///
    /// # Errors
    /// When the file cannot be read, is malformed, goes back in time, or has no requests.
    pub fn fill(&mut self, batch: &mut Vec<ObjectRequest>) -> Result<bool, FormatError> {
        batch.clear();
        if self.format == Format::OracleGeneral {
            self.records(batch)?;
        } else {
            self.lines(batch)?;
        }
        self.counts.requests += batch.len() as u64;
        if self.counts.requests == 0 {
            return Err(self.empty());
        }
        Ok(!batch.is_empty())
    }

    #[cold]
    fn empty(&self) -> FormatError {
        let ReadCounts { other_methods, other_statuses, empty, .. } = self.counts;
        let mut why = String::new();
        if other_methods + other_statuses > 0 {
            why = format!(
                ": {other_methods} are of other methods than GET, {other_statuses} of other \
                 statuses than 200, {empty} without bytes"
            );
        } else if empty > 0 {
            why = format!(": {empty} are of no bytes");
        }
        if let Some(first) = &self.first_skipped {
            why = format!(", the first that is malformed: {first}");
        }
        let hint = "check that the file is whole and of this format";
        FormatError::Empty { path: self.path.clone(), why, hint }
    }

    /// Checks that time does not go backwards. Returns the time of the request.
    #[inline]
    fn ordered(&mut self, time: Ns) -> Result<Ns, EntryError> {
        if time >= self.last {
            self.last = time;
        } else if self.options.order == Order::Clamp {
            self.counts.clamped += 1;
        } else {
            return Err(backwards(self.last, time));
        }
        Ok(self.last)
    }

    fn lines(&mut self, batch: &mut Vec<ObjectRequest>) -> Result<(), FormatError> {
        while batch.len() < BATCH {
            let bytes = self.input.bytes();
            let Some(len) = memchr::memchr(b'\n', bytes) else {
                if !self.more_bytes()? {
                    // The last line may lack its line end.
                    let len = self.input.bytes().len();
                    if len > 0 {
                        self.line(len, batch)?;
                        self.input.advance(len);
                    }
                    return Ok(());
                }
                continue;
            };
            self.line(len, batch)?;
            self.input.advance(len + 1);
        }
        Ok(())
    }

    fn line(&mut self, len: usize, batch: &mut Vec<ObjectRequest>) -> Result<(), FormatError> {
        self.number += 1;
        let line = trimmed(&self.input.bytes()[..len]);
        if line.is_empty() {
            if let Some(columns) = &mut self.columns {
                columns.pass();
            }
            return Ok(());
        }
        let read = match &mut self.columns {
            Some(columns) => match columns.row(line) {
                Ok(ParsedLine::NoRow) => Ok(()),
                Ok(ParsedLine::Other) => {
                    self.counts.other_kinds += 1;
                    Ok(())
                }
                // Only reads and writes are requests for an object; a discard or a flush is not.
                Ok(ParsedLine::Row(row)) if !matches!(row.op, IoOp::Read | IoOp::Write) => {
                    self.counts.other_kinds += 1;
                    Ok(())
                }
                Ok(ParsedLine::Row(row)) if row.size == 0 => {
                    self.counts.empty += row.repeat;
                    Ok(())
                }
                Ok(ParsedLine::Row(row)) => {
                    self.counts.hashed_keys += row.hashed;
                    self.ordered(Ns(row.time)).map(|at| {
                        let (key, next, size) = (row.key, NEVER, row.size);
                        let object =
                            ObjectRequest { key, next, size, at, write: row.op == IoOp::Write };
                        batch.extend((0..row.repeat).map(|_| object));
                    })
                }
                Err(bad) => Err(bad),
            },
            None => match clf::line(line) {
                Ok(clf::LogLine::Taken { object, virtual_host }) => {
                    self.ordered(object.at).map(|at| {
                        self.counts.virtual_hosts += u64::from(virtual_host);
                        batch.push(ObjectRequest { at, ..object });
                    })
                }
                Ok(clf::LogLine::Method) => {
                    self.counts.other_methods += 1;
                    Ok(())
                }
                Ok(clf::LogLine::Status) => {
                    self.counts.other_statuses += 1;
                    Ok(())
                }
                Ok(clf::LogLine::Empty) => {
                    self.counts.empty += 1;
                    Ok(())
                }
                Err(bad) => Err(bad),
            },
        };
        read.or_else(|bad| self.bad(bad, FilePosition::Line(self.number)))
    }

    fn records(&mut self, batch: &mut Vec<ObjectRequest>) -> Result<(), FormatError> {
        while batch.len() < BATCH && (self.input.bytes().len() >= SIZE || self.more()?) {
            let bytes = self.input.bytes();
            let count = (bytes.len() / SIZE).min(BATCH - batch.len());
            let records = bytes[..count * SIZE].chunks_exact(SIZE).map(records::oracle_record);
            let plain = self.first_to_check(records.clone()).unwrap_or(count);
            batch.extend(records.take(plain).map(|OracleRecord { time, object, size, next }| {
                let (size, at) = (u64::from(size), seconds(time));
                ObjectRequest { key: object, next: following(next), size, at, write: false }
            }));
            self.last = batch.last().map_or(self.last, |object| object.at);
            self.number += plain as u64;
            self.input.advance(plain * SIZE);
            if plain < count {
                let (byte, record) = (self.input.position(), &self.input.bytes()[..SIZE]);
                let taken = self.checked_request(records::oracle_record(record));
                self.input.advance(SIZE);
                self.number += 1;
                match taken {
                    Ok(object) => batch.extend(object),
                    Err(bad) => self.bad(bad, FilePosition::Record(self.number, byte))?,
                }
            }
        }
        Ok(())
    }

    /// Index of the first record that needs a check: it has no bytes, or an invalid time or next
    /// request.
    #[inline]
    fn first_to_check(&self, mut records: impl Iterator<Item = OracleRecord>) -> Option<usize> {
        let (mut last, mut number) = (self.last, self.number.cast_signed());
        records.position(|OracleRecord { time, size, next, .. }| {
            let known = !self.sees_ahead || next > number || next == -1;
            let plain = size > 0 && seconds(time) >= last && known;
            last = seconds(time);
            number += 1;
            !plain
        })
    }

    /// The request of a record that needs a check; `None` if it has no bytes.
    fn checked_request(
        &mut self,
        record: OracleRecord,
    ) -> Result<Option<ObjectRequest>, EntryError> {
        let OracleRecord { time, object, size, next } = record;
        if size == 0 {
            self.counts.empty += 1;
            return Ok(None);
        }
        let lies_ahead = next == -1 || next > self.number.cast_signed();
        if self.sees_ahead && !lies_ahead {
            let expected = "the number of a later record, or -1";
            return Err(EntryError::field("next access", next.to_string().as_bytes(), expected));
        }
        let (at, size) = (self.ordered(seconds(time))?, u64::from(size));
        Ok(Some(ObjectRequest { key: object, next: following(next), size, at, write: false }))
    }

    /// Reads more bytes. Returns false at the end; a partial record there is an error.
    fn more(&mut self) -> Result<bool, FormatError> {
        if self.more_bytes()? {
            return Ok(true);
        }
        let left = self.input.bytes().len();
        if left > 0 {
            let at = self.input.position();
            self.input.advance(left);
            self.number += 1;
            let found = format!("{left} bytes at the end");
            let bad = EntryError::field("record", found.as_bytes(), "a record of 24 bytes");
            self.bad(bad, FilePosition::Record(self.number, at))?;
        }
        Ok(false)
    }

    /// Reads more bytes. Returns false at the end.
    fn more_bytes(&mut self) -> Result<bool, FormatError> {
        let place = match self.format {
            Format::OracleGeneral => FilePosition::Record(self.number, self.input.position()),
            _ => FilePosition::Line(self.number),
        };
        let path = &self.path;
        let more = self.input.more();
        more.map_err(|source| FormatError::Read { path: path.clone(), place, source })
    }

    /// Skips or reports a malformed line or record at `place`.
    #[cold]
    fn bad(&mut self, bad: EntryError, place: FilePosition) -> Result<(), FormatError> {
        if self.options.skip_bad {
            self.counts.skipped += 1;
            let place = match place {
                FilePosition::Line(number) => format!("line {number}"),
                FilePosition::Record(number, _) => format!("record {number}"),
            };
            self.first_skipped.get_or_insert_with(|| format!("{place}: {bad}"));
            return Ok(());
        }
        Err(FormatError::Bad {
            path: self.path.clone(),
            place,
            format: self.format.name(),
            bad: Box::new(bad),
        })
    }

    /// How the trace is read: its format, how that was chosen, its units.
    pub fn note(&self) -> &InputNote {
        &self.note
    }

    /// The format that is read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Counters of the entries so far.
    pub fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// Whether times are in whole seconds, so that the requests of a second have the same time.
    pub fn whole_seconds(&self) -> bool {
        match &self.columns {
            Some(columns) => columns.whole_seconds(),
            None => true,
        }
    }

    /// What was left out or changed so far, one line each.
    pub fn notes(&self) -> Vec<String> {
        self.counts.notes(self.first_skipped(), false)
    }

    /// Error of the first skipped line or record.
    pub fn first_skipped(&self) -> Option<&str> {
        self.first_skipped.as_deref()
    }
}

impl std::fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cold]
fn backwards(last: Ns, time: Ns) -> EntryError {
    let hint = "--order clamp, which keeps the file's order";
    EntryError::Backwards { by: Ns(last.0 - time.0), last, hint }
}

#[inline]
fn seconds(time: u32) -> Ns {
    Ns(u64::from(time) * Ns::SECOND.0)
}

/// The number of the next request. The values -1 and `i64::MAX` are [`NEVER`].
#[inline]
fn following(next: i64) -> u64 {
    if next == i64::MAX { NEVER } else { next.cast_unsigned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(records: &[(u32, u64, u32, i64)], tail: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for (time, object, size, next) in records {
            file.write_all(&time.to_le_bytes()).unwrap();
            file.write_all(&object.to_le_bytes()).unwrap();
            file.write_all(&size.to_le_bytes()).unwrap();
            file.write_all(&next.to_le_bytes()).unwrap();
        }
        file.write_all(tail).unwrap();
        file
    }

    fn all(file: &tempfile::NamedTempFile, options: ReadOptions) -> Result<ObjectReader, String> {
        let mut objects = ObjectReader::open(file.path(), Format::OracleGeneral, &options, true)
            .map_err(|e| e.to_string())?;
        let mut batch = Vec::new();
        while objects.fill(&mut batch).map_err(|e| e.to_string())? {}
        Ok(objects)
    }

    #[test]
    fn identifiers_of_64_bits_are_read_as_they_are() {
        let file = file(&[(5, u64::MAX, 7, 1), (5, u64::MAX, 7, -1), (6, 1, 9, i64::MAX)], b"");
        let mut objects =
            ObjectReader::open(file.path(), Format::OracleGeneral, &ReadOptions::default(), true)
                .unwrap();
        let mut batch = Vec::new();
        assert!(objects.fill(&mut batch).unwrap());
        let object = |second: u64, key, size, next| ObjectRequest {
            key,
            next,
            size,
            at: Ns::SECOND * second,
            write: false,
        };
        let expected =
            [object(5, u64::MAX, 7, 1), object(5, u64::MAX, 7, NEVER), object(6, 1, 9, NEVER)];
        assert_eq!(batch, expected);
        assert!(!objects.fill(&mut batch).unwrap());
    }

    #[test]
    fn a_malformed_record_is_an_error_with_its_position_or_left_out_and_counted() {
        type Records<'a> = &'a [(u32, u64, u32, i64)];
        let cases: [(Records<'_>, &[u8], &str); 4] = [
            (&[(9, 1, 5, -1), (8, 2, 5, -1)], b"", "record 2 (byte 24): time goes backwards by 1s"),
            (&[(9, 1, 5, -1), (9, 2, 5, 0)], b"", "record 2 (byte 24): next access: expected"),
            (&[(9, 1, 5, -1), (9, 2, 5, -2)], b"", "record 2 (byte 24): next access: expected"),
            (&[(9, 1, 5, -1)], b"end", "record 2 (byte 24): record: expected a record of 24"),
        ];
        for (records, tail, error_text) in cases {
            let file = file(records, tail);
            let error = all(&file, ReadOptions::default()).unwrap_err();
            assert!(error.contains(error_text), "{error}");
            let skipping = ReadOptions { skip_bad: true, ..ReadOptions::default() };
            let objects = all(&file, skipping).unwrap();
            assert_eq!((objects.counts().requests, objects.counts().skipped), (1, 1));
            assert!(objects.first_skipped().unwrap().starts_with("record 2: "));
        }
        let clamping = || ReadOptions { order: Order::Clamp, ..ReadOptions::default() };
        let file = file(&[(9, 1, 5, -1), (8, 2, 5, -1)], b"");
        assert_eq!(all(&file, clamping()).unwrap().counts().clamped, 1);
        assert!(all(&file, ReadOptions { order: Order::Sort, ..clamping() }).is_err());
        assert!(all(&file, ReadOptions { device: Some(1), ..clamping() }).is_err());
    }

    #[test]
    fn a_file_without_requests_is_an_error() {
        let error = all(&file(&[], b""), ReadOptions::default()).unwrap_err();
        assert!(error.contains("holds no request"), "{error}");
        let error = all(&file(&[(1, 1, 0, -1), (1, 2, 0, -1)], b""), ReadOptions::default());
        assert!(error.unwrap_err().contains("holds no request: 2 are of no bytes"));
    }

    /// The numbers of next requests include the records that are left out.
    #[test]
    fn requests_of_no_bytes_are_left_out_and_counted() {
        let mut records = vec![(1, 7, 0, -1); 3000];
        records.extend([(1, 8, 5, 3001), (1, 8, 5, -1), (2, 9, 0, -1), (3, 9, 6, -1)]);
        let file = file(&records, b"");
        assert_eq!(super::super::detect(file.path()).unwrap(), Format::OracleGeneral);
        let objects = all(&file, ReadOptions::default()).unwrap();
        assert_eq!((objects.counts().requests, objects.counts().empty), (3, 3001));
        let mut blocks = super::super::open(file.path(), None, &ReadOptions::default()).unwrap();
        let mut batch = Vec::new();
        while blocks.fill(&mut batch).unwrap() {}
        assert_eq!((blocks.counts().requests, blocks.counts().empty), (3, 3001));
    }

    #[test]
    fn no_hint_names_an_option_that_a_trace_of_objects_refuses() {
        let file = file(&[(9, 1, 5, -1), (8, 2, 5, -1)], b"");
        let error = all(&file, ReadOptions::default()).unwrap_err();
        let hint = error.lines().nth(1).unwrap();
        assert!(hint.contains("--order clamp") && !hint.contains("sort") && !hint.contains("skip"));
    }

    #[test]
    fn long_traces_come_in_batches() {
        let records: Vec<_> = (0..20_000).map(|i| (i, u64::from(i), 1, -1)).collect();
        assert_eq!(
            all(&file(&records, b""), ReadOptions::default()).unwrap().counts().requests,
            20_000
        );
    }
}
