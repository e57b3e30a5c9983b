//! Activity traces that are estimated from event logs of Spark: sums against those of the tasks,
//! and what is refused.
#![allow(clippy::unwrap_used, missing_docs)]

mod spark_logs;

use gordon_trace::activity::{
    ActivityError, ActivityFormat, ActivityOptions, ActivityReport, PendingActivity, convert,
    detect,
};
use gordon_trace::spark::{EventLog, EventLogError, STAGES_FILE, TASKS_FILE, TaskFigures};
use gordon_trace::{ColumnKind, Sample, Trace};
use gordon_units::Ns;
use gordon_units::Progress;
use spark_logs::{events, log_of_3_5, log_of_4_0, named, read, text_of, written};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Conversion {
    folder: TempDir,
    result: Result<ActivityReport, ActivityError>,
}

impl Conversion {
    fn of(inputs: &[PathBuf], cores: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ActivityOptions { cores, ..ActivityOptions::default() };
        let output = folder.path().join("out");
        let format = ActivityFormat::SparkEventlog;
        let pending = convert(inputs, &output, format, &options, &Progress::default());
        let result = pending.and_then(PendingActivity::publish);
        Self { folder, result }
    }

    fn report(&self) -> &ActivityReport {
        self.result.as_ref().unwrap()
    }

    fn trace(&self, host: &str) -> Trace {
        Trace::open(&self.folder.path().join("out").join(host)).unwrap()
    }

    fn total(&self, host: &str) -> Sample {
        let samples = self.trace(host).activity().unwrap();
        let mut total = Sample::default();
        for sample in samples {
            total.cpu_per_core.push(sample.cpu());
            total.rx_bytes += sample.rx_bytes;
            total.tx_bytes += sample.tx_bytes;
            total.instructions += sample.instructions;
            for disk in sample.disks {
                match total.disks.first_mut() {
                    None => total.disks.push(disk),
                    Some(sum) => {
                        sum.read_bytes += disk.read_bytes;
                        sum.write_bytes += disk.write_bytes;
                        sum.reads += disk.reads;
                        sum.writes += disk.writes;
                    }
                }
            }
        }
        total
    }
}

/// The sum of a figure over tasks, of one executor or all.
fn sum(log: &EventLog, executor: Option<&str>, of: fn(&TaskFigures) -> u64) -> u64 {
    let tasks = log.tasks.iter();
    tasks
        .filter(|task| executor.is_none_or(|id| log.text(task.executor) == id))
        .filter_map(|task| task.figures.as_ref().map(of))
        .sum()
}

/// Samples are rounded to sectors and nanoseconds.
fn assert_near(found: u64, expected: u64, samples: u64) {
    assert!(found.abs_diff(expected) <= 512 * samples, "{found} is not {expected}");
}

fn read_bytes(figures: &TaskFigures) -> u64 {
    let parts = [figures.input, figures.shuffle_local, figures.shuffle_remote, figures.spill_disk];
    parts.iter().map(|bytes| bytes.0).sum()
}

fn write_bytes(figures: &TaskFigures) -> u64 {
    figures.output.0 + figures.shuffle_write.0 + figures.spill_disk.0
}

#[test]
fn each_host_has_the_sums_of_its_tasks() {
    let log = read(&log_of_4_0());
    let made = Conversion::of(&[log_of_4_0()], None);
    let report = made.report();
    assert_eq!(report.from, "spark-eventlog");
    let seconds = log.duration().as_secs().ceil() as u64;
    let mut totals = Vec::new();
    for (host, executor) in [("node-1", "0"), ("node-2", "1")] {
        let of_host = report.hosts.iter().find(|one| one.host == host).unwrap();
        assert_eq!((of_host.cores, of_host.samples), (1, seconds));
        let trace = made.trace(host);
        assert_eq!(trace.manifest().start_unix_ns, log.start.0);
        let total = made.total(host);
        let of = |figure| sum(&log, Some(executor), figure);
        let cpu: u64 = total.cpu_per_core.iter().map(|ns| ns.0).sum();
        assert!(cpu.abs_diff(of(|f| f.cpu.0)) <= seconds, "{cpu}");
        assert!(total.cpu_per_core.iter().all(|cpu| *cpu <= Ns::SECOND));
        assert_near(total.rx_bytes.0, of(|f| f.shuffle_remote.0), seconds);
        assert_near(total.disks[0].write_bytes.0, of(write_bytes), seconds);
        totals.push(total);
    }
    let [one, two] = totals.as_slice() else { panic!() };
    // With two hosts, what one received the other one sent, and read from its disk.
    assert_near(one.tx_bytes.0, two.rx_bytes.0, seconds);
    assert_near(two.tx_bytes.0, one.rx_bytes.0, seconds);
    let read_all = one.disks[0].read_bytes.0 + two.disks[0].read_bytes.0;
    assert_near(read_all, sum(&log, None, read_bytes), 2 * seconds);
    let of_one = sum(&log, Some("0"), |f| f.input.0 + f.shuffle_local.0);
    assert_near(one.disks[0].read_bytes.0, of_one + one.tx_bytes.0, 2 * seconds);
    for file in [STAGES_FILE, TASKS_FILE] {
        assert!(made.folder.path().join("out").join(file).is_file());
    }
    assert_eq!(report.stages, log.named_stages(log.start));
}

#[test]
fn cpu_time_is_in_the_seconds_of_the_tasks() {
    let log = read(&log_of_4_0());
    let made = Conversion::of(&[log_of_4_0()], None);
    let samples = made.trace("node-1").activity().unwrap();
    let mut expected = vec![0.0; samples.len()];
    for task in log.tasks.iter().filter(|task| log.text(task.executor) == "0") {
        let second = |at: Ns| (at - log.start).as_secs();
        let (from, to) = (second(task.started), second(task.ended.unwrap()));
        for (index, sum) in expected.iter_mut().enumerate() {
            let inside = (to.min(index as f64 + 1.0) - from.max(index as f64)).max(0.0);
            *sum += task.figures.unwrap().cpu.as_secs() * inside / (to - from);
        }
    }
    for (index, (sample, expected)) in samples.iter().zip(&expected).enumerate() {
        assert!((sample.cpu().as_secs() - expected).abs() < 1e-6, "second {index}");
    }
    assert!(expected.iter().any(|cpu| *cpu > 0.05) && expected.contains(&0.0));
}

#[test]
fn all_columns_are_estimated_or_missing_and_say_how() {
    let made = Conversion::of(&[log_of_4_0()], None);
    let trace = made.trace("node-2");
    let manifest = trace.manifest();
    for column in manifest.parts.iter().flat_map(|part| &part.columns) {
        assert!(matches!(column.kind, ColumnKind::Estimated | ColumnKind::Missing));
        assert!(!column.how.is_empty());
    }
    for name in ["cpu_ns", "memory_bytes", "rx_bytes", "tx_bytes", "instructions"] {
        assert_eq!(manifest.column(name).unwrap().kind, ColumnKind::Estimated, "{name}");
    }
    for name in ["iowait_ns", "rx_packets", "command_cpu_ns", "psi_cpu_some_ns"] {
        assert_eq!(manifest.column(name).unwrap().kind, ColumnKind::Missing, "{name}");
    }
    let log = read(&log_of_4_0());
    let executor = &log.executors[1];
    let samples = trace.activity().unwrap();
    let before = (executor.added - log.start).as_secs() as usize;
    assert!(samples[..before].iter().all(|sample| sample.memory.0 == 0));
    assert!(samples[before..].iter().all(|sample| sample.memory == executor.peak_memory));
}

#[test]
fn a_single_host_is_one_trace_without_a_network() {
    let log = read(&log_of_3_5());
    let made = Conversion::of(&[log_of_3_5()], None);
    let [host] = made.report().hosts.as_slice() else { panic!() };
    assert_eq!((host.host.as_str(), host.cores), ("node-1", 2));
    let trace = made.trace("");
    assert_eq!(trace.manifest().column("rx_bytes").unwrap().kind, ColumnKind::Missing);
    let total = made.total("");
    assert_near(total.disks[0].read_bytes.0, sum(&log, None, read_bytes), host.samples);
    assert_near(total.disks[0].write_bytes.0, sum(&log, None, write_bytes), host.samples);
    assert!(made.folder.path().join("out").join(TASKS_FILE).is_file());
}

#[test]
fn a_task_far_from_its_input_receives_it() {
    let text = text_of(&log_of_4_0()).replace("PROCESS_LOCAL", "ANY");
    let (_folder, path) = written(&text);
    let log = read(&path);
    let made = Conversion::of(&[path], None);
    for (host, executor) in [("node-1", "0"), ("node-2", "1")] {
        let expected = sum(&log, Some(executor), |f| f.input.0 + f.shuffle_remote.0);
        let total = made.total(host);
        assert_near(total.rx_bytes.0, expected, made.report().hosts[0].samples);
    }
}

/// A task of one second with these bytes.
fn task_end(stage: u32, id: u32, host: &str, written: u64, remote: u64) -> String {
    let launched = 10_000 + 2000 * u64::from(stage);
    serde_json::json!({
        "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0,
        "Task End Reason": { "Reason": "Success" },
        "Task Info": { "Task ID": id, "Index": id, "Attempt": 0, "Launch Time": launched,
            "Executor ID": host, "Host": host, "Locality": "PROCESS_LOCAL",
            "Finish Time": launched + 1000 },
        "Task Metrics": { "Executor CPU Time": 500_000_000,
            "Shuffle Read Metrics": { "Remote Bytes Read": remote },
            "Shuffle Write Metrics": { "Shuffle Bytes Written": written } },
    })
    .to_string()
}

#[test]
fn fetched_data_come_from_those_that_wrote_them_in_the_parent_stages() {
    let mebi = 1 << 20;
    let mut lines = vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"a","Timestamp":9000}"#.to_owned(),
    ];
    for host in ["a", "b", "c"] {
        lines.push(
            format!(
                r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":9500,"Executor ID":"{host}",
            "Executor Info":{{"Host":"{host}","Total Cores":2}}}}"#
            )
            .replace('\n', ""),
        );
    }
    for (stage, parents) in [(0, "[]"), (1, "[]"), (2, "[0]"), (3, "[9]")] {
        lines.push(
            format!(
                r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{{"Stage ID":{stage},
            "Stage Attempt ID":0,"Parent IDs":{parents}}}}}"#
            )
            .replace('\n', ""),
        );
    }
    // Stage 2 reads stage 0, not stage 1. The parent of stage 3 is not in the log.
    lines.push(task_end(0, 1, "a", 3 * mebi, 0));
    lines.push(task_end(0, 2, "b", mebi, 0));
    lines.push(task_end(1, 3, "b", 2 * mebi, 0));
    lines.push(task_end(2, 4, "c", 0, 4 * mebi));
    let (_folder, path) = written(&(lines.join("\n") + "\n"));
    let made = Conversion::of(std::slice::from_ref(&path), None);
    assert_eq!(made.total("a").tx_bytes.0, 3 * mebi);
    assert_eq!(made.total("b").tx_bytes.0, mebi);
    assert_eq!((made.total("c").tx_bytes.0, made.total("c").rx_bytes.0), (0, 4 * mebi));
    assert_eq!(made.total("a").disks[0].read_bytes.0, 3 * mebi);

    lines.push(task_end(3, 5, "c", 0, 6 * mebi));
    let (_folder, path) = written(&(lines.join("\n") + "\n"));
    let made = Conversion::of(&[path], None);
    // Of all shuffle data, each of both wrote a half.
    assert_eq!(made.total("a").tx_bytes.0, 6 * mebi);
    assert_eq!(made.total("b").tx_bytes.0, 4 * mebi);
}

#[test]
fn spilled_data_are_written_and_read() {
    let spill = 1_u64 << 30;
    let text = text_of(&log_of_3_5());
    let spilled = format!("\"Disk Bytes Spilled\":{spill}");
    let (_folder, path) = written(&text.replacen("\"Disk Bytes Spilled\":0", &spilled, 1));
    let plain = Conversion::of(&[log_of_3_5()], None).total("");
    let made = Conversion::of(&[path], None);
    let total = made.total("");
    let samples = made.report().samples;
    assert_near(total.disks[0].read_bytes.0, plain.disks[0].read_bytes.0 + spill, samples);
    assert_near(total.disks[0].write_bytes.0, plain.disks[0].write_bytes.0 + spill, samples);
    let requests = total.disks[0].writes - plain.disks[0].writes;
    assert!(requests.abs_diff(spill >> 17) <= samples, "{requests} requests of 128 KiB");
}

#[test]
fn cores_of_the_machine_replace_those_of_the_executors() {
    let made = Conversion::of(&[log_of_3_5()], Some(8));
    assert_eq!(made.report().hosts[0].cores, 8);
    let cpu = |made: &Conversion| made.report().hosts[0].cpu_s;
    let plain = Conversion::of(&[log_of_3_5()], None);
    assert!((cpu(&made) - cpu(&plain)).abs() < 1e-6);
    // Fewer cores than tasks at a time: nothing is lost, and no core is busy for more than a
    // second.
    let few = Conversion::of(&[log_of_3_5()], Some(1));
    assert!((cpu(&few) - cpu(&plain)).abs() < 1e-6);
    let samples = few.trace("").activity().unwrap();
    assert!(samples.iter().all(|sample| sample.cpu() <= Ns::SECOND));
}

#[test]
fn a_log_without_its_executors_needs_the_number_of_cores() {
    let text = text_of(&log_of_4_0());
    let lines = text.lines().filter(|line| !line.contains("SparkListenerExecutorAdded"));
    let (_folder, path) = written(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
    let refused = Conversion::of(std::slice::from_ref(&path), None).result.unwrap_err();
    assert!(matches!(refused, ActivityError::Cores { .. }), "{refused}");
    let made = Conversion::of(&[path], Some(2));
    assert_eq!(made.report().hosts.len(), 2);
}

#[test]
fn a_killed_application_is_converted_and_the_trace_says_so() {
    let text = text_of(&log_of_4_0());
    let (_folder, path) = written(&text[..text.len() / 2]);
    let made = Conversion::of(&[path], None);
    let warnings = &made.report().warnings;
    assert!(warnings.iter().any(|warning| warning.starts_with("truncated")), "{warnings:?}");
    let trace = made.trace("node-1");
    let missing: Vec<_> = trace.manifest().unavailable.iter().map(|u| u.what.as_str()).collect();
    assert!(missing.contains(&"end of the application"), "{missing:?}");
    assert!(missing.contains(&"block log"));
}

#[test]
fn logs_that_no_trace_can_be_made_of_leave_nothing() {
    let refused = |inputs: &[PathBuf]| {
        let made = Conversion::of(inputs, None);
        assert_eq!(fs::read_dir(made.folder.path()).unwrap().count(), 0);
        made.result.unwrap_err()
    };
    let two = refused(&[log_of_3_5(), log_of_4_0()]);
    assert!(matches!(two, ActivityError::Content { .. }), "{two}");
    let text = text_of(&log_of_3_5());
    let (_folder, idle) = written(&text[..text.find("SparkListenerTaskEnd").unwrap()]);
    let idle = refused(&[idle]);
    assert!(matches!(idle, ActivityError::EventLog(EventLogError::Content { .. })), "{idle}");
    let events = events(&log_of_3_5());
    let start = named(&events, "SparkListenerApplicationStart")[0]["Timestamp"].to_string();
    let (_folder, odd) = written(&text.replacen(&start, "1", 1));
    let odd = refused(&[odd]);
    assert!(matches!(odd, ActivityError::EventLog(EventLogError::Content { .. })), "{odd}");
    let missing = refused(&[PathBuf::from("/nonexistent")]);
    assert!(matches!(missing, ActivityError::EventLog(EventLogError::Open { .. })), "{missing}");
}

#[test]
fn event_logs_are_detected() {
    for path in [log_of_3_5(), log_of_4_0(), log_of_4_0().join("events_1_app-4.0.zstd")] {
        assert_eq!(detect(&path), Some(ActivityFormat::SparkEventlog), "{}", path.display());
    }
    assert_eq!(detect(Path::new(env!("CARGO_MANIFEST_DIR"))), None);
    assert_eq!(ActivityFormat::named("Spark-EventLog"), Some(ActivityFormat::SparkEventlog));
}

/// The log of an application of 12 s: an executor of 2 cores, and tasks of 10 s with these metrics.
fn log_of_tasks(metrics: &[&str]) -> String {
    let mut lines = vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"2.0.2"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1000,"User":"u"}"#.to_owned(),
        r#"{"Event":"SparkListenerExecutorAdded","Timestamp":1000,"Executor ID":"1","Executor Info":{"Host":"n1","Total Cores":2,"Log Urls":{}}}"#.to_owned(),
    ];
    for (id, metrics) in metrics.iter().enumerate() {
        lines.push(format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{{"Reason":"Success"}},"Task Info":{{"Task ID":{id},"Index":{id},"Attempt":0,"Launch Time":2000,"Executor ID":"1","Host":"n1","Locality":"PROCESS_LOCAL","Speculative":false,"Finish Time":12000}},"Task Metrics":{{"Executor Run Time":10000{metrics}}}}}"#
        ));
    }
    lines.push(r#"{"Event":"SparkListenerApplicationEnd","Timestamp":13000}"#.to_owned());
    lines.join("\n") + "\n"
}

fn converted(text: &str) -> Conversion {
    let (_folder, path) = written(text);
    Conversion::of(&[path], None)
}

fn warns(made: &Conversion, start: &str) -> bool {
    made.report().warnings.iter().any(|warning| warning.starts_with(start))
}

#[test]
fn tasks_without_a_cpu_time_have_their_run_time_and_a_warning() {
    let zero = r#","Executor CPU Time":0"#;
    let wait = r#","Shuffle Read Metrics":{"Fetch Wait Time":4000}"#;
    let own = r#","Executor CPU Time":3000000000"#;
    for (metrics, cpu_s, estimated) in [
        (["", ""], 20.0, 2),
        (["", wait], 16.0, 2),
        ([zero, zero], 20.0, 2),
        (["", own], 13.0, 1),
        ([zero, own], 3.0, 0),
    ] {
        let made = converted(&log_of_tasks(&metrics));
        assert_eq!(made.report().hosts[0].cpu_s, cpu_s, "{metrics:?}");
        let start = format!("cpu: Spark recorded no CPU time of {estimated} tasks");
        assert_eq!(warns(&made, &start), estimated > 0, "{:?}", made.report().warnings);
    }
}

#[test]
fn cpu_time_that_the_cores_cannot_use_is_left_out_and_counted() {
    let cpu = |seconds: u64| format!(r#","Executor CPU Time":{}"#, seconds * Ns::SECOND.0);
    let (much, some) = (cpu(30), cpu(9));
    let made = converted(&log_of_tasks(&[&much, &some]));
    assert_eq!(made.report().hosts[0].cpu_s, 24.0, "2 cores in 12 s");
    assert!(warns(&made, "cores: 15.0 s of CPU time of tasks of `n1` are left out"));
    let trace = made.trace("");
    let lacks = &trace.manifest().unavailable;
    assert!(lacks.iter().any(|missing| missing.why.starts_with("15.0 s of 39.0 s")), "{lacks:?}");
    let made = converted(&log_of_tasks(&[&some, &some]));
    assert_eq!(made.report().hosts[0].cpu_s, 18.0);
    assert!(!warns(&made, "cores"), "{:?}", made.report().warnings);
}

#[test]
fn accelerators_of_an_application_are_named() {
    let text = log_of_tasks(&[""]);
    let environment = |properties: &str| {
        let event = format!(
            r#"{{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{{{properties}}}}}"#
        );
        text.replacen('\n', &format!("\n{event}\n"), 1)
    };
    for (properties, is_named) in [
        (r#""spark.plugins":"a.B, com.nvidia.spark.SQLPlugin""#, true),
        (r#""spark.executor.resource.gpu.amount":"1""#, true),
        (r#""spark.task.resource.gpu.amount":"0.25""#, true),
        (r#""spark.executor.resource.ssd.amount":"1""#, false),
        (r#""spark.plugins":"a.B","spark.executor.cores":"2""#, false),
    ] {
        let made = converted(&environment(properties));
        assert_eq!(warns(&made, "accelerators: "), is_named, "{properties}");
        let named = made.trace("").manifest().machine.accelerators.len();
        assert_eq!(named, usize::from(is_named), "{properties}");
    }
}

#[test]
fn logs_of_databricks_are_detected_and_the_files_of_one_are_joined() {
    let text = log_of_tasks(&["", ""]);
    let own = r#"{"Event":"DBCEventLoggingListenerMetadata","Spark Version":"3.5.0","Timestamp":1,"Rollover Number":0}"#;
    let (_, rest) = text.split_once('\n').unwrap();
    let (_folder, path) = written(&format!("{own}\n{rest}"));
    assert_eq!(detect(&path), Some(ActivityFormat::SparkEventlog));
    assert_eq!(Conversion::of(&[path], None).report().hosts[0].cpu_s, 20.0);
    // Rolled: the last file has no date.
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<&str> = rest.lines().collect();
    let write = |name: &str, lines: &[&str]| {
        fs::write(folder.path().join(name), format!("{own}\n{}\n", lines.join("\n"))).unwrap();
    };
    write("eventlog-2026-03-02--10-00", &lines[..3]);
    write("eventlog", &lines[3..]);
    assert_eq!(detect(folder.path()), Some(ActivityFormat::SparkEventlog));
    let made = Conversion::of(&[folder.path().to_owned()], None);
    assert_eq!(made.report().hosts[0].cpu_s, 20.0);
    assert!(!warns(&made, "end"), "{:?}", made.report().warnings);
}

#[test]
fn a_folder_of_several_logs_lists_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["app-1", "app-2"] {
        fs::write(folder.path().join(name), log_of_tasks(&[""])).unwrap();
    }
    assert_eq!(detect(folder.path()), Some(ActivityFormat::SparkEventlog));
    let made = Conversion::of(&[folder.path().to_owned()], None);
    let error = made.result.as_ref().unwrap_err().to_string();
    assert!(error.contains("2 event logs: app-1, app-2"), "{error}");
}
