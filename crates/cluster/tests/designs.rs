//! The evaluator of many designs, on random traces and designs: the paper's model against its plain
//! loops, and the `job` model in groups against each design alone.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, missing_docs)]

mod common;

use common::{design, node, parts};
use gordon_blockio::Usage;
use gordon_cluster::model::job::group::{JobDesign, JobGroup};
use gordon_cluster::model::job::load::{JobLoad, JobNode, JobStretches};
use gordon_cluster::model::job::numbers::NodeNumbers;
use gordon_cluster::model::job::pool::pooled;
use gordon_cluster::model::job::range::{JobTime, PlaceCost, StorageRatio};
use gordon_cluster::model::paper::group::{PaperDesign, PaperGroup};
use gordon_cluster::model::paper::limits::{PAPER_LIMITS, PaperLimits};
use gordon_cluster::model::paper::load::{PaperLoad, PaperSample};
use gordon_cluster::model::paper::simulate::{SampleCost, simulate, simulate_stages, spread};
use gordon_cluster::space::config::{MemoryPer, NodeCommon, Parts};
use gordon_cluster::space::cores::Cores;
use gordon_cluster::space::node::{BusyTimes, NodePower, Power, StoragePower, cpu_power};
use gordon_cluster::space::resources::Rate;
use gordon_cluster::space::whole::WholePower;
use gordon_cluster::survey::in_batches;
use gordon_cluster::trace::sample::{JobSample, mark_steady};
use gordon_units::{Hertz, Ns, SplitMix64, Watts};
use std::collections::BTreeMap;

const GROUPS: u64 = 200;
const DESIGNS: usize = 50;

/// Random values.
struct Draw(SplitMix64);

impl Draw {
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between both, at all scales alike.
    fn scaled(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.share())
    }

    fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    fn count(&mut self, most: u32) -> u32 {
        1 + self.0.below_u32(most)
    }

    /// Zero in a third of the cases.
    fn secs(&mut self) -> f64 {
        if self.chance(0.3) { 0.0 } else { self.scaled(1e-4, 4.0) }
    }

    fn time(&mut self) -> Ns {
        Ns::from_secs(self.secs())
    }

    fn power(&mut self) -> Power {
        let idle = self.scaled(0.1, 50.0);
        Power { idle: Watts(idle), active: Watts(idle + self.scaled(0.1, 100.0)) }
    }
}

#[track_caller]
fn same(seed: u64, what: &str, fast: f64, plain: f64) {
    let error = (fast - plain).abs();
    assert!(error <= 1e-12 * plain.abs(), "seed {seed}, {what}: {fast} is not {plain}");
}

#[track_caller]
fn same_shares(seed: u64, names: &[&str], fast: &[f64], plain: &BTreeMap<String, f64>) {
    for (name, share) in names.iter().zip(fast) {
        let expected = plain.get(*name).copied().unwrap_or(0.0);
        let error = (share - expected).abs();
        assert!(error <= 1e-12, "seed {seed}, {name}: {share} is not {expected}");
        assert_eq!(*share > 0.0, expected > 0.0, "seed {seed}, {name}");
    }
    assert!(plain.keys().all(|name| names.contains(&name.as_str())), "{plain:?}");
}

/// Streams of up to 60 samples; storage and network are often equal or nearly so.
fn paper_load(draw: &mut Draw) -> PaperLoad {
    let streams: Vec<Vec<PaperSample>> = (0..draw.count(4))
        .map(|_| {
            let sample = |draw: &mut Draw| {
                let storage = draw.secs();
                let network = match draw.0.below_u32(4) {
                    0 => storage,
                    1 => storage * (0.9 + 0.2 * draw.share()),
                    _ => draw.secs(),
                };
                let usage =
                    Usage { read: draw.time(), write: draw.time(), controller: draw.time() };
                let instructions = if draw.chance(0.2) { 0.0 } else { draw.scaled(1e7, 1e10) };
                PaperSample { instructions, storage, network, memory: draw.secs(), usage }
            };
            (0..draw.count(60)).map(|_| sample(draw)).collect()
        })
        .collect();
    let lengths: Vec<usize> = streams.iter().map(Vec::len).collect();
    let nodes = spread(&lengths, draw.count(12) as usize, draw.share());
    let longest = lengths.iter().copied().max().unwrap();
    let count = draw.count(6);
    let stages = (0..longest).map(|_| draw.0.below_u32(count) as usize).collect();
    PaperLoad { streams, nodes, stages }
}

/// The catalogue with random memories.
fn random_parts(draw: &mut Draw) -> Parts {
    let mut parts = parts(1.0);
    for memory in parts.memory.values_mut() {
        let power = draw.power();
        memory.idle = power.idle.into();
        memory.active = power.active.into();
    }
    parts
}

#[test]
fn the_paper_model_equals_its_plain_loop() {
    for seed in 0..GROUPS {
        let draw = &mut Draw(SplitMix64(seed));
        let load = paper_load(draw);
        let limits = PaperLimits::new(&load);
        let memory_per =
            if draw.chance(0.5) { MemoryPer::Node } else { MemoryPer::Processor }.into();
        let common = NodeCommon { memory_per, ..node() };
        let storage = if draw.chance(0.5) { "gordon-slc-256g" } else { "sata-7200-1tb" };
        let cpus = draw.count(32);
        let count = draw.count(4);
        let ratio = 1.0 + draw.share();
        let parts = random_parts(draw);
        let mut designs = Vec::new();
        let mut plain = Vec::new();
        let mut group = None;
        for _ in 0..DESIGNS {
            let mut parts = parts.clone();
            let drawn = draw.power();
            let cpu = parts.cpu.get_mut("core2").unwrap();
            cpu.idle = drawn.idle.into();
            cpu.active = drawn.active.into();
            cpu.ipc = draw.scaled(0.1, 8.0).into();
            let clock = Hertz(cpu.clock_min.0 + draw.share() * (cpu.clock_max.0 - cpu.clock_min.0));
            let cpu = cpu.clone();
            let mut made = design("core2", "2.4GHz", cpus, storage, count);
            made.clock = clock;
            let power = NodePower::new(&made, &common, ratio, &parts).unwrap();
            let costs: Vec<Vec<SampleCost>> = load
                .streams
                .iter()
                .map(|stream| stream.iter().map(|s| cost(s, *cpu.ipc * clock.0, cpus)).collect())
                .collect();
            plain.push((
                simulate(&costs, &load.nodes, &power),
                simulate_stages(&costs, &load.nodes, &power, &load.stages),
            ));
            designs.push(PaperDesign {
                instructions_per_s: *cpu.ipc * clock.0,
                cpu: cpu_power(&cpu, clock),
            });
            group.get_or_insert_with(|| PaperGroup::new(&load, &power));
        }
        let group = group.unwrap();
        for (design, (plain, stages)) in designs.iter().zip(&plain) {
            same(seed, "stages time", group.stages(design).time, stages.time);
            let slack = 1.0 + 1e-12;
            assert!(plain.sync.time * slack >= stages.time, "seed {seed}");
            assert!(stages.time * slack >= plain.nosync.time, "seed {seed}");
            for (fast, plain) in [
                (group.sync(design), &plain.sync),
                (group.nosync(design), &plain.nosync),
                (group.stages(design), stages),
            ] {
                for ((part, fast), (_, plain)) in
                    fast.energy.parts().into_iter().zip(plain.energy.parts())
                {
                    same(seed, part, fast.0, plain.0);
                }
            }
        }
        let fast = group.columns(&designs, &limits);
        for (at, (plain, _)) in plain.iter().enumerate() {
            same(seed, "sync time", fast.sync_time[at], plain.sync.time);
            same(seed, "nosync time", fast.nosync_time[at], plain.nosync.time);
            same(seed, "sync energy", fast.sync_energy[at], plain.sync.energy.total().0);
            same(seed, "nosync energy", fast.nosync_energy[at], plain.nosync.energy.total().0);
            let shares = fast.limits.each_ref().map(|column| column[at]);
            same_shares(seed, &PAPER_LIMITS, &shares, &plain.limits);
        }
    }
}

fn cost(sample: &PaperSample, instructions_per_s: f64, cpus: u32) -> SampleCost {
    let cpu = sample.instructions / instructions_per_s;
    SampleCost {
        cpu: cpu / f64::from(cpus),
        storage: sample.storage,
        network: sample.network,
        busy: BusyTimes { cpu, memory: sample.memory, storage: sample.usage },
    }
}

fn job_sample(draw: &mut Draw, cores: u32) -> JobSample {
    let span = draw.scaled(0.01, 2.0);
    let all = span * f64::from(cores);
    let cpu = match draw.0.below_u32(5) {
        0 => 0.0,
        1 => all,
        2 => span * draw.share(),
        _ => all * draw.share(),
    };
    let busy = if draw.chance(0.3) { 0.0 } else { span * draw.share() };
    let bytes = |draw: &mut Draw| if draw.chance(0.4) { 0.0 } else { draw.scaled(1e3, 1e9) };
    JobSample {
        span,
        cpu,
        iowait: if draw.chance(0.3) { 0.0 } else { (all - cpu) * draw.share() },
        cores,
        busy,
        read: bytes(draw),
        write: bytes(draw),
        stalled: draw.chance(0.1).then(|| span * draw.share()),
        waiting: draw.chance(0.1).then(|| span * draw.share()),
        steady: false,
        unserved: if draw.chance(0.2) { (all - cpu) * draw.share() } else { 0.0 },
        is_link_full: draw.chance(0.1),
        link_doubt: if draw.chance(0.2) { span * draw.share() } else { 0.0 },
        busiest: 0.0,
    }
}

fn cores(draw: &mut Draw, count: u32) -> Cores {
    let threads = draw.count(2).min(count);
    Cores { count, threads, single: draw.chance(0.7).then(|| draw.scaled(1.0, 2.0)) }
}

fn job_nodes(draw: &mut Draw) -> Vec<JobNode> {
    let traced = if draw.chance(0.1) { 64 } else { draw.count(16) };
    (0..draw.count(4))
        .map(|_| {
            let mut samples: Vec<JobSample> =
                (0..draw.count(60)).map(|_| job_sample(draw, traced)).collect();
            if draw.chance(0.3) && traced > 2 {
                samples.iter_mut().for_each(|s| s.cpu = 2.0 * s.span);
            }
            mark_steady(&mut samples);
            let ratio = |draw: &mut Draw| {
                if draw.chance(0.2) {
                    return StorageRatio::known(1.0);
                }
                let best = draw.scaled(0.01, 20.0);
                let (low, high) = (best * draw.share(), best / draw.share().max(0.1));
                StorageRatio { best, low, high }
            };
            let cost = |_: &JobSample| PlaceCost {
                storage: ratio(draw),
                network: draw.secs(),
                network_ratio: draw.scaled(0.1, 10.0),
            };
            let costs = samples.iter().map(cost).collect();
            let usage = Usage { read: draw.time(), write: draw.time(), controller: draw.time() };
            let cores = cores(draw, traced);
            JobNode {
                samples,
                costs,
                usage,
                wear: None,
                cores,
                reference_speed: draw.scaled(0.5, 2.0),
            }
        })
        .collect()
}

/// The node at another place, where some of its samples may be read in another way.
fn moved(draw: &mut Draw, node: &JobNode) -> JobNode {
    let mut moved = node.clone();
    moved.costs.iter_mut().for_each(|cost| *cost = PlaceCost::UNCHANGED);
    if draw.chance(0.3) {
        moved.samples[0].busy /= 2.0;
    }
    moved
}

#[test]
fn a_design_of_the_job_model_is_the_same_alone_and_in_a_group() {
    let parts = parts(1.0);
    for seed in 0..GROUPS {
        let draw = &mut Draw(SplitMix64(seed));
        let nodes = job_nodes(draw);
        let traced = u32::try_from(nodes.len()).unwrap();
        let target = if draw.chance(0.5) { traced } else { draw.count(8) };
        let numbers = NodeNumbers { traced, target };
        let node = pooled(nodes, &[]);
        let count = if draw.chance(0.2) { 256 } else { draw.count(32) };
        let cores = cores(draw, count);
        let storage = draw
            .chance(0.5)
            .then(|| StoragePower::new("gordon-slc-256g", draw.count(3), &parts).unwrap());
        let elsewhere = JobLoad::new(moved(draw, &node), numbers, None, None);
        let load = JobLoad::new(node.clone(), numbers, storage, Some(&elsewhere));
        let group = JobGroup::new(&load, &JobStretches::new(&elsewhere, cores));
        let own = JobLoad::new(node.clone(), numbers, storage, None);
        let own = JobGroup::new(&own, &JobStretches::new(&own, cores));
        let designs: Vec<JobDesign> = (0..DESIGNS)
            .map(|_| JobDesign {
                speed: draw.scaled(0.05, 20.0),
                speed_error: if draw.chance(0.5) { 0.0 } else { 0.3 * draw.share() },
                uncached: if draw.chance(0.7) { 0.0 } else { draw.secs() },
                power: draw.chance(0.9).then(|| draw.power().into()),
                rate: draw.chance(0.9).then(|| Rate {
                    per_hour: draw.scaled(0.01, 10.0),
                    minimum: if draw.chance(0.5) { 0.0 } else { draw.secs() },
                }),
            })
            .collect();
        let all = group.columns(&designs);
        let (times, upper_ends) = (group.times(&designs), group.upper_ends(&designs));
        for (at, design) in designs.iter().enumerate() {
            let alone = own.ranges(std::slice::from_ref(design))[0].job;
            let found = JobTime { time: all.time[at], low: all.low[at], high: all.high[at] };
            assert_eq!(found, alone, "seed {seed}");
            assert_eq!((times[at], upper_ends[at]), (alone.time, alone.high), "seed {seed}");
            let is_inside = alone.low <= alone.time && alone.time <= alone.high;
            assert!(is_inside, "seed {seed}: {alone:?}");
            let shares: f64 = all.limits.iter().map(|column| column[at]).sum();
            assert!(alone.time == 0.0 || (shares - 1.0).abs() < 1e-9, "seed {seed}: {shares}");
            match design.power {
                Some(power) => {
                    let of_one = joules(&node, numbers, storage, design, power, count, alone.time);
                    same(seed, "energy", all.energy[at], of_one * f64::from(target));
                }
                None => assert!(all.energy[at].is_nan()),
            }
            match design.rate {
                Some(rate) => {
                    let hours = alone.time.max(rate.minimum) / 3600.0;
                    let price = rate.per_hour * hours * f64::from(target);
                    same(seed, "price", all.price[at], price);
                }
                None => assert!(all.price[at].is_nan()),
            }
        }
    }
}

/// Energy of one of the nodes by the equation of docs/design/cluster.md, "Price, energy".
fn joules(
    node: &JobNode,
    numbers: NodeNumbers,
    storage: Option<StoragePower>,
    design: &JobDesign,
    power: WholePower,
    cores: u32,
    secs: f64,
) -> f64 {
    let cpu: f64 = node.samples.iter().map(|sample| sample.cpu).sum();
    let speed = design.speed / node.reference_speed;
    let busy = (cpu / speed / f64::from(cores)).min(secs);
    let mut energy = gordon_cluster::space::node::Energy::default();
    if let Some(storage) = storage {
        let target = u64::from(numbers.target);
        let Usage { read, write, controller } = node.usage;
        let usage =
            Usage { read: read / target, write: write / target, controller: controller / target };
        storage.add(secs, &usage, &mut energy);
    }
    power.ends.energy(secs, busy).0 + energy.total().0
}

#[test]
fn batches_keep_their_order() {
    let mut taken = Vec::new();
    in_batches(1000, |number| number * 2, |result| taken.push(result));
    assert!(taken.iter().copied().eq((0..1000).map(|number| number * 2)));
}
