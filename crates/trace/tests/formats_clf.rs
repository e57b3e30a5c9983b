//! Logs that nginx 1.22.1 and Apache 2.4 wrote when one client sent the same requests to each:
//! files, repeated files, a range, a query, a missing file, a redirect, a file not modified, an
//! empty file, HEAD and POST, a user, quotes, bytes that are not a request, HTTP/0.9 and 1.0.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_trace::formats::{
    Format, NEVER, ObjectReader, ObjectRequest, Order, ReadCounts, ReadOptions, detect, open,
};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

const LOGS: [&str; 3] = ["nginx-combined.log", "apache-common.log", "apache-combined.log"];

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/clf").join(name)
}

fn read(
    path: &Path,
    options: &ReadOptions,
) -> Result<(Vec<ObjectRequest>, ReadCounts, Option<String>), String> {
    let error_text = |e: gordon_trace::formats::FormatError| e.to_string();
    let mut objects = ObjectReader::open(path, Format::Clf, options, false).map_err(error_text)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while objects.fill(&mut batch).map_err(error_text)? {
        all.extend_from_slice(&batch);
    }
    Ok((all, objects.counts(), objects.first_skipped().map(str::to_owned)))
}

#[test]
fn logs_of_servers_are_read() {
    let mut keys = Vec::new();
    for name in LOGS {
        let path = log(name);
        assert_eq!(detect(&path).unwrap(), Format::Clf, "{name}");
        let (all, counts, _) = read(&path, &ReadOptions::default()).unwrap();
        // nginx answers a POST for a file with status 405, Apache with the file. A status other
        // than 200 counts before the method.
        let (methods, statuses) = if name.starts_with("nginx") { (2, 7) } else { (3, 6) };
        let expected = ReadCounts {
            requests: 26,
            other_methods: methods,
            other_statuses: statuses,
            empty: 1,
            ..ReadCounts::default()
        };
        assert_eq!(counts, expected, "{name}");
        assert_eq!(all.iter().map(|o| o.size).sum::<u64>(), 1_178_426, "{name}");
        assert!(all.iter().all(|object| object.next == NEVER));
        assert_eq!(all.iter().map(|o| o.key).collect::<HashSet<_>>().len(), 11, "{name}");
        keys.push(all.iter().map(|object| (object.key, object.size)).collect::<Vec<_>>());
    }
    // Both servers logged the same requests.
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], keys[2]);
}

#[test]
fn compressed_without_its_last_end_and_with_carriage_returns() {
    let text = fs::read(log("nginx-combined.log")).unwrap();
    let whole = read(&log("nginx-combined.log"), &ReadOptions::default()).unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log.gz");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, &text).unwrap();
    fs::write(&path, gz.finish().unwrap()).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().0, whole);
    let path = folder.path().join("access.log");
    fs::write(&path, &text[..text.len() - 1]).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().0, whole);
    fs::write(&path, String::from_utf8(text).unwrap().replace('\n', "\r\n\r\n")).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().0, whole);
}

#[test]
fn a_malformed_line_is_an_error_with_its_number_or_left_out_and_counted() {
    let text = fs::read_to_string(log("apache-common.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let with = |third: &str| {
        fs::write(&path, [&lines[..2], &[third], &lines[2..]].concat().join("\n")).unwrap();
    };
    with("127.0.0.1 - - [22/Nov/2026:20:04:51 +0000] \"GET /x HTTP/1.1\" 200 many");
    let error_text = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error_text.contains("line 3: bytes: expected a whole number"), "{error_text}");
    assert!(error_text.contains("(format clf)\n  try: --skip-bad"), "{error_text}");
    let skipping = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    let (all, counts, first) = read(&path, &skipping).unwrap();
    assert_eq!((all.len(), counts.skipped), (26, 1));
    assert!(first.unwrap().starts_with("line 3: bytes: "));
    // A line as Apache writes it for a slow reply.
    with("127.0.0.1 - - [22/Nov/2026:20:04:49 +0000] \"GET /x HTTP/1.1\" 200 7");
    let error_text = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error_text.contains("line 3: time goes backwards by 2s"), "{error_text}");
    let clamping = ReadOptions { order: Order::Clamp, ..ReadOptions::default() };
    let (all, counts, _) = read(&path, &clamping).unwrap();
    assert_eq!((all.len(), counts.clamped), (27, 1));
}

#[test]
fn a_log_without_objects_is_an_error_and_it_has_no_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let line = "h - - [22/Nov/2026:20:04:49 +0000] \"HEAD / HTTP/1.1\" 200 -\n";
    fs::write(&path, line.repeat(3)).unwrap();
    let error_text = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(
        error_text.contains("holds no request: 3 are of other methods than GET, 0 of"),
        "{error_text}"
    );
    let error_text = open(&log(LOGS[0]), None, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error_text.contains("a trace of objects, not of blocks\n  try: gordon cache replay"),
        "{error_text}"
    );
    let error_text =
        ObjectReader::open(&path, Format::MSR, &ReadOptions::default(), false).unwrap_err();
    assert!(error_text.to_string().contains("a trace of blocks, not of objects"), "{error_text}");
}
