//! Bandwidth by size and depth: rates of the presets' media, stripes, flushes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_config::{from_json, from_toml};
use gordon_replay::characterise::{
    CharacteriseConfig, CharacteriseReport, MeasuredPoint, characterise,
};
use gordon_units::Progress;
use serde_json::{Value, json};

const DISK: &str = include_str!("../../../python/gordon/parts/disk/sata-7200-1tb.toml");

fn disk() -> Value {
    let device: Value = from_toml(DISK, "preset").unwrap();
    json!({"disk": {"device": {"config": device}}})
}

/// One die with pages of 2 KiB that are read and programmed individually.
fn flash() -> Value {
    let mut device = common::one_die(256, "2KiB");
    device["timing"]["bus_rate"] = json!("100MHz");
    device["timing"]["command"] = json!("0ns");
    device["capacity"] = json!("24MiB");
    device["ftl"] = json!({"bypass": false, "summary": false});
    json!({"flash": {"device": device}})
}

fn characterise_json(
    device: Value,
    points: Value,
    more: Value,
) -> Result<CharacteriseReport, String> {
    let mut survey = json!({
        "device": device, "points": points, "bytes": "64MiB", "requests": 2000, "seed": 1,
    });
    for (key, value) in more.as_object().unwrap() {
        survey[key] = value.clone();
    }
    let survey: CharacteriseConfig = from_json(&survey.to_string(), "storage").unwrap();
    characterise(&survey, &Progress::default()).map_err(|error| error.to_string())
}

fn point(pattern: &str, op: &str, size: &str, depth: u32) -> Value {
    json!({"pattern": pattern, "op": op, "size": size, "depth": depth})
}

fn one(device: Value, point: Value, more: Value) -> MeasuredPoint {
    characterise_json(device, json!([point]), more).unwrap().points.remove(0)
}

fn near(is: f64, expected: f64, part: f64) {
    assert!((is / expected - 1.0).abs() < part, "{is}, not {expected}");
}

#[test]
fn one_disk_streams_at_its_outer_zone_and_four_at_four_times_that() {
    let read = || point("sequential", "read", "4MiB", 4);
    let single = one(disk(), read(), json!({}));
    near(single.bandwidth_mb_s, 105.0, 0.02);
    let stripe = json!({"stripe": {"disks": 4, "unit": "64KiB"}, "bytes": "256MiB"});
    let four = one(disk(), read(), stripe.clone());
    near(four.bandwidth_mb_s, 4.0 * single.bandwidth_mb_s, 0.02);
    let report = characterise_json(disk(), json!([read()]), stripe).unwrap();
    assert_eq!((report.devices, report.span_bytes), (4, report.capacity_bytes));
}

#[test]
fn random_reads_take_a_seek_and_half_a_turn() {
    let read = one(disk(), point("random", "read", "4KiB", 1), json!({}));
    // 8.5 ms and half of 60 s / 7200, and little else.
    near(read.latency_us.mean.unwrap(), 8500.0 + 4166.7, 0.03);
    near(read.iops * read.latency_us.mean.unwrap(), 1e6, 1e-6);
    assert_eq!(read.requests, 2000);
}

#[test]
fn writes_end_when_they_are_on_the_medium() {
    // 256 KiB fit in the drive's cache: they are accepted at once, and written at the rate of the
    // medium.
    let small = json!({"bytes": "256KiB"});
    let write = one(disk(), point("random", "write", "4KiB", 1), small);
    assert_eq!(write.requests, 64);
    let taken_s = write.latency_us.mean.unwrap() * 64.0 / 1e6;
    assert!(write.elapsed_s > 10.0 * taken_s, "{} s, taken in {taken_s} s", write.elapsed_s);
    // 64 positionings, in an order that the drive chooses.
    assert!(write.elapsed_s > 64.0 * 0.003, "{}", write.elapsed_s);
}

#[test]
fn flash_holds_data_where_it_is_read_and_takes_its_own_times() {
    let span = || json!({"span": "8MiB", "bytes": "4MiB"});
    for pattern in ["sequential", "random"] {
        let read = one(flash(), point(pattern, "read", "2KiB", 1), span());
        near(read.latency_us.mean.unwrap(), 25.0 + 10.4, 1e-9);
        near(read.bandwidth_mb_s, 2048.0 / 35.4, 1e-6);
        let write = one(flash(), point(pattern, "write", "2KiB", 1), span());
        near(write.latency_us.mean.unwrap(), 200.0 + 10.4, 1e-9);
    }
    // Two arrays with a bus each work in parallel on requests of two chunks.
    let stripe = json!({"stripe": {"disks": 2, "unit": "2KiB"}, "span": "8MiB", "bytes": "4MiB"});
    let read = one(flash(), point("sequential", "read", "4KiB", 1), stripe);
    near(read.bandwidth_mb_s, 2.0 * 2048.0 / 35.4, 1e-6);
    // In the steady state of overwrites, garbage collection takes time.
    let mut old = flash();
    old["flash"]["precondition"] = json!(1.0);
    let write = one(old, point("random", "write", "2KiB", 1), json!({}));
    assert!(write.latency_us.mean.unwrap() > 1.2 * 210.4, "{:?}", write.latency_us);
}

#[test]
fn points_keep_their_order_and_depend_only_on_the_seed() {
    let points = || {
        json!([
            point("random", "read", "4KiB", 1),
            point("sequential", "write", "1MiB", 8),
            point("random", "read", "64KiB", 32)
        ])
    };
    let measured = |seed: u64| {
        let report = characterise_json(disk(), points(), json!({"seed": seed})).unwrap();
        serde_json::to_value(report).unwrap()
    };
    let first = measured(1);
    let keys = |key: &str| -> Vec<Value> {
        first["points"].as_array().unwrap().iter().map(|point| point[key].clone()).collect()
    };
    assert_eq!(keys("size_bytes"), [json!(4096), json!(1 << 20), json!(65536)]);
    assert_eq!(keys("queue_depth"), [json!(1), json!(8), json!(32)]);
    // Limited by the number of requests, by the bytes, and by the minimum of two queue fills.
    assert_eq!(keys("requests"), [json!(2000), json!(64), json!(1024)]);
    assert_eq!(first, measured(1));
    assert_ne!(first, measured(2));
}

#[test]
fn errors_name_the_invalid_value() {
    let read = |size: &str, depth: u32| json!([point("random", "read", size, depth)]);
    for (device, points, more, why) in [
        (disk(), read("4KiB", 0), json!({}), "lets no request out"),
        (disk(), read("1000B", 1), json!({}), "not a positive multiple"),
        (disk(), read("4KiB", 1), json!({"span": "2TB"}), "more than the device's"),
        (flash(), read("64MiB", 1), json!({}), "no room for a request"),
        (disk(), read("4KiB", 1), json!({"stripe": {"disks": 0, "unit": "64KiB"}}), "no devices"),
        (flash(), read("4KiB", 1), json!({"stripe": {"disks": 2, "unit": "0B"}}), "chunks of 0"),
        (flash(), read("4KiB", 1), json!({"stripe": {"disks": 0, "unit": "1KiB"}}), "no devices"),
    ] {
        let error = characterise_json(device, points, more).unwrap_err();
        assert!(error.contains(why) && error.contains("\n  try: "), "{error}");
    }
    let mut wrong = flash();
    wrong["flash"]["precondition"] = json!(1.5);
    assert!(
        characterise_json(wrong, read("4KiB", 1), json!({})).unwrap_err().contains("not a part")
    );
}
