//! A trace that was written is read back unchanged.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_trace::{
    BlockIo, Column, ColumnKind, Columns, CommandEnd, DiskSample, MachineInfo, Manifest, Sample,
    Trace, TraceError, TraceWriter,
};
use gordon_units::{Bytes, Ns};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn all(trace: &Trace) -> (Vec<BlockIo>, Vec<String>) {
    let mut reader = trace.block().unwrap();
    let (mut rows, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        rows.extend_from_slice(&batch);
    }
    assert_eq!(reader.rows(), rows.len() as u64);
    (rows, reader.names().to_vec())
}

#[test]
fn samples_and_requests_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.trace");
    // More requests and samples than a row group holds.
    let (seconds, requests) = (1500, 150_000);
    let manifest = common::write(&out, seconds, requests);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

    let trace = Trace::open(&out).unwrap();
    assert_eq!(trace.manifest(), &manifest);
    assert_eq!(manifest.duration, Ns::SECOND * seconds);
    assert_eq!(manifest.part("block.parquet").unwrap().rows, requests);
    assert_eq!(manifest.part("activity.parquet").unwrap().rows, seconds + 1);
    assert_eq!(manifest.column("mhz").map(|c| c.unit.as_str()), Some("MHz"));

    let samples = trace.activity().unwrap();
    let expected: Vec<Sample> = (0..seconds).map(common::sample).collect();
    assert_eq!(samples, expected);

    let (rows, names) = all(&trace);
    assert_eq!(names, ["sort", "kworker/0:1H", "grep"]);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(*row, common::io(i as u64, i as u32 % 3));
    }
    assert_eq!(trace.block().unwrap().map(|batch| batch.unwrap().len()).sum::<usize>(), 150_000);
}

#[test]
fn an_empty_trace_is_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.trace");
    common::write(&out, 0, 0);
    let trace = Trace::open(&out).unwrap();
    assert_eq!(trace.activity().unwrap(), []);
    assert_eq!(all(&trace), (vec![], vec![]));
}

#[test]
fn missing_columns_are_null_and_read_as_zero() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.trace");
    let mut columns = Columns::all(ColumnKind::Measured, "");
    for column in &mut columns.activity {
        if ["instructions", "mhz"].contains(&column.name.as_str()) {
            *column =
                Column { kind: ColumnKind::Missing, how: "no counters".into(), ..column.clone() };
        }
    }
    let mut writer = TraceWriter::create(&out, &columns).unwrap();
    writer.sample(&common::sample(0)).unwrap();
    writer.finish(Manifest::new(vec![], Ns::SECOND, MachineInfo::default())).unwrap();
    let trace = Trace::open(&out).unwrap();
    let samples = trace.activity().unwrap();
    assert_eq!((samples[0].instructions, samples[0].llc_misses), (0, 3000));
    assert!(samples[0].mhz_per_core.is_empty());
    assert_eq!(trace.manifest().column("instructions").unwrap().kind, ColumnKind::Missing);
}

/// Removes a column from the activity of the trace, as if an earlier version had written it.
fn without_column(trace: &Path, name: &str) {
    let file = trace.join("activity.parquet");
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    let schema = batches[0].schema();
    let kept: Vec<usize> =
        (0..schema.fields().len()).filter(|i| schema.field(*i).name() != name).collect();
    let schema = Arc::new(schema.project(&kept).unwrap());
    let mut writer = ArrowWriter::try_new(File::create(&file).unwrap(), schema, None).unwrap();
    for batch in &batches {
        writer.write(&batch.project(&kept).unwrap()).unwrap();
    }
    writer.close().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let manifest = trace.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let part = &mut json["parts"][0];
    assert_eq!(part["file"], "activity.parquet");
    part["bytes"] = bytes.len().into();
    part["crc32"] = crc32fast::hash(&bytes).into();
    part["columns"].as_array_mut().unwrap().retain(|column| column["name"] != name);
    std::fs::write(&manifest, json.to_string()).unwrap();
}

#[test]
fn a_trace_without_later_columns_is_read_and_one_without_another_column_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a.trace");
    common::write(&out, 3, 3);
    let later = [
        "iowait_ns",
        "psi_io_full_ns",
        "psi_cpu_some_ns",
        "steal_ns",
        "throttled_ns",
        "anonymous_bytes",
        "cache_bytes",
        "command_anonymous_bytes",
        "command_psi_io_full_ns",
        "command_psi_cpu_some_ns",
    ];
    for column in later {
        without_column(&out, column);
        let trace = Trace::open(&out).unwrap();
        assert!(trace.manifest().column(column).is_none());
        assert!(!trace.kinds().contains_key(column));
    }
    let samples = Trace::open(&out).unwrap().activity().unwrap();
    assert_eq!(samples.len(), 3);
    for sample in samples {
        let times = [sample.iowait, sample.psi_io_full, sample.psi_cpu_some];
        let of_command = [sample.command.psi_io_full, sample.command.psi_cpu_some];
        let more_times = [sample.steal, sample.throttled, of_command[0], of_command[1]];
        let sizes = [sample.anonymous, sample.cache, sample.command.anonymous];
        assert_eq!((times, more_times), ([Ns::ZERO; 3], [Ns::ZERO; 4]));
        assert_eq!((sizes, sample.llc_misses), ([Bytes(0); 3], 3000));
    }
    without_column(&out, "rx_bytes");
    assert!(matches!(Trace::open(&out), Err(TraceError::Damaged { .. })));
}

#[test]
fn an_end_has_the_status_that_shells_report() {
    assert_eq!((CommandEnd::Exited(3).status(), CommandEnd::Signalled(2).status()), (3, 130));
    assert_eq!(serde_json::to_string(&CommandEnd::Signalled(2)).unwrap(), r#"{"signalled":2}"#);
}

#[test]
#[should_panic(expected = "in order of issue")]
fn requests_out_of_order_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let columns = Columns::all(ColumnKind::Measured, "");
    let mut writer = TraceWriter::create(&dir.path().join("a.trace"), &columns).unwrap();
    let process = writer.block().process("a");
    writer.block().push(common::io(5, process)).unwrap();
    let _ = writer.block().push(common::io(4, process));
}

fn disks() -> impl Strategy<Value = Vec<DiskSample>> {
    prop::collection::btree_map(0u32..5, 0u64..1000, 0..4).prop_map(|disks| {
        let disk = |(device, n)| DiskSample {
            device,
            reads: n,
            write_bytes: Bytes(n * 512),
            ..DiskSample::default()
        };
        disks.into_iter().map(disk).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Intervals of different lengths, with devices that appear and disappear: all counters are
    /// read back, and a device that was present once remains, with counters of zero.
    #[test]
    fn any_intervals_come_back(
        spans in prop::collection::vec((1u64..1 << 40, 0u64..1 << 30, disks()), 0..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a.trace");
        let columns = Columns::all(ColumnKind::Measured, "");
        let mut writer = TraceWriter::create(&out, &columns).unwrap();
        let mut start = Ns::ZERO;
        let mut intervals = Vec::new();
        for (span, count, disks) in spans {
            let interval = Sample {
                start,
                span: Ns(span),
                cpu_per_core: vec![Ns(count)],
                instructions: count,
                memory: Bytes(count),
                disks,
                ..Sample::default()
            };
            start = interval.end();
            writer.sample(&interval).unwrap();
            intervals.push(interval);
        }
        writer.finish(Manifest::new(vec![], Ns::SECOND, MachineInfo::default())).unwrap();
        let read = Trace::open(&out).unwrap().activity().unwrap();
        prop_assert_eq!(read.len(), intervals.len());
        for (read, written) in read.iter().zip(&intervals) {
            let active: Vec<_> = read.disks.iter().filter(|d| d.reads > 0).collect();
            let expected: Vec<_> = written.disks.iter().filter(|d| d.reads > 0).collect();
            prop_assert_eq!(active, expected);
            let without_disks = |sample: &Sample| Sample { disks: vec![], ..sample.clone() };
            prop_assert_eq!(without_disks(read), without_disks(written));
        }
    }
}
