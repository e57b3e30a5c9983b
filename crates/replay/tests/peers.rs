//! Cases that are known problems of other simulators: preconditioning for a trace, full devices,
//! repeated replays, units of time, the end of life, write-only traces, and traces larger than
//! memory. Runs shorter than a second are in `run.rs`.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_blockio::{Device, IoOp, Request};
use gordon_config::from_json;
use gordon_replay::config::RunConfig;
use gordon_replay::flash::run;
use gordon_replay::host::{HostPolicy, Outcome, Pacing, drive};
use gordon_replay::load::SyntheticConfig;
use gordon_replay::results::flash::FlashReport;
use gordon_replay::results::report::Report;
use gordon_replay::results::{Recorded, Recorder};
use gordon_replay::wa::theory;
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, Ns, Progress};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: u64 = 4096;

/// One die group of 64 blocks of 32 pages of 4 KiB; 1,600 pages are exported.
fn device() -> Value {
    let mut device = common::one_die(64, "4KiB");
    device["geometry"]["pages_per_block"] = json!(32);
    device["capacity"] = json!(format!("{}B", 1600 * PAGE));
    device["ftl"] = json!({"write_points": 1, "reserve": 1, "low_water": 1, "summary": false});
    device
}

fn run_config(config: &Value) -> Report<FlashReport> {
    let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
    run(&config, &Progress::default()).unwrap().report
}

fn replay(path: &Path, more: &Value) -> Report<FlashReport> {
    let mut load = json!({"path": path});
    load.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    run_config(&json!({"device": device(), "load": {"trace": load}, "seed": 2}))
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Random writes of single pages on `ssd`, in a closed loop of 8.
fn overwrite(ssd: &mut Ssd, writes: u64) -> (Outcome, Recorded) {
    let bench = json!({"pattern": "random-write", "size": "4KiB", "requests": writes});
    let bench: SyntheticConfig = from_json(&bench.to_string(), "bench").unwrap();
    let load = bench.resolve(ssd.capacity(), 5).unwrap();
    let (pacing, depth, split) = (Pacing::Closed, 8, None);
    let policy = HostPolicy { pacing, depth, split, wrap: false, weights: vec![1] };
    let mut recorder = Recorder::new(ssd, 1, None);
    let outcome = drive(ssd, load, &policy, &mut recorder, &Progress::default()).unwrap();
    (outcome, recorder.finish(ssd).unwrap().1)
}

fn ssd(device: &Value) -> Ssd {
    let config: SsdConfig = from_json(&device.to_string(), "device").unwrap();
    Ssd::with_seed(&config, 1).unwrap()
}

#[test]
fn a_device_is_preconditioned_for_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    // Writes all over the lower half, and reads in the upper half, which has never been written.
    let mut text = String::new();
    for i in 0..2000u64 {
        let page = if i % 4 == 3 { 800 + i / 4 * 7 % 400 } else { i * 13 % 800 };
        writeln!(text, "{} 0 {} 8 {}", i * 1_000_000, page * 8, u64::from(i % 4 == 3)).unwrap();
    }
    let path = file(&folder, "a", &text);
    let mut config = json!({"device": device(), "load": {"trace": {"path": path}}});
    config["precondition"] = json!(0.9);
    let flash = run_config(&config).device;
    assert_eq!((flash.unmapped_reads, flash.preloaded_pages), (0, 1440));
    // 1,500 writes to 2,048 pages: a new device would not have collected garbage.
    assert!(flash.pages.gc_program > 0 && flash.erases > 1500 / 32, "{}", flash.erases);
    // Pages that are read beyond the preconditioned part are mapped, too.
    config["precondition"] = json!(0.5);
    let flash = run_config(&config).device;
    assert_eq!((flash.unmapped_reads, flash.preloaded_pages), (0, 800 + 400));
    config["precondition"] = json!(null);
    let flash = run_config(&config).device;
    assert_eq!((flash.unmapped_reads, flash.preloaded_pages), (0, 400));
    assert_eq!(flash.pages.gc_program, 0);
}

#[test]
fn a_full_device_takes_three_times_its_size_in_random_writes() {
    let mut ssd = ssd(&device());
    ssd.precondition(1.0, &Progress::default()).unwrap();
    let (outcome, recorded) = overwrite(&mut ssd, 3 * 1600);
    assert_eq!((outcome.requests, outcome.failed), (4800, 0));
    assert_eq!(recorded.bytes[IoOp::Write as usize], 4800 * PAGE);
    ssd.ftl().check().unwrap();
    // 62 closed blocks of 32 pages.
    let found = ssd.stats().write_amplification().unwrap();
    let theory = theory::greedy(1600.0 / (62.0 * 32.0), 32.0);
    // Small arrays are below theory.
    assert!((-0.08..0.03).contains(&(found / theory - 1.0)), "{found}, in theory {theory}");
}

#[test]
fn a_trace_three_times_over_is_the_trace_written_three_times() {
    let folder = tempfile::tempdir().unwrap();
    let request = |i: u64, shift: u64| {
        format!("{} 0 {} 8 {}\n", i * 500_000 + shift, i * 29 % 1600 * 8, i % 2)
    };
    let mut texts = [String::new(), String::new()];
    // A repetition starts a mean gap after the last arrival of the previous one.
    for time in 0..3 {
        for i in 0..300 {
            texts[1] += &request(i, time * 300 * 500_000);
        }
    }
    (0..300).for_each(|i| texts[0] += &request(i, 0));
    let [once, thrice] = [file(&folder, "a", &texts[0]), file(&folder, "b", &texts[1])];
    let (repeated, written) = (replay(&once, &json!({"repeat": 3})), replay(&thrice, &json!({})));
    assert_eq!(repeated.requests, 900);
    let strip = |report: &Report<FlashReport>| {
        let mut value = serde_json::to_value(report).unwrap();
        (value["provenance"], value["input"]) = (json!(null), json!(null));
        value
    };
    assert_eq!(strip(&repeated), strip(&written));
}

#[test]
fn units_of_time_are_those_of_the_format() {
    let folder = tempfile::tempdir().unwrap();
    // A read of 4 KiB each millisecond, from 5 ms on, at ascending pages.
    let mut texts = [const { String::new() }; 6];
    for i in 0..200u64 {
        let ms = 5 + i;
        let (us, offset, sector) = (ms * 1000, i * PAGE, i * 8);
        let [ns, ticks, micro, milli, s, twice] = &mut texts;
        writeln!(ns, "{} 0 {sector} 8 1", us * 1000).unwrap();
        writeln!(ticks, "{},host,0,Read,{offset},4096,0", us * 10).unwrap();
        writeln!(micro, "7,R,{offset},4096,{us}").unwrap();
        writeln!(milli, "{ms}.000 0 {sector} 8 1").unwrap();
        writeln!(s, "0,{sector},4096,R,{}.{:06}", us / 1_000_000, us % 1_000_000).unwrap();
        writeln!(twice, "{us} 0 {sector} 8 1").unwrap();
    }
    let formats = ["mqsim", "msr", "alibaba", "disksim", "spc", "mqsim"];
    let reports = formats.iter().zip(&texts).enumerate().map(|(i, (format, text))| {
        let path = file(&folder, &i.to_string(), text);
        let mut more = json!({"format": format});
        if i == 5 {
            // The time stamps are not in the unit of the format, so it must be given.
            more["time_unit"] = json!("1us");
        }
        replay(&path, &more)
    });
    let reports: Vec<Report<FlashReport>> = reports.collect();
    let seconds = reports[0].simulated_s;
    assert!((0.199..0.200).contains(&seconds), "{seconds}");
    for (format, report) in formats.iter().zip(&reports) {
        assert_eq!(report.simulated_s, seconds, "{format}");
        assert_eq!(report.read, reports[0].read, "{format}");
        assert_eq!(report.requests, 200, "{format}");
    }
}

#[test]
fn a_worn_out_device_ends_with_all_that_was_acknowledged_readable() {
    let mut device = device();
    device["endurance"] = json!({"erase_budget": 30, "spread": 0.3});
    let mut ssd = ssd(&device);
    ssd.preload(Bytes(0), ssd.capacity());
    ssd.load(&Progress::default()).expect("nobody stops it");
    let (outcome, recorded) = overwrite(&mut ssd, 200_000);
    assert!(ssd.ftl().is_worn_out() && outcome.failed > 0 && outcome.requests == 200_000);
    // Each request is either done or failed.
    let done = recorded.bytes[IoOp::Write as usize] / PAGE;
    assert_eq!(recorded.failed, [0, 200_000 - done, 0, 0]);
    assert_eq!(recorded.latencies.of(IoOp::Write).count(), done);
    let (at, after) = recorded.worn_out.unwrap();
    assert!(at > Ns::ZERO && after <= done * PAGE && after > done * PAGE * 99 / 100);
    // About as many erases as there can be: 64 blocks, at least a quarter of the rating each.
    let erases = ssd.stats().ftl.erases;
    assert!(erases > 64 * 30 * 3 / 4 && erases < 64 * 30 * 4, "{erases}");
    ssd.ftl().check().unwrap();
    // Every page is mapped and can be read.
    let before = ssd.stats().ftl;
    let mut now = Ns(1_000_000_000_000);
    for page in 0..1600 {
        let request = Request::new(IoOp::Read, Bytes(page * PAGE), Bytes(PAGE));
        ssd.submit(now, page, request);
        let mut completed = Vec::new();
        while completed.is_empty() {
            now = ssd.next_event().unwrap();
            ssd.step(&mut completed);
        }
        assert!(!completed[0].failed, "page {page}");
    }
    assert_eq!(ssd.stats().ftl.unmapped_reads, before.unmapped_reads);
}

#[test]
fn a_worn_out_device_stays_worn_out_in_its_checkpoint() {
    let mut device = device();
    device["endurance"] = json!({"erase_budget": 5, "spread": 0.3});
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    for victim in ["greedy", "random"] {
        device["ftl"]["victim"] = json!(victim);
        let load =
            json!({"bench": {"pattern": "random-write", "size": "4KiB", "requests": 30_000}});
        let worn = run_config(&json!({
            "device": device, "load": load, "precondition": 1.0, "checkpoint": kept
        }));
        assert!(worn.device.worn_out && worn.failed_requests > 0, "{victim}");
        // Collections that were in progress do not count after the device wore out.
        let collected = worn.device.collecting_s;
        assert!(collected <= worn.device.worn_out_at_s.unwrap() * 1.01, "{victim}: {collected}");
        let from = |pattern: &str| {
            let load = json!({"bench": {"pattern": pattern, "size": "4KiB", "requests": 1000}});
            run_config(&json!({"device": device, "load": load, "from_checkpoint": kept}))
        };
        let (reads, writes) = (from("random-read"), from("random-write"));
        assert_eq!((reads.read.requests, reads.read.failed), (1000, 0), "{victim}");
        assert_eq!(reads.device.unmapped_reads, 0, "{victim}");
        assert_eq!((writes.write.requests, writes.write.failed), (0, 1000), "{victim}");
        assert!(reads.device.worn_out && writes.device.worn_out, "{victim}");
    }
}

#[test]
fn a_report_says_when_the_device_wore_out() {
    let mut device = device();
    device["endurance"] = json!({"erase_budget": 20});
    let load = json!({"bench": {"pattern": "mixed", "size": "4KiB", "requests": 100_000}});
    let report = run_config(&json!({"device": device, "load": load}));
    assert!(report.device.worn_out && report.device.grown_bad > 0);
    assert_eq!(report.requests, 100_000);
    assert_eq!(report.failed_requests, report.write.failed);
    let (read, write) = (&report.read, &report.write);
    assert_eq!(read.requests + write.requests + write.failed, 100_000);
    assert_eq!((read.failed, write.bytes), (0, write.requests * PAGE));
    let at = report.device.worn_out_at_s.unwrap();
    assert!(at > 0.0 && at < report.simulated_s);
    // Writes in progress at that time may still succeed.
    let left = write.bytes - report.device.worn_out_after_bytes.unwrap();
    assert!(left <= 64 * PAGE, "{left}");
    let warning = report.warnings.iter().find(|w| w.contains("wore out")).unwrap();
    assert!(warning.contains(&write.failed.to_string()), "{warning}");
}

#[test]
fn a_trace_may_only_write() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: u64| format!("{} 0 {} 8 0\n", i * 300_000, i % 1600 * 8);
    let path = file(&folder, "a", &(0..4000).map(line).collect::<String>());
    let report = replay(&path, &json!({}));
    assert_eq!((report.write.requests, report.read.requests), (4000, 0));
    assert_eq!(report.read.latency_us.mean, None);
    let flash = &report.device;
    assert_eq!((flash.preloaded_pages, flash.unmapped_reads), (0, 0));
    assert_eq!(flash.pages.host_program, 4000);
    assert!(flash.erases > 0 && flash.endurance_used > 0.0);
}

/// Environment variable with the path of the trace, for the child process that replays it.
const LARGE: &str = "GORDON_TEST_LARGE_TRACE";

/// Limit of the child's data segment, stacks included: a sixth of the trace.
const LIMIT_KIB: u64 = 32 << 10;

#[test]
#[allow(clippy::print_stdout)] // the child's answer
fn a_trace_may_be_larger_than_memory() {
    if let Ok(path) = std::env::var(LARGE) {
        let report = replay(Path::new(&path), &json!({}));
        println!("replayed {}", report.requests);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let mut text = BufWriter::new(std::fs::File::create(&path).unwrap());
    // Blanks make lines long without slowing down the test.
    for i in 0..200_000u64 {
        let (at, sector) = (i * 300_000, i * 7 % 1600 * 8);
        writeln!(text, "{at:<400} 0 {sector:<400} 8 {:>240}", i % 2).unwrap();
    }
    text.into_inner().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 6 * LIMIT_KIB * 1024);
    let limited = format!("ulimit -d {LIMIT_KIB} && exec \"$0\" \"$@\"");
    let child = Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_trace_may_be_larger_than_memory", "--nocapture"])
        .env(LARGE, &path)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && stdout.contains("replayed 200000"), "{stdout}\n{errors}");
}
