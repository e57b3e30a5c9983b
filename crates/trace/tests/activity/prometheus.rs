//! Traces that are made of Prometheus' answers, and what is refused or counted.

use crate::conversion::Conversion;
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions};
use gordon_units::{Bytes, Ns};

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
