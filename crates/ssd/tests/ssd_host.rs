//! Link, latency and write buffer between host and array, and factory-bad blocks.

use gordon_blockio::{Cause, Completion, Device, IoOp, Request};
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, Ns};

const PAGE: Bytes = Bytes(64 << 10);

fn preset() -> SsdConfig {
    let path = "../../python/gordon/parts/flash/gordon-slc-256g.toml";
    let text = std::fs::read_to_string(path).expect("the preset is there");
    toml::from_str(&text).expect("the preset is valid")
}

/// The completion of a single request to a device with preloaded data.
fn one(config: &SsdConfig, op: IoOp) -> Completion {
    let mut ssd = Ssd::new(config).expect("possible");
    ssd.preload(Bytes(0), PAGE);
    ssd.submit(Ns(0), 1, Request::new(op, Bytes(0), PAGE));
    let mut done = Vec::new();
    while done.is_empty() {
        ssd.step(&mut done);
    }
    done[0]
}

#[test]
fn link_and_latency_add_to_each_request() {
    for op in [IoOp::Read, IoOp::Write] {
        let mut config = preset();
        let bare = one(&config, op).at;
        // 64 KiB at 655.36 MB/s take 100 us.
        config.host.link = Some(Bytes(655_360_000).into());
        config.host.latency = Some(Ns(7_000).into());
        assert_eq!(one(&config, op).at, bare + Ns(107_000), "{op:?}");
    }
}

#[test]
fn a_write_buffer_answers_at_once() {
    let mut config = preset();
    assert_eq!(one(&config, IoOp::Write).cause, Cause::Medium);
    config.ftl.write_buffer = Some(Bytes(1 << 20).into());
    let done = one(&config, IoOp::Write);
    assert_eq!((done.at, done.cause), (Ns(0), Cause::Buffer));
}

#[test]
fn blocks_may_be_bad_from_the_start() {
    let mut config = preset();
    let all = Ssd::new(&config).expect("possible").ftl().good_blocks();
    config.endurance.factory_bad = Some(0.0001.into());
    let good = |seed| Ssd::with_seed(&config, seed).expect("possible").ftl().good_blocks();
    // A super-block of 32 blocks is good with probability 0.9999^32 = 0.9968.
    let expected = f64::from(all) * 0.9999f64.powi(32);
    let off = (f64::from(good(1)) - expected).abs();
    assert!(good(1) < all && off < 60.0, "{} of {all}, {expected} expected", good(1));
    assert_eq!(good(1), good(1));
}
