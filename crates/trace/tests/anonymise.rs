//! Copies of traces and runs with pseudonyms: no name is left, and no figure is changed.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod spark_logs;

use arrow_array::RecordBatch;
use gordon_trace::activity::{ActivityFormat, ActivityOptions, convert};
use gordon_trace::spark::{STAGES_FILE, TASKS_FILE};
use gordon_trace::{
    BlockIo, ColumnKind, Columns, DiskInfo, InterfaceInfo, MachineInfo, Manifest, NodeScope, Scope,
    ScopePart, Shared, Trace, TraceError, TraceWriter, Unavailable, anonymise,
};
use gordon_units::{Bytes, Ns, Progress};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A part of each name that must not be in a copy.
const SECRET: &str = "acme";

fn machine() -> MachineInfo {
    let disk = |name: &str, model: &str, is_virtual| DiskInfo {
        name: name.to_owned(),
        device: 8 << 20,
        major: 8,
        size: Bytes(1 << 40),
        model: Some(model.to_owned()),
        is_virtual,
        members: if is_virtual { vec!["sda".to_owned()] } else { Vec::new() },
        ..DiskInfo::default()
    };
    let interface =
        |name: &str| InterfaceInfo { name: name.to_owned(), megabits: Some(1000), counted: true };
    MachineInfo {
        cpu_model: "AMD EPYC 9354".to_owned(),
        cores: 2,
        memory: Bytes(8 << 30),
        kernel: "6.1.0-acme-amd64".to_owned(),
        disks: vec![
            disk("sda", "Samsung SSD 980", false),
            disk("dm-0", "vg0-acme", true),
            disk("acme-vol", "acme-lun", true),
        ],
        interfaces: vec![interface("eth0"), interface("acme-vpn")],
        ..MachineInfo::default()
    }
}

/// A trace of node `name`. Each name in it has [`SECRET`] in it.
fn write(out: &Path, name: &str) -> Manifest {
    let columns = Columns::all(ColumnKind::Measured, "counted in /srv/acme/counters");
    let mut writer = TraceWriter::create(out, &columns).unwrap();
    for i in 0..20 {
        writer.sample(&common::sample(i)).unwrap();
    }
    let names = ["acme-sort", "kworker/0:1H-acme", "acme-grep"];
    for i in 0..7_000 {
        let process = writer.block().process(names[i as usize % 3]);
        writer.block().push(common::io(i, process)).unwrap();
    }
    let command = ["./acme-sort", "--password", "acme"].map(str::to_owned).to_vec();
    let mut manifest = Manifest::new(command, Ns::SECOND, machine());
    manifest.cwd = "/home/acme".to_owned();
    manifest.start_unix_ns = 1_795_687_200_000_000_001;
    manifest.scope = Scope {
        host: Some("acme-boot".to_owned()),
        part: ScopePart::Node(NodeScope {
            name: name.to_owned(),
            cores: Some(0.5),
            cgroup: Some(format!("/acme/{name}")),
            network_namespace: Some(4_026_531_840),
            devices: vec!["acme-vol".to_owned()],
            shared: vec![Shared {
                what: "mhz".to_owned(),
                why: "of the host acme-boot".to_owned(),
            }],
            ..NodeScope::default()
        }),
    };
    manifest.unavailable = vec![Unavailable {
        what: "memory".to_owned(),
        why: "cannot read /srv/acme/x of acme-vpn".to_owned(),
    }];
    writer.finish(manifest).unwrap()
}

fn requests(trace: &Trace) -> (Vec<BlockIo>, Vec<String>) {
    let mut reader = trace.block().unwrap();
    let (mut rows, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        rows.extend_from_slice(&batch);
    }
    (rows, reader.names().to_vec())
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn batches(path: &Path) -> (Vec<RecordBatch>, Option<String>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let about = builder.schema().metadata().get("gordon").cloned();
    (builder.build().unwrap().map(Result::unwrap).collect(), about)
}

/// No file of the copy has the secret: neither its bytes, nor the texts of its tables.
fn assert_is_clean(copy: &Path) {
    for (path, bytes) in files(copy) {
        let shown = path.strip_prefix(copy).unwrap().display().to_string();
        assert!(!shown.contains(SECRET), "{shown}");
        let has = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!has, "{shown}");
        if path.extension().is_some_and(|end| end == "parquet") {
            let (rows, about) = batches(&path);
            assert!(!format!("{rows:?}{about:?}").contains(SECRET), "{shown}");
        }
    }
}

#[test]
fn a_copy_of_a_trace_has_all_figures_and_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let written = write(&from, "acme-a");
    let before = files(&from);
    let report = anonymise(&from, &to).unwrap();
    assert_eq!(files(&from), before, "the input is not changed");
    assert_is_clean(&to);
    assert_eq!((report.traces, report.left_out.len()), (1, 0));

    let (source, copy) = (Trace::open(&from).unwrap(), Trace::open(&to).unwrap());
    assert_eq!(copy.activity().unwrap(), source.activity().unwrap());
    let ((rows, names), (expected, originals)) = (requests(&copy), requests(&source));
    assert_eq!(rows, expected, "the order of names is kept, and with it their indices");
    assert_eq!(names, ["process-1", "process-2", "process-3"]);
    assert_eq!(originals.len(), 3);

    let manifest = copy.manifest();
    assert_eq!(manifest.command, ["command-1"]);
    assert_eq!(manifest.cwd, "path-1");
    assert_eq!(manifest.start_unix_ns, written.start_unix_ns);
    assert_eq!(manifest.scope.host.as_deref(), Some("host-1"));
    let node = manifest.scope.node().unwrap();
    let original = written.scope.node().unwrap();
    assert_eq!((node.name.as_str(), node.cores), ("node-1", Some(0.5)));
    assert_eq!(node.network_namespace, original.network_namespace);
    assert_eq!(node.cgroup.as_deref(), Some("/group-1/group-2"));
    assert_eq!(node.devices, ["device-1"]);
    assert_eq!(node.shared[0].why, "of the host host-1");
    let machine = &manifest.machine;
    assert_eq!(machine.cpu_model, "AMD EPYC 9354");
    assert_eq!(machine.kernel, "6.1.0");
    let disks: Vec<_> = machine
        .disks
        .iter()
        .map(|disk| (disk.name.as_str(), disk.model.as_deref().unwrap(), disk.size))
        .collect();
    let size = Bytes(1 << 40);
    let expected = [("sda", "Samsung SSD 980"), ("dm-0", "volume-1"), ("device-1", "volume-2")];
    assert_eq!(disks, expected.map(|(name, model)| (name, model, size)));
    let interfaces: Vec<_> = machine.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(interfaces, ["eth0", "interface-1"]);
    assert_eq!(manifest.unavailable[0].what, "memory");
    assert_eq!(manifest.unavailable[0].why, "cannot read path-2 of interface-1");
    assert_eq!(report.replaced["process"], 3);
    for part in ["activity.parquet", "disks.parquet"] {
        assert_eq!(fs::read(to.join(part)).unwrap(), fs::read(from.join(part)).unwrap());
    }
}

/// The name of all stages in the log.
const AT: &str = "$anonfun$withThreadLocalCaptured$2 at CompletableFuture.java:1768";

/// A run of two nodes on one host, with a log.
fn write_run(run: &Path) {
    fs::create_dir(run).unwrap();
    for (node, folder) in [("acme b", "acme_b"), ("acme a", "acme_a")] {
        write(&run.join(folder), node);
    }
    fs::create_dir(run.join("eventlog")).unwrap();
    fs::write(run.join("eventlog/app-acme"), "{}").unwrap();
    let log = spark_logs::text_of(&spark_logs::log_of_4_0())
        .replace("node-1", "node-acme")
        .replace("sort-and-count", "acme-count")
        .replace(AT, "csv at /srv/acme/job.py:3");
    let (_folder, path) = spark_logs::written(&log);
    spark_logs::read(&path).write_tables(run).unwrap();
    let nodes = [("acme b", "acme_b"), ("acme a", "acme_a")];
    let nodes = nodes.map(|(name, folder)| {
        json!({ "name": name, "folder": folder, "host": "node-acme", "status": "complete",
            "clock": { "offset_ns": -12, "drift_ppb": 3 } })
    });
    let text = json!({
        "format": "gordon-run", "version": 1, "command": ["./acme", "run"], "nodes": nodes,
        "event_log": "eventlog", "engine": { "name": "spark", "settings": { "x": "acme" } },
        "totals": { "cpu_s": 12.5 }, "new_key": { "owner": "acme" },
    });
    fs::write(run.join("run.json"), text.to_string()).unwrap();
}

#[test]
fn a_copy_of_a_run_uses_the_same_pseudonyms_in_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    write_run(&from);
    let report = anonymise(&from, &to).unwrap();
    assert_is_clean(&to);
    assert_eq!((report.traces, report.left_out), (2, vec!["eventlog".to_owned()]));
    let run: Value = serde_json::from_slice(&fs::read(to.join("run.json")).unwrap()).unwrap();
    // The nodes have numbers in the order of the run.
    for (index, name) in ["node-1", "node-2"].into_iter().enumerate() {
        let node = &run["nodes"][index];
        assert_eq!((&node["name"], &node["folder"]), (&json!(name), &json!(name)));
        assert_eq!(node["host"], "host-1");
        assert_eq!(node["clock"], json!({ "offset_ns": -12, "drift_ppb": 3 }));
        let trace = Trace::open(&to.join(name)).unwrap();
        assert_eq!(trace.manifest().scope.node().unwrap().name, name);
        assert_eq!(trace.activity().unwrap().len(), 20);
    }
    assert_eq!(run["event_log"], Value::Null);
    assert_eq!(run["totals"]["cpu_s"], 12.5);
    let original = Trace::open(&from.join("acme_b")).unwrap();
    let copy = Trace::open(&to.join("node-1")).unwrap();
    assert_eq!(requests(&copy).0, requests(&original).0);

    for table in [STAGES_FILE, TASKS_FILE] {
        let (copy, about) = batches(&to.join(table));
        let (source, _) = batches(&from.join(table));
        assert_eq!(copy.len(), source.len());
        for (copy, source) in copy.iter().zip(&source) {
            for (index, field) in source.schema().fields().iter().enumerate() {
                if !["name", "spark_name", "host"].contains(&field.name().as_str()) {
                    let (copy, source) = (copy.column(index), source.column(index));
                    assert_eq!(
                        format!("{copy:?}").lines().count(),
                        format!("{source:?}").lines().count()
                    );
                    if !field.data_type().to_string().contains("Utf8") {
                        assert_eq!(copy, source, "{}", field.name());
                    }
                }
            }
        }
        assert!(about.unwrap().contains("application-1"));
    }
    let (tasks, _) = batches(&to.join(TASKS_FILE));
    let hosts = tasks[0].column_by_name("host").unwrap();
    let hosts: BTreeSet<String> = texts(hosts);
    let expected = BTreeSet::from(["host-1".to_owned(), "host-3".to_owned()]);
    assert_eq!(
        hosts, expected,
        "the host of the run, and another one; host-2 is that of the traces"
    );
    let (stages, _) = batches(&to.join(STAGES_FILE));
    for column in ["name", "spark_name"] {
        let stages = texts(stages[0].column_by_name(column).unwrap());
        assert_eq!(stages, BTreeSet::from(["csv at place-1".to_owned()]));
    }
}

fn texts(column: &arrow_array::ArrayRef) -> BTreeSet<String> {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::UInt32Type;
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.iter().flatten().map(str::to_owned).collect();
    }
    let column = column.as_dictionary::<UInt32Type>();
    let values = column.values().as_string::<i32>();
    column.keys().values().iter().map(|key| values.value(*key as usize).to_owned()).collect()
}

#[test]
fn a_conversion_of_several_hosts_is_copied_like_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let log = spark_logs::text_of(&spark_logs::log_of_4_0()).replace("\"node-", "\"acme-");
    let (_log, path) = spark_logs::written(&log);
    let options = ActivityOptions::default();
    let format = ActivityFormat::SparkEventlog;
    convert(&[path], &from, format, &options, &Progress::default()).unwrap().publish().unwrap();
    let report = anonymise(&from, &to).unwrap();
    assert_eq!(report.traces, 2);
    assert_is_clean(&to);
    for (host, copy) in [("acme-1", "node-1"), ("acme-2", "node-2")] {
        let source = Trace::open(&from.join(host)).unwrap();
        let copy = Trace::open(&to.join(copy)).unwrap();
        assert_eq!(copy.activity().unwrap(), source.activity().unwrap());
        assert_eq!(copy.manifest().imported.as_ref().unwrap().file, "file-1");
        assert_eq!(copy.manifest().imported.as_ref().unwrap().format, "spark-eventlog");
    }
}

#[test]
fn what_is_neither_a_trace_nor_a_run_is_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = |from: &Path| {
        let error = anonymise(from, &at("out")).unwrap_err();
        let left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("out"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        error
    };
    assert!(matches!(refused(&at("none")), TraceError::Missing(_)));
    fs::create_dir(at("empty")).unwrap();
    assert!(matches!(refused(&at("empty")), TraceError::Foreign { .. }));
    fs::write(at("file"), "text").unwrap();
    assert!(matches!(refused(&at("file")), TraceError::Foreign { .. }));

    write_run(&at("run"));
    fs::write(at("run").join("run.json"), "{").unwrap();
    assert!(matches!(refused(&at("run")), TraceError::Damaged { .. }));
    fs::write(at("run").join("run.json"), "{\"format\": \"other\"}").unwrap();
    assert!(matches!(refused(&at("run")), TraceError::Foreign { .. }));
    fs::remove_file(at("run").join("run.json")).unwrap();
    fs::write(at("run").join("acme_a/disks.parquet"), "x").unwrap();
    assert!(matches!(refused(&at("run")), TraceError::Damaged { .. }));

    write(&at("trace"), "acme");
    fs::create_dir(at("taken")).unwrap();
    let error = anonymise(&at("trace"), &at("taken")).unwrap_err();
    assert!(matches!(error, TraceError::Exists(_)), "{error}");
}
