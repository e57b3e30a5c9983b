//! Paths that are not a trace, and damaged traces: each gives one clear error.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_trace::{ColumnKind, Columns, Scope, Trace, TraceError, TraceWriter};
use std::fs;
use std::path::{Path, PathBuf};

struct Case {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.trace");
    common::write(&path, 3, 1000);
    Trace::open(&path).unwrap();
    Case { _dir: dir, path }
}

/// Checks that the text of the error names `at`, contains `what`, and has a hint on a line of its
/// own.
fn refused(path: &Path, at: &Path, what: &str) -> TraceError {
    let error = Trace::open(path).expect_err(what);
    let text = error.to_string();
    assert!(text.contains(&at.display().to_string()), "{text}");
    assert!(text.contains(what), "{text}");
    assert!(text.lines().nth(1).is_some_and(|hint| hint.starts_with("  try: ")), "{text}");
    error
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn missing() {
    let path = Path::new("/nonexistent/a.trace");
    assert!(matches!(refused(path, path, "does not exist"), TraceError::Missing(_)));
}

#[test]
fn foreign() {
    let dir = tempfile::tempdir().unwrap();
    refused(dir.path(), dir.path(), "the folder is empty");
    let file = dir.path().join("photo.jpg");
    fs::write(&file, "x").unwrap();
    let error = refused(&file, &file, "it is a file");
    assert!(error.to_string().contains("gordon trace convert"), "{error}");
    refused(dir.path(), dir.path(), "no manifest.json");
    let partial = dir.path().join("a.partial-17");
    fs::create_dir(&partial).unwrap();
    refused(&partial, &partial, "killed before it was whole");
    for text in ["GIF89a", "{\"name\": \"an extension\"}", "[1, 2]", "null"] {
        fs::write(dir.path().join("manifest.json"), text).unwrap();
        let error = refused(dir.path(), dir.path(), "not a gordon trace");
        assert!(matches!(error, TraceError::Foreign { .. }));
    }
}

#[test]
fn a_folder_of_several_traces_names_them() {
    let case = case();
    let folder = case.path.parent().unwrap().join("hosts");
    fs::create_dir(&folder).unwrap();
    for name in ["n2", "n1"] {
        let to = folder.join(name);
        fs::create_dir(&to).unwrap();
        fs::copy(case.path.join("manifest.json"), to.join("manifest.json")).unwrap();
    }
    let error = refused(&folder, &folder, "n1, n2");
    assert!(error.to_string().contains(&folder.join("n1").display().to_string()), "{error}");
    assert!(matches!(error, TraceError::Several { traces, .. } if traces == ["n1", "n2"]));
}

#[test]
fn another_version() {
    let case = case();
    edit(&case.path.join("manifest.json"), "\"version\": 2", "\"version\": 7");
    let error = refused(&case.path, &case.path, "version 7");
    assert!(matches!(error, TraceError::Version { found: 7, known: 2, .. }));
}

#[test]
fn a_trace_of_version_1_covers_a_machine() {
    let case = case();
    let file = case.path.join("manifest.json");
    edit(&file, "\"version\": 2", "\"version\": 1");
    let text = fs::read_to_string(&file).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest.as_object_mut().unwrap().remove("scope").expect("version 2 has a scope");
    fs::write(&file, manifest.to_string()).unwrap();
    assert_eq!(Trace::open(&case.path).unwrap().manifest().scope, Scope::default());
}

#[test]
fn manifest_cut_or_of_another_shape() {
    let case = case();
    let file = case.path.join("manifest.json");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, "").unwrap();
    refused(&case.path, &file, "cut short");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    refused(&case.path, &file, "cut short");
    fs::write(&file, &whole).unwrap();
    edit(&file, "\"interval\": \"1s\"", "\"interval\": \"1 parsec\"");
    refused(&case.path, &file, "parsec");
    fs::write(&file, &whole).unwrap();
    edit(&file, "activity.parquet", "../../etc/passwd");
    refused(&case.path, &file, "it lists no activity.parquet");
}

#[test]
fn parts_cut_altered_or_gone() {
    for part in ["activity.parquet", "disks.parquet", "block.parquet"] {
        let case = case();
        let file = case.path.join(part);
        let whole = fs::read(&file).unwrap();
        for len in [0, 3, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..len]).unwrap();
            refused(&case.path, &file, &format!("it has {len} bytes where the manifest says"));
        }
        // The right length does not make another file a part of the trace.
        fs::write(&file, vec![b'x'; whole.len()]).unwrap();
        let error = refused(&case.path, &file, "damaged");
        assert!(matches!(error, TraceError::Damaged { .. }));
        fs::remove_file(&file).unwrap();
        refused(&case.path, &file, "not there");
    }
}

/// A file and a manifest that agree with each other, but not with the format.
#[test]
fn a_part_that_is_another_part() {
    let case = case();
    let file = case.path.join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for key in ["rows", "bytes", "crc32"] {
        manifest["parts"][2][key] = manifest["parts"][1][key].clone();
    }
    fs::write(&file, manifest.to_string()).unwrap();
    let block = case.path.join("block.parquet");
    fs::copy(case.path.join("disks.parquet"), &block).unwrap();
    refused(&case.path, &block, "its column time_ns");
    manifest["parts"][2]["rows"] = 9.into();
    fs::write(&file, manifest.to_string()).unwrap();
    refused(&case.path, &block, "rows where the manifest says 9");
}

/// Changed bytes between intact ends of the file.
#[test]
fn bytes_altered_inside() {
    let case = case();
    let file = case.path.join("block.parquet");
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, bytes).unwrap();
        refused(&case.path, &file, "its bytes have changed");
    }
}

#[test]
fn no_block_log() {
    let case = case();
    let file = case.path.join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    manifest["parts"].as_array_mut().unwrap().retain(|p| p["file"] != "block.parquet");
    manifest["unavailable"] =
        serde_json::json!([{ "what": "block log", "why": "tracefs is for root alone" }]);
    fs::write(&file, manifest.to_string()).unwrap();
    let trace = Trace::open(&case.path).unwrap();
    assert_eq!(trace.activity().unwrap().len(), 3);
    let Err(error) = trace.block() else { panic!("there is none") };
    assert!(error.to_string().contains("tracefs is for root alone"), "{error}");
}

#[test]
fn a_taken_place_is_left_alone() {
    let case = case();
    let before = fs::read(case.path.join("manifest.json")).unwrap();
    let columns = Columns::all(ColumnKind::Measured, "");
    let error = TraceWriter::create(&case.path, &columns).err().expect("the place is taken");
    assert!(matches!(error, TraceError::Exists(_)));
    assert_eq!(fs::read(case.path.join("manifest.json")).unwrap(), before);
    let nowhere = case.path.join("no/such/folder");
    assert!(matches!(TraceWriter::create(&nowhere, &columns), Err(TraceError::Write { .. })));
}

/// An unfinished trace leaves nothing behind.
#[test]
fn an_abandoned_trace_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let writer =
        TraceWriter::create(&dir.path().join("a"), &Columns::all(ColumnKind::Measured, ""));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    drop(writer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
