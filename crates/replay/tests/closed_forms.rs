//! Runs on one die, with times computed by hand.
//!
//! A page of 2,048 bytes with 32 out of band takes 10,400 ns on a bus of 16 bits and 100 MHz,
//! without command cycles. A read senses for 25,000 ns, a program takes 200,000, an erase
//! 2,000,000.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_config::from_json;
use gordon_replay::config::RunConfig;
use gordon_replay::flash::run;
use gordon_replay::results::flash::FlashReport;
use gordon_replay::results::report::Report;
use gordon_units::Progress;
use serde_json::{Value, json};

const READ: f64 = 25.0 + 10.4;
const WRITE: f64 = 10.4 + 200.0;

fn one_die() -> Value {
    let mut device = common::one_die(256, "2KiB");
    device["timing"]["bus_rate"] = json!("100MHz");
    device["timing"]["command"] = json!("0ns");
    device["capacity"] = json!("24MiB");
    device["ftl"] = json!({"bypass": false, "summary": false});
    device
}

fn bench(device: Value, bench: Value, host: Value) -> Report<FlashReport> {
    let config = json!({"device": device, "load": {"bench": bench}, "host": host});
    let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
    run(&config, &Progress::default()).unwrap().report
}

fn close(a: Option<f64>, b: f64) {
    assert!((a.unwrap() / b - 1.0).abs() < 1e-9, "{a:?}, {b}");
}

#[test]
fn one_read_at_a_time_takes_sensing_and_transfer() {
    let load = json!({"pattern": "random-read", "size": "2KiB", "requests": 1000});
    let report = bench(one_die(), load, json!({"queue_depth": 1}));
    let read = &report.read;
    close(read.latency_us.mean, READ);
    assert_eq!((read.latency_us.min, read.latency_us.max), (Some(READ), Some(READ)));
    close(Some(report.simulated_s), 1000.0 * READ / 1e6);
    close(read.bandwidth_mb_s, 2048.0 / READ);
    close(report.outstanding.mean, 1.0);
    // The bus transfers and the die works for the whole run.
    close(report.device.utilisation.bus, 10.4 / READ);
    close(report.device.utilisation.die_read, 1.0);
    let waiting = report.device.waiting["read"];
    assert_eq!((waiting.operations, waiting.queued, waiting.waited_mean_us), (1000, 0, Some(0.0)));
    close(waiting.served_mean_us, READ);
}

#[test]
fn a_deep_queue_on_one_die_waits_for_all_before_it() {
    // Without interleaving within a die: 8 in the queue, served one at a time.
    let load = json!({"pattern": "random-read", "size": "2KiB", "requests": 800});
    let report = bench(one_die(), load, json!({"queue_depth": 8}));
    close(Some(report.simulated_s), 800.0 * READ / 1e6);
    // The first seven wait for fewer requests.
    close(report.read.latency_us.mean, READ * (8.0 * 800.0 - 28.0) / 800.0);
    close(report.read.latency_us.max, READ * 8.0);
}

#[test]
fn arrivals_slower_than_programs_do_not_wait() {
    // D/D/1 with a load of 0.84: each latency is the service time.
    let load = json!({"pattern": "sequential-write", "size": "2KiB", "requests": 1000,
        "every": "250us"});
    let report = bench(one_die(), load, json!({}));
    assert_eq!(
        (report.write.latency_us.min, report.write.latency_us.max),
        (Some(WRITE), Some(WRITE))
    );
    close(Some(report.simulated_s), (999.0 * 250.0 + WRITE) / 1e6);
    close(report.outstanding.mean, 1000.0 * WRITE / (999.0 * 250.0 + WRITE));
    assert_eq!((report.device.erases, report.device.collecting_s), (0, 0.0));
}

#[test]
fn arrivals_faster_than_programs_queue_up() {
    // D/D/1 with a load of 1.05: each waits 10.4 us longer than the previous one.
    let load = json!({"pattern": "sequential-write", "size": "2KiB", "requests": 1000,
        "every": "200us"});
    let report = bench(one_die(), load, json!({}));
    close(report.write.latency_us.min, WRITE);
    close(report.write.latency_us.max, WRITE + 999.0 * 10.4);
    close(report.write.latency_us.mean, WRITE + 999.0 / 2.0 * 10.4);
    close(Some(report.simulated_s), 1000.0 * WRITE / 1e6);
}

#[test]
fn collection_takes_its_copies_and_erases() {
    // Whole blocks become stale, so a collection is an erase without copies.
    let mut device = one_die();
    device["ftl"]["low_water"] = json!(2);
    device["ftl"]["reserve"] = json!(1);
    // Three passes minus one write: the last page of a block would start a collection.
    let requests = 3 * 24 * 512 - 1;
    let load = json!({"pattern": "sequential-write", "size": "2KiB", "requests": requests});
    let report = bench(device, load, json!({"queue_depth": 1}));
    let flash = &report.device;
    assert_eq!((flash.pages.gc_program, flash.write_amplification), (0, Some(1.0)));
    assert!(flash.erases > 300, "{}", flash.erases);
    // The die does one operation at a time and is never idle.
    close(
        Some(report.simulated_s),
        (f64::from(requests) * WRITE + flash.erases as f64 * 2000.0) / 1e6,
    );
    close(flash.utilisation.die_write, 1.0);
    // The write that triggers the collection is on the die before the erase.
    close(Some(flash.collecting_s), flash.erases as f64 * (2000.0 + WRITE) / 1e6);
}
