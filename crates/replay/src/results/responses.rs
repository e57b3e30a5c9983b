//! Response times in a file: one line per request, in milliseconds, in the order of the load.

use super::output::PendingFile;
use crate::ReplayError;
use crate::host::CompletedRequest;
use gordon_units::Ns;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Collects response times; it needs 8 bytes per request.
pub struct Responses {
    file: File,
    pending: PendingFile,
    times: Vec<Ns>,
}

impl std::fmt::Debug for Responses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responses").finish_non_exhaustive()
    }
}

impl Responses {
    /// Creates a file that appears at `path` when it is finished.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, ReplayError> {
        let (pending, file) = PendingFile::create(path)?;
        Ok(Self { file, pending, times: Vec::new() })
    }

    /// Adds a request.
    pub fn add(&mut self, done: &CompletedRequest) {
        let at = usize::try_from(done.number).expect("as many as memory holds");
        if self.times.len() <= at {
            self.times.resize(at + 1, Ns::ZERO);
        }
        self.times[at] = done.completed - done.arrived;
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn finish(self) -> Result<(), ReplayError> {
        let Self { file, pending, times } = self;
        let mut out = BufWriter::new(file);
        let write = |out: &mut BufWriter<File>| {
            times
                .iter()
                .try_for_each(|t| writeln!(out, "{}.{:06}", t.0 / 1_000_000, t.0 % 1_000_000))?;
            out.flush()
        };
        write(&mut out).map_err(|e| pending.failed(&e))?;
        pending.finish()
    }
}
