//! Event logs of Spark: the tables against sums over the JSON of real logs, and what is cut short,
//! missing or refused.
#![allow(clippy::unwrap_used, missing_docs)]

mod spark_logs;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use gordon_trace::TraceError;
use gordon_trace::spark::{
    EventLog, EventLogError, STAGES_FILE, StageStatus, TASKS_FILE, TaskStatus, is_event_log,
};
use gordon_units::{Bytes, Ns, Progress};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use spark_logs::{
    LINES, count, events, log_of_3_5, log_of_4_0, log_of_a_query, named, read, text_of, written,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

fn table(path: &Path) -> RecordBatch {
    let file = File::open(path).unwrap();
    let mut batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("a column {name}"));
    match column.data_type() {
        arrow_schema::DataType::UInt32 => {
            column.as_primitive::<UInt32Type>().values().iter().map(|n| u64::from(*n)).collect()
        }
        _ => column.as_primitive::<UInt64Type>().values().to_vec(),
    }
}

/// Where each figure is in the metrics of a task, and its unit in that of the column.
const FIGURES: [(&str, &[&str], u64); 12] = [
    ("run_ns", &["/Executor Run Time"], 1_000_000),
    ("gc_ns", &["/JVM GC Time"], 1_000_000),
    ("cpu_ns", &["/Executor CPU Time", "/Executor Deserialize CPU Time"], 1),
    ("input_bytes", &["/Input Metrics/Bytes Read"], 1),
    ("output_bytes", &["/Output Metrics/Bytes Written"], 1),
    ("shuffle_read_local_bytes", &["/Shuffle Read Metrics/Local Bytes Read"], 1),
    ("shuffle_read_remote_bytes", &["/Shuffle Read Metrics/Remote Bytes Read"], 1),
    ("shuffle_read_to_disk_bytes", &["/Shuffle Read Metrics/Remote Bytes Read To Disk"], 1),
    ("shuffle_write_bytes", &["/Shuffle Write Metrics/Shuffle Bytes Written"], 1),
    ("spill_memory_bytes", &["/Memory Bytes Spilled"], 1),
    ("spill_disk_bytes", &["/Disk Bytes Spilled"], 1),
    ("result_bytes", &["/Result Size"], 1),
];

fn figure(task: &Value, paths: &[&str], unit: u64) -> u64 {
    paths.iter().map(|path| count(&task["Task Metrics"], path)).sum::<u64>() * unit
}

#[test]
fn the_tables_of_real_logs_have_the_sums_of_their_json() {
    for path in [log_of_3_5(), log_of_4_0()] {
        let log = read(&path);
        let folder = tempfile::tempdir().unwrap();
        log.write_tables(folder.path()).unwrap();
        let stages = table(&folder.path().join(STAGES_FILE));
        let tasks = table(&folder.path().join(TASKS_FILE));
        let events = events(&path);
        let ends = named(&events, "SparkListenerTaskEnd");
        assert_eq!(tasks.num_rows(), ends.len());
        assert_eq!(stages.num_rows(), named(&events, "SparkListenerStageCompleted").len());

        let ids = numbers(&stages, "stage");
        for (column, paths, unit) in FIGURES {
            let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
            let of_tasks = numbers(&tasks, column);
            for (task, of_task) in ends.iter().zip(of_tasks) {
                let amount = figure(task, paths, unit);
                assert_eq!(of_task, amount, "{column} of a task");
                *sums.entry(count(task, "/Stage ID")).or_default() += amount;
            }
            for (id, sum) in ids.iter().zip(numbers(&stages, column)) {
                assert_eq!(sum, sums[id], "{column} of stage {id}");
            }
            let is_used = !column.starts_with("spill") && !column.ends_with("to_disk_bytes");
            assert_eq!(sums.values().sum::<u64>() > 0, is_used, "{column}");
        }
        for task in named(&events, "SparkListenerStageCompleted") {
            let info = &task["Stage Info"];
            let row = ids.iter().position(|id| *id == count(info, "/Stage ID")).unwrap();
            let at = |column| numbers(&stages, column)[row];
            assert_eq!(at("submitted_unix_ns"), count(info, "/Submission Time") * 1_000_000);
            assert_eq!(at("ended_unix_ns"), count(info, "/Completion Time") * 1_000_000);
            assert_eq!(at("partitions"), count(info, "/Number of Tasks"));
            let seconds = stages.column_by_name("ended_s").unwrap();
            let seconds = seconds.as_primitive::<arrow_array::types::Float64Type>().value(row);
            let after = count(info, "/Completion Time") * 1_000_000 - log.start.0;
            assert!((seconds - Ns(after).as_secs()).abs() < 1e-6);
            let jobs = stages.column_by_name("jobs").unwrap().as_list::<i32>().value(row);
            assert_eq!(jobs.len(), 1);
        }
        assert_eq!(numbers(&stages, "tasks").iter().sum::<u64>(), ends.len() as u64);
        assert!(matches!(log.write_tables(folder.path()), Err(TraceError::Exists(_))));
    }
}

#[test]
fn real_logs_have_their_application_and_executors() {
    let old = read(&log_of_3_5());
    assert!(old.version.starts_with("3.5"), "{}", old.version);
    let new = read(&log_of_4_0());
    assert!(new.version.starts_with("4.0"), "{}", new.version);
    for log in [&old, &new] {
        assert_eq!(log.name, "sort-and-count");
        assert_eq!(log.executors.len(), 2);
        assert!(log.executors.iter().all(|e| e.cores == 1 && e.removed.is_none()));
        assert!(log.executors.iter().any(|e| e.peak_memory > Bytes(10 << 20)));
        assert!(!log.reads_host_local_disk, "a local cluster fetches from its own host");
        assert_eq!(log.warnings, Vec::<String>::new());
        assert!(log.stages.iter().all(|stage| stage.status == StageStatus::Complete));
        assert!(log.tasks.iter().all(|task| task.status == TaskStatus::Success));
    }
    let hosts: Vec<_> = new.executors.iter().map(|e| e.host.as_str()).collect();
    assert_eq!(hosts, ["node-1", "node-2"]);
    assert_eq!(new.ignored["org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"], 2);
    assert_eq!(new.events as usize, events(&log_of_4_0()).len());
}

#[test]
fn stages_for_the_survey_are_in_seconds_after_a_start() {
    let log = read(&log_of_4_0());
    let all = log.named_stages(log.start);
    assert_eq!(all.len(), log.stages.len());
    for (named, stage) in all.iter().zip(&log.stages) {
        assert!(named.start_s >= 0.0 && named.end_s > named.start_s);
        let start = (stage.submitted.unwrap() - log.start).as_secs();
        assert!((named.start_s - start).abs() < 1e-9);
        assert!(named.name.starts_with(&format!("{}: ", stage.id)));
    }
    let overlap = all.windows(2).any(|pair| pair[1].start_s < pair[0].end_s);
    assert!(overlap, "independent stages run at the same time");
    // From within the first stage: it is cut, and none of the others is lost.
    let later = log.stages[0].submitted.unwrap() + Ns::SECOND;
    let cut = log.named_stages(later);
    assert_eq!(cut.len(), all.len());
    assert!(cut[0].start_s.abs() < 1e-9);
    assert!((cut[0].end_s - (log.stages[0].ended.unwrap() - later).as_secs()).abs() < 1e-9);
    assert!(log.named_stages(log.last + Ns::SECOND).is_empty());
}

/// Blocks as snappy-java's SnappyOutputStream writes them.
fn snappy(text: &[u8]) -> Vec<u8> {
    let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in text.chunks(32 << 10) {
        let packed = snap::raw::Encoder::new().compress_vec(block).unwrap();
        stream.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        stream.extend(packed);
    }
    stream
}

/// Blocks as lz4-java's LZ4BlockOutputStream writes those that do not shrink.
fn lz4(text: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for block in text.chunks(32 << 10).chain([&b""[..]]) {
        let length = u32::try_from(block.len()).unwrap().to_le_bytes();
        let hash = twox_hash::XxHash32::oneshot(0x9747_b28c, block) & 0x0fff_ffff;
        let checksum = if block.is_empty() { 0 } else { hash };
        stream.extend(b"LZ4Block\x15");
        stream.extend([length, length, checksum.to_le_bytes()].concat());
        stream.extend(block);
    }
    stream
}

#[test]
fn compressed_and_joined_logs_are_the_same_log() {
    let text = text_of(&log_of_4_0());
    let expected = read(&log_of_4_0());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("plain", text.clone().into_bytes()),
        ("app.gz", gz.finish().unwrap()),
        ("app.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ("app.snappy", snappy(text.as_bytes())),
        ("app.lz4", lz4(text.as_bytes())),
        ("windows", text.replace('\n', "\r\n").into_bytes()),
        ("no-end", text.trim_end().as_bytes().to_vec()),
    ];
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert!(is_event_log(&path), "{name}");
        let log = read(&path);
        assert_eq!(log.tasks, expected.tasks, "{name}");
        assert_eq!(log.stages, expected.stages, "{name}");
        assert!(log.warnings.is_empty(), "{name}: {:?}", log.warnings);
    }
    // The folder that holds a single log, as in spark.eventLog.dir.
    assert!(!is_event_log(folder.path()), "it holds several");
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("app"), &text).unwrap();
    fs::write(parent.path().join(".app.crc"), "x").unwrap();
    assert_eq!(read(parent.path()).tasks, expected.tasks);
    assert!(is_event_log(parent.path()));
}

#[test]
fn a_log_cut_short_at_any_byte_keeps_what_is_before() {
    let text = text_of(&log_of_3_5());
    let whole = read(&log_of_3_5());
    for cut in [1000, text.len() / 3, text.len() / 2, text.len() - 2] {
        // Within a line.
        let cut = if text.as_bytes()[cut - 1] == b'\n' { cut + 5 } else { cut };
        let (_folder, path) = written(&text[..cut]);
        let log = read(&path);
        assert!(log.warnings.iter().any(|w| w.starts_with("truncated")), "{:?}", log.warnings);
        assert_eq!(log.end, None);
        let lines = text[..cut].lines().count() as u64 - 1;
        assert_eq!(log.events, lines);
        let ended: Vec<_> = log.tasks.iter().filter(|task| task.ended.is_some()).collect();
        assert!(ended.iter().zip(&whole.tasks).all(|(task, other)| task.id == other.id));
    }
}

#[test]
fn a_compressed_file_that_was_not_completed_keeps_what_is_before() {
    let text = text_of(&log_of_3_5());
    let half = &text[..text.len() / 2];
    let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    zstd.write_all(half.as_bytes()).unwrap();
    zstd.flush().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.zstd.inprogress");
    fs::write(&path, zstd.get_ref()).unwrap();
    let log = read(&path);
    assert!(log.warnings.iter().any(|w| w.starts_with("truncated")), "{:?}", log.warnings);
    assert!(log.warnings.iter().any(|w| w.starts_with("end")), "{:?}", log.warnings);
    let ends = half.matches(r#"{"Event":"SparkListenerTaskEnd""#).count();
    let ended = log.tasks.iter().filter(|task| task.ended.is_some()).count();
    assert!(ended > 5 && ends - ended <= 1, "{ended} of {ends}");
    assert!(log.tasks.iter().any(|task| task.status == TaskStatus::Unfinished));
}

#[test]
fn a_missing_part_of_a_rolled_log_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("eventlog_v2_app-4.0");
    fs::create_dir(&log).unwrap();
    let second = "events_2_app-4.0.zstd";
    fs::copy(log_of_4_0().join(second), log.join(second)).unwrap();
    let part = read(&log);
    assert!(part.warnings.iter().any(|w| w.contains("events_1 is not")), "{:?}", part.warnings);
    assert!(part.warnings.iter().any(|w| w.starts_with("start")), "{:?}", part.warnings);
    let whole = read(&log_of_4_0());
    let lines = text_of(&log);
    let ends = lines.matches(r#"{"Event":"SparkListenerTaskEnd""#).count();
    assert_eq!(part.tasks.len(), ends);
    for (task, other) in part.tasks.iter().rev().zip(whole.tasks.iter().rev()) {
        assert_eq!(task.figures, other.figures);
    }

    fs::copy(log_of_4_0().join("events_1_app-4.0.zstd"), log.join("events_1_app-4.0.zstd"))
        .unwrap();
    fs::rename(log.join(second), log.join("events_3_app-4.0.zstd")).unwrap();
    let gap = read(&log);
    assert!(gap.warnings.iter().any(|w| w.contains("events_2 is not")), "{:?}", gap.warnings);
    assert_eq!(gap.tasks, whole.tasks);
}

/// The log of 3.5 in which executor 1 is lost during the last task that it runs.
fn lost_executor() -> (String, u64) {
    let text = text_of(&log_of_3_5());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_end_on_1 = |line: &String| {
        line.contains("SparkListenerTaskEnd") && line.contains(r#""Executor ID":"1""#)
    };
    let last = lines.iter().rposition(is_end_on_1).unwrap();
    let mut event: Value = serde_json::from_str(&lines[last]).unwrap();
    let id = count(&event, "/Task Info/Task ID");
    event["Task End Reason"] = serde_json::json!({
        "Reason": "ExecutorLostFailure", "Executor ID": "1", "Exit Caused By App": true,
        "Loss Reason": "Command exited with code 137"
    });
    event["Task Info"]["Failed"] = true.into();
    event.as_object_mut().unwrap().remove("Task Metrics");
    let at = count(&event, "/Task Info/Finish Time");
    // The output of an earlier task was lost, too.
    let first = lines.iter().position(is_end_on_1).unwrap();
    let mut again: Value = serde_json::from_str(&lines[first]).unwrap();
    again["Task End Reason"] = serde_json::json!({ "Reason": "Resubmitted" });
    again.as_object_mut().unwrap().remove("Task Metrics");
    let removed = serde_json::json!({
        "Event": "SparkListenerExecutorRemoved", "Timestamp": at, "Executor ID": "1",
        "Removed Reason": "Command exited with code 137"
    });
    lines[last] = [event, again, removed].map(|event| event.to_string()).join("\n");
    (lines.join("\n") + "\n", id)
}

#[test]
fn a_task_ends_once() {
    let text = text_of(&log_of_3_5());
    let mut lines: Vec<&str> = text.lines().collect();
    let place = |lines: &[&str], event: &str| {
        lines.iter().position(|line| line.contains(event)).expect("the log has tasks")
    };
    let start = lines.remove(place(&lines, "SparkListenerTaskStart"));
    let end = place(&lines, "SparkListenerTaskEnd");
    lines.insert(end + 1, start);
    lines.insert(end + 2, lines[end]);
    let (_folder, path) = written(&(lines.join("\n") + "\n"));
    let (log, whole) = (read(&path), read(&log_of_3_5()));
    let ends = |log: &EventLog| log.tasks.iter().map(|t| (t.id, t.ended)).collect::<Vec<_>>();
    assert_eq!(ends(&log), ends(&whole));
    assert_eq!(log.stages, whole.stages);
    let repeated = "repeated: 1 end of tasks that had ended already, left out".to_owned();
    assert_eq!(log.warnings, [whole.warnings, vec![repeated]].concat());
}

/// The log of 3.5 in which a task of stage 0 runs again in a second attempt of the stage, as its
/// first task; in the first attempt it failed, or succeeded, and its output was lost. The number of
/// the task, and its partition.
fn second_attempt(has_failed: bool, has_partitions: bool) -> (String, u64, u32) {
    let text = text_of(&log_of_3_5());
    let mut events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_last = |event: &Value| {
        event["Event"] == "SparkListenerTaskEnd"
            && event["Stage ID"] == 0
            && event["Task Info"]["Index"] == 1
    };
    let at = events.iter().position(is_last).unwrap();
    let mut again = events[at].clone();
    let id = 90_000;
    again["Stage Attempt ID"] = 1.into();
    again["Task Info"]["Task ID"] = id.into();
    again["Task Info"]["Index"] = 0.into();
    if has_failed {
        events[at]["Task End Reason"]["Reason"] = "FetchFailed".into();
    }
    events.insert(at + 1, again);
    if !has_partitions {
        for event in &mut events {
            if let Some(info) = event["Task Info"].as_object_mut() {
                info.remove("Partition ID");
            }
        }
    }
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    (lines.join("\n") + "\n", id, 1)
}

#[test]
fn tasks_of_a_second_attempt_have_the_partitions_that_are_missing() {
    let partition = |has_failed, has_partitions| {
        let (text, id, partition) = second_attempt(has_failed, has_partitions);
        let (_folder, path) = written(&text);
        let log = read(&path);
        let task = log.tasks.iter().find(|task| task.id == id).unwrap();
        assert_eq!((task.stage, task.stage_attempt), (0, 1));
        (task.partition, partition)
    };
    for (has_failed, has_partitions) in [(true, true), (true, false), (false, true)] {
        let (found, expected) = partition(has_failed, has_partitions);
        assert_eq!(found, expected, "{has_failed} {has_partitions}");
    }
    // No partition is missing: its output was lost, and nothing says which one it was.
    assert_eq!(partition(false, false).0, 0);
}

#[test]
fn tasks_of_a_lost_executor_have_no_figures() {
    let (text, id) = lost_executor();
    let (folder, path) = written(&text);
    let log = read(&path);
    let whole = read(&log_of_3_5());
    assert_eq!(log.tasks.len(), whole.tasks.len(), "a resubmitted task does not end twice");
    let task = log.tasks.iter().find(|task| task.id == id).unwrap();
    assert_eq!(task.status, TaskStatus::Failed);
    assert_eq!(log.text(task.reason), "ExecutorLostFailure");
    assert_eq!(task.figures, None);
    let executor = log.executors.iter().find(|executor| executor.id == "1").unwrap();
    assert_eq!(executor.removed, task.ended);
    assert_eq!(executor.reason, "Command exited with code 137");
    for word in ["figures: 1", "resubmitted: the output of 1"] {
        assert!(log.warnings.iter().any(|w| w.starts_with(word)), "{word}: {:?}", log.warnings);
    }
    let of = |log: &EventLog| {
        let stage = log.stages.iter().find(|stage| stage.id == task.stage).unwrap();
        stage.totals.clone()
    };
    assert_eq!((of(&log).failed, of(&whole).failed), (1, 0));
    assert!(of(&log).figures.run < of(&whole).figures.run);
    log.write_tables(folder.path()).unwrap();
    let tasks = table(&folder.path().join(TASKS_FILE));
    let row = numbers(&tasks, "task").iter().position(|task| *task == id).unwrap();
    assert!(tasks.column_by_name("cpu_ns").unwrap().is_null(row));
}

#[test]
fn inputs_of_other_kinds_are_refused() {
    let not = |bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, bytes).unwrap();
        EventLog::read(&path, false, &Progress::default()).unwrap_err()
    };
    for bytes in [
        &b""[..],
        b"\n\n",
        b"hello\n",
        b"{\"Event\": 5}\n",
        b"{}\n",
        b"[1,2]\n",
        b"{\"Event\":\"Spark",
        b"{\"Event\":\"click\"}\n",
        &[0, 159, 146, 150, 10],
    ] {
        let error = not(bytes);
        assert!(matches!(error, EventLogError::NotEventLog { .. }), "{bytes:?}: {error}");
    }
    let EventLogError::Compression { codec, .. } = not(b"ZV\x01\0\x05\0\x05hello") else {
        panic!()
    };
    assert_eq!(codec, "lzf");
    let damaged = [&b"LZ4Block%"[..], &[0xff; 12]].concat();
    assert!(matches!(not(&damaged), EventLogError::Read { .. }));
    assert!(matches!(not(&[0x1f, 0x8b, 8, 0]), EventLogError::Read { .. }));
    let empty = tempfile::tempdir().unwrap();
    let error = EventLog::read(empty.path(), false, &Progress::default()).unwrap_err();
    assert!(matches!(error, EventLogError::NotEventLog { .. }), "{error}");
    let error =
        EventLog::read(&empty.path().join("none"), false, &Progress::default()).unwrap_err();
    assert!(matches!(error, EventLogError::Open { .. }), "{error}");
    let stopped = Progress { stop: true.into(), ..Progress::default() };
    let error = EventLog::read(&log_of_3_5(), false, &stopped).unwrap_err();
    assert!(matches!(error, EventLogError::Stopped), "{error}");
}

#[test]
fn a_log_that_is_cut_short_before_its_first_task_ends_says_so() {
    let text = text_of(&log_of_3_5());
    let end = text.find("SparkListenerTaskEnd").unwrap();
    let hint_of = |text: &str| {
        let (_folder, path) = written(text);
        let log = EventLog::read(&path, false, &Progress::default()).unwrap();
        match log.check(&path).unwrap_err() {
            EventLogError::Content { hint, .. } => hint,
            error => panic!("{error}"),
        }
    };
    assert_eq!(hint_of(&text[..end]), "a whole copy of the log");
    let lines = text[..end].rfind('\n').unwrap() + 1;
    assert_ne!(hint_of(&text[..lines]), "a whole copy of the log");
}

#[test]
fn two_logs_in_one_file_are_refused_also_without_malformed_lines() {
    let one = text_of(&log_of_3_5());
    let start = one.lines().position(|line| line.contains("SparkListenerApplicationStart"));
    let second = one.lines().count() + start.unwrap() + 1;
    let (_folder, path) = written(&one.repeat(2));
    for skip_bad in [false, true] {
        let error = EventLog::read(&path, skip_bad, &Progress::default()).unwrap_err();
        let EventLogError::SecondApplication { line, .. } = error else { panic!("{error}") };
        assert_eq!(line, second as u64);
    }
}

#[test]
fn a_malformed_line_is_an_error_with_its_number_or_is_counted() {
    let text = text_of(&log_of_3_5());
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(40, r#"{"Event":"SparkListenerTaskEnd","Stage ID":"#);
    lines.insert(41, "\u{fffd}");
    let (_folder, path) = written(&(lines.join("\n") + "\n"));
    let error = EventLog::read(&path, false, &Progress::default()).unwrap_err();
    let EventLogError::Bad { line, .. } = error else { panic!("{error}") };
    assert_eq!(line, 41);
    let log = EventLog::read(&path, true, &Progress::default()).unwrap();
    assert_eq!(log.skipped, 2);
    assert_eq!(log.tasks, read(&log_of_3_5()).tasks);
}

#[test]
fn unknown_events_are_counted_and_odd_amounts_do_no_harm() {
    let text = text_of(&log_of_3_5())
        .replacen(
            LINES,
            &format!("{{\"Event\":\"SparkListenerOfTomorrow\",\"x\":[1]}}\n{LINES}"),
            3,
        )
        .replacen(r#""JVM GC Time":"#, r#""JVM GC Time":-"#, 1);
    let (_folder, path) = written(&text);
    let log = read(&path);
    assert_eq!(log.ignored["SparkListenerOfTomorrow"], 3);
    assert_eq!(log.tasks[0].figures.unwrap().gc, Ns::ZERO);
    assert_eq!(log.tasks.len(), read(&log_of_3_5()).tasks.len());
}

#[test]
fn an_impossible_amount_is_a_malformed_line() {
    let name = "\"Executor Run Time\":";
    let text =
        text_of(&log_of_3_5()).replacen(name, &format!("{name}9223372036854775807, \"x\":"), 1);
    let (_folder, path) = written(&text);
    let error = EventLog::read(&path, false, &Progress::default()).unwrap_err();
    assert!(matches!(error, EventLogError::Bad { .. }), "{error}");
    let log = EventLog::read(&path, true, &Progress::default()).unwrap();
    assert_eq!(log.skipped, 1);
}

#[test]
fn stages_of_queries_are_named_by_their_operators() {
    let log = read(&log_of_a_query());
    let names: Vec<(u32, &str)> = log.stages.iter().map(|s| (s.id, s.name.as_str())).collect();
    let expected = [
        // A check of the first lines, before the job.
        (0, "scan text, local limit, exchange"),
        (1, "exchange, global limit, hash aggregate"),
        // The bounds of the partitions of a sort, its shuffle, and its output.
        (2, "scan text, sample"),
        (3, "scan text, exchange"),
        (4, "exchange, sort, write"),
    ];
    assert_eq!(names, expected);
    for stage in &log.stages {
        let of_spark = ["first at job.py:12", "text at NativeMethodAccessorImpl.java:0"];
        assert!(of_spark.contains(&stage.spark_name.as_str()), "{}", stage.spark_name);
    }
    assert_eq!(log.named_stages(log.start)[2].name, "2: scan text, sample");
    let folder = tempfile::tempdir().unwrap();
    log.write_tables(folder.path()).unwrap();
    let stages = table(&folder.path().join(STAGES_FILE));
    let texts = |column: &str| {
        let column = stages.column_by_name(column).unwrap().as_string::<i32>();
        column.iter().flatten().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(texts("name")[4], "exchange, sort, write");
    assert_eq!(texts("spark_name")[4], "text at NativeMethodAccessorImpl.java:0");
}

#[test]
fn stages_without_a_query_or_without_operators_have_the_name_of_spark() {
    let text = text_of(&log_of_a_query());
    let of_spark = |log: &EventLog| log.stages.iter().all(|stage| stage.name == stage.spark_name);
    // A program on RDDs.
    let (_folder, path) = written(&text.replace("spark.sql.execution.id", "spark.other"));
    assert!(of_spark(&read(&path)));
    // A log without its RDDs, as the others here.
    let (_folder, path) = written(&text.replace("RDD Info", "Other Info"));
    assert!(of_spark(&read(&path)));
    for log in [read(&log_of_3_5()), read(&log_of_4_0())] {
        assert!(of_spark(&log));
    }
    // Without its plan, compiled operators are unknown.
    let lines = text.lines().filter(|line| !line.contains("sparkPlanInfo"));
    let without: Vec<&str> = lines.collect();
    let (_folder, path) = written(&without.join("\n"));
    let names: Vec<String> = read(&path).stages.into_iter().map(|stage| stage.name).collect();
    assert_eq!(names[3..], ["scan text, exchange", "exchange, write"]);
    // A plan that cannot be read is an event that is not needed.
    let (_folder, path) = written(&text.replace("nodeName", "otherName"));
    let log = read(&path);
    assert_eq!(log.stages[4].name, "exchange, write");
    let start = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart";
    assert_eq!(log.ignored[start], 2);
}

#[test]
fn failed_jobs_are_counted_in_a_warning() {
    let text = text_of(&log_of_a_query());
    let (_folder, path) = written(&text.replace("JobSucceeded", "JobFailed"));
    let is_of_failures = |warning: &String| warning.starts_with("failed: ");
    assert!(!read(&log_of_a_query()).warnings.iter().any(is_of_failures));
    assert!(read(&path).warnings.iter().any(is_of_failures));
}

#[test]
fn a_summary_after_a_start_leaves_out_what_had_ended() {
    let log = read(&log_of_a_query());
    let whole = log.summary(None);
    assert_eq!(whole.tasks, log.tasks.len() as u64);
    // After the check, which reads the input of its own.
    let start = log.stages[2].submitted.unwrap();
    let after = log.summary(Some(start));
    let stages: Vec<&str> = after.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(stages.len(), 3);
    let of_job = log.tasks.iter().filter(|task| task.stage >= 2);
    let (mut tasks, mut input) = (0, 0);
    for task in of_job {
        tasks += 1;
        input += task.figures.unwrap().input.0;
    }
    assert_eq!((after.tasks, after.totals["input_bytes"]), (tasks, input));
    assert!(whole.totals["input_bytes"] > input);
    assert!(whole.tasks > tasks);
}

#[test]
fn progress_counts_the_bytes_of_all_files_before_decompression() {
    for log in [log_of_3_5(), log_of_4_0()] {
        let progress = Progress::default();
        EventLog::read(&log, false, &progress).unwrap();
        let files: Vec<_> = match log.is_dir() {
            true => fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).collect(),
            false => vec![log],
        };
        let is_events = |file: &&std::path::PathBuf| !file.ends_with("appstatus_app-4.0");
        let bytes = files.iter().filter(is_events).map(|file| file.metadata().unwrap().len());
        let bytes = bytes.sum::<u64>();
        assert_eq!(progress.progress(), (bytes, bytes));
    }
}
