//! Results of runs, compared with values computed by hand.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use common::{OPEN, SLC, Toy, given, one_die, policy, read};
use gordon_blockio::{Cause, IoOp};
use gordon_config::{from_json, from_toml};
use gordon_replay::config::RunConfig;
use gordon_replay::flash::{RunResult, run};
use gordon_replay::host::{Pacing, drive};
use gordon_replay::results::series::{FIRST, MOST, RunSeries};
use gordon_replay::results::{Recorded, Recorder};
use gordon_replay::source::TimedRequest;
use gordon_units::{Ns, Progress};
use serde_json::{Value, json};

fn record(
    service: u64,
    pacing: Pacing,
    depth: u32,
    requests: impl IntoIterator<Item = TimedRequest>,
) -> (RunSeries, Recorded) {
    let mut toy = Toy::new(service, 0);
    let mut recorder = Recorder::new(&toy, 1, None);
    drive(&mut toy, given(requests), &policy(pacing, depth), &mut recorder, &Progress::default())
        .unwrap();
    recorder.finish(&toy).unwrap()
}

#[test]
fn requests_and_depths_fall_into_their_intervals() {
    // Two at 0, each 0.6 ms: done at 0.6 and 1.2 ms; one at 2.5 ms, done at 3.1 ms.
    let ms = 1_000_000;
    let write = TimedRequest { op: IoOp::Write, ..read(5 * ms / 2, 0, 8192) };
    let (run, recorded) =
        record(600_000, OPEN, u32::MAX, [read(0, 0, 512), read(0, 0, 512), write]);
    assert_eq!((run.width, run.length, run.deepest), (FIRST, Ns(3_100_000), 2));
    let requests: Vec<_> = run.intervals.iter().map(|i| (i.requests[0], i.requests[1])).collect();
    assert_eq!(requests, [(1, 0), (1, 0), (0, 0), (0, 1)]);
    assert_eq!(run.intervals[3].bytes, [0, 8192, 0, 0]);
    // Two for 0.6 ms and one for 0.4; one for 0.2; one for 0.5; one for 0.1.
    let areas: Vec<_> = run.intervals.iter().map(|i| i.outstanding).collect();
    assert_eq!(areas, [1_600_000, 200_000, 500_000, 100_000]);
    // Depth 0: 1.3 ms; 1: 0.6 + 0.6; 2: 0.6.
    assert_eq!(run.depths[..3], [1_300_000, 1_200_000, 600_000]);
    assert_eq!(run.depths.iter().sum::<u64>(), run.length.0);
    let spans: Vec<_> = run.spans().collect();
    assert_eq!(spans[3], (Ns(3 * FIRST.0), Ns(100_000)));
    assert_eq!(run.intervals[0].slowest, Ns(600_000));
    assert_eq!(run.intervals[1].latency, 1_200_000);
    let reads = recorded.latencies.of(IoOp::Read).summary();
    assert_eq!((reads.mean, reads.max), (Some(900.0), Some(1200.0)));
    assert_eq!(recorded.latencies.get(IoOp::Write, Cause::Collection).unwrap().count(), 1);
    assert_eq!(recorded.bytes, [1024, 8192, 0, 0]);
    // The intervals contain all of the 1.8 ms of activity.
    let work: u64 = run.intervals.iter().map(|i| i.device.usage.write.0).sum();
    assert_eq!(work, 1_800_000);
}

#[test]
fn intervals_stay_few_and_lose_nothing() {
    // 50,000 requests a millisecond apart, with an hour of idle time after the first.
    let at = |i: u64| if i == 0 { 0 } else { 3_600_000_000_000 + i * 1_000_000 };
    let count = 50_000;
    let (run, _) = record(1000, OPEN, u32::MAX, (0..count).map(|i| read(at(i), 0, 512)));
    assert!(run.intervals.len() <= MOST && run.intervals.len() > MOST / 3);
    let total: u64 = run.intervals.iter().map(|i| i.requests[0]).sum();
    assert_eq!(total, count);
    let area: u128 = run.intervals.iter().map(|i| i.outstanding).sum();
    assert_eq!(area, u128::from(count) * 1000);
    let work: u64 = run.intervals.iter().map(|i| i.device.usage.write.0).sum();
    assert_eq!(work, count * 1000);
    assert_eq!(run.depths.iter().sum::<u64>(), run.length.0);
    // The intervals cover the run.
    let covered: Ns = run.spans().map(|(_, len)| len).sum();
    assert_eq!(covered, run.length);
    assert_eq!(run.intervals[0].requests[0], 1);
}

#[test]
fn a_run_that_ends_with_an_interval_has_no_empty_one() {
    let (run, _) = record(500_000, Pacing::Closed, 1, (0..4).map(|_| read(0, 0, 512)));
    assert_eq!(run.length, Ns(2 * FIRST.0));
    // A completion at the end of an interval counts in the next one, except at the end of the run.
    let requests: Vec<_> = run.intervals.iter().map(|i| i.requests[0]).collect();
    assert_eq!(requests, [1, 3]);
}

/// Little's law: outstanding = rate x latency, exactly.
#[test]
fn little_s_law_holds() {
    let requests = (0..1000).map(|i| read(i * 700 + i % 13 * 40, i % 7 * 512, 512));
    let (run, recorded) = record(690, OPEN, u32::MAX, requests);
    let area: u128 = run.intervals.iter().map(|i| i.outstanding).sum();
    let latency: u128 = run.intervals.iter().map(|i| i.latency).sum();
    assert_eq!(area, latency);
    let reads = recorded.latencies.of(IoOp::Read);
    assert!((reads.summary().mean.unwrap() - latency as f64 / 1e6).abs() < 1e-9);
}

/// A run on the device, in a closed loop.
fn bench(device: &Value, bench: &Value) -> (RunResult, Value) {
    let config = json!({"device": device, "load": {"bench": bench}});
    let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
    let result = run(&config, &Progress::default()).unwrap();
    let report = serde_json::to_value(&result.report).unwrap();
    (result, report)
}

fn column(result: &RunResult, name: &str) -> Vec<f64> {
    let column = result.tables[0].1.column_by_name(name).unwrap();
    column.as_primitive::<Float64Type>().iter().flatten().collect()
}

#[test]
fn nothing_is_busy_for_longer_than_there_is_time() {
    // Four write points reserve 285 us of their bus at once, beyond the end of an interval of a
    // millisecond.
    let mut device: Value = from_toml(SLC, "preset").unwrap();
    let load = json!({"pattern": "sequential-write", "size": "64KiB", "requests": 5000});
    let (result, report) = bench(&device, &load);
    let (bus, lengths) = (column(&result, "bus"), column(&result, "length_s"));
    assert!(bus.iter().all(|share| *share <= 1.0), "{bus:?}");
    let all: f64 = bus.iter().zip(&lengths).map(|(share, s)| share * s).sum();
    let whole = report["utilisation"]["bus"].as_f64().unwrap();
    let simulated = report["simulated_s"].as_f64().unwrap();
    assert!(whole > 0.99 && (all / simulated / whole - 1.0).abs() < 0.001, "{all} of {simulated}");
    // 24 buffered writes in 24 us; a program in progress then takes eight times as long.
    device = one_die(64, "4KiB");
    device["capacity"] = json!("6MiB");
    device["ftl"] = json!({"write_buffer": "64KiB", "write_points": 1});
    let load = json!({"pattern": "random-write", "requests": 24, "every": "1us"});
    let (_, report) = bench(&device, &load);
    assert!(report["operations"]["program"].as_u64() > Some(0));
    for (name, share) in report["utilisation"].as_object().unwrap() {
        let shares = share.as_array().cloned().unwrap_or(vec![share.clone()]);
        assert!(shares.iter().all(|share| share.as_f64() <= Some(1.0)), "{name}: {share}");
    }
}

#[test]
fn the_energy_of_a_run_of_a_hundred_years_is_exact() {
    let (device, year) = (one_die(64, "4KiB"), 31_557_600.0);
    let load = json!({"pattern": "random-write", "requests": 101, "every": "8766h"});
    let mut many = device.clone();
    many["geometry"]["dies_per_package"] = json!(64);
    let [one, many] = [device, many].map(|mut device| {
        device["capacity"] = json!("4MiB");
        bench(&device, &load).1
    });
    let seconds = one["simulated_s"].as_f64().unwrap();
    assert!((seconds / (100.0 * year) - 1.0).abs() < 1e-6, "{seconds}");
    let idle = |report: &Value| report["energy_by_part_j"]["dies_idle"].as_f64().unwrap();
    assert!((idle(&one) / (0.003 * seconds) - 1.0).abs() < 1e-9);
    assert!((idle(&many) / idle(&one) - 64.0).abs() < 1e-6);
}

#[test]
fn write_amplification_by_cause_sums_to_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trims.fio");
    // Each write is trimmed, and a flush makes the trim durable.
    let steps = |i: u64| {
        let at = i % 1000 * 4096;
        format!("f write {at} 4096\nf trim {at} 4096\nf sync 0 0\n")
    };
    let lines: String = (0..2000).map(steps).collect();
    std::fs::write(&path, format!("fio version 2 iolog\nf add\nf open\n{lines}")).unwrap();
    let mut device = one_die(64, "4KiB");
    device["capacity"] = json!("4MiB");
    device["ftl"] = json!({"durable": true, "write_points": 1});
    let config = json!({
        "device": device, "load": {"trace": {"path": path}}, "host": {"pacing": "closed"}
    });
    let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
    let report = run(&config, &Progress::default()).unwrap().report.device;
    assert!(report.pages.log_program > 0, "{report:?}");
    let sum: f64 = report.write_amplification_by_cause.values().sum();
    assert!((sum - report.write_amplification.unwrap()).abs() < 1e-9, "{report:?}");
    let pages = report.pages;
    let programmed = pages.host_program
        + pages.gc_program
        + pages.wear_program
        + pages.summary_program
        + pages.log_program
        + pages.padding;
    assert_eq!(programmed, report.operations.program);
}
