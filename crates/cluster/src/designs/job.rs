//! Groups of designs by the `job` model: time with its interval, energy, price and limits.
//!
//! Model: the variable is `y`, the reciprocal of the core speed relative to the traced machine's. The stretch of a sample
//! depends on its width and on the target's cores, so a group has one number of cores. The best
//! estimate of a sample is `max(F, idle + blocked q + h e y)`, where F is the time of device and
//! network. The bounds of the interval are envelopes of such lines, and never below F.
//!
//! Left out: what `job` does not model, and machines that differ in memory, which has no effect.

use super::curve::{Curve, CurveBuilder, Line, envelope, rise};
use super::job_load::{JobCost, JobLoad, PreparedNode, PreparedSample};
use crate::job::{JobTime, stretch, stretch_bounds, stretch_of_demand};
use crate::node::{Power, machine_energy};
use std::cell::OnceCell;

/// What takes the time of a sample; the order of the limits of [`JobColumns`].
pub const JOB_LIMITS: [&str; 4] = ["cpu", "storage", "network", "idle"];

const CPU: usize = 0;
const STORAGE: usize = 1;
const NETWORK: usize = 2;
const IDLE: usize = 3;

/// A design of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobDesign {
    /// Speed of a core, in the unit of [`JobNode::reference_speed`](super::JobNode).
    pub speed: f64,
    /// Power of the machine without simulated storage; `None` if it is unknown.
    pub power: Option<Power>,
    /// Price of an hour; `None` if it is unknown.
    pub price_per_hour: Option<f64>,
}

/// Designs with the same load and number of cores.
#[derive(Clone, Debug)]
pub struct JobGroup<'a> {
    load: &'a JobLoad,
    cores: u32,
    nodes: Vec<NodeCurves>,
}

#[derive(Clone, Debug)]
struct NodeCurves {
    reference_speed: f64,
    time: Curve<1>,
    /// Built at the first use: to choose designs, their times are enough.
    details: OnceCell<DetailCurves>,
}

#[derive(Clone, Debug)]
struct DetailCurves {
    /// The best estimate by [`JOB_LIMITS`]; the sum is the time.
    parts: Curve<{ JOB_LIMITS.len() }>,
    low: Curve<1>,
    high: Curve<1>,
}

impl<'a> JobGroup<'a> {
    /// Prepares the designs with `cores` cores.
    pub fn new(load: &'a JobLoad, cores: u32) -> Self {
        let nodes = load.nodes.iter().map(|node| NodeCurves::new(node, cores)).collect();
        Self { load, cores, nodes }
    }

    /// Time of the job: its longest node, because there are no barriers.
    pub fn time(&self, design: &JobDesign) -> f64 {
        self.nodes.iter().map(|node| node.time(design)).fold(0.0, f64::max)
    }

    /// Time of the job, with its interval.
    pub fn interval(&self, design: &JobDesign) -> JobTime {
        let longest = |bound: fn(&DetailCurves) -> &Curve<1>| {
            let of_node = |(node, details): (&NodeCurves, &DetailCurves)| {
                bound(details).at(node.y(design))[0]
            };
            self.details().map(of_node).fold(0.0, f64::max)
        };
        JobTime {
            time: self.time(design),
            low: longest(|details| &details.low),
            high: longest(|details| &details.high),
        }
    }

    fn details(&self) -> impl Iterator<Item = (&NodeCurves, &DetailCurves)> {
        self.nodes.iter().zip(&self.load.nodes).map(|(curves, node)| {
            (curves, curves.details.get_or_init(|| DetailCurves::new(node, self.cores)))
        })
    }

    /// Joules of all nodes, which are on for `secs` seconds; `None` if the power is unknown.
    pub fn energy(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        let power = design.power?;
        let of_node = |node: &PreparedNode| {
            let busy = node.cpu / design.speed / f64::from(self.cores);
            let storage = self.load.storage.as_ref().map(|storage| (storage, &node.usage));
            machine_energy(power, storage, secs, busy).0
        };
        Some(self.load.nodes.iter().map(of_node).sum())
    }

    /// Price of all nodes for `secs` seconds; `None` if it is unknown.
    #[allow(clippy::cast_precision_loss)]
    pub fn price(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        let nodes = self.nodes.len() as f64;
        design.price_per_hour.map(|price| price * nodes * secs / 3600.0)
    }

    /// Shares of the longest node's time by [`JOB_LIMITS`].
    pub fn limits(&self, design: &JobDesign) -> [f64; JOB_LIMITS.len()] {
        let times = self.details().map(|(node, details)| (node.time(design), node, details));
        let longest = times.max_by(|a, b| a.0.total_cmp(&b.0));
        let none = [0.0; JOB_LIMITS.len()];
        let secs = longest.map_or(none, |(_, node, details)| details.parts.at(node.y(design)));
        let total: f64 = secs.iter().sum();
        if total > 0.0 { secs.map(|secs| secs / total) } else { secs }
    }

    /// The results of `designs`.
    pub fn columns(&self, designs: &[JobDesign]) -> JobColumns {
        let mut columns = JobColumns::default();
        for design in designs {
            let job = self.interval(design);
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
    fn new(node: &PreparedNode, cores: u32) -> Self {
        let mut time = CurveBuilder::new(2 * node.samples.len());
        for sample in &node.samples {
            time.larger(0, 1.0, sample.cost.floor(), sample.own_line(cores));
        }
        let reference_speed = node.reference_speed;
        Self { reference_speed, time: time.build(), details: OnceCell::new() }
    }

    fn y(&self, design: &JobDesign) -> f64 {
        self.reference_speed / design.speed
    }

    fn time(&self, design: &JobDesign) -> f64 {
        self.time.at(self.y(design))[0]
    }
}

impl DetailCurves {
    fn new(node: &PreparedNode, cores: u32) -> Self {
        let samples = node.samples.len();
        let mut parts = CurveBuilder::new(4 * samples);
        let mut low = CurveBuilder::new(3 * samples);
        let mut high = CurveBuilder::new(3 * samples);
        for sample in &node.samples {
            let floor = sample.cost.floor();
            add_parts(&mut parts, sample, floor, sample.own_line(cores));
            let bounds = sample.bounds(cores);
            // No slope is below zero, so the lower envelope rises above the floor once.
            envelope(&bounds.low, false, |from, to, line| {
                let above = rise(floor, line).clamp(from, to);
                low.piece(0, from, above, Line::constant(floor));
                low.piece(0, above, to, line);
            });
            let [first, second, third, fourth, fifth] = bounds.high;
            let all = [first, second, third, fourth, fifth, Line::constant(floor)];
            envelope(&all, true, |from, to, line| high.piece(0, from, to, line));
        }
        Self { parts: parts.build(), low: low.build(), high: high.build() }
    }
}

/// Adds what takes the time of a sample: the job itself, or the device or network that is slower.
fn add_parts(
    parts: &mut CurveBuilder<{ JOB_LIMITS.len() }>,
    sample: &PreparedSample,
    floor: f64,
    own: Line,
) {
    let from = rise(floor, own);
    let cost = &sample.cost;
    let storage = cost.sample.busy * cost.storage_ratio;
    let slower = if storage >= cost.network { STORAGE } else { NETWORK };
    parts.piece(slower, 0.0, from, Line::constant(floor));
    let split = &sample.splits[0];
    let blocked = split.blocked * cost.storage_ratio;
    parts.piece(CPU, from, f64::INFINITY, Line { intercept: 0.0, slope: own.slope });
    parts.piece(STORAGE, from, f64::INFINITY, Line::constant(blocked));
    parts.piece(IDLE, from, f64::INFINITY, Line::constant(split.idle));
}

/// Bounds of the job's own time of a sample over `y`.
struct SampleBounds {
    /// The least of these is the lower bound.
    low: [Line; 5],
    /// The greatest of these is the upper bound.
    high: [Line; 5],
}

/// The lines of [`JobSample::time_on`](crate::job::JobSample::time_on).
impl PreparedSample {
    /// The best estimate of the job's own time.
    fn own_line(&self, cores: u32) -> Line {
        let JobCost { sample, storage_ratio: ratio, .. } = self.cost;
        let best = &self.splits[0];
        let mut slope = 0.0;
        if best.computing > 0.0 {
            let over = sample.over(best.computing);
            let stretch = if sample.steady {
                stretch(best.width, sample.cores, cores, true, over)
            } else {
                stretch_of_demand(self.ratio, sample.cores, cores, over)
            };
            slope = best.computing * stretch;
        }
        Line { intercept: best.idle + best.blocked * ratio, slope }
    }

    fn bounds(&self, cores: u32) -> SampleBounds {
        let JobCost { sample, storage_ratio: ratio, .. } = self.cost;
        let own = self.own_line(cores);
        let mut lines = SampleBounds { low: [own; 5], high: [own; 5] };
        let extra = (ratio - 1.0) * sample.busy * sample.read_share();
        for (at, split) in self.splits.iter().enumerate() {
            let blocked = split.blocked;
            let (wait_low, wait_high) = if ratio >= 1.0 {
                (blocked, (blocked + extra).max(blocked * ratio))
            } else {
                ((blocked + (ratio - 1.0) * sample.busy).max(0.0), blocked)
            };
            let mut over = None;
            let mut bounds = (0.0, 0.0);
            if split.computing > 0.0 {
                over = sample.over(split.computing);
                bounds = stretch_bounds(split.width, sample.cores, cores, sample.steady, over);
            }
            let (near, far) = (bounds.0 * split.computing, bounds.1 * split.computing);
            lines.low[2 * at] = Line { intercept: split.idle + wait_low, slope: near };
            lines.high[2 * at] = Line { intercept: split.idle + wait_high, slope: far };
            lines.low[2 * at + 1] = lines.low[2 * at];
            lines.high[2 * at + 1] = lines.high[2 * at];
            if !sample.steady && over.is_none() {
                let idle = (sample.span - blocked) - sample.cpu / sample.cores_f();
                let slope = sample.cpu / f64::from(cores);
                lines.low[2 * at + 1] = Line { intercept: idle + wait_low, slope };
                lines.high[2 * at + 1] = Line { intercept: idle + wait_high, slope };
            }
        }
        lines
    }
}

/// Results of designs, in their order. NaN is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobColumns {
    /// Seconds, best estimate.
    pub time: Vec<f64>,
    /// Seconds, lower bound.
    pub low: Vec<f64>,
    /// Seconds, upper bound.
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
