//! Conversions between formats and back keep everything that both formats can express.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_blockio::IoOp;
use gordon_trace::formats::{
    ConversionReport, Format, FormatError, ReadOptions, TraceRequest, convert, detect, open,
};
use gordon_trace::{ColumnKind, Trace, TraceError};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn run(input: &Path, output: &Path, to: Format) -> Result<ConversionReport, FormatError> {
    convert(input, output, None, Some(to), &ReadOptions::default(), &AtomicBool::new(false))?
        .publish()
}

fn all(path: &Path) -> Vec<TraceRequest> {
    open(path, None, &ReadOptions::default()).unwrap().flat_map(Result::unwrap).collect()
}

/// The resolution of times in a format, in nanoseconds.
fn grain(format: Format) -> u64 {
    match format {
        Format::Fio | Format::ALIBABA => 1000,
        Format::MSR => 100,
        _ => 1,
    }
}

const WRITTEN: [Format; 7] = [
    Format::Gordon,
    Format::Fio,
    Format::MSR,
    Format::MQSIM,
    Format::DISKSIM,
    Format::SPC,
    Format::ALIBABA,
];

/// Reads and writes of one device, each at a different time.
fn original(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("a.mqsim");
    let line = |i: u64| format!("{} 0 {} {} {}\n", i * 1_234_567, i * 977, 1 + i % 300, i % 3 % 2);
    fs::write(&path, (0..10_000).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let source = original(folder.path());
    let expected = all(&source);
    for format in WRITTEN {
        for ending in ["", ".gz", ".zst"] {
            if format == Format::Gordon && !ending.is_empty() {
                continue;
            }
            let path = folder.path().join(format!("{format}{ending}"));
            let made = run(&source, &path, format).unwrap();
            assert_eq!((made.from, made.to), ("mqsim", format.name()));
            assert_eq!((made.requests, made.not_written), (10_000, 0));
            let lost: &[&str] = match format {
                Format::Fio | Format::ALIBABA => &["times are cut to multiples of 1us"],
                Format::MSR => {
                    &["have a response time of 0", "times are cut to multiples of 100ns"]
                }
                _ => &[],
            };
            assert_eq!(made.warnings.len(), lost.len(), "{:?}", made.warnings);
            assert!(
                lost.iter().zip(&made.warnings).all(|(lost, error_text)| error_text.contains(lost))
            );
            assert_eq!(detect(&path).unwrap(), format);
            let grain = grain(format);
            let rounded: Vec<TraceRequest> = expected
                .iter()
                .map(|io| TraceRequest {
                    at: Ns(io.at.0 / grain * grain),
                    latency: (format == Format::MSR).then_some(Ns::ZERO),
                    ..*io
                })
                .collect();
            assert_eq!(all(&path), rounded, "{format}");
            // Back to our own format.
            let back = folder.path().join(format!("{format}{ending}.back"));
            run(&path, &back, Format::MQSIM).unwrap();
            if grain == 1 {
                assert_eq!(fs::read(&back).unwrap(), fs::read(&source).unwrap(), "{format}");
            }
        }
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn formats_not_written() {
    let written = Format::all().filter(|f| f.is_written() && !f.is_objects());
    assert_eq!(written.collect::<Vec<_>>(), WRITTEN);
    let folder = tempfile::tempdir().unwrap();
    let source = original(folder.path());
    let error = run(&source, &folder.path().join("x"), Format::Vscsi).unwrap_err().to_string();
    assert!(error.contains("read, not written") && error.contains("mqsim"), "{error}");
}

#[test]
fn captured_to_text_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (own, text, back) =
        (folder.path().join("a"), folder.path().join("a.log"), folder.path().join("b"));
    common::write(&own, 3, 10_000);
    let expected = all(&own);
    let made = run(&own, &text, Format::Fio).unwrap();
    assert_eq!((made.read.requests, made.flush.requests, made.not_written), (2500, 2500, 0));
    assert!(made.warnings[0].contains("latencies are lost"), "{:?}", made.warnings);
    assert!(made.warnings[1].contains("processes and the other flags"), "{:?}", made.warnings);
    assert_eq!(run(&text, &back, Format::Gordon).unwrap().requests, 10_000);
    let as_fio = |io: &TraceRequest| {
        let flush = io.op == IoOp::Flush;
        TraceRequest {
            // fio's log has file names instead of device numbers, and flushes without an address.
            device: 0,
            offset: if flush { Bytes::ZERO } else { io.offset },
            latency: None,
            pid: None,
            ..*io
        }
    };
    assert_eq!(all(&back), expected.iter().map(as_fio).collect::<Vec<_>>());
    // Requests that a format cannot express are left out and reported.
    let made = run(&own, &folder.path().join("a.spc"), Format::SPC).unwrap();
    assert_eq!((made.requests, made.not_written), (10_000, 5000));
    assert!(
        made.warnings[0].contains("not written: 5000 discards and flushes"),
        "{:?}",
        made.warnings
    );
}

/// A latency of 0 stands for an unknown one, so nothing is lost.
#[test]
fn latencies_of_zero_are_not_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let [path, msr, back] = ["a", "b", "c"].map(|name| folder.path().join(name));
    fs::write(&path, "5 0 8 8 1\n9 0 16 8 0\n").unwrap();
    run(&path, &msr, Format::MSR).unwrap();
    assert_eq!(run(&msr, &back, Format::MQSIM).unwrap().warnings, [""; 0]);
    let text = fs::read_to_string(&msr).unwrap();
    let measured = text.trim_end().strip_suffix(",0").unwrap().to_owned() + ",700\n";
    fs::write(&msr, measured).unwrap();
    let made = run(&msr, &folder.path().join("d"), Format::MQSIM).unwrap();
    assert!(made.warnings[0].contains("latencies are lost"), "{:?}", made.warnings);
}

/// A warning is also given if only a response time is finer than the format can express.
#[test]
fn truncated_response_times_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let lines = "R Miss 8 8 10.0 20.0\nR Miss 16 8 LATENCY 20.0\n";
    for (latency, error_text) in [("30.1", 0), ("30.15", 1)] {
        fs::write(&path, lines.replace("LATENCY", latency)).unwrap();
        let out = folder.path().join(latency);
        let made = run(&path, &out, Format::MSR).unwrap();
        let cut = |warning: &&String| warning.contains("times are cut to multiples of 100ns");
        assert_eq!(made.warnings.iter().filter(cut).count(), error_text, "{:?}", made.warnings);
        assert_eq!(all(&out)[1].latency, Some(Ns(30_100)));
    }
}

/// A converted trace is a complete trace of our own format, and states that it has only requests.
#[test]
fn a_converted_trace_is_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    run(&original(folder.path()), &path, Format::Gordon).unwrap();
    let trace = Trace::open(&path).unwrap();
    let imported = trace.manifest().imported.clone().unwrap();
    assert_eq!((imported.format.as_str(), imported.file.as_str()), ("mqsim", "a.mqsim"));
    assert_eq!(trace.manifest().duration, Ns(9_999 * 1_234_567));
    let error = trace.activity().unwrap_err();
    assert!(matches!(error, TraceError::BlockLogOnly { .. }));
    assert!(error.to_string().contains("nothing of processors"), "{error}");
    let summary = trace.summary().unwrap();
    assert_eq!(summary.block.unwrap().events, 10_000);
    assert!(summary.warnings[0].contains("no activity: converted from mqsim"));
    let columns = &trace.manifest().parts[0].columns;
    let kind = |name: &str| columns.iter().find(|c| c.name == name).unwrap().kind;
    assert_eq!(
        (kind("pid"), kind("sector"), kind("latency_ns")),
        (ColumnKind::Missing, ColumnKind::Measured, ColumnKind::Missing)
    );
}

#[test]
fn nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, out) = (folder.path().join("bad"), folder.path().join("out"));
    let mut text = String::new();
    for i in 0..20_000 {
        text += &format!("{i} 0 8 8 1\n");
    }
    fs::write(&bad, text + "x\n").unwrap();
    for to in WRITTEN {
        let error = run(&bad, &out, to).unwrap_err().to_string();
        assert!(error.contains("line 20001"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    fs::write(&out, "mine").unwrap();
    let source = original(folder.path());
    for to in [Format::Gordon, Format::MQSIM] {
        assert!(run(&source, &out, to).unwrap_err().to_string().contains("exists already"));
        assert_eq!(fs::read(&out).unwrap(), b"mine");
    }
    let nowhere = folder.path().join("no/such/folder");
    assert!(
        run(&source, &nowhere, Format::MQSIM).unwrap_err().to_string().contains("cannot write")
    );
    let stopped = AtomicBool::new(true);
    let next = folder.path().join("next");
    let result =
        convert(&source, &next, None, Some(Format::MQSIM), &ReadOptions::default(), &stopped);
    assert!(matches!(result, Err(FormatError::Stopped)) && !next.exists());
    for to in [Format::Gordon, Format::MQSIM] {
        let running = AtomicBool::new(false);
        let made =
            convert(&source, &next, None, Some(to), &ReadOptions::default(), &running).unwrap();
        assert!(!next.exists(), "before it is published");
        drop(made);
    }
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("next")).collect();
    assert!(left.is_empty(), "{left:?}");
}
