//! The paper's array, the loads, and a single simulated run.

use gordon_blockio::{Device, IoOp};
use gordon_config::{from_json, from_toml};
use gordon_replay::ReplayError;
use gordon_replay::footprint::Footprint;
use gordon_replay::host::{CompletedRequest, HostPolicy, Observer, Pacing, drive};
use gordon_replay::load::SyntheticConfig;
use gordon_replay::source::{RequestSource, TimedRequest};
use gordon_ssd::{CommandKind, Ssd, SsdConfig};
use gordon_trace::formats::{FormatError, ReadOptions, TraceRequest, open};
use gordon_units::{Bytes, Ns, Progress};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const KIB: u64 = 1 << 10;
pub const GIB: u64 = 1 << 30;
pub const SEED: u64 = 1;

/// A preset of the catalogue.
pub fn preset(name: &str) -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let path = format!("{root}{name}.toml");
    from_toml(&std::fs::read_to_string(&path).expect("a preset"), &path).expect("a right preset")
}

/// The paper's array with another super-page size and one write point per die group.
pub fn array(preset_name: &str, super_page: u64, bypass: bool) -> SsdConfig {
    let mut config = preset(preset_name);
    config.super_page.size = Bytes(super_page).into();
    config.ftl.write_points = None;
    config.ftl.bypass = Some(bypass.into());
    config.ftl.combine = Some(bypass.into());
    config
}

/// A synthetic load, configured as for `gordon flash bench`.
pub fn bench(load: &Value) -> SyntheticConfig {
    from_json(&load.to_string(), "bench").expect("a right load")
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    pub bytes: u64,
    pub requests: u64,
    pub simulated: Ns,
    /// Busy fraction of the buses.
    pub bus: f64,
    /// Super-pages read and programmed.
    pub reads: u64,
    pub programs: u64,
    /// Programs carried out together with one on another plane of the same dies.
    pub joined: u64,
}

impl Run {
    /// Bandwidth in 10^6 bytes per second.
    pub fn mb_s(&self) -> f64 {
        self.bytes as f64 / self.simulated.as_secs() / 1e6
    }
}

struct Sum(u64);

impl Observer<Ssd> for Sum {
    fn arrived(&mut self, _: &Ssd, _: Ns) {}

    fn completed(&mut self, _: &Ssd, done: &CompletedRequest) -> Result<(), ReplayError> {
        assert!(!done.failed, "a new array takes all writes");
        if matches!(done.op, IoOp::Read | IoOp::Write) {
            self.0 += done.len;
        }
        Ok(())
    }
}

/// Drives a new device with `depth` requests outstanding; the ranges in `mapped` hold data.
pub fn run(
    config: &SsdConfig,
    mapped: &[(u64, u64)],
    depth: u32,
    source: impl RequestSource,
) -> Run {
    let mut ssd = Ssd::with_seed(config, SEED).expect("a device that can exist");
    // Addresses of traces of larger devices wrap around, as their requests do.
    let capacity = ssd.capacity().0;
    for &(start, end) in mapped {
        let (first, len) = (start % capacity, end - start);
        let fits = len.min(capacity - first);
        ssd.preload(Bytes(first), Bytes(fits));
        ssd.preload(Bytes(0), Bytes(len - fits));
    }
    let rules =
        HostPolicy { pacing: Pacing::Closed, depth, split: None, wrap: true, weights: vec![1] };
    let mut sum = Sum(0);
    let outcome = drive(&mut ssd, source, &rules, &mut sum, &Progress::default());
    let outcome = outcome.expect("a load without errors");
    let stats = ssd.stats();
    assert_eq!(stats.ftl.erases, 0, "the array has room for all that is written");
    let busy: f64 = stats.die_groups.bus_busy.iter().map(|bus| bus.as_secs()).sum();
    Run {
        bytes: sum.0,
        requests: outcome.requests,
        simulated: outcome.simulated,
        bus: busy / stats.die_groups.bus_busy.len() as f64 / outcome.simulated.as_secs(),
        reads: stats.ftl.read_operations,
        programs: stats.ftl.program_operations,
        joined: stats.die_groups.kinds[CommandKind::Program.index()].joined,
    }
}

/// Requests held in memory.
#[derive(Clone, Debug)]
pub struct Requests {
    pub all: Vec<TimedRequest>,
    next: usize,
}

impl Requests {
    pub fn new(all: Vec<TimedRequest>) -> Self {
        Self { all, next: 0 }
    }

    pub fn take_all(mut source: impl RequestSource) -> Result<Self, ReplayError> {
        let (mut all, mut batch) = (vec![], vec![]);
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(Self::new(all));
            }
            all.append(&mut batch);
        }
    }

    pub fn of(load: &Value) -> Self {
        let load = bench(load).resolve(Bytes(1 << 40), SEED).expect("a right load");
        Self::take_all(load).expect("no errors")
    }

    /// Interleaves the requests of another load, `run` at a time.
    pub fn mixed(self, other: Self, run: usize) -> Self {
        let pairs = self.all.chunks(run).zip(other.all.chunks(run));
        Self::new(pairs.flat_map(|(a, b)| [a, b].concat()).collect())
    }

    /// All ranges that are read or written, which must hold data before the run.
    pub fn touched(&self) -> Vec<(u64, u64)> {
        let mut footprint = Footprint::default();
        for request in self.all.iter().filter(|request| request.op != IoOp::Flush) {
            footprint.add(request.offset, request.len);
        }
        footprint.ranges()
    }
}

impl RequestSource for Requests {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        batch.clear();
        let end = (self.next + 1024).min(self.all.len());
        batch.extend_from_slice(&self.all[self.next..end]);
        self.next = end;
        Ok(())
    }
}

/// All block traces in `GORDON_TRACES`, and the trace of the demo if it was run, by file name. The
/// second list contains the missing ones.
pub fn traces() -> (Vec<(String, Requests)>, Vec<String>) {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let demo = std::env::var_os("GORDON_DEMO_TRACE")
        .map_or_else(|| root.join("build/demo/job.trace"), PathBuf::from);
    let mut paths = vec![demo];
    let mut missing = vec![];
    if let Some(folder) = std::env::var_os("GORDON_TRACES") {
        let entries = std::fs::read_dir(&folder).map(|all| all.flatten().map(|at| at.path()));
        let mut found: Vec<_> = entries.into_iter().flatten().filter(|at| at.is_file()).collect();
        found.sort();
        paths.extend(found);
    } else {
        missing.push("the folder of block traces (GORDON_TRACES is not set)".into());
    }
    let mut traces = vec![];
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = if name == "job.trace" { "demo: sort and grep".into() } else { name };
        if !path.exists() {
            missing.push(name);
            continue;
        }
        match trace(&path) {
            Ok(requests) if !requests.all.is_empty() => traces.push((name, requests)),
            Ok(_) => missing.push(format!("{name} (no requests)")),
            Err(error) => missing.push(format!("{name} ({error})")),
        }
    }
    (traces, missing)
}

fn trace(path: &Path) -> Result<Requests, FormatError> {
    let mut reader = open(path, None, &ReadOptions::default())?;
    let (mut all, mut ios, mut more) = (vec![], vec![], true);
    while more {
        more = reader.fill(&mut ios)?;
        all.extend(ios.iter().map(|&TraceRequest { at, op, offset, len, .. }| TimedRequest {
            at,
            gap: Ns::ZERO,
            offset: offset.0,
            len: len.0,
            op,
            durable: false,
            queue: 0,
        }));
    }
    Ok(Requests::new(all))
}
