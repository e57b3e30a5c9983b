//! The event logs in `tests/data/spark`, and their JSON.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use gordon_trace::spark::EventLog;
use gordon_units::Progress;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Start of a frequent event.
pub const LINES: &str = "{\"Event\":\"SparkListenerTaskStart\"";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/spark").join(name)
}

/// A file of JSON lines, with both executors on one host.
pub fn log_of_3_5() -> PathBuf {
    data("app-3.5")
}

/// A folder of two files with zstd, with executors on two hosts.
pub fn log_of_4_0() -> PathBuf {
    data("eventlog_v2_app-4.0")
}

/// A file of two queries of Spark 4.3, with the RDDs of their stages and their plans: the check of
/// an input, and a sort of it.
pub fn log_of_a_query() -> PathBuf {
    data("app-4.3-query")
}

pub fn read(path: &Path) -> EventLog {
    EventLog::read(path, false, &Progress::default()).unwrap()
}

/// The lines of a log of plain or zstd files.
pub fn text_of(path: &Path) -> String {
    if path.is_file() {
        return fs::read_to_string(path).unwrap();
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "zstd"));
    files.sort();
    let unpack = |file: &PathBuf| zstd::decode_all(fs::File::open(file).unwrap()).unwrap();
    String::from_utf8(files.iter().flat_map(unpack).collect()).unwrap()
}

/// The events of a log.
pub fn events(path: &Path) -> Vec<Value> {
    text_of(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events with a name.
pub fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["Event"] == name).collect()
}

/// A number in an event, at a JSON pointer.
pub fn count(event: &Value, pointer: &str) -> u64 {
    event.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}"))
}

/// A log with this text.
pub fn written(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::write(&path, text).unwrap();
    (folder, path)
}
