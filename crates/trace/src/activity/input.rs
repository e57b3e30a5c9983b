//! Opens the files of activity traces, and parses JSON.

use super::error::ActivityError;
use crate::foreign::{ForeignText, foreign_text};
use crate::formats::{FilePosition, FormatError, open_input};
use gordon_units::Progress;
use serde::de::DeserializeOwned;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes from which a format is detected.
pub(super) const HEAD: usize = 1 << 12;
/// Bytes from which the output of another program is known.
const FOREIGN_HEAD: usize = 1 << 16;

/// Start of sadc's binary files: SYSSTAT_MAGIC, 0xd596, of a machine with this byte order.
pub(super) const SADC: [u8; 2] = [0x96, 0xd5];

/// The error of a reader that was stopped.
const STOPPED: &str = "stopped";

/// Decompressed bytes of a file. Reading reports progress, and ends early if it is requested to
/// stop.
pub(super) struct WatchedReader<'a> {
    from: Box<dyn Read + Send>,
    progress: &'a Progress,
    /// Bytes of this file, before decompression, that are read.
    read: Arc<AtomicU64>,
    /// Those that are in `progress`.
    reported: u64,
}

impl Read for WatchedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.stopped() {
            return Err(io::Error::other(STOPPED));
        }
        let len = self.from.read(into)?;
        let read = self.read.load(Ordering::Relaxed);
        self.progress.step(read - self.reported);
        self.reported = read;
        Ok(len)
    }
}

/// Opens `path` (`-` is standard input), and returns its first byte that is not blank with all of
/// its bytes.
pub(super) fn open<'a>(
    path: &Path,
    progress: &'a Progress,
) -> Result<(u8, BufReader<WatchedReader<'a>>), ActivityError> {
    let mut input = open_input(path)?;
    let failed = |source| read_error(path, 0, source);
    input.want(HEAD).map_err(failed)?;
    let head = input.bytes();
    let first = head.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    let Some(first) = first else {
        let why = "it is empty".to_owned();
        return Err(ActivityError::Content { path: path.to_owned(), why, hint: "another file" });
    };
    let read = input.bytes_read();
    let from = Box::new(input.into_reader());
    let reader = WatchedReader { from, progress, read, reported: 0 };
    Ok((first, BufReader::with_capacity(1 << 16, reader)))
}

/// The error of a read after `line` lines.
pub(super) fn read_error(path: &Path, line: u64, source: io::Error) -> ActivityError {
    if source.to_string() == STOPPED {
        return FormatError::Stopped.into();
    }
    let place = FilePosition::Line(line);
    FormatError::Read { path: path.to_owned(), place, source }.into()
}

/// What a file is that cannot be read, by its first bytes. A pipe cannot be read again.
pub(super) fn foreign_file(path: &Path) -> Option<ForeignText> {
    let mut input = path.is_file().then(|| open_input(path).ok())??;
    input.want(FOREIGN_HEAD).ok()?;
    let bytes = input.bytes();
    foreign_text(&String::from_utf8_lossy(&bytes[..bytes.len().min(FOREIGN_HEAD)]))
}

/// Parses the JSON documents of a file in sequence.
pub(super) fn documents<T: DeserializeOwned>(
    path: &Path,
    from: impl Read,
    mut each: impl FnMut(T) -> Result<(), ActivityError>,
    hint: &'static str,
) -> Result<(), ActivityError> {
    for document in serde_json::Deserializer::from_reader(from).into_iter::<T>() {
        each(document.map_err(|error| json_error(path, error, hint))?)?;
    }
    Ok(())
}

fn json_error(path: &Path, error: serde_json::Error, hint: &'static str) -> ActivityError {
    let (line, column) = (error.line(), error.column());
    if error.is_io() {
        return read_error(path, line as u64, error.into());
    }
    if let Some(ForeignText { what, hint }) = foreign_file(path) {
        return ActivityError::Content { path: path.to_owned(), why: what.to_owned(), hint };
    }
    let path = path.to_owned();
    if error.is_eof() {
        let why = "the JSON ends early".to_owned();
        let hint = "a fresh copy of the file, which is cut short";
        return ActivityError::Json { path, line, column, why, hint };
    }
    // The position is in the fields of our error.
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why).to_owned();
    ActivityError::Json { path, line, column, why, hint }
}
