//! What a replay depends on, and its SHA-256.

use super::RESULTS_VERSION;
use crate::error::ClusterError;
use crate::space::storage::Storage;
use gordon_trace::{Trace, TraceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Version of the program.
pub(super) const GORDON: &str = env!("CARGO_PKG_VERSION");

/// The name of a version of Gordon and of its results.
pub(super) fn label(gordon: &str, results: u32) -> String {
    format!("{gordon}-r{results}")
}

/// SHA-256 of what a replay uses of a trace: its files, and which devices are virtual. The rest of
/// the manifest (command, folder, start) does not count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct TraceDigest(String);

impl TraceDigest {
    pub(super) fn of(trace: &Trace) -> Result<Self, ClusterError> {
        let manifest = trace.manifest();
        let mut files = Vec::new();
        for part in &manifest.parts {
            let path = trace.path().join(&part.file);
            let sum = file_digest(&path).map_err(|source| TraceError::Read { path, source })?;
            files.push((&part.file, sum));
        }
        let disks = manifest.machine.disks.iter().filter(|disk| disk.is_virtual);
        let devices: Vec<u32> = disks.map(|disk| disk.device).collect();
        let content = json!({ "files": files, "virtual": devices });
        Ok(Self(digest(content.to_string().as_bytes())))
    }
}

fn file_digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&sum.finalize())),
            len => sum.update(&buffer[..len]),
        }
    }
}

/// SHA-256 in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All that a replay depends on. Two replays with equal keys have equal results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplayKey {
    value: Value,
    hash: String,
}

impl ReplayKey {
    pub(super) fn of(trace: &TraceDigest, storage: &Storage) -> Self {
        let value = json!({
            "gordon": GORDON,
            "results": RESULTS_VERSION,
            "trace": trace,
            "device": storage.device.timed(),
            "count": storage.count,
        });
        let hash = digest(value.to_string().as_bytes());
        Self { value, hash }
    }

    /// The key as JSON, for entries.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// SHA-256 of the key, in hexadecimal: the name of the entry.
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }
}
