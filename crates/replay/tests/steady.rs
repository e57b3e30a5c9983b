//! A preconditioned device is in the steady state from its first write on.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_blockio::Device;
use gordon_config::from_json;
use gordon_replay::config::RunConfig;
use gordon_replay::flash::run;
use gordon_replay::wa::theory;
use gordon_ssd::Ssd;
use gordon_units::{Bytes, Progress, Stopped};
use serde_json::{Value, json};

const BLOCKS: u64 = 512;
const PAGES: u64 = 64;

/// One die group of 4 KiB pages, with all blocks but two closed and a fraction `rho` of these
/// mapped.
fn device(policy: &str, rho: f64) -> Value {
    device_of(PAGES, policy, rho)
}

/// The same with `pages` pages per block.
fn device_of(pages: u64, policy: &str, rho: f64) -> Value {
    let mut device = common::one_die(BLOCKS + 2, "4KiB");
    device["geometry"]["pages_per_block"] = json!(pages);
    let logical = (rho * (BLOCKS * pages) as f64).round() as u64;
    device["capacity"] = json!(format!("{}B", logical * 4096));
    device["ftl"] = json!({"write_points": 1, "reserve": 1, "low_water": 1, "summary": false,
        "victim": policy});
    device
}

/// Write amplification of the first `windows` of random writes, each an array's worth.
fn amplification(device: &Value, depth: u32, windows: u64) -> f64 {
    let requests = BLOCKS * PAGES * windows;
    let load = json!({"bench": {"pattern": "random-write", "size": "4KiB", "requests": requests}});
    let config = json!({"device": device, "load": load, "precondition": 1.0, "seed": 3,
        "host": {"queue_depth": depth}});
    let config: RunConfig = from_json(&config.to_string(), "run").unwrap();
    let flash = run(&config, &Progress::default()).unwrap().report.device;
    assert_eq!((flash.operations.read, flash.unmapped_reads), (flash.pages.gc_read, 0));
    flash.write_amplification.unwrap()
}

#[test]
fn the_first_window_of_writes_matches_theory() {
    for rho in [0.7, 0.8, 0.9] {
        let all = [
            ("greedy", theory::greedy(rho, PAGES as f64)),
            ("fifo", theory::fifo(rho)),
            ("random", theory::random(rho)),
        ];
        for (policy, theory) in all {
            let found = amplification(&device(policy, rho), 1, 1);
            let off = found / theory - 1.0;
            assert!(off.abs() < 0.03, "{policy} at rho {rho}: {found}, in theory {theory}");
        }
    }
}

#[test]
fn write_amplification_matches_theory_with_four_die_groups_and_summaries() {
    let mut device = device("greedy", 0.8);
    device["geometry"]["buses"] = json!(4);
    device["geometry"]["blocks_per_plane"] = json!(130);
    // One page of each block is its summary.
    let (points, low_water) = (4, 8);
    let data = (PAGES - 1) as f64;
    let logical = (0.8 * f64::from(520 - points - low_water) * data).round() as u64;
    device["capacity"] = json!(format!("{}B", logical * 4096));
    device["ftl"] = json!({"write_points": points, "reserve": 4, "low_water": low_water});
    let found = amplification(&device, 32, 1);
    let theory = theory::greedy(0.8, data) * PAGES as f64 / data;
    assert!((found / theory - 1.0).abs() < 0.03, "{found}, in theory {theory}");
}

/// With many long blocks, the counts of blocks by valid pages differ by many orders of magnitude.
#[test]
fn write_amplification_matches_theory_for_d_choices_of_long_blocks() {
    for choices in [4, 11, 64] {
        let mut device = device_of(256, "d-choices", 0.745);
        device["ftl"]["choices"] = json!(choices);
        let found = amplification(&device, 1, 1);
        let theory = theory::d_choices(0.745, 256, choices);
        assert!((found / theory - 1.0).abs() < 0.03, "{choices}: {found}, in theory {theory}");
    }
}

#[test]
fn policies_without_a_theory_start_in_their_steady_state() {
    for policy in ["d-choices", "cost-benefit"] {
        let device = device(policy, 0.8);
        let (first, both) = (amplification(&device, 1, 1), amplification(&device, 1, 4));
        let later = (4.0 * both - first) / 3.0;
        assert!((first / later - 1.0).abs() < 0.03, "{policy}: {first}, then {later}");
    }
}

#[test]
fn preconditioning_reports_progress_and_can_be_stopped() {
    let config = serde_json::from_value(device("greedy", 0.8)).unwrap();
    let pages = (0.8 * (BLOCKS * PAGES) as f64).round() as u64;
    let progress = Progress::default();
    Ssd::new(&config).unwrap().precondition(1.0, &progress).unwrap();
    assert_eq!(progress.progress(), (pages / 16, pages / 16));
    // The first block is laid out before the stop is checked; no request was submitted.
    let progress = Progress { stop: true.into(), ..Progress::default() };
    assert_eq!(Ssd::new(&config).unwrap().precondition(1.0, &progress), Err(Stopped));
    let (done, total) = progress.progress();
    assert!(done <= PAGES / 16 && total == pages / 16, "{done} of {total}");
}

#[test]
fn loading_reports_progress_and_can_be_stopped() {
    let config = serde_json::from_value(device("greedy", 0.8)).unwrap();
    let new = || {
        let mut ssd = Ssd::new(&config).unwrap();
        ssd.preload(Bytes(0), ssd.capacity());
        ssd
    };
    let pages = (0.8 * (BLOCKS * PAGES) as f64).round() as u64;
    let progress = Progress::default();
    new().load(&progress).unwrap();
    assert_eq!(progress.progress(), (pages / 16, pages / 16));
    // The stop is checked after the first super-page.
    let progress = Progress { stop: true.into(), ..Progress::default() };
    assert_eq!(new().load(&progress), Err(Stopped));
    assert_eq!(progress.progress(), (0, pages / 16));
}
