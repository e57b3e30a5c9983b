//! Simulation speed of runs, and the share of the host and the results in it: requests per CPU
//! second in closed loops of 32.
//!
//!     cargo run --release -p gordon-replay --example replay_rate [PRESET.toml [CAPACITY]]
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use gordon_blockio::{Completion, Device, Request, Usage};
use gordon_config::{from_json, from_toml};
use gordon_replay::config::RunConfig;
use gordon_replay::flash::run;
use gordon_replay::host::{HostPolicy, Pacing, drive};
use gordon_replay::load::SyntheticConfig;
use gordon_replay::results::Recorder;
use gordon_replay::results::series::SampledDevice;
use gordon_replay::source::RequestSource;
use gordon_ssd::SsdConfig;
use gordon_units::{Bytes, Ns, Progress};
use serde_json::json;
use std::collections::VecDeque;

/// A device that completes each request 100 ns after the previous one, at next to no CPU cost.
#[derive(Default)]
struct Null {
    queue: VecDeque<(Ns, u64)>,
    free_at: Ns,
}

impl Device for Null {
    fn capacity(&self) -> Bytes {
        Bytes(1 << 40)
    }

    fn submit(&mut self, at: Ns, id: u64, _: Request) {
        self.free_at = self.free_at.max(at) + Ns(100);
        self.queue.push_back((self.free_at, id));
    }

    fn next_event(&self) -> Option<Ns> {
        self.queue.front().map(|(at, _)| *at)
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let done = self.queue.pop_front();
        completed.extend(done.map(|(at, id)| Completion {
            id,
            at,
            cause: Default::default(),
            failed: false,
        }));
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

impl SampledDevice for Null {}

/// CPU seconds of this process; a run uses one thread.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    ns.expect("the first number of schedstat") as f64 / 1e9
}

fn bench(pattern: &str, size: &str, requests: u64) -> serde_json::Value {
    json!({"pattern": pattern, "size": size, "requests": requests})
}

fn main() {
    let requests = 20_000_000;
    for pattern in ["random-write", "mixed", "zipf"] {
        let bench: SyntheticConfig =
            from_json(&bench(pattern, "4KiB", requests).to_string(), "bench")
                .expect("a right load");
        let mut device = Null::default();
        let load = || bench.resolve(device.capacity(), 1).expect("a right load");
        let (mut drawn, mut batch) = (load(), Vec::new());
        let start = cpu();
        loop {
            drawn.next_batch(&mut batch).expect("no errors");
            if std::hint::black_box(&batch).is_empty() {
                break;
            }
        }
        let each = |start: f64| (cpu() - start) / requests as f64 * 1e9;
        let drawing = each(start);
        let load = load();
        let rules = HostPolicy {
            pacing: Pacing::Closed,
            depth: 32,
            split: None,
            wrap: false,
            weights: vec![1],
        };
        let mut recorder = Recorder::new(&device, 1, None);
        let start = cpu();
        drive(&mut device, load, &rules, &mut recorder, &Progress::default()).expect("no errors");
        println!(
            "{pattern:<18} 4KiB    {drawing:>5.1} ns a request to draw it, {:>5.1} more for host, \
             results and a device that does nothing",
            each(start) - drawing
        );
    }

    let mut args = std::env::args().skip(1);
    let preset = args.next().unwrap_or_else(|| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
        format!("{root}gordon-slc-256g.toml")
    });
    let text = std::fs::read_to_string(&preset).expect("a preset to read");
    let mut device: SsdConfig = from_toml(&text, &preset).expect("a right preset");
    if let Some(capacity) = args.next() {
        device.capacity = capacity.parse::<Bytes>().expect("a capacity").into();
    }
    for (pattern, size, requests) in [
        ("random-write", "4KiB", 2_000_000),
        ("random-read", "4KiB", 2_000_000),
        ("sequential-write", "128KiB", 500_000),
        ("sequential-read", "128KiB", 500_000),
        ("mixed", "16KiB", 1_000_000),
    ] {
        let mut load = bench(pattern, size, requests);
        load["span"] = json!("16GiB");
        let config = json!({"device": device, "load": {"bench": load}});
        let config: RunConfig = from_json(&config.to_string(), "run").expect("a right config");
        let start = cpu();
        let result = run(&config, &Progress::default()).expect("a right run");
        let (used, report) = (cpu() - start, result.report);
        println!(
            "{pattern:<18} {size:<7} {:>9.0} requests a CPU second; {:>5.1} M events; {:>6.0} \
             MB/s, WA {:.3}",
            requests as f64 / used,
            report.device.events as f64 / 1e6,
            report.bandwidth_mb_s.unwrap_or(0.0),
            report.device.write_amplification.unwrap_or(0.0),
        );
    }
}
