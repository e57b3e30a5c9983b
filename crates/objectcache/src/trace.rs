//! The trace of requests, in the format `oracleGeneral`, which `gordon cache tiered` and `gordon
//! cache replay` read.
//!
//! A record is a time in seconds, the hash of the key, the bytes that the object takes in the
//! cache, and -1, since the next request is unknown. A request that finds its object is recorded
//! then; one that does not when the object is stored, since only then its size is known. A miss
//! after which nothing is stored is not recorded. Threads record in the order in which they get to
//! the file; a record has no earlier time than the one before it.

use gordon_units::Ns;
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Result, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a record.
const RECORD: usize = 24;

pub(crate) struct TraceWriter(Mutex<State>);

struct State {
    /// `None` after a failed write.
    writer: Option<BufWriter<File>>,
    /// Seconds of the last record.
    last: u32,
}

impl TraceWriter {
    /// Creates the file, or continues it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or is not a whole number of records.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        if !file.metadata()?.len().is_multiple_of(RECORD as u64) {
            let why = "the file exists and is not a trace of requests, which would be continued";
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        Ok(Self(Mutex::new(State { writer: Some(BufWriter::new(file)), last: 0 })))
    }

    /// Records a request. After a failed write, nothing more is recorded.
    pub fn record(&self, at: Ns, hash: u64, bytes: u64) {
        let mut state = self.state();
        state.last = state.last.max(u32::try_from(at.0 / Ns::SECOND.0).unwrap_or(u32::MAX));
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&state.last.to_le_bytes());
        record[4..12].copy_from_slice(&hash.to_le_bytes());
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        record[12..16].copy_from_slice(&bytes.to_le_bytes());
        record[16..].copy_from_slice(&(-1_i64).to_le_bytes());
        state.tried(|writer| writer.write_all(&record));
    }

    /// Writes what is buffered.
    pub fn flush(&self) {
        self.state().tried(BufWriter::flush);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tried(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) {
        if self.writer.as_mut().is_some_and(|writer| write(writer).is_err()) {
            self.writer = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_do_not_go_backwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let trace = TraceWriter::open(&path).expect("it is created");
        for seconds in [7, 9, 8, 10] {
            trace.record(Ns(seconds * Ns::SECOND.0), seconds, 100);
        }
        trace.flush();
        let written = std::fs::read(&path).expect("it is there");
        let times: Vec<u32> = written
            .chunks_exact(24)
            .map(|record| u32::from_le_bytes(record[..4].try_into().expect("four bytes")))
            .collect();
        assert_eq!(times, [7, 9, 9, 10]);
    }
}
