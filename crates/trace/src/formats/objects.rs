//! Traces of objects: each request has an identifier, a size and, where the trace knows it, the number
//! of the next request for the same object.
//!
//! Today that is oracleGeneral; as a trace of blocks it is read by [`open`](super::open).

use super::detect::HEAD;
use super::error::{Bad, FormatError, Place};
use super::input::Input;
use super::intake::{Counts, Order};
use super::records::{self, OracleRecord};
use super::{Format, Options, open_input};
use std::path::{Path, PathBuf};

const SIZE: usize = 24;
/// Requests of a batch: few, so that they are still in the processor's nearest cache when they are used.
const BATCH: usize = 1 << 10;

/// One request for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Which.
    pub key: u64,
    /// Its bytes: never 0.
    pub size: u32,
    /// The number of the next request for it; none if there is none.
    pub next: Option<u64>,
}

/// Hands out the requests of a trace of objects in batches, in the file's order.
pub struct Objects {
    path: PathBuf,
    input: Input,
    options: Options,
    /// The numbers of next requests are looked at.
    sees_ahead: bool,
    counts: Counts,
    first_skipped: Option<String>,
    number: u64,
    last: u32,
}

impl Objects {
    /// Opens an oracleGeneral trace; `-` is standard input. With `sees_ahead`, the number of a next
    /// request has to lie ahead.
    ///
    /// # Errors
    /// Where it cannot be opened, or the options make no sense for it.
    pub fn open(path: &Path, options: &Options, sees_ahead: bool) -> Result<Self, FormatError> {
        if let Some(device @ 1..) = options.device {
            let why =
                format!("device {device}: a trace of objects has no devices\n  try: without it");
            return Err(FormatError::Option(why));
        }
        if options.order == Order::Sort {
            let why = "order sort: a trace of objects counts its requests in the file's order\n  \
                       try: --order clamp, which keeps it";
            return Err(FormatError::Option(why.to_owned()));
        }
        let mut input = open_input(path)?;
        input.want(HEAD).map_err(|source| FormatError::Open { path: path.to_owned(), source })?;
        Ok(Self {
            path: path.to_owned(),
            input,
            options: *options,
            sees_ahead,
            counts: Counts::default(),
            first_skipped: None,
            number: 0,
            last: 0,
        })
    }

    /// Replaces the content of `batch` with the next requests; false at the end.
    ///
    /// # Errors
    /// Where the file cannot be read, is malformed, goes back in time, or holds no request at all.
    pub fn fill(&mut self, batch: &mut Vec<Object>) -> Result<bool, FormatError> {
        batch.clear();
        while batch.len() < BATCH {
            let count = (self.input.bytes().len() / SIZE).min(BATCH - batch.len());
            batch.reserve(count);
            for i in 0..count {
                let bytes = &self.input.bytes()[i * SIZE..][..SIZE];
                let record = records::oracle_record(bytes);
                let OracleRecord { time, object, size, next } = record;
                // Nearly all: what can be wrong is told apart below.
                let known = !self.sees_ahead || next > self.number.cast_signed() || next == -1;
                if size > 0 && time >= self.last && known {
                    self.last = time;
                    self.number += 1;
                    batch.push(Object { key: object, size, next: following(next) });
                    continue;
                }
                let taken = self.rare(record);
                self.number += 1;
                match taken {
                    Ok(object) => batch.push(object),
                    Err(bad) => self.bad(bad, self.input.position() + (i * SIZE) as u64)?,
                }
            }
            self.input.advance(count * SIZE);
            if count == 0 && !self.more()? {
                break;
            }
        }
        self.counts.requests += batch.len() as u64;
        if self.counts.requests == 0 {
            let why = self.first_skipped.as_ref();
            let why = why.map_or(String::new(), |first| format!(", the first record: {first}"));
            let hint = "check that the file is whole and of this format";
            return Err(FormatError::Empty { path: self.path.clone(), why, hint });
        }
        Ok(!batch.is_empty())
    }

    /// The request of a record that is not as most are, if it can be taken.
    #[cold]
    fn rare(&mut self, record: OracleRecord) -> Result<Object, Bad> {
        let OracleRecord { time, object, size, next } = record;
        if size == 0 {
            return Err(Bad::field("size", b"0", "at least 1 byte"));
        }
        let next_number = following(next);
        let lies_ahead =
            next_number.is_none_or(|next| next > self.number && next <= i64::MAX.cast_unsigned());
        if self.sees_ahead && !lies_ahead {
            let expected = "a record after this one, or -1: without it nobody can see ahead";
            return Err(Bad::field("next access", next.to_string().as_bytes(), expected));
        }
        if time >= self.last {
            self.last = time;
        } else if self.options.order == Order::Clamp {
            self.counts.clamped += 1;
        } else {
            return Err(backwards(self.last, time));
        }
        Ok(Object { key: object, size, next: next_number })
    }

    /// Gets more bytes; false at the end, where no part of a record may be left.
    fn more(&mut self) -> Result<bool, FormatError> {
        let place = Place::Record(self.number, self.input.position());
        let path = &self.path;
        let more = self.input.more();
        if more.map_err(|source| FormatError::Read { path: path.clone(), place, source })? {
            return Ok(true);
        }
        let left = self.input.bytes().len();
        if left > 0 {
            let at = self.input.position();
            self.input.advance(left);
            self.number += 1;
            let found = format!("{left} bytes at the end");
            self.bad(Bad::field("record", found.as_bytes(), "a record of 24 bytes"), at)?;
        }
        Ok(false)
    }

    /// The record `self.number`, from 1, cannot be taken.
    #[cold]
    fn bad(&mut self, bad: Bad, byte: u64) -> Result<(), FormatError> {
        if self.options.skip_bad {
            self.counts.skipped += 1;
            self.first_skipped.get_or_insert_with(|| format!("record {}: {bad}", self.number));
            return Ok(());
        }
        let (path, place) = (self.path.clone(), Place::Record(self.number, byte));
        Err(FormatError::Bad { path, place, format: Format::OracleGeneral, bad })
    }

    /// What was read so far, and what was left out.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What was wrong with the first of those skipped.
    pub fn first_skipped(&self) -> Option<&str> {
        self.first_skipped.as_deref()
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cold]
fn backwards(last: u32, time: u32) -> Bad {
    let seconds = |s: u32| gordon_units::Ns(u64::from(s) * 1_000_000_000);
    Bad::Backwards { by: seconds(last - time), last: seconds(last) }
}

/// The number of the next request, if there is one.
#[inline]
fn following(next: i64) -> Option<u64> {
    if matches!(next, -1 | i64::MAX) { None } else { Some(next.cast_unsigned()) }
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

    fn all(file: &tempfile::NamedTempFile, options: Options) -> Result<Objects, String> {
        let mut objects = Objects::open(file.path(), &options, true).map_err(|e| e.to_string())?;
        let mut batch = Vec::new();
        while objects.fill(&mut batch).map_err(|e| e.to_string())? {}
        Ok(objects)
    }

    #[test]
    fn identifiers_of_64_bits_are_read_as_they_are() {
        let file = file(&[(5, u64::MAX, 7, 1), (5, u64::MAX, 7, -1), (6, 1, 9, i64::MAX)], b"");
        let mut objects = Objects::open(file.path(), &Options::default(), true).unwrap();
        let mut batch = Vec::new();
        assert!(objects.fill(&mut batch).unwrap());
        let object = |key, size, next| Object { key, size, next };
        let expected =
            [object(u64::MAX, 7, Some(1)), object(u64::MAX, 7, None), object(1, 9, None)];
        assert_eq!(batch, expected);
        assert!(!objects.fill(&mut batch).unwrap());
    }

    #[test]
    fn what_cannot_be_is_told_with_its_place_or_left_out_and_counted() {
        type Records<'a> = &'a [(u32, u64, u32, i64)];
        let cases: [(Records<'_>, &[u8], &str); 5] = [
            (&[(1, 1, 5, -1), (1, 2, 0, -1)], b"", "record 2 (byte 24): size: expected at least 1"),
            (&[(9, 1, 5, -1), (8, 2, 5, -1)], b"", "record 2 (byte 24): time goes backwards by 1s"),
            (&[(9, 1, 5, -1), (9, 2, 5, 0)], b"", "record 2 (byte 24): next access: expected"),
            (&[(9, 1, 5, -1), (9, 2, 5, -2)], b"", "record 2 (byte 24): next access: expected"),
            (&[(9, 1, 5, -1)], b"end", "record 2 (byte 24): record: expected a record of 24"),
        ];
        for (records, tail, told) in cases {
            let file = file(records, tail);
            let error = all(&file, Options::default()).unwrap_err();
            assert!(error.contains(told), "{error}");
            let skipping = Options { skip_bad: true, ..Options::default() };
            let objects = all(&file, skipping).unwrap();
            assert_eq!((objects.counts().requests, objects.counts().skipped), (1, 1));
            assert!(objects.first_skipped().unwrap().starts_with("record 2: "));
        }
        let clamping = Options { order: Order::Clamp, ..Options::default() };
        let file = file(&[(9, 1, 5, -1), (8, 2, 5, -1)], b"");
        assert_eq!(all(&file, clamping).unwrap().counts().clamped, 1);
        assert!(all(&file, Options { order: Order::Sort, ..clamping }).is_err());
        assert!(all(&file, Options { device: Some(1), ..clamping }).is_err());
    }

    #[test]
    fn a_file_without_requests_is_told() {
        let error = all(&file(&[], b""), Options::default()).unwrap_err();
        assert!(error.contains("holds no request"), "{error}");
    }

    #[test]
    fn long_traces_come_in_batches() {
        let records: Vec<_> = (0..20_000).map(|i| (i, u64::from(i), 1, -1)).collect();
        assert_eq!(
            all(&file(&records, b""), Options::default()).unwrap().counts().requests,
            20_000
        );
    }
}
