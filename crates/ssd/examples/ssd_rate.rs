//! Bandwidth of the paper's array, and its simulation speed: closed loop, queue depth 32.
//!
//!     cargo run --release -p gordon-ssd --example ssd_rate
#![allow(clippy::print_stdout)]

use gordon_blockio::{Device, IoOp, Request};
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, Hertz};
use std::time::Instant;

const DEPTH: u64 = 32;

fn preset(name: &str) -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let text = std::fs::read_to_string(format!("{root}{name}.toml")).expect("the preset is there");
    toml::from_str(&text).expect("the preset is valid")
}

struct Pattern {
    op: IoOp,
    size: u64,
    random: bool,
    /// Size of the address range in bytes.
    over: u64,
    requests: u64,
}

/// Runs `pattern` and prints a line.
fn run(name: &str, config: &SsdConfig, loaded: bool, pattern: &Pattern) {
    let mut ssd = Ssd::new(config).expect("possible");
    if loaded {
        ssd.preload(Bytes(0), Bytes(pattern.over));
    }
    let places = pattern.over / pattern.size;
    let (mut state, mut sent, mut finished) = (1u64, 0u64, 0u64);
    let mut next = || {
        // A linear congruential generator (Knuth's MMIX); its high bits are random enough here.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = if pattern.random { (state >> 33) % places } else { sent % places };
        sent += 1;
        let offset = Bytes(place * pattern.size);
        (sent, Request::new(pattern.op, offset, Bytes(pattern.size)))
    };
    let (start, mut done, mut end) = (Instant::now(), Vec::new(), Default::default());
    for _ in 0..DEPTH {
        let (id, request) = next();
        ssd.submit(Default::default(), id, request);
    }
    while finished < pattern.requests {
        ssd.step(&mut done);
        for completion in done.drain(..) {
            finished += 1;
            end = completion.at;
            let (id, request) = next();
            ssd.submit(end, id, request);
        }
    }
    let (stats, wall) = (ssd.stats(), start.elapsed().as_secs_f64());
    let rate = (pattern.requests * pattern.size) as f64 / end.as_secs() / 1e6;
    let bus: f64 = stats.die_groups.bus_busy.iter().map(|b| b.as_secs()).sum::<f64>()
        / stats.die_groups.bus_busy.len() as f64
        / end.as_secs();
    println!(
        "{name:<44} {rate:>7.0} MB/s  bus {:>3.0} %  WA {:>5.3}  erases {:>7}  {:>6.3} M requests, \
         {:>6.2} M events a second",
        bus * 100.0,
        stats.write_amplification().unwrap_or(0.0),
        stats.ftl.erases,
        pattern.requests as f64 / wall / 1e6,
        stats.events as f64 / wall / 1e6,
    );
}

fn main() {
    let slc = preset("gordon-slc-256g");
    let gib = 1u64 << 30;
    let sequential =
        |op, requests| Pattern { op, size: 64 << 10, random: false, over: 16 * gib, requests };
    let n = 2_000_000;
    for mhz in [40.0, 133.0, 400.0] {
        let mut config = slc.clone();
        config.timing.bus_rate = Hertz(mhz * 1e6).into();
        run(
            &format!("SLC {mhz} MHz, sequential 64 KiB write"),
            &config,
            false,
            &sequential(IoOp::Write, n),
        );
        run(
            &format!("SLC {mhz} MHz, sequential 64 KiB read"),
            &config,
            true,
            &sequential(IoOp::Read, n),
        );
    }
    let mut config = slc.clone();
    config.timing.command = gordon_units::Ns::ZERO.into();
    run("SLC 133 MHz, no command time, write", &config, false, &sequential(IoOp::Write, n));
    run("SLC 133 MHz, no command time, read", &config, true, &sequential(IoOp::Read, n));
    let mut config = slc.clone();
    config.geometry.blocks_per_plane = 1024.into();
    config.capacity = Bytes((16 * gib * 93 / 100) >> 16 << 16).into();
    let over = config.capacity.0;
    let round = Pattern { over, ..sequential(IoOp::Write, n) };
    run("SLC 133 MHz, 16 GiB array overwritten in order", &config, true, &round);
    let random = Pattern { random: true, ..round };
    run("SLC 133 MHz, 16 GiB array overwritten at random", &config, true, &random);
    for points in [1, 2, 8] {
        let mut config = slc.clone();
        config.ftl.write_points = Some(points.into());
        run(
            &format!("SLC 133 MHz, {points} write points, write"),
            &config,
            false,
            &sequential(IoOp::Write, n),
        );
    }
    let mlc = preset("gordon-mlc-512g");
    run("MLC 133 MHz, sequential 64 KiB write", &mlc, false, &sequential(IoOp::Write, n));
    run("MLC 133 MHz, sequential 64 KiB read", &mlc, true, &sequential(IoOp::Read, n));
    let pages = |op, over| Pattern { op, size: 4 << 10, random: true, over, requests: n };
    let mut config = slc.clone();
    config.super_page.size = Bytes(4 << 10).into();
    config.ftl.write_points = None;
    run("SLC 4 KiB pages, random 4 KiB write", &config, true, &pages(IoOp::Write, 16 * gib));
    run("SLC 4 KiB pages, random 4 KiB read", &config, true, &pages(IoOp::Read, 16 * gib));
}
