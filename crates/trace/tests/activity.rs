//! Activity traces of sysstat, Prometheus and rezolus: the traces that are made of documented forms, and
//! what is refused or counted.
#![allow(clippy::unwrap_used, missing_docs)]

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use gordon_trace::activity::{
    ActivityError, ActivityFormat, ActivityOptions, ActivityReport, convert, detect,
};
use gordon_trace::formats::FormatError;
use gordon_trace::{ColumnKind, Sample, Trace, TraceError};
use gordon_units::{Bytes, Hertz, Ns};
use parquet::arrow::ArrowWriter;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A sample of `sadf -j` (version 12.6) of a machine with 4 cores, with all sections that are read.
fn statistics(time: &str, interval: u64) -> String {
    format!(
        r#"{{"timestamp": {{"date": "2026-11-26", "time": "{time}", "utc": 1, "interval": {interval}}},
        "cpu-load": [{{"cpu": "all", "user": 40.0, "nice": 5.0, "system": 5.0, "iowait": 10.0,
            "steal": 2.0, "idle": 38.0}}],
        "io": {{"tps": 30.0, "io-reads": {{"rtps": 20.0, "bread": 400.0}},
            "io-writes": {{"wtps": 10.0, "bwrtn": 80.0}}, "io-discard": {{"dtps": 0.0, "bdscd": 0.0}}}},
        "memory": {{"memfree": 1000, "avail": 3000, "memused": 4000, "memused-percent": 50.00,
            "buffers": 1000, "cached": 2000}},
        "disk": [{{"disk-device": "sda", "tps": 30.0, "rd_sec": 400.0, "wr_sec": 80.0, "rkB": 200.0,
            "wkB": 40.0, "dkB": 0.0, "util-percent": 25.0}},
            {{"disk-device": "dm-0", "tps": 40.0, "rd_sec": 400.0, "wr_sec": 80.0, "rkB": 200.0,
            "wkB": 40.0, "util-percent": 0.0}}],
        "network": {{"net-dev": [
            {{"iface": "lo", "rxpck": 9.0, "txpck": 9.0, "rxkB": 9.0, "txkB": 9.0}},
            {{"iface": "eth0", "rxpck": 3.0, "txpck": 2.0, "rxkB": 4.0, "txkB": 1.0}}],
            "net-edev": []}}}}"#
    )
}

fn host(name: &str, cores: &str, samples: &[String], restarts: &str) -> String {
    let samples = samples.join(",");
    format!(
        r#"{{"nodename": "{name}", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64",
        {cores} "file-date": "2026-11-26", "statistics": [{samples}], "restarts": [{restarts}]}}"#
    )
}

fn document(hosts: &[String]) -> String {
    format!(r#"{{"sysstat": {{"hosts": [{}]}}}}"#, hosts.join(","))
}

fn one_host(samples: &[String]) -> String {
    document(&[host("n1", r#""number-of-cpus": 4,"#, samples, "")])
}

/// Two samples, of 1 s and of 2 s.
fn two_samples() -> String {
    one_host(&[statistics("10:00:01", 1), statistics("10:00:03", 2)])
}

struct Conversion {
    folder: TempDir,
    result: Result<ActivityReport, ActivityError>,
}

impl Conversion {
    fn of(texts: &[&str], format: ActivityFormat, options: ActivityOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..texts.len()).map(|number| folder.path().join(format!("input-{number}"))).collect();
        for (path, text) in paths.iter().zip(texts) {
            fs::write(path, text).unwrap();
        }
        let output = folder.path().join("out");
        let pending = convert(&paths, &output, format, &options, &AtomicBool::new(false));
        let result = pending.and_then(gordon_trace::activity::PendingActivity::publish);
        Self { folder, result }
    }

    fn sysstat(text: &str) -> Self {
        Self::of(&[text], ActivityFormat::Sysstat, ActivityOptions::default())
    }

    fn prometheus(text: &str) -> Self {
        Self::of(&[text], ActivityFormat::Prometheus, ActivityOptions::default())
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn report(&self) -> &ActivityReport {
        self.result.as_ref().unwrap()
    }

    fn samples(&self) -> Vec<Sample> {
        self.report();
        Trace::open(&self.output()).unwrap().activity().unwrap()
    }

    /// The error; nothing may be left of the output.
    fn error(&self) -> &ActivityError {
        let names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with("input-"))
            .collect();
        assert!(names.is_empty(), "{names:?}");
        self.result.as_ref().unwrap_err()
    }

    /// Whether a warning starts with this name.
    fn warns(&self, name: &str) -> bool {
        self.report().warnings.iter().any(|warning| warning.starts_with(name))
    }
}

fn assert_is_two_samples(samples: &[Sample]) {
    assert_eq!(samples.len(), 2);
    for (sample, seconds) in samples.iter().zip([1, 2]) {
        assert_eq!(sample.span, Ns(seconds * Ns::SECOND.0));
        assert_eq!(sample.cpu(), Ns(2 * seconds * Ns::SECOND.0), "half of 4 cores, without steal");
        assert_eq!(sample.rx_bytes, Bytes(4096 * seconds), "without the loopback");
        assert_eq!(sample.tx_packets, 2 * seconds);
        let disk = sample.disks.iter().find(|disk| disk.busy > Ns::ZERO).unwrap();
        assert_eq!((disk.reads, disk.writes), (20 * seconds, 10 * seconds));
        assert_eq!(disk.read_bytes, Bytes(200 * 1024 * seconds));
        assert_eq!(disk.write_bytes, Bytes(40 * 1024 * seconds));
        assert_eq!(disk.busy, Ns(seconds * 250_000_000));
    }
    assert_eq!(samples[1].start, samples[0].end());
}

#[test]
fn json_of_sadf_becomes_a_trace() {
    let made = Conversion::sysstat(&two_samples());
    let samples = made.samples();
    assert_is_two_samples(&samples);
    assert_eq!(samples[0].memory, Bytes((8000 - 3000) * 1024), "total without what is available");
    let report = made.report();
    assert_eq!(report.read.bytes, 3 * 200 * 1024, "dm-0 is made of sda");
    assert!((report.hosts[0].iowait_s - 1.2).abs() < 1e-9);
    let trace = Trace::open(&made.output()).unwrap();
    let manifest = trace.manifest();
    assert_eq!(manifest.machine.cores, 4);
    assert_eq!(manifest.machine.memory, Bytes(8000 * 1024));
    assert_eq!(manifest.start_unix_ns, 1_795_687_200 * Ns::SECOND.0);
    assert_eq!(manifest.column("instructions").unwrap().kind, ColumnKind::Estimated);
    assert_eq!(manifest.column("command_cpu_ns").unwrap().kind, ColumnKind::Missing);
    // 2 s at the assumed 2.4 GHz and 1.5 instructions per cycle.
    assert_eq!(samples[0].instructions, 7_200_000_000);
    assert!(matches!(trace.block(), Err(TraceError::NoBlockLog { .. })));
}

/// Up to version 11.5 disks have sectors only, and up to 11.4 `-u ALL` has a section of its own.
#[test]
fn json_of_old_versions_means_the_same() {
    let text = two_samples()
        .replace(r#""rkB": 200.0,"#, "")
        .replace(r#""wkB": 40.0, "dkB": 0.0,"#, "")
        .replace("cpu-load", "cpu-load-all")
        .replace(r#""user": 40.0"#, r#""usr": 30.0, "guest": 9.0, "gnice": 1.0"#)
        .replace(r#""system": 5.0"#, r#""sys": 2.0, "irq": 1.0, "soft": 2.0"#);
    assert!(!text.contains(r#""system""#));
    assert_is_two_samples(&Conversion::sysstat(&text).samples());
}

const DATABASE: &str = "\
n1;-1;2026-11-26 09:59:00 UTC;LINUX-RESTART\t(4 CPU)
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
n1;1;2026-11-26 10:00:01 UTC;-1;40.00;5.00;5.00;10.00;2.00;38.00
n1;2;2026-11-26 10:00:03 UTC;-1;40.00;5.00;5.00;10.00;2.00;38.00
# hostname;interval;timestamp;tps;rtps;wtps;dtps;bread/s;bwrtn/s;bdscd/s
n1;1;2026-11-26 10:00:01 UTC;30.00;20.00;10.00;0.00;400.00;80.00;0.00
n1;2;2026-11-26 10:00:03 UTC;30.00;20.00;10.00;0.00;400.00;80.00;0.00
# hostname;interval;timestamp;TTY;rcvin/s;txmtin/s
n1;1;2026-11-26 10:00:01 UTC;0;1.00;2.00
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
n1;1;2026-11-26 10:00:01 UTC;sda;30.00;200.00;40.00;0.00;8.00;0.01;0.30;25.00
n1;2;2026-11-26 10:00:03 UTC;sda;30,00;200,00;40,00;0,00;8,00;0,01;0,30;25,00
# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;rxcmp/s;txcmp/s;rxmcst/s;%ifutil
n1;1;2026-11-26 10:00:01 UTC;lo;9.00;9.00;9.00;9.00;0.00;0.00;0.00;0.00
n1;1;2026-11-26 10:00:01 UTC;eth0;3.00;2.00;4.00;1.00;0.00;0.00;0.00;0.00
n1;2;2026-11-26 10:00:03 UTC;eth0;3.00;2.00;4.00;1.00;0.00;0.00;0.00;0.00
";

#[test]
fn text_of_sadf_means_the_same_as_json() {
    let made = Conversion::sysstat(DATABASE);
    assert_is_two_samples(&made.samples());
    assert_eq!(made.report().hosts[0].left_out.restarts, 0, "before the first sample");

    let mut lines = String::from("n1\t-1\t2026-11-26 09:59:00 UTC\tLINUX-RESTART\t(4 CPU)\n");
    let mut names: Vec<&str> = Vec::new();
    for line in DATABASE.lines().skip(1) {
        let fields: Vec<&str> = line.split(';').collect();
        if line.starts_with('#') {
            names = fields;
            continue;
        }
        let has_item = ["CPU", "DEV", "IFACE", "TTY"].contains(&names[3]);
        let item = if has_item { fields[3].replace("-1", "all") } else { "-".to_owned() };
        for (name, value) in names.iter().zip(&fields).skip(3 + usize::from(has_item)) {
            let start = fields[..3].join("\t");
            writeln!(lines, "{start}\t{item}\t{name}\t{value}").unwrap();
        }
    }
    assert!(lines.contains("n1\t1\t2026-11-26 10:00:01 UTC\tall\t%user\t40.00\n"));
    assert_is_two_samples(&Conversion::sysstat(&lines).samples());
}

/// The pressure of `sadf -j FILE -- -q PSI` (version 12.3.3 and later), as in json_stats.c.
fn with_pressure(sample: &str) -> String {
    let pressure = r#""psi": {
        "psi-cpu": {"some_avg10": 1.00, "some_avg60": 2.00, "some_avg300": 3.00, "some_avg": 40.00},
        "psi-io": {"some_avg10": 1.00, "some_avg60": 2.00, "some_avg300": 3.00, "some_avg": 50.00,
            "full_avg10": 4.00, "full_avg60": 5.00, "full_avg300": 6.00, "full_avg": 25.00}},"#;
    sample.replacen('{', &format!("{{{pressure}"), 1)
}

fn pressure(samples: &[Sample]) -> Vec<(Ns, Ns)> {
    samples.iter().map(|s| (s.psi_io_full, s.psi_cpu_some)).collect()
}

fn kind(made: &Conversion, column: &str) -> ColumnKind {
    Trace::open(&made.output()).unwrap().manifest().column(column).unwrap().kind
}

#[test]
fn pressure_of_sadf_is_the_mean_of_the_interval_in_json_and_text() {
    let samples = [statistics("10:00:01", 1), statistics("10:00:03", 2)];
    let made = Conversion::sysstat(&one_host(&samples.each_ref().map(|s| with_pressure(s))));
    let expected =
        [1, 2].map(|seconds| (Ns(seconds * 250_000_000), Ns(seconds * 400_000_000))).to_vec();
    assert_eq!(pressure(&made.samples()), expected);
    assert_is_two_samples(&made.samples());
    for column in ["psi_io_full_ns", "psi_cpu_some_ns"] {
        assert_eq!(kind(&made, column), ColumnKind::Measured);
    }

    let text = format!(
        "{DATABASE}\
# hostname;interval;timestamp;%scpu-10;%scpu-60;%scpu-300;%scpu
n1;1;2026-11-26 10:00:01 UTC;1.00;2.00;3.00;40.00
n1;2;2026-11-26 10:00:03 UTC;1.00;2.00;3.00;40.00
# hostname;interval;timestamp;%sio-10;%sio-60;%sio-300;%sio;%fio-10;%fio-60;%fio-300;%fio
n1;1;2026-11-26 10:00:01 UTC;1.00;2.00;3.00;50.00;4.00;5.00;6.00;25.00
n1;2;2026-11-26 10:00:03 UTC;1.00;2.00;3.00;50.00;4.00;5.00;6.00;25.00
"
    );
    let made = Conversion::sysstat(&text);
    assert_eq!(pressure(&made.samples()), expected);
    assert_is_two_samples(&made.samples());
}

#[test]
fn pressure_that_a_sample_lacks_is_missing_in_the_trace() {
    let [first, second] = [statistics("10:00:01", 1), statistics("10:00:03", 2)];
    let made = Conversion::sysstat(&one_host(&[with_pressure(&first), second]));
    for column in ["psi_io_full_ns", "psi_cpu_some_ns"] {
        assert_eq!(kind(&made, column), ColumnKind::Missing);
    }
    assert_eq!(pressure(&made.samples()), [(Ns::ZERO, Ns::ZERO); 2]);
}

#[test]
fn a_sample_with_an_impossible_pressure_is_left_out() {
    let wrong = with_pressure(&statistics("10:00:03", 2)).replace("25.00", "250.00");
    let made = Conversion::sysstat(&one_host(&[with_pressure(&statistics("10:00:01", 1)), wrong]));
    assert_eq!(made.report().hosts[0].left_out.implausible, 1);
}

#[test]
fn cores_listed_one_by_one_keep_their_times_and_count_the_cores() {
    let text = "\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
n1;10;1795687210;-1;50.00;0.00;0.00;0.00;0.00;50.00
n1;10;1795687210;0;100.00;0.00;0.00;0.00;0.00;0.00
n1;10;1795687210;1;0.00;0.00;0.00;0.00;0.00;100.00
";
    let samples = Conversion::sysstat(text).samples();
    assert_eq!(samples[0].cpu_per_core, [Ns(10 * Ns::SECOND.0), Ns::ZERO]);
}

#[test]
fn unknown_or_contradictory_cores_are_an_error_that_the_option_resolves() {
    let unknown = document(&[host("n1", "", &[statistics("10:00:01", 1)], "")]);
    let boot = r#"{"boot": {"date": "2026-11-26", "time": "09:00:00", "utc": 1, "cpu_count": 8}}"#;
    let two = host("n1", r#""number-of-cpus": 4,"#, &[statistics("10:00:01", 1)], boot);
    for text in [unknown, document(&[two])] {
        let made = Conversion::sysstat(&text);
        let ActivityError::Cores { host, .. } = made.error() else { panic!("{:?}", made.error()) };
        assert_eq!(host, "n1");
        let options = ActivityOptions { cores: Some(8), ..ActivityOptions::default() };
        let made = Conversion::of(&[&text], ActivityFormat::Sysstat, options);
        assert_eq!(made.samples()[0].cpu(), Ns(4 * Ns::SECOND.0));
    }
    let options = ActivityOptions { cores: Some(8), ..ActivityOptions::default() };
    let made = Conversion::of(&[&two_samples()], ActivityFormat::Sysstat, options);
    assert!(made.warns("--cores 8 replaces 4"));
}

#[test]
fn a_given_clock_replaces_the_assumed_one() {
    let options = ActivityOptions { clock: Some(Hertz(3e9)), ..ActivityOptions::default() };
    let made = Conversion::of(&[&two_samples()], ActivityFormat::Sysstat, options);
    assert_eq!(made.samples()[0].instructions, 9_000_000_000);
    let options = ActivityOptions { clock: Some(Hertz(0.0)), ..ActivityOptions::default() };
    let made = Conversion::of(&[&two_samples()], ActivityFormat::Sysstat, options);
    assert!(matches!(made.error(), ActivityError::Clock { .. }));
}

#[test]
fn gaps_and_restarts_are_counted_and_left_out_of_the_time() {
    let samples = ["10:00:01", "10:00:02", "10:00:09"].map(|time| statistics(time, 1));
    let boot =
        r#"{"boot": {"date": "2026-11-26", "time": "10:00:05", "tz": "UTC", "cpu_count": 4}}"#;
    let text = document(&[host("n1", r#""number-of-cpus": 4,"#, &samples, boot)]);
    let made = Conversion::sysstat(&text);
    let left_out = &made.report().hosts[0].left_out;
    assert_eq!((left_out.gaps, left_out.gaps_s, left_out.restarts), (1, 6.0, 1));
    assert!(made.warns("gaps: 1 "));
    assert!(made.warns("restarts: 1 "));
    assert_eq!(made.samples().last().unwrap().end(), Ns(3 * Ns::SECOND.0));
}

#[test]
fn irregular_times_are_counted() {
    let times = [("10:00:10", 10), ("10:00:20", 10), ("09:59:00", 10), ("10:00:20", 10)];
    let mut samples: Vec<String> = times.iter().map(|(t, i)| statistics(t, *i)).collect();
    samples.push(statistics("10:05:00", 0));
    samples.push(statistics("10:06:00", 184_467_440_737_095_516));
    samples.push(statistics("noon", 10));
    samples.push(statistics("09:59:05", 5));
    let made = Conversion::sysstat(&one_host(&samples));
    let left_out = &made.report().hosts[0].left_out;
    assert_eq!(left_out.clock_jumps, 1, "back to 09:59");
    assert_eq!(left_out.duplicates, 1);
    assert_eq!(left_out.bad_intervals, 2);
    assert_eq!(left_out.without_time, 1);
    assert_eq!(left_out.mixed_intervals, 1);
    assert_eq!(made.samples().len(), 4);
    for name in ["clock_jumps", "duplicates", "bad_intervals", "without_time", "mixed_intervals"] {
        assert!(made.warns(name), "{name}");
    }
}

#[test]
fn samples_without_cpu_time_or_with_impossible_amounts_are_left_out() {
    let good = statistics("10:00:01", 1);
    let without = statistics("10:00:02", 1).replace("cpu-load", "other");
    let negative = statistics("10:00:03", 1).replace(r#""rkB": 200.0"#, r#""rkB": -1.0"#);
    let huge = statistics("10:00:04", 1).replace(r#""rxkB": 4.0"#, r#""rxkB": 1e30"#);
    let busy = statistics("10:00:05", 1).replace(r#""user": 40.0"#, r#""user": 400.0"#);
    let made = Conversion::sysstat(&one_host(&[good, without.clone(), negative, huge, busy]));
    let left_out = &made.report().hosts[0].left_out;
    assert_eq!((left_out.without_cpu, left_out.implausible), (1, 3));
    assert_eq!(made.samples().len(), 1);

    let made = Conversion::sysstat(&one_host(&[without]));
    let ActivityError::NoSamples { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("n1") && why.contains("1 without_cpu"), "{why}");
}

#[test]
fn a_row_without_its_figures_is_an_error_and_not_zero() {
    for (field, lacks) in [
        (r#""user": 40.0, "#, "user"),
        (r#""system": 5.0, "#, "system"),
        (r#""tps": 30.0, "rd_sec": 400.0, "wr_sec": 80.0, "#, "tps"),
        (r#""rxkB": 4.0, "#, "rxkB"),
        (r#""rtps": 20.0, "#, "rtps"),
    ] {
        let text = two_samples();
        assert!(text.contains(field), "{field}");
        let made = Conversion::sysstat(&text.replace(field, ""));
        let ActivityError::Json { why, line, .. } = made.error() else { panic!("{field}") };
        assert!(why.contains(&format!("missing field `{lacks}`")) && *line > 1, "{why}");
    }
    let text = two_samples().replace(r#""rd_sec": 400.0, "#, "").replace(r#""rkB": 200.0,"#, "");
    let made = Conversion::sysstat(&text);
    let ActivityError::Json { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("`rkB` of disk sda"), "{why}");
}

#[test]
fn the_swap_space_alone_is_not_the_memory() {
    let start = two_samples().find(r#""memory""#).unwrap();
    let end = start + two_samples()[start..].find('}').unwrap() + 1;
    let memory = two_samples()[start..end].to_owned();
    let text = two_samples().replace(&memory, r#""memory": {"swpfree": 5, "swpused": 0}"#);
    let made = Conversion::sysstat(&text);
    made.report();
    let trace = Trace::open(&made.output()).unwrap();
    assert_eq!(trace.manifest().column("memory_bytes").unwrap().kind, ColumnKind::Missing);
}

#[test]
fn what_was_left_out_is_in_the_trace() {
    let samples = ["10:00:10", "10:00:11", "10:00:11", "10:00:30", "10:00:01"];
    let mut samples: Vec<String> = samples.iter().map(|time| statistics(time, 1)).collect();
    samples.push(statistics("10:00:02", 1).replace(r#""user": 40.0"#, r#""user": 400.0"#));
    samples.push(
        statistics("10:00:03", 1).replace(r#""disk""#, r#""x""#).replace(r#""io":"#, r#""y":"#),
    );
    let boot =
        r#"{"boot": {"date": "2026-11-26", "time": "10:00:02", "tz": "UTC", "cpu_count": 4}}"#;
    let text = document(&[host("n1", r#""number-of-cpus": 4,"#, &samples, boot)]);
    let made = Conversion::sysstat(&text);
    made.report();
    let trace = Trace::open(&made.output()).unwrap();
    let lacks: Vec<&str> = trace.manifest().unavailable.iter().map(|u| u.what.as_str()).collect();
    for what in [
        "samples for 19 s",
        "samples that repeat a time",
        "samples with impossible amounts",
        "steady clock",
        "I/O in some samples",
    ] {
        assert!(lacks.contains(&what), "{what}: {lacks:?}");
    }
}

#[test]
fn sections_that_the_input_lacks_are_missing_columns() {
    let text = two_samples()
        .replace(r#""disk""#, r#""x""#)
        .replace(r#""io""#, r#""y""#)
        .replace(r#""network""#, r#""z""#)
        .replace(r#""memory""#, r#""u""#);
    let made = Conversion::sysstat(&text);
    assert!(made.warns("disks: "));
    assert!(made.warns("network: "));
    let trace = Trace::open(&made.output()).unwrap();
    for name in ["memory_bytes", "rx_bytes"] {
        assert_eq!(trace.manifest().column(name).unwrap().kind, ColumnKind::Missing);
    }
    let what: Vec<&str> = trace.manifest().unavailable.iter().map(|u| u.what.as_str()).collect();
    for name in ["memory", "network", "disks"] {
        assert!(what.contains(&name), "{what:?}");
    }
}

#[test]
fn the_io_of_the_machine_replaces_missing_disks() {
    let text = two_samples().replace(r#""disk""#, r#""x""#);
    let report = Conversion::sysstat(&text).result.unwrap();
    assert_eq!((report.read.requests, report.read.bytes), (60, 3 * 400 * 512));
    assert_eq!((report.write.requests, report.write.bytes), (30, 3 * 80 * 512));
}

#[test]
fn several_hosts_become_several_traces() {
    let cores = r#""number-of-cpus": 4,"#;
    let sample = [statistics("10:00:01", 1)];
    let text = document(&[host("a/b", cores, &sample, ""), host("..", cores, &sample, "")]);
    let made = Conversion::sysstat(&text);
    assert_eq!(made.report().hosts.len(), 2);
    for name in ["a_b", "_.."] {
        assert_eq!(Trace::open(&made.output().join(name)).unwrap().activity().unwrap().len(), 1);
    }
    let text = document(&[host("a/b", cores, &sample, ""), host("a_b", cores, &sample, "")]);
    assert!(matches!(Conversion::sysstat(&text).error(), ActivityError::SameFolder { .. }));
    // Host b has no CPU time.
    let empty = [sample[0].replace("cpu-load", "other")];
    let text = document(&[host("a", cores, &sample, ""), host("b", cores, &empty, "")]);
    let made = Conversion::sysstat(&text);
    assert_eq!(made.samples().len(), 1);
    assert!(made.warns("host b is left out"));
}

#[test]
fn files_of_the_same_host_are_one_trace() {
    let later = one_host(&[statistics("10:00:04", 1)]);
    let texts = [&two_samples(), later.as_str(), &two_samples()];
    let made = Conversion::of(&texts, ActivityFormat::Sysstat, ActivityOptions::default());
    assert_eq!(made.samples().len(), 3);
    assert_eq!(made.report().hosts[0].left_out.duplicates, 2);
    // Documents that follow each other in one file, as `cat` makes it.
    let made = Conversion::sysstat(&format!("{}\n{later}", two_samples()));
    assert_eq!(made.samples().len(), 3);
}

#[test]
fn broken_json_is_an_error_with_its_place() {
    let text = two_samples();
    let made = Conversion::sysstat(&text[..text.len() / 2]);
    let ActivityError::Json { why, line, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("ends early"));
    assert!(*line > 1);
    for text in ["{\"status\": 3}", "{\"sysstat\": [}", "{\"sysstat\": {\"hosts\": 1}}"] {
        assert!(matches!(Conversion::sysstat(text).error(), ActivityError::Json { .. }), "{text}");
    }
    for text in ["", " \n", "root:x:0:0\n"] {
        let made = Conversion::sysstat(text);
        assert!(matches!(made.error(), ActivityError::Content { .. }), "{text}");
    }
}

#[test]
fn binary_files_and_horizontal_text_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sa26");
    fs::write(&path, [0x96, 0xd5, 0x75, 0x21]).unwrap();
    let output = folder.path().join("out");
    let options = ActivityOptions::default();
    let stop = AtomicBool::new(false);
    let refused = convert(&[path], &output, ActivityFormat::Sysstat, &options, &stop);
    assert!(matches!(refused, Err(ActivityError::Content { .. })));
    let horizontal = "# hostname;interval;timestamp;CPU;%user[...];DEV;tps\n";
    assert!(matches!(Conversion::sysstat(horizontal).error(), ActivityError::Content { .. }));
}

#[test]
fn malformed_lines_are_errors_or_counted() {
    let cut =
        DATABASE.replace("n1;2;2026-11-26 10:00:03 UTC;-1;40.00;5.00", "n1;2;2026-11-26 10:00");
    let word = DATABASE.replace("30.00;20.00;10.00", "30.00;many;10.00");
    for text in [cut.as_str(), &word, "n1\tx\n", "n1;1;2026-11-26 10:00:01;-1;5.0\n"] {
        let made = Conversion::sysstat(text);
        let ActivityError::Format(error) = made.error() else { panic!("{:?}", made.error()) };
        assert!(matches!(error, FormatError::Bad { .. }), "{error:?}");
    }
    let options = ActivityOptions { skip_bad: true, ..ActivityOptions::default() };
    let made = Conversion::of(&[&cut], ActivityFormat::Sysstat, options);
    assert_eq!(made.report().skipped, 1);
    assert!(made.warns("skipped: 1 "));
}

#[test]
fn an_existing_output_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    fs::write(&input, two_samples()).unwrap();
    let options = ActivityOptions::default();
    let stop = AtomicBool::new(false);
    let again = convert(
        std::slice::from_ref(&input),
        folder.path(),
        ActivityFormat::Sysstat,
        &options,
        &stop,
    );
    assert!(matches!(again, Err(ActivityError::Trace(TraceError::Exists(_)))));
    // Stopped: nothing was written.
    let stop = AtomicBool::new(true);
    let output = folder.path().join("out");
    let stopped = convert(&[input], &output, ActivityFormat::Sysstat, &options, &stop);
    assert!(matches!(stopped, Err(ActivityError::Format(FormatError::Stopped))));
    assert!(!output.exists());
}

fn series(name: &str, labels: &str, values: &[f64]) -> String {
    let points: Vec<String> = (0..)
        .zip(values)
        .map(|(number, value)| format!("[{}.5, \"{value}\"]", 1_795_687_200 + 15 * number))
        .collect();
    format!(
        r#"{{"metric": {{"__name__": "{name}", "instance": "n1:9100", "job": "node"{labels}}},
        "values": [{}]}}"#,
        points.join(",")
    )
}

fn answer(series: &[String]) -> String {
    format!(
        r#"{{"status": "success", "data": {{"resultType": "matrix", "result": [{}]}}}}"#,
        series.join(",")
    )
}

/// Two cores, the second idle, at three points 15 s apart.
fn cores() -> Vec<String> {
    let mode = |cpu: u32, mode: &str, values: &[f64]| {
        let labels = format!(r#", "cpu": "{cpu}", "mode": "{mode}""#);
        series("node_cpu_seconds_total", &labels, values)
    };
    vec![
        mode(0, "user", &[100.0, 109.0, 109.0]),
        mode(0, "steal", &[0.0, 3.0, 3.0]),
        mode(0, "iowait", &[0.0, 3.0, 3.0]),
        mode(0, "idle", &[50.0, 50.0, 65.0]),
        mode(1, "user", &[7.0, 7.0, 7.0]),
        mode(1, "idle", &[50.0, 65.0, 80.0]),
    ]
}

#[test]
fn range_queries_become_a_trace() {
    let sda = r#", "device": "sda""#;
    let mut all = cores();
    all.push(series("node_disk_read_bytes_total", sda, &[0.0, 81_920.0, 81_920.0]));
    all.push(series("node_disk_reads_completed_total", sda, &[5.0, 25.0, 25.0]));
    all.push(series("node_disk_io_time_seconds_total", sda, &[1.0, 1.5, 1.5]));
    let memory = [series("node_memory_MemTotal_bytes", "", &[8e9, 8e9, 8e9])];
    let more = [
        series("node_memory_MemAvailable_bytes", "", &[3e9, 2e9, 1e9]),
        series("node_network_receive_bytes_total", r#", "device": "eth0""#, &[0.0, 15e6, 5e6]),
        series("node_network_receive_bytes_total", r#", "device": "lo""#, &[0.0, 1e6, 1e6]),
        series("node_load1", "", &[0.0, 1.0, 1.0]),
    ];
    let texts = [answer(&all), answer(&memory), answer(&more)];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = Conversion::of(&texts, ActivityFormat::Prometheus, ActivityOptions::default());
    let samples = made.samples();
    assert_eq!(samples.len(), 2);
    assert_eq!(samples[0].span, Ns(15 * Ns::SECOND.0));
    assert_eq!(samples[0].cpu_per_core, [Ns(9 * Ns::SECOND.0), Ns::ZERO]);
    assert_eq!(samples[0].memory, Bytes(6_000_000_000));
    assert_eq!(samples[0].rx_bytes, Bytes(15_000_000));
    assert_eq!(samples[1].rx_bytes, Bytes(5_000_000), "counted from zero since a reset");
    let disk = samples[0].disks[0];
    assert_eq!((disk.reads, disk.read_bytes), (20, Bytes(81_920)));
    assert_eq!(disk.busy, Ns(500_000_000));
    let report = made.report();
    assert_eq!((report.hosts[0].host.as_str(), report.hosts[0].cores), ("n1:9100", 2));
    assert_eq!((report.hosts[0].iowait_s, report.hosts[0].steal_s), (3.0, 3.0));
    assert_eq!(report.other_series, 1);
}

#[test]
fn points_of_one_scrape_are_one_and_a_restart_is_left_out() {
    let mode = |mode: &str, values: &[f64]| {
        let labels = format!(r#", "cpu": "0", "mode": "{mode}""#);
        series("node_cpu_seconds_total", &labels, values)
    };
    let user = mode("user", &[100.0, 100.0, 115.0, 2.0, 10.0]);
    let idle = mode("idle", &[100.0, 100.0, 115.0, 2.0, 9.0]);
    let made = Conversion::prometheus(&answer(&[user, idle]));
    let samples = made.samples();
    assert_eq!(samples.len(), 2);
    assert_eq!(samples[0].span, Ns(30 * Ns::SECOND.0));
    assert_eq!(samples[0].cpu(), Ns(15 * Ns::SECOND.0));
    assert_eq!(samples[1].cpu(), Ns(8 * Ns::SECOND.0));
    let left_out = &made.report().hosts[0].left_out;
    assert_eq!((left_out.restarts, left_out.gaps), (1, 1));
}

#[test]
fn other_answers_of_prometheus_are_refused() {
    let failed = r#"{"status": "error", "errorType": "timeout", "error": "query timed out"}"#;
    let instant = r#"{"status": "success", "data": {"resultType": "vector", "result": []}}"#;
    let rate = answer(&cores()).replace(r#""__name__": "node_cpu_seconds_total", "#, "");
    for text in [failed, instant, &rate] {
        assert!(
            matches!(Conversion::prometheus(text).error(), ActivityError::Content { .. }),
            "{text}"
        );
    }
    let memory = answer(&[series("node_memory_MemTotal_bytes", "", &[8e9, 8e9])]);
    let made = Conversion::prometheus(&memory);
    assert!(matches!(made.error(), ActivityError::NoSamples { .. }));
    let text = answer(&cores()).replace(r#""109""#, r#""many""#);
    let made = Conversion::prometheus(&text);
    let ActivityError::Content { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("`many` of node_cpu_seconds_total"), "{why}");
}

/// Without idle time the shares of the other modes would add up to a busy core.
#[test]
fn cpu_time_without_the_mode_idle_is_refused() {
    let busy: Vec<String> =
        cores().into_iter().filter(|series| !series.contains(r#""mode": "idle""#)).collect();
    let made = Conversion::prometheus(&answer(&busy));
    let ActivityError::Content { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("n1:9100") && why.contains("core 0") && why.contains("idle"), "{why}");
}

#[test]
fn values_that_prometheus_cannot_vouch_for_are_counted() {
    let sda = r#", "device": "sda""#;
    let name = "node_disk_read_bytes_total";
    let mut all = cores();
    all.push(series(name, sda, &[0.0, 512.0, 1024.0]));
    all.push(series(name, sda, &[0.0, 1024.0, 1024.0]).replace("node\"", "other\""));
    let text = answer(&all).replace(r#""3"]"#, r#""NaN"]"#);
    let text = text.replacen('{', r#"{"warnings": ["a source did not answer"], "#, 1);
    let made = Conversion::prometheus(&text);
    assert!(made.warns("contradictions: 1 "), "{:?}", made.report().warnings);
    assert!(made.warns("values: 4 "), "{:?}", made.report().warnings);
    assert!(made.warns("the server warned: a source did not answer"));
    assert_eq!(made.report().read.bytes, 1024, "of the first series");
}

/// Name, labels and values of a column.
type CounterColumn<'a> = (&'a str, &'a [(&'a str, &'a str)], [u64; 3]);

/// A file as `rezolus record` writes it: two cores, three rows a second apart.
fn rezolus(path: &Path) {
    let labels = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let second = 1_000_000_000_u64;
    let start = 1_795_687_200 * second;
    let columns: [CounterColumn<'_>; 7] = [
        ("timestamp", &[("metric_type", "timestamp")], [start, start + second, start + 2 * second]),
        ("24x0", &[("metric", "cpu_usage"), ("state", "user"), ("id", "0")], [7, 500_000_007, 7]),
        ("25x0", &[("metric", "cpu_usage"), ("state", "system"), ("id", "0")], [0, 250_000_000, 0]),
        ("24x1", &[("metric", "cpu_usage"), ("state", "user"), ("id", "1")], [9, 9, 9]),
        ("134", &[("metric", "blockio_bytes"), ("op", "write")], [4096, 12_288, 12_288]),
        ("129", &[("metric", "blockio_operations"), ("op", "write")], [1, 3, 3]),
        ("155", &[("metric", "network_bytes"), ("direction", "transmit")], [0, 1000, 1000]),
    ];
    let fields = columns.iter().map(|(name, pairs, _)| {
        Field::new(*name, DataType::UInt64, true).with_metadata(labels(pairs))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns
        .iter()
        .map(|(.., values)| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(*values)) });
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn recordings_of_rezolus_become_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.parquet");
    rezolus(&input);
    assert_eq!(detect(&input), Some(ActivityFormat::Rezolus));
    let output = folder.path().join("out");
    let options = ActivityOptions::default();
    let stop = AtomicBool::new(false);
    let inputs = [input.clone()];
    let pending = convert(&inputs, &output, ActivityFormat::Rezolus, &options, &stop).unwrap();
    let report = pending.publish().unwrap();
    let samples = Trace::open(&output).unwrap().activity().unwrap();
    // The counters of core 0 start again before the last row.
    assert_eq!((samples.len(), report.hosts[0].left_out.restarts), (1, 0));
    assert_eq!(samples[0].span, Ns(Ns::SECOND.0));
    assert_eq!(samples[0].cpu_per_core, [Ns(750_000_000), Ns::ZERO]);
    assert_eq!((samples[0].disks[0].writes, samples[0].disks[0].write_bytes), (2, Bytes(8192)));
    assert_eq!(samples[0].tx_bytes, Bytes(1000));

    let bytes = fs::read(&input).unwrap();
    let output = folder.path().join("other");
    for cut in [4, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&input, &bytes[..cut]).unwrap();
        assert_eq!(detect(&input), None);
        let refused = convert(&inputs, &output, ActivityFormat::Rezolus, &options, &stop);
        assert!(matches!(refused, Err(ActivityError::Content { .. })), "{cut}");
    }
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
        ("\u{feff}# hostname;interval;timestamp;CPU;%user\n", Some(ActivityFormat::Sysstat)),
        (&answer(&cores()), Some(ActivityFormat::Prometheus)),
        ("{\"a\": 1}", None),
        ("0 0 64 8 1\n", None),
        ("", None),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(detect(&path), format, "{text}");
    }
    assert_eq!(detect(Path::new("-")), None);
}
