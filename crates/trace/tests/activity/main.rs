//! Activity traces of sysstat, Prometheus and rezolus: the traces that are made of documented
//! forms, and what is refused or counted.
#![allow(clippy::unwrap_used, missing_docs)]

mod conversion;
mod cores;
mod devices;
mod prometheus;
mod rezolus;
mod sadf;
mod sysstat;

use gordon_trace::TraceError;
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions, convert, detect};
use gordon_trace::formats::FormatError;
use gordon_units::Progress;
use prometheus::{answer, cores};
use sadf::{DATABASE, two_samples};
use std::fs;
use std::path::Path;

#[test]
fn an_existing_output_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    fs::write(&input, two_samples()).unwrap();
    let options = ActivityOptions::default();
    let stop = Progress::default();
    let again = convert(
        std::slice::from_ref(&input),
        folder.path(),
        ActivityFormat::Sysstat,
        &options,
        &stop,
    );
    assert!(matches!(again, Err(ActivityError::Trace(TraceError::Exists(_)))));
    // Stopped: nothing was written.
    let stop = Progress { stop: true.into(), ..Progress::default() };
    let output = folder.path().join("out");
    let stopped = convert(&[input], &output, ActivityFormat::Sysstat, &options, &stop);
    assert!(matches!(stopped, Err(ActivityError::Format(FormatError::Stopped))));
    assert!(!output.exists());
}

#[test]
fn formats_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let restart = "n1\t-1\t2026-11-26 09:59:00 UTC\tLINUX-RESTART\t(4 CPU)\n";
    let value = "n1\t1\t2026-11-26 10:00:01 UTC\tall\t%user\t40.00\n";
    let header = "# hostname;interval;timestamp;CPU;%user\n";
    for (text, format) in [
        (two_samples().as_str(), Some(ActivityFormat::Sysstat)),
        (DATABASE, Some(ActivityFormat::Sysstat)),
        (restart, Some(ActivityFormat::Sysstat)),
        (value, Some(ActivityFormat::Sysstat)),
        (header, Some(ActivityFormat::Sysstat)),
        (
            &format!("n1\t-1\t2026-11-26 09:59:00 UTC\tCOM a note\n{value}"),
            Some(ActivityFormat::Sysstat),
        ),
        ("1\t2\tx\t4\t5\t6\n", None),
        ("\u{feff}# hostname;interval;timestamp;CPU;%user\n", Some(ActivityFormat::Sysstat)),
        (&answer(&cores()), Some(ActivityFormat::Prometheus)),
        (&format!("[{}]", cores().join(",")), Some(ActivityFormat::Prometheus)),
        (r#"{"status": "error", "errorType": "timeout"}"#, Some(ActivityFormat::Prometheus)),
        ("{\"a\": 1}", None),
        ("0 0 64 8 1\n", None),
        ("", None),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(detect(&path), format, "{text}");
    }
    assert_eq!(detect(Path::new("-")), None);
}

#[test]
fn the_records_in_a_folder_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let days = folder.path().join("days");
    fs::create_dir(&days).unwrap();
    fs::write(days.join("sa01.json"), two_samples()).unwrap();
    let later = two_samples().replace("2026-11-26", "2026-11-27");
    fs::write(days.join("sa02.json"), later).unwrap();
    fs::write(days.join("notes.txt"), "a note\n").unwrap();
    fs::write(days.join("up.json"), answer(&cores())).unwrap();
    assert_eq!(detect(&days), Some(ActivityFormat::Sysstat));
    let stop = Progress::default();
    let options = ActivityOptions::default();
    let output = folder.path().join("out");
    let inputs = [days];
    let pending = convert(&inputs, &output, ActivityFormat::Sysstat, &options, &stop).unwrap();
    let report = pending.publish().unwrap();
    assert_eq!((report.samples, report.input.len()), (4, 2));
    let left_out = |w: &String| w.starts_with("files: 1 of other formats") && w.contains("up.json");
    assert!(report.warnings.iter().any(left_out), "{:?}", report.warnings);
    let none = convert(&inputs, &folder.path().join("b"), ActivityFormat::Rezolus, &options, &stop);
    assert!(matches!(none, Err(ActivityError::Content { .. })));
    assert_eq!(detect(folder.path()), None);
    assert_eq!(detect(&output), None, "it is a trace of ours");
}
