//! Traces that are made of sadf's output, and what is refused or counted.

use crate::conversion::{Conversion, kind};
use crate::sadf::{
    DATABASE, as_lines, assert_is_two_samples, document, host, one_host, statistics, two_samples,
};
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions, convert};
use gordon_trace::formats::FormatError;
use gordon_trace::{ColumnKind, Sample, Trace, TraceError};
use gordon_units::Progress;
use gordon_units::{Bytes, Hertz, Ns};
use std::fmt::Write as _;
use std::fs;

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

#[test]
fn text_of_sadf_means_the_same_as_json() {
    let made = Conversion::sysstat(DATABASE);
    assert_is_two_samples(&made.samples());
    assert_eq!(made.report().hosts[0].left_out.restarts, 0, "before the first sample");

    let lines = as_lines(DATABASE);
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
fn an_unknown_number_of_cores_is_an_error_that_the_option_resolves() {
    let text = document(&[host("n1", "", &[statistics("10:00:01", 1)], "")]);
    let made = Conversion::sysstat(&text);
    let ActivityError::Cores { host, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert_eq!(host, "n1");
    let options = ActivityOptions { cores: Some(8), ..ActivityOptions::default() };
    let made = Conversion::of(&[&text], ActivityFormat::Sysstat, options);
    assert_eq!(made.samples()[0].cpu(), Ns(4 * Ns::SECOND.0));
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

/// Samples of half an hour in local time around the end of daylight saving, with the number of each
/// as its reads a second and as what it receives.
const AUTUMN: [&str; 6] = ["01:30:00", "02:00:00", "02:30:00", "02:00:00", "02:30:00", "03:00:00"];

/// As [`AUTUMN`], around the start of daylight saving.
const SPRING: [&str; 4] = ["01:30:00", "02:00:00", "03:30:00", "04:00:00"];

fn local_json(times: &[&str]) -> String {
    let sample = |(number, time): (usize, &&str)| {
        statistics(time, 1800)
            .replace(r#""utc": 1"#, r#""utc": 0"#)
            .replace(r#""rkB": 200.0"#, &format!(r#""rkB": {number}.0"#))
            .replace(r#""rxkB": 4.0"#, &format!(r#""rxkB": {number}.0"#))
    };
    one_host(&times.iter().enumerate().map(sample).collect::<Vec<_>>())
}

fn local_database(times: &[&str]) -> String {
    let mut text = String::from("n1;-1;2026-11-26 01:00:00;LINUX-RESTART\t(4 CPU)\n");
    for (header, values) in [
        ("CPU;%user;%nice;%system;%iowait;%steal;%idle", "-1;40;5;5;10;2;38"),
        ("DEV;tps;rkB/s;wkB/s;dkB/s;%util", "sda;30;NUMBER;40;0;25"),
        ("IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s", "eth0;3;2;NUMBER;1"),
    ] {
        writeln!(text, "# hostname;interval;timestamp;{header}").unwrap();
        for (number, time) in times.iter().enumerate() {
            let values = values.replace("NUMBER", &number.to_string());
            writeln!(text, "n1;1800;2026-11-26 {time};{values}").unwrap();
        }
    }
    text
}

#[test]
fn the_hour_that_local_time_repeats_is_left_out_as_a_whole() {
    let database = local_database(&AUTUMN);
    for text in [local_json(&AUTUMN), as_lines(&database), database] {
        let made = Conversion::sysstat(&text);
        let kept: Vec<(u64, u64)> = made
            .samples()
            .iter()
            .map(|sample| {
                let read = sample.disks.iter().map(|disk| disk.read_bytes.0).max();
                (read.unwrap_or(0) / 1800 / 1024, sample.rx_bytes.0 / 1800 / 1024)
            })
            .collect();
        assert_eq!(kept, [(0, 0), (1, 1), (2, 2), (5, 5)]);
        assert_eq!(made.report().hosts[0].left_out.duplicates, 2);
        assert!(made.warns("local_time: "));
    }
    let utc = Conversion::sysstat(&local_json(&AUTUMN).replace(r#""utc": 0"#, r#""utc": 1"#));
    assert!(utc.warns("duplicates: 2 ") && !utc.warns("local_time: "));
}

#[test]
fn the_hour_that_local_time_skips_may_be_no_gap() {
    let database = local_database(&SPRING);
    for text in [local_json(&SPRING), as_lines(&database), database] {
        let made = Conversion::sysstat(&text);
        assert_eq!(made.samples().len(), 4);
        let left_out = &made.report().hosts[0].left_out;
        assert_eq!((left_out.gaps, left_out.gaps_s), (1, 3600.0));
        assert!(made.warns("local_time: "));
    }
    let usual = Conversion::sysstat(&local_json(&AUTUMN[..3]));
    assert!(!usual.warns("local_time: "));
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
    for name in ["clock jumps", "duplicates", "bad intervals", "without time", "mixed intervals"] {
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
    assert!(why.contains("n1") && why.contains("1 without CPU"), "{why}");
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
    let stop = Progress::default();
    let refused = convert(&[path], &output, ActivityFormat::Sysstat, &options, &stop);
    assert!(matches!(refused, Err(ActivityError::Content { .. })));
    // iostat -o JSON, without its times.
    let iostat = r#"{"sysstat": {"hosts": [{"nodename": "n1", "number-of-cpus": 2, "statistics": [
        {"avg-cpu": {"user": 1.0}, "disk": []}]}]}}"#;
    let made = Conversion::sysstat(iostat);
    let ActivityError::Content { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("iostat"), "{why}");
    let commas = two_samples().replace("40.0", "40,0");
    let made = Conversion::sysstat(&commas);
    let ActivityError::Content { why, hint, .. } = made.error() else { panic!("it was read") };
    assert!(why.contains("decimal commas") && hint.contains("LC_ALL=C"), "{why}");
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
