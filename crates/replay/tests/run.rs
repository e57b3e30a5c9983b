//! Runs on the paper's array: stable keys of the report, and the same bytes for the same seed.
#![allow(clippy::unwrap_used, missing_docs)]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use gordon_blockio::IoOp;
use gordon_config::{from_json, from_toml};
use gordon_replay::ReplayError;
use gordon_replay::config::RunConfig;
use gordon_replay::flash::{PreparedRun, RunResult, run};
use gordon_replay::run::all;
use gordon_ssd::SsdConfig;
use gordon_trace::{
    BlockFileWriter, BlockFlags, BlockIo, ColumnKind, Columns, MachineInfo, Manifest, TraceWriter,
};
use gordon_units::{Bytes, Ns, Progress};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const SLC: &str = include_str!("../../../python/gordon/parts/flash/gordon-slc-256g.toml");

/// The preset, reduced to 256 MiB raw and 188 MiB exported.
fn device() -> Value {
    let mut device: Value = from_toml(SLC, "preset").unwrap();
    device["geometry"]["blocks_per_plane"] = json!(16);
    device["capacity"] = json!("188MiB");
    device
}

fn config(load: Value, host: Value) -> RunConfig {
    let config = json!({"device": device(), "load": load, "host": host, "seed": 7});
    from_json(&config.to_string(), "run").unwrap()
}

fn bench(pattern: &str, size: &str, requests: u64) -> RunConfig {
    let load = json!({"bench": {"pattern": pattern, "size": size, "requests": requests}});
    config(load, json!({}))
}

fn go(config: &RunConfig) -> (RunResult, Value) {
    let result = run(config, &Progress::default()).unwrap();
    let report = serde_json::to_value(&result.report).unwrap();
    (result, report)
}

#[test]
fn the_report_has_the_published_keys() {
    let (_, report) = go(&bench("mixed", "64KiB", 5000));
    for key in [
        "requests",
        "simulated_s",
        "read",
        "write",
        "write_amplification",
        "erases",
        "pages",
        "energy_j",
        "endurance_used",
    ] {
        assert!(!report[key].is_null(), "{key} in {report}");
    }
    // A second of load is too short for a lifetime in years.
    assert_eq!(report.get("lifetime_years"), Some(&Value::Null));
    for op in ["read", "write"] {
        for key in ["requests", "bytes", "bandwidth_mb_s"] {
            assert!(report[op][key].is_number(), "{op}.{key}");
        }
        for key in ["mean", "p50", "p99", "p999", "max"] {
            assert!(report[op]["latency_us"][key].as_f64().unwrap() > 0.0, "{op}.{key}");
        }
    }
    for key in ["host_read", "host_program", "gc_read", "gc_program"] {
        assert!(report["pages"][key].is_number(), "pages.{key}");
    }
    assert_eq!(report["requests"], 5000);
    let sum = |field: &str| -> u64 {
        ["read", "write"].iter().map(|op| report[op][field].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("requests"), sum("bytes")), (5000, 5000 * 65_536));
    assert_eq!(report["unmapped_reads"], 0);
    assert_eq!(report["provenance"]["seed"], 7);
    assert!(report["provenance"]["config"]["device"]["geometry"]["buses"].is_object());
}

#[test]
fn values_of_a_report_are_consistent() {
    let (_, report) = go(&bench("random-write", "64KiB", 20_000));
    let number = |pointer: &str| report.pointer(pointer).unwrap().as_f64().unwrap();
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a}, {b}");
    let seconds = number("/simulated_s");
    close(number("/write/bandwidth_mb_s"), 20_000.0 * 65_536.0 / 1e6 / seconds);
    close(number("/iops"), 20_000.0 / seconds);
    // Little's law, in a closed loop of 32.
    let mean = number("/outstanding/mean");
    close(mean, number("/write/latency_us/mean") * 1e-6 * number("/iops"));
    assert!(mean > 31.9 && report["outstanding"]["max"] == 32, "{mean}");
    let parts = |key: &str| -> f64 {
        let parts = report[key].as_object().unwrap();
        parts.values().map(|part| part.as_f64().unwrap()).sum()
    };
    close(parts("write_amplification_by_cause"), number("/write_amplification"));
    close(parts("energy_by_part_j"), number("/energy_j"));
    assert!(number("/write_amplification") > 1.1 && number("/erases") > 0.0);
    // Requests of one page each; combined ones are written but not programmed.
    let programmed = number("/pages/host_program");
    assert!(programmed > 20_000.0 - number("/combined") - 1.0 && programmed <= 20_000.0);
    let expected = number("/write_amplification") * programmed / 20_000.0;
    close(number("/write_amplification_bytes"), expected);
    // 64 dies at 3 mW.
    close(number("/energy_by_part_j/dies_idle"), 64.0 * 0.003 * seconds);
    let die = number("/utilisation/die");
    close(number("/energy_by_part_j/dies_active"), 64.0 * (0.04 - 0.003) * seconds * die);
    // 100,000 erases of every block.
    let programs = number("/pages/host_program")
        + number("/pages/gc_program")
        + number("/pages/summary_program");
    let budget = 100_000.0 * 256.0 * 1024.0 * 1024.0 / 65_536.0;
    close(number("/endurance_used"), programs / budget);
    assert!(seconds < 60.0 && report["lifetime_years"].is_null());
}

#[test]
fn an_lba_table_larger_than_the_controllers_memory_is_a_warning() {
    // Section 4.2.2: "super-pages must be at least 4KB in size". The array here is a 1,024th of
    // that one.
    let warnings = |size: &str| {
        let mut device = device();
        device["super_page"]["size"] = json!(size);
        device["ftl"]["write_points"] = json!(null);
        device["ftl"]["table_memory"] = json!("512KiB");
        let load = json!({"bench": {"pattern": "random-read", "requests": 10}});
        let config = json!({"device": device, "load": load}).to_string();
        let config: RunConfig = from_json(&config, "run").unwrap();
        go(&config).0.report.warnings
    };
    assert_eq!(warnings("4KiB"), [""; 0]);
    let text = warnings("2KiB").join("");
    assert!(text.contains("takes 512KiB for 256MiB in pages of 2KiB"), "{text}");
    assert!(text.contains("at least 4KiB"), "{text}");
}

#[test]
fn a_run_below_a_second_and_of_one_request_is_right() {
    let (result, report) = go(&bench("random-write", "64KiB", 1));
    let seconds = report["simulated_s"].as_f64().unwrap();
    assert!(seconds > 200e-6 && seconds < 400e-6, "{seconds}");
    let latency = report["write"]["latency_us"]["mean"].as_f64().unwrap();
    assert!((latency * 1e-6 - seconds).abs() < 1e-12);
    assert_eq!(report["write"]["latency_us"]["p50"], report["write"]["latency_us"]["max"]);
    let rate = report["write"]["bandwidth_mb_s"].as_f64().unwrap();
    assert!((rate - 0.065_536 / seconds).abs() < 1e-6);
    assert_eq!(report["read"]["requests"], 0);
    assert!(report["read"]["latency_us"]["mean"].is_null());
    assert_eq!(result.tables[0].1.num_rows(), 1);
}

fn column(batch: &RecordBatch, name: &str) -> Vec<f64> {
    let column = batch.column_by_name(name).unwrap();
    match column.as_primitive_opt::<Float64Type>() {
        Some(floats) => floats.iter().map(Option::unwrap_or_default).collect(),
        None => {
            let counts = column.as_primitive::<UInt64Type>().values();
            counts.iter().map(|count| *count as f64).collect()
        }
    }
}

#[test]
fn tables_sum_to_the_summary() {
    let (result, report) = go(&bench("mixed", "16KiB", 20_000));
    let table = |name: &str| &result.tables.iter().find(|(known, _)| *known == name).unwrap().1;
    let series = table("series");
    let lengths = column(series, "length_s");
    let bytes: f64 =
        column(series, "read_mb_s").iter().zip(&lengths).map(|(rate, s)| rate * s * 1e6).sum();
    assert!((bytes / report["read"]["bytes"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    let erases: f64 = column(series, "erases").iter().sum();
    assert_eq!(Some(erases), report["erases"].as_f64());
    assert_eq!(column(table("latency"), "requests").iter().sum::<f64>(), 20_000.0);
    let time: f64 = column(table("outstanding"), "time_s").iter().sum();
    assert!((time - report["simulated_s"].as_f64().unwrap()).abs() < 1e-9);
    let histogram = table("erases");
    let pairs = column(histogram, "erases").into_iter().zip(column(histogram, "blocks"));
    assert_eq!(pairs.map(|(erases, blocks)| erases * blocks).sum::<f64>(), erases);
}

/// The complete result of a run as text.
fn bytes(result: &RunResult) -> String {
    format!("{}{:?}", serde_json::to_string(&result.report).unwrap(), result.tables)
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let configs: Vec<RunConfig> = ["random-write", "mixed", "zipf", "hot-cold", "random-read"]
        .into_iter()
        .map(|pattern| bench(pattern, "8KiB", 3000))
        .collect();
    let on = |threads: usize| -> Vec<String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let results = pool
            .install(|| all(&configs, PreparedRun::new, PreparedRun::run, &Progress::default()));
        results.unwrap().iter().map(bytes).collect()
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one, three);
    let alone: Vec<String> = configs.iter().map(|c| bytes(&go(c).0)).collect();
    assert_eq!(alone, one);
    let other = RunConfig { seed: 8, ..configs[0].clone() };
    assert_ne!(bytes(&go(&other).0), alone[0]);
}

#[test]
fn no_run_starts_if_one_is_invalid() {
    let good = bench("random-write", "8KiB", 3000);
    let (mut no_pages, mut small) = (good.clone(), good.clone());
    no_pages.device.geometry.pages_per_block = 0.into();
    small.device = small.device.with_capacity(Bytes(64 << 20)).unwrap();
    small.load = from_json(
        r#"{"bench": {"pattern": "random-write", "requests": 1, "span": "128MiB"}}"#,
        "load",
    )
    .unwrap();
    for wrong in [no_pages, small] {
        let progress = Progress::default();
        let configs = [good.clone(), wrong, good.clone()];
        let (at, _) = all(&configs, PreparedRun::new, PreparedRun::run, &progress).unwrap_err();
        assert_eq!((at, progress.progress().0), (1, 0), "requests were made");
    }
}

/// Writes a trace of these requests: time in ns, operation, sector, sectors, device.
fn trace(folder: &Path, requests: &[(u64, IoOp, u64, u32, u32)]) -> PathBuf {
    trace_of(folder, requests, Ns::ZERO)
}

/// A trace of a command with this run time.
fn trace_of(folder: &Path, requests: &[(u64, IoOp, u64, u32, u32)], duration: Ns) -> PathBuf {
    let path = folder.join("made.trace");
    let columns = Columns::all(ColumnKind::Measured, "made up");
    let mut writer = TraceWriter::create(&path, &columns).unwrap();
    let process = writer.block().process("made");
    for &(at, op, sector, sectors, device) in requests {
        let (at, flags, pid, latency) = (Ns(at), BlockFlags::default(), device, None);
        let io = BlockIo { at, device, sector, sectors, op, flags, pid, process, latency };
        writer.block().push(io).unwrap();
    }
    let manifest = Manifest::new(vec!["made".into()], Ns::SECOND, MachineInfo::default());
    writer.finish(Manifest { duration, ..manifest }).unwrap();
    path
}

/// The batches of a Parquet file.
fn parquet(path: &Path) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// Nine writes in 7 ms of a job of 100 s: the span of the lifetime is the time of the job. There is
/// no lifetime, because nothing was erased.
#[test]
fn the_span_of_a_lifetime_is_that_of_the_job_and_not_of_a_burst() {
    let folder = tempfile::tempdir().unwrap();
    let writes: Vec<_> = (0..9).map(|i| (i * 800_000, IoOp::Write, i * 128, 128, 0)).collect();
    for seconds in [100, 59] {
        let folder = folder.path().join(seconds.to_string());
        std::fs::create_dir(&folder).unwrap();
        let path = trace_of(&folder, &writes, Ns(seconds * 1_000_000_000));
        let (_, report) = go(&config(json!({"trace": {"path": path}}), json!({})));
        let number = |key: &str| report[key].as_f64();
        assert_eq!(number("lifetime_span_s"), Some(f64::from(u32::try_from(seconds).unwrap())));
        let used = number("endurance_used").unwrap();
        // Nine super-pages of 64 KiB.
        let raw = number("raw_capacity_bytes").unwrap();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a}, not {b}");
        close(used, f64::from(9 * (64 << 10)) / raw / 100_000.0);
        assert_eq!(number("lifetime_years"), None);
    }
}

/// A block log that is a single file has no run time: the span is that of its requests.
#[test]
fn a_single_file_block_log_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.parquet");
    let columns = Columns::all(ColumnKind::Estimated, "made up").block;
    let mut writer = BlockFileWriter::create(&path, columns).unwrap();
    let process = writer.block().process("made");
    for i in 0..9 {
        let io = BlockIo {
            at: Ns(i * 800_000),
            device: 0,
            sector: i * 128,
            sectors: 128,
            op: IoOp::Write,
            flags: BlockFlags::default(),
            pid: 0,
            process,
            latency: None,
        };
        writer.block().push(io).unwrap();
    }
    writer.finish(&json!({"made": "up"})).unwrap();
    let (_, report) = go(&config(json!({"trace": {"path": path}}), json!({})));
    assert_eq!(report["requests"], 9);
    assert_eq!(report["provenance"]["trace"]["format"], "gordon");
    assert!(report["simulated_s"].as_f64().unwrap() >= 8.0 * 800e-6, "{report}");
}

#[test]
fn pages_that_a_trace_reads_are_mapped_and_repetitions_follow() {
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<_> = (0..2000u64)
        .map(|i| {
            let op = [IoOp::Read, IoOp::Write, IoOp::Discard][(i % 3) as usize];
            (i * 1_000_000, op, i * 37 % 3000 * 8, 8, 5)
        })
        .collect();
    let path = trace(folder.path(), &requests);
    let out = folder.path().join("requests.parquet");
    let load = json!({"trace": {"path": path, "repeat": 3}});
    let mut config = config(load, json!({}));
    config.requests_out = Some(out.clone());
    let (_, report) = go(&config);
    assert_eq!(report["requests"], 6000);
    // Discards unmap pages, so reads of later repetitions may be of unmapped pages.
    assert!(report["preloaded_pages"].as_u64().unwrap() > 0);
    let seconds = report["simulated_s"].as_f64().unwrap();
    assert!((seconds - 5.999).abs() < 0.01, "{seconds}");
    assert_eq!(report["provenance"]["trace"]["requests"], 2000);
    let rows = parquet(&out);
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 6000);
    let first = column(&rows[0], "arrived_ns");
    let done = column(&rows[0], "completed_ns");
    assert!(first.iter().zip(&done).all(|(a, b)| a <= b));
    let mean: f64 = rows
        .iter()
        .flat_map(|b| column(b, "completed_ns").into_iter().zip(column(b, "arrived_ns")))
        .map(|(done, arrived)| done - arrived)
        .sum::<f64>()
        / 6000.0;
    let reported: f64 = ["read", "write", "trim"]
        .iter()
        .map(|op| {
            let number = |p: &str| report[op].pointer(p).unwrap().as_f64().unwrap();
            number("/requests") * number("/latency_us/mean")
        })
        .sum::<f64>()
        / 6000.0;
    assert!((mean / 1e3 / reported - 1.0).abs() < 1e-9);
}

#[test]
fn a_trace_past_the_end_wraps_or_fails_and_devices_can_be_picked() {
    let folder = tempfile::tempdir().unwrap();
    let end = 192 << 11;
    let path = trace(
        folder.path(),
        &[(0, IoOp::Write, 0, 8, 1), (5, IoOp::Read, end + 16, 8, 2), (9, IoOp::Write, 8, 8, 1)],
    );
    let with = |device: Option<u32>, host: Value| {
        let mut load = json!({"trace": {"path": path}});
        load["trace"]["device"] = json!(device);
        run(&config(load, host), &Progress::default())
    };
    let error = with(None, json!({})).unwrap_err();
    assert!(matches!(error, ReplayError::TracePast { number: 2, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("made.trace: request 2 (from 1) ends at byte"), "{text}");
    assert!(text.contains("--set capacity=193MiB, or --fit wrap"), "{text}");
    let wrapped = with(None, json!({"fit": "wrap", "queue_by": "device"})).unwrap().report;
    assert_eq!((wrapped.requests, wrapped.device.unmapped_reads), (3, 0));
    assert_eq!(wrapped.queues.iter().map(|q| q.requests).collect::<Vec<_>>(), [2, 1]);
    assert!(wrapped.warnings[0].contains("2 devices (1, 2)"), "{:?}", wrapped.warnings);
    assert_eq!(with(Some(1), json!({})).unwrap().report.requests, 2);
    let none = with(Some(9), json!({})).unwrap_err().to_string();
    assert!(none.contains("holds no request of device 0,9: 3 are of others"), "{none}");
}

#[test]
fn formats_of_traces_are_auto_detected() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let with = |path: &Path, more: Value, host: Value| {
        let mut load = json!({"path": path});
        load.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run(&config(json!({"trace": load}), host), &Progress::default())
    };
    // The device column of MQSim traces is ignored unless a device is selected.
    let mqsim = file("a", "0 3 8 8 0\n1000 1 16 8 1\n2000 1 24 8 0\n");
    let report = with(&mqsim, json!({}), json!({})).unwrap().report;
    let trace = report.provenance.trace.unwrap();
    assert_eq!((trace.format, trace.requests, trace.end_bytes), ("mqsim", 3, 32 * 512));
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!(with(&mqsim, json!({"device": 1}), json!({})).unwrap().report.requests, 2);
    // Read in a wrong format, fields have other meanings. An invalid field is an error that names
    // file, line and field; with `skip_bad` it is skipped and counted.
    let bad = file("b", "0 0 8 8 0\n10 0 8 x 0\n20 0 8 7 1\n15 0 8 8 1\n");
    let error = with(&bad, json!({"format": "mqsim"}), json!({})).unwrap_err().to_string();
    assert!(
        error.contains("b, line 2: size (column 4): expected") && error.contains("`x`"),
        "{error}"
    );
    let skip = json!({"format": "mqsim", "skip_bad": true});
    let report = with(&bad, skip.clone(), json!({})).unwrap().report;
    let trace = report.provenance.trace.unwrap();
    assert_eq!((trace.requests, trace.left_out.skipped, trace.left_out.clamped), (2, 2, 0));
    assert!(
        report.warnings[0].starts_with("skipped: 2 malformed, left out"),
        "{:?}",
        report.warnings
    );
    let mut clamp = skip;
    clamp["order"] = json!("clamp");
    let report = with(&bad, clamp, json!({})).unwrap().report;
    let trace = report.provenance.trace.unwrap();
    assert_eq!((trace.requests, trace.left_out.skipped, trace.left_out.clamped), (3, 1, 1));
    // A closed loop ignores times, so they may go backwards.
    let back = file("c", "9 0 8 8 0\n5 0 8 8 0\n");
    let error = with(&back, json!({}), json!({})).unwrap_err().to_string();
    assert!(error.contains("goes backwards") && error.contains("--order sort"), "{error}");
    assert_eq!(with(&back, json!({}), json!({"pacing": "closed"})).unwrap().report.requests, 2);
    // DiskSim's validation traces are paced by their gaps: 1 ms each.
    let gaps = file("d", "R Miss 8 8 500.0 1000.0\nR Miss 8 8 500.0 1000.0\n");
    let report = with(&gaps, json!({}), json!({})).unwrap().report;
    let latency =
        |report: &gordon_replay::results::report::Report<
            gordon_replay::results::flash::FlashReport,
        >| { report.read.latency_us.mean.unwrap() / 1e6 * report.read.requests as f64 };
    assert!((report.simulated_s - 0.001 - latency(&report)).abs() < 1e-12);
    assert!(report.outstanding.mean.unwrap() < 1.0);
    let none = with(&mqsim, json!({}), json!({"pacing": "gaps"})).unwrap().report;
    assert!(none.warnings[0].contains("has no gaps"), "{:?}", none.warnings);
    // A trace is read twice.
    let error = with(Path::new("-"), json!({}), json!({})).unwrap_err().to_string();
    assert!(error.contains("read twice") && error.contains("\n  try: "), "{error}");
    for (key, value) in [("format", "mqsin"), ("order", "sorted"), ("time_unit", "1ks")] {
        let mut load = json!({"path": "x"});
        load[key] = json!(value);
        let text = json!({"device": device(), "load": {"trace": load}}).to_string();
        let error = from_json::<RunConfig>(&text, "run").unwrap_err().to_string();
        assert!(error.contains(value), "{error}");
    }
}

#[test]
fn bad_configs_name_the_key() {
    let text = json!({"device": device(), "load": {"bench": {"pattern": "mixd", "requests": 1}}});
    let error = from_json::<RunConfig>(&text.to_string(), "run").unwrap_err().to_string();
    assert!(error.contains("load") && error.contains("`mixed`"), "{error}");
    for (host, key) in [
        (json!({"speed": 0.0}), "--speed"),
        (json!({"speed": 2.0}), "--speed"),
        (json!({"queue_depth": 0}), "--queue-depth"),
        (json!({"split": "100B"}), "--split"),
        (json!({"weights": [1, 0]}), "--weights"),
    ] {
        let load = json!({"bench": {"pattern": "mixed", "requests": 10}});
        let error = run(&config(load, host), &Progress::default()).unwrap_err().to_string();
        assert!(error.starts_with(key) && error.contains("\n  try: "), "{error}");
    }
}

#[test]
fn progress_counts_and_a_stop_ends_it() {
    let progress = Progress::default();
    run(&bench("random-write", "4KiB", 5000), &progress).unwrap();
    let [done, total] = [&progress.done, &progress.total].map(|n| n.load(Ordering::Relaxed));
    assert_eq!((done, total), (5000, 5000));
    progress.stop.store(true, Ordering::Relaxed);
    let stopped = run(&bench("random-write", "4KiB", 5000), &progress);
    assert!(matches!(stopped, Err(ReplayError::Interrupted)));
}

/// A write buffer acknowledges writes before they are programmed; a warning reports what is left in
/// it.
#[test]
fn data_left_in_the_write_buffer_are_a_warning() {
    let buffered = |buffer: &str, requests: u64| {
        let mut device = device();
        device["ftl"]["write_buffer"] = json!(buffer);
        let load = json!({"pattern": "random-write", "size": "64KiB", "requests": requests});
        let config = json!({"device": device, "load": {"bench": load}});
        run(&from_json::<RunConfig>(&config.to_string(), "run").unwrap(), &Progress::default())
    };
    let report = buffered("64MiB", 100).unwrap().report;
    let flash = &report.device;
    assert_eq!((flash.pages.host_program, flash.buffered_at_end + flash.combined), (0, 100));
    let is_warned = |warning: &String| warning.contains("still in the write buffer");
    assert!(report.warnings.iter().any(is_warned), "{:?}", report.warnings);
    // In a small buffer, little is left compared with the pages programmed.
    let report = buffered("2MiB", 3000).unwrap().report;
    assert!(report.device.buffered_at_end <= 32, "{}", report.device.buffered_at_end);
    assert!(!report.warnings.iter().any(is_warned), "{:?}", report.warnings);
    let error = buffered("1KiB", 1).unwrap_err().to_string();
    assert!(error.contains("ftl.write_buffer: 1KiB is less than one page of 64KiB"), "{error}");
}

/// Section 4.2.2: "for 64KB super-pages, only 98% of super-blocks will last to 100,000 erase
/// cycles, compared to 99.9% for 2KB pages. For 128KB, only 96%".
#[test]
fn fewer_of_the_larger_super_blocks_reach_the_rating() {
    for (size, paper) in [("2KiB", 99.9), ("64KiB", 98.0), ("128KiB", 96.0)] {
        let mut device = device();
        device["super_page"] = json!({"size": size});
        device["capacity"] = json!("64MiB");
        let load = json!({"pattern": "sequential-write", "size": "128KiB", "requests": 1});
        let config = json!({"device": device, "load": {"bench": load}});
        let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
        let wear = run(&config, &Progress::default()).unwrap().report.device.wear;
        let found = wear.super_block_survival * 100.0;
        assert!((found - paper).abs() < 0.06, "{size}: {found} %, {paper} in the paper");
    }
}

/// The number of blocks that collection keeps free does not shrink with the device.
#[test]
fn a_small_device_gets_a_warning_about_write_amplification() {
    let warnings = |capacity: &str, precondition: Option<f64>| {
        let mut config = bench("random-write", "64KiB", 2000);
        let whole: SsdConfig = from_toml(SLC, "preset").unwrap();
        config.device = whole.resized(capacity.parse().unwrap()).unwrap();
        config.precondition = precondition;
        run(&config, &Progress::default()).unwrap().report.warnings
    };
    let is_warned = |warning: &String| warning.contains("expect a higher write amplification");
    assert!(warnings("2GiB", Some(0.8)).iter().any(is_warned), "{:?}", warnings("2GiB", Some(0.8)));
    // No warning if nothing is collected, or enough blocks are spare.
    for (capacity, precondition) in [("2GiB", None), ("20GB", Some(0.8))] {
        let warnings = warnings(capacity, precondition);
        assert!(!warnings.iter().any(is_warned), "{capacity}: {warnings:?}");
    }
}
