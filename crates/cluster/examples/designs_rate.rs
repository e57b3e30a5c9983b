//! Time and peak memory of the evaluator of many designs, on seven traces of 60 samples.
//!
//!     cargo run --release -p gordon-cluster --example designs_rate [STORED [STREAMED]]
//!
//! STORED designs (default 1000000) are evaluated into columns, with energy, limits and front;
//! STREAMED designs (default 10000000) only to the front. Designs of 50 storages, 5 networks and 20
//! numbers of processors differ in the speed, power and price of their processors.
#![allow(clippy::cast_precision_loss, clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{design, node, parts};
use gordon_blockio::Usage;
use gordon_cluster::model::job::group::{JobColumns, JobDesign, JobGroup};
use gordon_cluster::model::job::load::{JobLoad, JobNode, JobStretches};
use gordon_cluster::model::job::numbers::NodeNumbers;
use gordon_cluster::model::job::pool::pooled;
use gordon_cluster::model::job::range::{PlaceCost, StorageRatio};
use gordon_cluster::model::paper::group::{PaperColumns, PaperDesign, PaperGroup};
use gordon_cluster::model::paper::limits::PaperLimits;
use gordon_cluster::model::paper::load::{PaperLoad, PaperSample};
use gordon_cluster::model::paper::simulate::spread;
use gordon_cluster::space::cores::Cores;
use gordon_cluster::space::node::{NodePower, Power};
use gordon_cluster::space::resources::Rate;
use gordon_cluster::survey::{RunningFront, front, in_batches};
use gordon_cluster::trace::sample::{JobSample, mark_steady};
use gordon_units::{Ns, SplitMix64, Watts, splitmix64};
use std::ops::Range;
use std::time::Instant;

const TRACES: usize = 7;
const SAMPLES: usize = 60;
const STORAGES: usize = 50;
const NETWORKS: usize = 5;
const CORES: usize = 20;
const LOADS: usize = STORAGES * NETWORKS;
/// Cores of the traced machine.
const TRACED_CORES: u32 = 16;

/// Storage and network of a load, from 0.
#[derive(Clone, Copy)]
struct Place {
    storage: usize,
    network: usize,
}

impl Place {
    fn of(load: usize) -> Self {
        Self { storage: load / NETWORKS, network: load % NETWORKS }
    }

    /// Time of the storage, relative to the fastest.
    fn storage_factor(self) -> f64 {
        1.0 + self.storage as f64 / 5.0
    }

    fn network_factor(self) -> f64 {
        1.0 / (1.0 + self.network as f64)
    }
}

fn share(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The numbers of cores, each with the range of its designs of a load, of `count` designs in all.
fn groups_of(load: usize, count: usize) -> impl Iterator<Item = (u32, Range<u64>)> {
    let end = move |group: usize| (count * group / (LOADS * CORES)) as u64;
    (1..)
        .zip(load * CORES..(load + 1) * CORES)
        .map(move |(cores, group)| (cores, end(group)..end(group + 1)))
}

/// Speed of a processor, and its power, which grows faster than the speed and by chance.
fn processor(id: u64) -> (f64, Power) {
    let random = &mut SplitMix64(splitmix64(id));
    let speed = 0.2 + 3.8 * share(random);
    let idle = 1.0 + 4.0 * share(random);
    let active = idle + 5.0 * speed * speed * (0.5 + share(random));
    (speed, Power { idle: Watts(idle), active: Watts(active) })
}

fn paper_load(place: Place) -> PaperLoad {
    let random = &mut SplitMix64(1);
    let streams = (0..TRACES).map(|_| {
        let sample = |random: &mut SplitMix64| {
            let storage = share(random) * place.storage_factor();
            let usage = Usage { read: Ns::from_secs(storage / 2.0), ..Usage::default() };
            PaperSample {
                instructions: 8e9 * share(random),
                storage,
                network: share(random) * place.network_factor(),
                memory: 0.3 * share(random),
                usage,
            }
        };
        (0..SAMPLES).map(|_| sample(random)).collect()
    });
    let streams = streams.collect();
    let nodes = spread(&[SAMPLES; TRACES], TRACES, 0.05);
    PaperLoad { streams, nodes, stages: Vec::new() }
}

fn paper_design(id: u64) -> PaperDesign {
    let (speed, cpu) = processor(id);
    PaperDesign { instructions_per_s: speed * 1e9, cpu }
}

fn job_nodes(place: Place) -> Vec<JobNode> {
    let random = &mut SplitMix64(1);
    let trace = |random: &mut SplitMix64| {
        let sample = |random: &mut SplitMix64| {
            let cpu = f64::from(TRACED_CORES) * share(random);
            JobSample {
                span: 1.0,
                cpu,
                iowait: (f64::from(TRACED_CORES) - cpu) * share(random) / 4.0,
                cores: TRACED_CORES,
                busy: share(random),
                read: 1e8 * share(random),
                write: 1e8 * share(random),
                ..JobSample::default()
            }
        };
        let mut samples: Vec<JobSample> = (0..SAMPLES).map(|_| sample(random)).collect();
        mark_steady(&mut samples);
        let costs = samples.iter().map(|_| PlaceCost {
            storage: StorageRatio::known(place.storage_factor() / 3.0),
            network: share(random) * place.network_factor(),
            network_ratio: 1.0,
        });
        JobNode {
            costs: costs.collect(),
            samples,
            usage: Usage::default(),
            wear: None,
            cores: Cores::uniform(TRACED_CORES),
            reference_speed: 1.0,
        }
    };
    (0..TRACES).map(|_| trace(random)).collect()
}

fn job_load(place: Place) -> JobLoad {
    let numbers = NodeNumbers::as_traced(u32::try_from(TRACES).unwrap());
    JobLoad::new(pooled(job_nodes(place), &[]), numbers, None, None)
}

fn job_design(id: u64, place: Place, cores: u32) -> JobDesign {
    let (speed, power) = processor(id);
    let cost = 0.01 + 0.02 * speed * f64::from(cores) + 0.2 / place.storage_factor();
    let per_hour = cost * (0.8 + 0.4 * share(&mut SplitMix64(id)));
    let rate = Some(Rate { per_hour, minimum: 0.0 });
    JobDesign { speed, speed_error: 0.1, uncached: 0.0, power: Some(power.into()), rate }
}

/// Nodes of the groups, by number of processors.
fn node_powers() -> Vec<NodePower> {
    let parts = parts(1.25);
    let power = |cpus| {
        let design = design("atom", "1.9GHz", cpus, "gordon-slc-256g", 1);
        NodePower::new(&design, &node(), 1.25, &parts).unwrap()
    };
    (1..=u32::try_from(CORES).unwrap()).map(power).collect()
}

fn stored_paper(count: usize) -> usize {
    let powers = node_powers();
    let mut columns = PaperColumns::default();
    let evaluate = |number| {
        let load = paper_load(Place::of(number));
        let limits = PaperLimits::new(&load);
        let mut columns = PaperColumns::default();
        for (cores, ids) in groups_of(number, count) {
            let group = PaperGroup::new(&load, &powers[cores as usize - 1]);
            let designs: Vec<_> = ids.map(paper_design).collect();
            columns.append(&group.columns(&designs, &limits));
        }
        columns
    };
    in_batches(LOADS, evaluate, |more| columns.append(&more));
    assert_eq!(columns.sync_time.len(), count);
    let on = front(&[&columns.sync_time, &columns.sync_energy]);
    on.into_iter().filter(|on| *on).count()
}

fn stored_job(count: usize) -> usize {
    let mut columns = JobColumns::default();
    let evaluate = |number| {
        let place = Place::of(number);
        let load = job_load(place);
        let mut columns = JobColumns::default();
        for (cores, ids) in groups_of(number, count) {
            let stretches = JobStretches::new(&load, Cores::uniform(cores));
            let group = JobGroup::new(&load, &stretches);
            let designs: Vec<_> = ids.map(|id| job_design(id, place, cores)).collect();
            columns.append(&group.columns(&designs));
        }
        columns
    };
    in_batches(LOADS, evaluate, |more| columns.append(&more));
    assert_eq!(columns.time.len(), count);
    let on = front(&[&columns.time, &columns.energy, &columns.price]);
    on.into_iter().filter(|on| *on).count()
}

fn streamed_paper(count: usize) -> usize {
    let powers = node_powers();
    let mut whole = RunningFront::new(2);
    let evaluate = |number| {
        let load = paper_load(Place::of(number));
        let mut front = RunningFront::new(2);
        for (cores, ids) in groups_of(number, count) {
            let group = PaperGroup::new(&load, &powers[cores as usize - 1]);
            for id in ids {
                let outcome = group.sync(&paper_design(id));
                front.add(id, &[outcome.time, outcome.energy.total().0]);
            }
        }
        front.reduce();
        front
    };
    in_batches(LOADS, evaluate, |more| whole.append(&more));
    whole.finish().0.len()
}

fn streamed_job(count: usize) -> usize {
    let mut whole = RunningFront::new(3);
    let evaluate = |number| {
        let place = Place::of(number);
        let load = job_load(place);
        let mut front = RunningFront::new(3);
        for (cores, ids) in groups_of(number, count) {
            let stretches = JobStretches::new(&load, Cores::uniform(cores));
            let group = JobGroup::new(&load, &stretches);
            let designs: Vec<_> = ids.clone().map(|id| job_design(id, place, cores)).collect();
            for ((id, design), secs) in ids.zip(&designs).zip(group.upper_ends(&designs)) {
                let energy = group.energy(design, secs).unwrap();
                front.add(id, &[secs, energy, group.price(design, secs).unwrap()]);
            }
        }
        front.reduce();
        front
    };
    in_batches(LOADS, evaluate, |more| whole.append(&more));
    whole.finish().0.len()
}

/// What is measured: evaluates a number of designs, and returns the number on the front.
type Run = fn(usize) -> usize;

fn main() {
    let counts: Vec<usize> = std::env::args().skip(1).map(|n| n.parse().unwrap()).collect();
    let stored = counts.first().copied().unwrap_or(1_000_000);
    let streamed = counts.get(1).copied().unwrap_or(10_000_000);
    let runs: [(&str, usize, Run); 4] = [
        ("paper, streamed", streamed, streamed_paper),
        ("job, streamed", streamed, streamed_job),
        ("paper, stored", stored, stored_paper),
        ("job, stored", stored, stored_job),
    ];
    for (name, count, run) in runs {
        let start = Instant::now();
        let found = run(count);
        let secs = start.elapsed().as_secs_f64();
        let rate = count as f64 / secs / 1e6;
        println!("{name}: {count} designs, {found} on the front, {secs:.2} s, {rate:.2} M/s");
        println!("  peak memory so far: {} MB", peak_memory_kib() * 1024 / 1_000_000);
    }
}

/// The most memory that the process has had.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
