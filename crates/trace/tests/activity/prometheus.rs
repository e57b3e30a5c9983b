//! Traces that are made of Prometheus' answers, and what is refused or counted.

use crate::conversion::{Conversion, kind};
use gordon_trace::ColumnKind;
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions};
use gordon_units::{Bytes, Ns};

pub fn series(name: &str, labels: &str, values: &[f64]) -> String {
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

pub fn answer(series: &[String]) -> String {
    format!(
        r#"{{"status": "success", "data": {{"resultType": "matrix", "result": [{}]}}}}"#,
        series.join(",")
    )
}

/// Two cores, the second idle, at three points 15 s apart.
pub fn cores() -> Vec<String> {
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

/// A core whose user time rises by `user` and whose other modes have these counters.
fn core(cpu: u32, user: f64, others: &[(&str, &[f64])]) -> Vec<String> {
    let points = others[0].1.len();
    let busy: Vec<f64> = (0..points).map(|at| 1000.0 + user * at as f64).collect();
    let mode = |mode: &str, values: &[f64]| {
        series("node_cpu_seconds_total", &format!(r#", "cpu": "{cpu}", "mode": "{mode}""#), values)
    };
    let mut all = vec![mode("user", &busy)];
    all.extend(others.iter().map(|(name, values)| mode(name, values)));
    all
}

#[test]
fn a_dip_or_a_gap_of_one_mode_takes_nothing_from_another() {
    let idle = [500.0, 505.0, 510.0, 515.0, 520.0];
    let steady = [900.0; 5];
    let dip = [900.0, 900.0, 500.0, 500.0, 900.0];
    let fallen = [900.0, 900.0, 10.0, 10.0, 10.0];
    // The idle time stands still for a point, and has all of it at the next.
    let gap = [500.0, 505.0, 505.0, 515.0, 520.0];
    let jump = [500.0, 505.0, 10_000.0, 10_005.0, 10_010.0];
    for (name, idle, iowait, corrections) in [
        ("steady", idle, steady, 0),
        ("dip", idle, dip, 2),
        ("fallen", idle, fallen, 1),
        ("gap", gap, steady, 0),
        ("jump", jump, steady, 1),
    ] {
        // One core alone, and next to another one.
        for others in [0, 1] {
            let mut all = core(0, 10.0, &[("idle", &idle), ("iowait", &iowait)]);
            for other in 1..=others {
                all.extend(core(other, 15.0, &[("idle", &[50.0; 5]), ("iowait", &[0.0; 5])]));
            }
            let made = Conversion::prometheus(&answer(&all));
            let expected = 4 * (10 + 15 * u64::from(others));
            let cpu: Ns = made.samples().iter().map(gordon_trace::Sample::cpu).sum();
            assert_eq!(cpu, Ns(expected * Ns::SECOND.0), "{name}, {others}");
            assert!(made.samples().iter().all(|s| s.iowait == Ns::ZERO), "{name}");
            let note = format!("{corrections} times");
            let is_counted = made.report().warnings.iter().any(|w| w.contains(&note));
            assert_eq!(is_counted, corrections > 0, "{name}: {:?}", made.report().warnings);
        }
    }
}

#[test]
fn a_jump_of_busy_time_leaves_its_sample_out_and_counts_it() {
    let mut all = core(0, 10.0, &[("idle", &[500.0, 505.0, 510.0])]);
    all[0] = all[0].replace("\"1020\"", "\"9020\"");
    let made = Conversion::prometheus(&answer(&all));
    assert_eq!(made.samples().len(), 1);
    assert_eq!(made.report().hosts[0].left_out.implausible, 1);
}

/// Counters that are scraped every 10 s and have points every 15 s, which are older than their
/// times.
#[test]
fn counters_that_do_not_follow_the_clock_are_shares_of_their_own_time() {
    let user = [0.0, 5.0, 15.0, 20.0].map(|by| 100.0 + by);
    let mode = |mode: &str, values: &[f64]| {
        let labels = format!(r#", "cpu": "0", "mode": "{mode}""#);
        series("node_cpu_seconds_total", &labels, values)
    };
    let made = Conversion::prometheus(&answer(&[mode("user", &user), mode("idle", &user)]));
    let half: Vec<bool> = made.samples().iter().map(|s| s.cpu() * 2 == s.span).collect();
    assert_eq!(half, [true; 3]);
}

#[test]
fn other_forms_of_the_same_series_mean_the_same() {
    let expected = Conversion::prometheus(&answer(&cores())).samples();
    let promtool = format!("[{}]", cores().join(","));
    assert_eq!(Conversion::prometheus(&promtool).samples(), expected);
    // VictoriaMetrics: a line each, with times in milliseconds.
    let exported: String = cores()
        .iter()
        .map(|series| {
            let value: serde_json::Value = serde_json::from_str(series).unwrap();
            let points = value["values"].as_array().unwrap();
            let times: Vec<f64> = points.iter().map(|p| p[0].as_f64().unwrap() * 1e3).collect();
            let values: Vec<f64> =
                points.iter().map(|p| p[1].as_str().unwrap().parse().unwrap()).collect();
            let line = serde_json::json!({
                "metric": value["metric"], "values": values, "timestamps": times
            });
            format!("{line}\n")
        })
        .collect();
    assert_eq!(Conversion::prometheus(&exported).samples(), expected);
    let cut = exported.replacen("[", "[1.0,", 1);
    assert!(matches!(Conversion::prometheus(&cut).error(), ActivityError::Content { .. }));
    // node_exporter before 0.16.
    let old = answer(&cores())
        .replace("node_cpu_seconds_total", "node_cpu")
        .replace(r#""cpu": ""#, r#""cpu": "cpu"#);
    assert_eq!(Conversion::prometheus(&old).samples(), expected);
}

#[test]
fn steal_and_kinds_of_memory_are_in_the_trace() {
    let memory =
        |name: &str, bytes: f64| series(&format!("node_memory_{name}_bytes"), "", &[bytes; 3]);
    let mut all = cores();
    let sizes = [("MemTotal", 8e9), ("MemAvailable", 3e9), ("AnonPages", 1e9), ("Shmem", 2e8)];
    all.extend(sizes.map(|(name, bytes)| memory(name, bytes)));
    let without = Conversion::prometheus(&answer(&all));
    let kinds = ["anonymous_bytes", "cache_bytes"];
    assert_eq!(kinds.map(|name| kind(&without, name)), [ColumnKind::Measured, ColumnKind::Missing]);
    all.extend([memory("Cached", 3e9), memory("Buffers", 1e8)]);
    let made = Conversion::prometheus(&answer(&all));
    let sample = &made.samples()[0];
    assert_eq!(sample.steal, Ns(3 * Ns::SECOND.0));
    assert_eq!((sample.anonymous, sample.cache), (Bytes(1_200_000_000), Bytes(2_900_000_000)));
    let names = [kinds[0], kinds[1], "steal_ns"];
    assert_eq!(names.map(|name| kind(&made, name)), [ColumnKind::Measured; 3]);
    assert!(
        made.warns("steal: the hypervisor ran others for 3.0 s"),
        "{:?}",
        made.report().warnings
    );
}

#[test]
fn accelerators_are_named_once_and_their_work_is_not_taken() {
    let gpu = |name: &str, model: &str| {
        series(name, &format!(r#", "gpu": "0", "modelName": "{model}""#), &[50.0; 3])
            .replace("n1:9100", "n1:9400")
    };
    let mut all = cores();
    all.extend(
        ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"].map(|name| gpu(name, "NVIDIA L4")),
    );
    let made = Conversion::prometheus(&answer(&all));
    let warnings = &made.report().warnings;
    let about = |w: &&String| w.starts_with("accelerators: NVIDIA L4; GPU time and watts are not");
    assert_eq!(warnings.iter().filter(about).count(), 1, "{warnings:?}");
    let trace = gordon_trace::Trace::open(&made.output()).unwrap();
    assert_eq!(trace.manifest().machine.accelerators, ["NVIDIA L4"]);
    assert_eq!(made.report().other_series, 2);
    let without = Conversion::prometheus(&answer(&cores()));
    assert!(!without.warns("accelerators"));
}

#[test]
fn a_counter_that_the_input_lacks_is_missing_and_not_zero() {
    let mut all = cores();
    let sda = r#", "device": "sda""#;
    all.push(series("node_disk_read_bytes_total", sda, &[0.0, 512.0, 1024.0]));
    all.push(series("node_disk_io_time_seconds_total", sda, &[0.0, 1.0, 1.0]));
    let columns = |made: &Conversion| {
        made.report();
        let trace = gordon_trace::Trace::open(&made.output()).unwrap();
        let manifest = trace.manifest();
        let all = manifest.parts.iter().flat_map(|part| part.columns.clone());
        let names = ["iowait_ns", "steal_ns", "busy_ns", "flushes"];
        let all: Vec<_> = all.collect();
        names.map(|name| all.iter().find(|column| column.name == name).unwrap().kind)
    };
    let (measured, missing) = (ColumnKind::Measured, ColumnKind::Missing);
    let made = Conversion::prometheus(&answer(&all));
    assert_eq!(columns(&made), [measured, measured, measured, missing]);
    all.retain(|series| !["steal", "iowait", "io_time"].iter().any(|name| series.contains(name)));
    let made = Conversion::prometheus(&answer(&all));
    assert_eq!(columns(&made), [missing; 4]);
}
