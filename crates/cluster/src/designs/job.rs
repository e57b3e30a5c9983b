//! Groups of designs by the `job` model: time with its range, energy, price and limits.
//!
//! Model: the variable is `y`, the reciprocal of the core speed relative to the traced machine's.
//! The stretch of a sample depends on its width and on the target's cores, so a group has one number
//! of cores, with one gain of a lone thread. The best estimate of a sample is the larger of the time
//! of device and network and of a line in y. The ends of the range are envelopes of such lines, for
//! each source of doubt that differs by sample; the other sources are multiples of y or of the time.
//!
//! Left out: what `job` does not model.

use super::curve::{Curve, CurveBuilder, envelope, rise};
use super::job_load::{JobLoad, PreparedNode};
use crate::job::{
    Cores, JobRange, SAMPLE_SOURCES, SampleTimes, StretchTable, TimeOfSpeed, VariedTime,
    computing_error, range, upper_end,
};
use crate::line::Line;
use crate::node::{Power, machine_energy};
use std::cell::OnceCell;

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
    /// [`JobNode::reference_speed`](super::JobNode).
    pub speed: f64,
    /// Error of the speed relative to the traced machine's, as a logarithm.
    pub speed_error: f64,
    /// Seconds for what may be read again, because the page cache is smaller than in the trace.
    pub reread: f64,
    /// Power of the machine without simulated storage; `None` if it is unknown.
    pub power: Option<Power>,
    /// What the machine costs; `None` if it is unknown.
    pub rate: Option<Rate>,
}

/// What a machine costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Price of an hour.
    pub per_hour: f64,
    /// Seconds for which the machine is billed at least.
    pub minimum: f64,
}

impl Rate {
    /// Price of `nodes` machines for `secs` seconds.
    pub fn price(&self, nodes: u32, secs: f64) -> f64 {
        self.per_hour * f64::from(nodes) * secs.max(self.minimum) / 3600.0
    }
}

/// Designs with the same load and the same cores but for their speed.
#[derive(Clone, Debug)]
pub struct JobGroup<'a> {
    load: &'a JobLoad,
    cores: Cores,
    nodes: Vec<NodeCurves>,
}

#[derive(Clone, Debug)]
struct NodeCurves {
    reference_speed: f64,
    time: Curve<1>,
    /// Mean stretch of the computing time.
    stretch: f64,
    /// Of each sample, for the curves that are built at their first use.
    times: Vec<SampleTimes>,
    /// By end and source; `None` where the source leaves no doubt. Built at the first use: the lower
    /// ends are needed for reports only.
    ends: [OnceCell<[Option<Curve<1>>; SAMPLE_SOURCES]>; 2],
    /// The best estimate by [`JOB_LIMITS`]; the sum is the time.
    parts: OnceCell<Curve<{ JOB_LIMITS.len() }>>,
}

/// A design of a group, as the range needs it.
struct OfDesign<'a> {
    group: &'a JobGroup<'a>,
    design: &'a JobDesign,
}

impl TimeOfSpeed for OfDesign<'_> {
    fn best(&self, error: f64) -> f64 {
        self.longest(|node| {
            let away = error * computing_error(self.design.speed_error, node.stretch);
            node.time.at(node.y(self.design) * away.exp())[0]
        })
    }

    fn varied(&self, source: usize, end: usize) -> f64 {
        self.longest(|node| {
            let curve = node.end(end)[source].as_ref().unwrap_or(&node.time);
            curve.at(node.y(self.design))[0]
        })
    }
}

impl OfDesign<'_> {
    /// Time of the job: its longest node, because there are no barriers.
    fn longest(&self, time: impl Fn(&NodeCurves) -> f64) -> f64 {
        self.group.nodes.iter().map(time).fold(0.0, f64::max)
    }
}

impl<'a> JobGroup<'a> {
    /// Prepares the designs with these cores, whatever their speed.
    pub fn new(load: &'a JobLoad, cores: Cores) -> Self {
        let nodes = load.nodes.iter().map(|node| NodeCurves::new(node, &cores)).collect();
        Self { load, cores, nodes }
    }

    fn of_design(&'a self, design: &'a JobDesign) -> OfDesign<'a> {
        OfDesign { group: self, design }
    }

    /// Time of the job, best estimate.
    pub fn time(&self, design: &JobDesign) -> f64 {
        self.of_design(design).best(0.0)
    }

    /// The upper end of the range of the time.
    pub fn upper_end(&self, design: &JobDesign) -> f64 {
        upper_end(&self.of_design(design), design.reread)
    }

    /// Time of the job with its range.
    pub fn range(&self, design: &JobDesign) -> JobRange {
        range(&self.of_design(design), design.reread)
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
        let nodes = self.nodes.iter().zip(&self.load.nodes);
        let times = nodes.map(|(node, load)| (node.time.at(node.y(design))[0], node, load));
        let longest = times.max_by(|a, b| a.0.total_cmp(&b.0));
        let none = [0.0; JOB_LIMITS.len()];
        let secs = longest.map_or(none, |(_, node, load)| node.parts(load).at(node.y(design)));
        let total: f64 = secs.iter().sum();
        if total > 0.0 { secs.map(|secs| secs / total) } else { secs }
    }

    /// Idle seconds that remain however fast the cores are.
    pub fn floor(&self) -> f64 {
        let nodes = self.nodes.iter().zip(&self.load.nodes);
        nodes.map(|(node, load)| node.parts(load).at(0.0)[JOB_IDLE]).fold(0.0, f64::max)
    }

    /// The results of `designs`.
    pub fn columns(&self, designs: &[JobDesign]) -> JobColumns {
        let mut columns = JobColumns::default();
        for design in designs {
            let job = self.range(design).job;
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

impl NodeCurves {
    fn new(node: &PreparedNode, cores: &Cores) -> Self {
        let table = StretchTable::new(&node.cores, cores);
        let times: Vec<_> = node.samples.iter().map(|sample| sample.times(&table)).collect();
        let mut time = CurveBuilder::new(2 * times.len());
        let (mut computing, mut work) = (0.0, 0.0);
        for times in &times {
            time.larger(0, 1.0, times.floor, times.own);
            computing += times.computing;
            work += times.work;
        }
        Self {
            reference_speed: node.reference_speed,
            time: time.build(),
            stretch: if work > 0.0 { computing / work } else { 0.0 },
            times,
            ends: Default::default(),
            parts: OnceCell::new(),
        }
    }

    fn y(&self, design: &JobDesign) -> f64 {
        self.reference_speed / design.speed
    }

    fn end(&self, end: usize) -> &[Option<Curve<1>>; SAMPLE_SOURCES] {
        self.ends[end]
            .get_or_init(|| std::array::from_fn(|source| end_curve(&self.times, source, end)))
    }

    fn parts(&self, load: &PreparedNode) -> &Curve<{ JOB_LIMITS.len() }> {
        self.parts.get_or_init(|| {
            let mut parts = CurveBuilder::new(4 * load.samples.len());
            for (sample, times) in load.samples.iter().zip(&self.times) {
                let cost = &sample.cost;
                let storage = cost.sample.busy * cost.storage.best;
                let slower = if storage >= cost.network { STORAGE } else { NETWORK };
                add_parts(&mut parts, times, slower);
            }
            parts.build()
        })
    }
}

/// The curve of an end of a source; `None` if the source leaves no doubt in any sample.
fn end_curve(times: &[SampleTimes], source: usize, end: usize) -> Option<Curve<1>> {
    if times.iter().all(|times| times.varied[source].is_none()) {
        return None;
    }
    let mut curve = CurveBuilder::new(3 * times.len());
    for times in times {
        match &times.varied[source] {
            None => curve.larger(0, 1.0, times.floor, times.own),
            Some(varied) if end == 0 => add_least(&mut curve, varied),
            Some(varied) => add_greatest(&mut curve, varied),
        }
    }
    Some(curve.build())
}

fn add_least(curve: &mut CurveBuilder<1>, varied: &VariedTime) {
    let floor = varied.floors[0];
    envelope(&varied.lines, false, |from, to, line| {
        // No slope is below zero, so the lower envelope rises above the floor once.
        let above = rise(floor, line).clamp(from, to);
        curve.piece(0, from, above, Line::constant(floor));
        curve.piece(0, above, to, line);
    });
}

fn add_greatest(curve: &mut CurveBuilder<1>, varied: &VariedTime) {
    let floor = Line::constant(varied.floors[1]);
    let lines: Vec<Line> = varied.lines.iter().copied().chain([floor]).collect();
    envelope(&lines, true, |from, to, line| curve.piece(0, from, to, line));
}

/// Adds what takes the time of a sample: the job itself, or `slower` of the device and the network.
fn add_parts(parts: &mut CurveBuilder<{ JOB_LIMITS.len() }>, times: &SampleTimes, slower: usize) {
    let from = rise(times.floor, times.own);
    parts.piece(slower, 0.0, from, Line::constant(times.floor));
    let mut own = |part, line| parts.piece(part, from, f64::INFINITY, line);
    own(CPU, Line { intercept: 0.0, slope: times.computing });
    own(JOB_IDLE, times.idle);
    own(STORAGE, Line::constant(times.own.intercept - times.idle.intercept));
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
