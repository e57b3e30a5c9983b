//! The trace of requests, in the format `oracleGeneral`, which `gordon cache tiered` and `gordon
//! cache replay` read.
//!
//! A record is a time in seconds, the hash of the key, the bytes that the object takes in the cache,
//! and -1, since the next request is unknown. A request that finds its object is recorded then; one
//! that does not when the object is stored, since only then its size is known. A miss after which
//! nothing is stored is not recorded.

use gordon_units::Ns;
use std::fs::File;
use std::io::{BufWriter, Result, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub(crate) struct TraceWriter(Mutex<Option<BufWriter<File>>>);

impl TraceWriter {
    /// Creates the file, or continues it.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self(Mutex::new(Some(BufWriter::new(file)))))
    }

    /// Records a request. After a failed write, nothing more is recorded.
    pub fn record(&self, at: Ns, hash: u64, bytes: u64) {
        let mut record = [0; 24];
        let seconds = u32::try_from(at.0 / Ns::SECOND.0).unwrap_or(u32::MAX);
        record[..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..12].copy_from_slice(&hash.to_le_bytes());
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        record[12..16].copy_from_slice(&bytes.to_le_bytes());
        record[16..].copy_from_slice(&(-1_i64).to_le_bytes());
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_mut().is_some_and(|writer| writer.write_all(&record).is_err()) {
            *writer = None;
        }
    }

    /// Writes what is buffered.
    pub fn flush(&self) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_mut().is_some_and(|writer| writer.flush().is_err()) {
            *writer = None;
        }
    }
}
