//! Helpers of the device tests.
#![allow(dead_code)] // each test file uses only some of it

use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR};
use gordon_hdd::{Disk, DiskConfig};
use gordon_units::Ns;
use std::sync::LazyLock;

pub const PRESET: &str = include_str!("../../../../python/gordon/parts/disk/sata-7200-1tb.toml");

pub fn preset() -> DiskConfig {
    DiskConfig::from_toml(PRESET).expect("the preset is right")
}

/// A fresh copy of the preset's disk.
pub fn disk() -> Disk {
    static FRESH: LazyLock<Disk> =
        LazyLock::new(|| Disk::new(&preset()).expect("the preset is right"));
    FRESH.clone()
}

pub fn sectors(op: IoOp, start: u64, count: u64) -> Request {
    Request::new(op, SECTOR * start, SECTOR * count)
}

pub const FLUSH: Request = Request::FLUSH;

#[allow(unused_imports)] // not all test files use it
pub use gordon_units::SplitMix64 as Random;

/// Keeps `depth` requests in the device until `count` are done. Returns the completions in order.
pub fn closed_loop(
    device: &mut impl Device,
    depth: usize,
    count: usize,
    mut next: impl FnMut(u64) -> Request,
) -> Vec<Completion> {
    let mut completed = Vec::new();
    let (mut sent, mut seen) = (0, 0);
    while sent < depth.min(count) {
        device.submit(Ns::ZERO, sent as u64, next(sent as u64));
        sent += 1;
    }
    while completed.len() < count {
        device.step(&mut completed);
        while seen < completed.len() {
            if sent < count {
                device.submit(completed[seen].at, sent as u64, next(sent as u64));
                sent += 1;
            }
            seen += 1;
        }
    }
    completed
}

/// Steps the device until it is quiescent.
pub fn drain(device: &mut impl Device) -> Vec<Completion> {
    let mut completed = Vec::new();
    device.run_until(Ns::MAX, &mut completed);
    completed
}

/// Asserts that a value is within a fraction of the expected value.
#[track_caller]
pub fn near(what: &str, is: f64, expected: f64, share: f64) {
    assert!((is / expected - 1.0).abs() <= share, "{what} is {is}, expected {expected}");
}
