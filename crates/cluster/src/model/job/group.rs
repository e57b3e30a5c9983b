//! Groups of designs by the `job` model: time with its range, energy, price and limits.
//!
//! Model: the variable is `y`, the reciprocal of the core speed relative to the traced machine's.
//! The stretch of a sample depends on its width and on the target's cores, so a group has one
//! number of cores, with one gain of a lone thread. The best estimate of a sample is the larger of
//! the time of device and network and of a line in y. For each source of doubt that differs by
//! sample, an end of the range is the least or the greatest of such lines; the other sources are
//! multiples of y or of the time. A group reads its samples once, and evaluates the lines of each
//! for a block of designs, because most groups are small.
//!
//! Left out: what `job` does not model.

use super::load::{JobLoad, JobStretches, PreparedNode};
use crate::model::job::range::{
    End, JobRange, SAMPLE_SOURCES, SPEED, SampleTimes, SourceEnds, computing_error, range,
    upper_end,
};
use crate::space::cores::Cores;
use crate::space::node::{Power, machine_energy};
use crate::space::resources::Rate;

/// Number of designs for which a sample is evaluated at once; their times stay in the first cache.
const BLOCK: usize = 512;

/// What takes the time of a sample; the order of the limits of [`JobColumns`].
pub const JOB_LIMITS: [&str; 4] = ["cpu", "storage", "network", "idle"];

const CPU: usize = 0;
const STORAGE: usize = 1;
const NETWORK: usize = 2;
const JOB_IDLE: usize = 3;

/// A design of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobDesign {
    /// Speed of a core while all are busy, in the unit of
    /// [`JobNode::reference_speed`](super::load::JobNode).
    pub speed: f64,
    /// Error of the speed relative to the traced machine's, as a logarithm.
    pub speed_error: f64,
    /// Seconds for reads and writes that the page cache of the traced machine saved.
    pub uncached: f64,
    /// Power of the machine without simulated storage; `None` if it is unknown.
    pub power: Option<Power>,
    /// What the machine costs; `None` if it is unknown.
    pub rate: Option<Rate>,
}

/// Designs with the same load and the same cores but for their speed.
#[derive(Clone, Debug)]
pub struct JobGroup<'a> {
    load: &'a JobLoad,
    cores: Cores,
    nodes: Vec<NodeTimes>,
}

#[derive(Clone, Debug)]
struct NodeTimes {
    reference_speed: f64,
    samples: Vec<SampleTimes>,
    /// Mean stretch of the computing time.
    stretch: f64,
}

impl<'a> JobGroup<'a> {
    /// Prepares the designs with the cores of `stretches`, which are those of `load` or of a load
    /// of the same traces.
    pub fn new(load: &'a JobLoad, stretches: &JobStretches) -> Self {
        let of_node = |(at, node): (usize, &PreparedNode)| NodeTimes::new(node, at, stretches);
        let nodes = load.nodes.iter().enumerate().map(of_node);
        Self { load, cores: stretches.cores, nodes: nodes.collect() }
    }

    /// Time of the job on each design, best estimate.
    pub fn times(&self, designs: &[JobDesign]) -> Vec<f64> {
        self.longest(designs, NodeTimes::y, NodeTimes::add_times)
    }

    /// The upper end of the range of the time of each design.
    pub fn upper_ends(&self, designs: &[JobDesign]) -> Vec<f64> {
        let found = designs.iter().zip(self.times(designs)).zip(self.ends(designs, End::Upper));
        found.map(|((design, time), highs)| upper_end(time, &highs, design.uncached)).collect()
    }

    /// Time of the job on each design, with its range.
    pub fn ranges(&self, designs: &[JobDesign]) -> Vec<JobRange> {
        let ends = self.ends(designs, End::Lower).into_iter().zip(self.ends(designs, End::Upper));
        let found = designs.iter().zip(self.times(designs)).zip(ends);
        let of = |((design, time), (lows, highs)): ((&JobDesign, _), (_, _))| {
            range(time, &lows, &highs, design.uncached)
        };
        found.map(of).collect()
    }

    /// The times of each design with one source at an end of its range.
    fn ends(&self, designs: &[JobDesign], end: End) -> Vec<SourceEnds> {
        let mut ends = vec![SourceEnds::default(); designs.len()];
        let mut set = |source: usize, times: Vec<f64>| {
            for (ends, time) in ends.iter_mut().zip(times) {
                ends[source] = time;
            }
        };
        for source in 0..SAMPLE_SOURCES {
            set(
                source,
                self.longest(designs, NodeTimes::y, |node, ys, sums| {
                    node.add_ends(source, end, ys, sums);
                }),
            );
        }
        let with_error = |node: &NodeTimes, design: &JobDesign| {
            let error = computing_error(design.speed_error, node.stretch);
            node.y(design) * (end.sign() * error).exp()
        };
        set(SPEED, self.longest(designs, with_error, NodeTimes::add_times));
        ends
    }

    /// Time of each design: that of its longest node, because there are no barriers. `y` is the
    /// variable of a node on a design, and `add` adds the times of a node's samples to sums.
    fn longest(
        &self,
        designs: &[JobDesign],
        y: impl Fn(&NodeTimes, &JobDesign) -> f64,
        add: impl Fn(&NodeTimes, &[f64], &mut [f64]),
    ) -> Vec<f64> {
        let mut longest = vec![0.0; designs.len()];
        for (designs, longest) in designs.chunks(BLOCK).zip(longest.chunks_mut(BLOCK)) {
            for node in &self.nodes {
                let ys: Vec<f64> = designs.iter().map(|design| y(node, design)).collect();
                let mut sums = vec![0.0; designs.len()];
                add(node, &ys, &mut sums);
                for (longest, sum) in longest.iter_mut().zip(sums) {
                    *longest = f64::max(*longest, sum);
                }
            }
        }
        longest
    }

    /// Joules of all nodes, which are on for `secs` seconds; `None` if the power is unknown.
    pub fn energy(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        let power = design.power?;
        let of_node = |node: &PreparedNode| {
            let busy = node.cpu / design.speed / f64::from(self.cores.count);
            let storage = self.load.storage.as_ref().map(|storage| (storage, &node.usage));
            machine_energy(power, storage, secs, busy).0
        };
        Some(self.load.nodes.iter().map(of_node).sum())
    }

    /// Price of all nodes for `secs` seconds; `None` if it is unknown.
    pub fn price(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        design.rate.map(|rate| rate.price(nodes, secs))
    }

    /// Shares of the longest node's time by [`JOB_LIMITS`].
    pub fn limits(&self, design: &JobDesign) -> [f64; JOB_LIMITS.len()] {
        let parts = |(node, load): (&NodeTimes, _)| node.parts(load, node.y(design));
        let total = |parts: &[f64]| parts.iter().sum::<f64>();
        let all = self.nodes.iter().zip(&self.load.nodes).map(parts);
        let longest = all.max_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or_default();
        let secs = total(&longest);
        if secs > 0.0 { longest.map(|part| part / secs) } else { longest }
    }

    /// Idle seconds that remain however fast the cores are.
    pub fn floor(&self) -> f64 {
        let nodes = self.nodes.iter().zip(&self.load.nodes);
        nodes.map(|(node, load)| node.parts(load, 0.0)[JOB_IDLE]).fold(0.0, f64::max)
    }

    /// The results of `designs`.
    pub fn columns(&self, designs: &[JobDesign]) -> JobColumns {
        let mut columns = JobColumns::default();
        for (design, found) in designs.iter().zip(self.ranges(designs)) {
            let job = found.job;
            columns.time.push(job.time);
            columns.low.push(job.low);
            columns.high.push(job.high);
            columns.energy.push(self.energy(design, job.time).unwrap_or(f64::NAN));
            columns.price.push(self.price(design, job.time).unwrap_or(f64::NAN));
            for (column, share) in columns.limits.iter_mut().zip(self.limits(design)) {
                column.push(share);
            }
        }
        columns
    }
}

impl NodeTimes {
    fn new(node: &PreparedNode, at: usize, stretches: &JobStretches) -> Self {
        let stretches = stretches.of(at, node);
        let samples = node.samples.iter().zip(&node.costs).zip(&stretches.samples);
        Self {
            reference_speed: node.reference_speed,
            samples: samples.map(|((sample, cost), own)| sample.times(cost, own)).collect(),
            stretch: stretches.mean,
        }
    }

    fn y(&self, design: &JobDesign) -> f64 {
        self.reference_speed / design.speed
    }

    /// Adds the estimate at each of `ys` to `sums`.
    fn add_times(&self, ys: &[f64], sums: &mut [f64]) {
        for sample in &self.samples {
            add(ys, sums, |y| sample.time(y));
        }
    }

    /// Adds the time with a source at an end of its range, at each of `ys`, to `sums`.
    fn add_ends(&self, source: usize, end: End, ys: &[f64], sums: &mut [f64]) {
        for sample in &self.samples {
            match (&sample.varied[source], end) {
                (None, _) => add(ys, sums, |y| sample.time(y)),
                (Some(varied), End::Lower) => add(ys, sums, |y| varied.least(y)),
                (Some(varied), End::Upper) => add(ys, sums, |y| varied.greatest(y)),
            }
        }
    }

    /// The estimate by [`JOB_LIMITS`]; the sum is the time.
    fn parts(&self, load: &PreparedNode, y: f64) -> [f64; JOB_LIMITS.len()] {
        let mut parts = [0.0; JOB_LIMITS.len()];
        for ((times, prepared), cost) in self.samples.iter().zip(&*load.samples).zip(&load.costs) {
            if times.own.at(y) < times.floor {
                let storage = prepared.sample.busy * cost.storage.best;
                parts[if storage >= cost.network { STORAGE } else { NETWORK }] += times.floor;
                continue;
            }
            parts[CPU] += times.computing * y;
            parts[JOB_IDLE] += times.idle.at(y);
            parts[STORAGE] += times.own.intercept - times.idle.intercept;
        }
        parts
    }
}

/// Adds `time` at each of `ys` to `sums`.
fn add(ys: &[f64], sums: &mut [f64], time: impl Fn(f64) -> f64) {
    for (sum, y) in sums.iter_mut().zip(ys) {
        *sum += time(*y);
    }
}

/// Results of designs, in their order. NaN is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobColumns {
    /// Seconds, best estimate.
    pub time: Vec<f64>,
    /// Seconds, lower end of the range.
    pub low: Vec<f64>,
    /// Seconds, upper end of the range.
    pub high: Vec<f64>,
    /// Joules of all nodes.
    pub energy: Vec<f64>,
    /// Price of all nodes, in the currency of the designs.
    pub price: Vec<f64>,
    /// Shares of the longest node's time by [`JOB_LIMITS`].
    pub limits: [Vec<f64>; JOB_LIMITS.len()],
}

impl JobColumns {
    /// Appends the results of more designs.
    pub fn append(&mut self, more: &Self) {
        self.time.extend_from_slice(&more.time);
        self.low.extend_from_slice(&more.low);
        self.high.extend_from_slice(&more.high);
        self.energy.extend_from_slice(&more.energy);
        self.price.extend_from_slice(&more.price);
        for (column, more) in self.limits.iter_mut().zip(&more.limits) {
            column.extend_from_slice(more);
        }
    }
}
