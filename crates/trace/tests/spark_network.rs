//! The network of nodes that have none of their own, estimated from the remote reads of a log.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod spark_logs;

use gordon_trace::activity::{ActivityFormat, ActivityOptions, convert};
use gordon_trace::spark::{EventLog, NodeExecutors, TaskFigures, estimate_network};
use gordon_trace::{
    ColumnKind, Columns, MachineInfo, Manifest, Sample, Trace, TraceError, TraceWriter, Unavailable,
};
use gordon_units::{Ns, Progress};
use spark_logs::{log_of_4_0, read};
use std::fs;
use std::path::Path;

/// A trace of a node without a network, with samples of a second from `start`.
fn write(out: &Path, start: u64, seconds: u64) {
    let mut columns = Columns::all(ColumnKind::Measured, "counted");
    let network = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
    columns.set(&network, ColumnKind::Missing, "it has none");
    let mut writer = TraceWriter::create(out, &columns).unwrap();
    for second in 0..seconds {
        writer.sample(&common::sample(second)).unwrap();
    }
    let process = writer.block().process("java");
    writer.block().push(common::io(0, process)).unwrap();
    let mut manifest = Manifest::new(Vec::new(), Ns::SECOND, MachineInfo::default());
    manifest.start_unix_ns = start;
    let lacks =
        |what: &str| Unavailable { what: what.to_owned(), why: "none of its own".to_owned() };
    manifest.unavailable = vec![lacks("network"), lacks("control group")];
    writer.finish(manifest).unwrap();
}

fn nodes(folder: &Path) -> Vec<NodeExecutors> {
    let node = |(name, executor): (&str, &str)| NodeExecutors {
        trace: folder.join(name),
        executors: vec![executor.to_owned(), "99".to_owned()],
    };
    [("node-1", "0"), ("node-2", "1")].map(node).to_vec()
}

/// The sum of a figure over the tasks of an executor.
fn sum(log: &EventLog, executor: &str, of: fn(&TaskFigures) -> u64) -> u64 {
    let tasks = log.tasks.iter().filter(|task| log.text(task.executor) == executor);
    tasks.filter_map(|task| task.figures.as_ref().map(of)).sum()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn nodes_receive_what_their_tasks_read_and_send_what_others_read() {
    let log = read(&log_of_4_0());
    let folder = tempfile::tempdir().unwrap();
    let seconds = log.duration().as_secs().ceil() as u64;
    for name in ["node-1", "node-2"] {
        write(&folder.path().join(name), log.start.0, seconds);
    }
    let before: Vec<Vec<Sample>> = ["node-1", "node-2"]
        .map(|name| Trace::open(&folder.path().join(name)).unwrap().activity().unwrap())
        .to_vec();
    let estimate = estimate_network(&log, &nodes(folder.path())).unwrap();
    let remote: Vec<u64> = ["0", "1"].map(|id| sum(&log, id, |f| f.shuffle_remote.0)).to_vec();
    assert!(remote[0] > 0 && remote[1] > 0);
    let traffic = |at: usize| (estimate.nodes[at].rx_bytes, estimate.nodes[at].tx_bytes);
    assert_eq!(traffic(0), (remote[0], remote[1]), "with two executors, the other one sent it");
    assert_eq!(traffic(1), (remote[1], remote[0]));

    // A conversion of the log spreads them in the same way.
    let converted = folder.path().join("converted");
    let format = ActivityFormat::SparkEventlog;
    let options = ActivityOptions::default();
    convert(&[log_of_4_0()], &converted, format, &options, &Progress::default())
        .unwrap()
        .publish()
        .unwrap();
    for (name, before) in ["node-1", "node-2"].into_iter().zip(&before) {
        let trace = Trace::open(&folder.path().join(name)).unwrap();
        let samples = trace.activity().unwrap();
        let expected = Trace::open(&converted.join(name)).unwrap().activity().unwrap();
        assert_eq!(samples.len(), expected.len());
        for (sample, expected) in samples.iter().zip(&expected) {
            assert!(sample.rx_bytes.0.abs_diff(expected.rx_bytes.0) <= 2);
            assert!(sample.tx_bytes.0.abs_diff(expected.tx_bytes.0) <= 2);
        }
        // Nothing else has changed.
        for (sample, before) in samples.iter().zip(before) {
            let network = (sample.rx_bytes, sample.tx_bytes);
            let mut before = before.clone();
            (before.rx_bytes, before.tx_bytes) = network;
            assert_eq!(sample, &before);
        }
        let manifest = trace.manifest();
        for column in ["rx_bytes", "tx_bytes"] {
            let column = manifest.column(column).unwrap();
            assert_eq!(column.kind, ColumnKind::Estimated);
            assert!(column.how.contains("event log"), "{}", column.how);
        }
        assert_eq!(manifest.column("rx_packets").unwrap().kind, ColumnKind::Missing);
        assert_eq!(manifest.column("cpu_ns").unwrap().how, "counted");
        let unavailable: Vec<&str> = manifest.unavailable.iter().map(|u| u.what.as_str()).collect();
        assert_eq!(unavailable, ["control group"]);
        let mut requests = Vec::new();
        assert!(trace.block().unwrap().next_batch(&mut requests).unwrap());
        assert_eq!(requests.len(), 1);
        let files = ["activity.parquet", "block.parquet", "disks.parquet", "manifest.json"];
        assert_eq!(names(trace.path()), files);
    }
    assert_eq!(names(folder.path()), ["converted", "node-1", "node-2"], "nothing is left");
}

#[test]
fn only_times_within_the_trace_and_executors_of_a_node_count() {
    let log = read(&log_of_4_0());
    let folder = tempfile::tempdir().unwrap();
    let all = |executor| sum(&log, executor, |f| f.shuffle_remote.0);
    // From the end of the first task that read from another executor.
    let is_first = |task: &&gordon_trace::spark::Task| {
        log.text(task.executor) == "0" && task.figures.is_some_and(|f| f.shuffle_remote.0 > 0)
    };
    let start = log.tasks.iter().find(is_first).unwrap().ended.unwrap();
    for name in ["node-1", "node-2"] {
        write(&folder.path().join(name), start.0, log.duration().as_secs().ceil() as u64);
    }
    let estimate = estimate_network(&log, &nodes(folder.path())).unwrap();
    let of_node = estimate.nodes[0];
    assert!(of_node.rx_bytes > 0 && of_node.rx_bytes < all("0"), "{of_node:?}");
    // A trace after the end of the application.
    write(&folder.path().join("later"), log.last.0, 5);
    let later = NodeExecutors { trace: folder.path().join("later"), executors: vec!["0".into()] };
    let estimate = estimate_network(&log, &[later]).unwrap();
    assert_eq!((estimate.nodes[0].rx_bytes, estimate.nodes[0].tx_bytes), (0, 0));
    // A node without executors.
    write(&folder.path().join("idle"), log.start.0, 100);
    let idle = NodeExecutors { trace: folder.path().join("idle"), executors: Vec::new() };
    let estimate = estimate_network(&log, &[idle]).unwrap();
    assert_eq!(estimate.nodes[0].tx_bytes, 0);
    // A node with both executors: nothing leaves it.
    write(&folder.path().join("both"), log.start.0, 100);
    let executors = vec!["0".into(), "1".into()];
    let both = NodeExecutors { trace: folder.path().join("both"), executors };
    let estimate = estimate_network(&log, &[both]).unwrap();
    assert_eq!((estimate.nodes[0].rx_bytes, estimate.nodes[0].tx_bytes), (0, 0));
}

#[test]
fn a_missing_trace_is_an_error_and_the_others_stay_as_they_were() {
    let log = read(&log_of_4_0());
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("node-1"), log.start.0, 10);
    let before = fs::read(folder.path().join("node-1/manifest.json")).unwrap();
    let error = estimate_network(&log, &nodes(folder.path())).unwrap_err();
    assert!(matches!(error, TraceError::Missing(_)), "{error}");
    assert_eq!(fs::read(folder.path().join("node-1/manifest.json")).unwrap(), before);
    assert_eq!(names(folder.path()), ["node-1"]);
}
