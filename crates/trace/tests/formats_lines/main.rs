//! Each format with a few entries written after its definition, and malformed entries, which must
//! give one clear error with file, position and field.
#![allow(clippy::unwrap_used, missing_docs)]

mod blkparse;
mod blktrace;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod evidence;
mod fio;
mod ftrace;
mod reading;
mod records;

use gordon_blockio::IoOp;
use gordon_trace::formats::{
    Format, FormatError, ReadCounts, ReadOptions, RequestReader, TraceRequest, detect, open,
};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

struct Case {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn case(content: impl AsRef<[u8]>) -> Case {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, content).unwrap();
    Case { _dir: dir, path }
}

fn all(reader: &mut RequestReader) -> Result<Vec<TraceRequest>, FormatError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok(all)
}

fn with(path: &Path, options: &ReadOptions) -> (Vec<TraceRequest>, ReadCounts) {
    let mut reader = open(path, None, options).unwrap();
    let all = all(&mut reader).unwrap();
    (all, reader.counts())
}

/// Checks that the format is detected and all requests are read: (ns, op, device, offset, length).
fn reads(format: Format, content: impl AsRef<[u8]>, expected: &[(u64, IoOp, u32, u64, u64)]) {
    let case = case(content);
    assert_eq!(detect(&case.path).unwrap(), format);
    let (all, _) = with(&case.path, &ReadOptions::default());
    let brief: Vec<_> =
        all.iter().map(|io| (io.at.0, io.op, io.device, io.offset.0, io.len.0)).collect();
    assert_eq!(brief, expected);
}

/// Checks that the text of the error names the file, contains all of `what`, and has a hint on a
/// line of its own.
fn refused(format: Option<Format>, content: impl AsRef<[u8]>, what: &[&str]) -> FormatError {
    let case = case(content);
    let result = open(&case.path, format, &ReadOptions::default()).and_then(|mut r| all(&mut r));
    let error = result.expect_err("the content is bad");
    let text = error.to_string();
    assert!(text.contains(&case.path.display().to_string()), "{text}");
    for what in what {
        assert!(text.contains(what), "`{what}` in: {text}");
    }
    assert!(text.lines().nth(1).is_some_and(|hint| hint.starts_with("  try: ")), "{text}");
    error
}

const S: u64 = 1_000_000_000;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}
