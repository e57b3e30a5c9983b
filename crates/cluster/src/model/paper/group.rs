//! Groups of designs by the `paper` model: time and energy, with and without barriers.
//!
//! Model: the variable is `x`, seconds an instruction of the whole node. A sample takes
//! `max(storage, network, instructions x)`. With barriers, a sample takes `max(A, B x)`, where A is
//! the longest storage or network time of any node and B the most instructions, so the nodes of a
//! cluster collapse to one curve. Energy needs the time in which nodes are on, and the busy time of
//! memories and flash controllers, which no sample's own time may exceed; both are curves.
//!
//! With stages, the longest node is found for each stage: the curves of a stage are those of its
//! nodes without barriers.
//!
//! Left out: wear, which depends only on the storage and, for a lifetime, on the time.

use super::curve::{Bounds, Curve, CurveBuilder};
use super::limits::{PAPER_LIMITS, PaperLimits};
use super::load::{PaperLoad, PaperSample};
use crate::model::paper::simulate::{ClusterOutcome, Node};
use crate::space::node::{BusyTimes, Energy, NodePower, Power};
use gordon_blockio::Usage;

/// A design of a group: its processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperDesign {
    /// Instructions a second of one processor.
    pub instructions_per_s: f64,
    /// Power of one processor, at its clock.
    pub cpu: Power,
}

/// Designs with the same load, number of processors, memories and storage.
#[derive(Clone, Debug)]
pub struct PaperGroup {
    node: NodePower,
    /// Instructions of all nodes.
    instructions: f64,
    /// Busy times of the storage of all nodes.
    usage: Usage,
    /// With barriers, of all nodes together: time, then the outputs from [`SYNC_ON`].
    sync: Curve<4>,
    /// Without barriers, of all nodes together: the outputs from [`NOSYNC_ON`].
    nosync: Curve<3>,
    /// Time of each stream.
    streams: Vec<Curve<1>>,
    stages: Vec<StageCurves>,
}

/// Nodes in a stage, at whose end they wait for each other.
#[derive(Clone, Debug)]
struct StageCurves {
    /// Time of each kind of node.
    times: Vec<Curve<1>>,
    /// Number of nodes that are on.
    on: f64,
}

/// First of the outputs that give the energy: the time in which nodes are on, the busy time of
/// memories, and that of flash controllers.
const SYNC_ON: usize = 1;
const NOSYNC_ON: usize = 0;

impl PaperGroup {
    /// Prepares the designs of `node`; each has processors of its own instead of the node's.
    pub fn new(load: &PaperLoad, node: &NodePower) -> Self {
        let samples: usize = load.runs().map(|(samples, _)| samples.len()).sum();
        let mut nosync = CurveBuilder::new(4 * samples);
        let mut streams = Vec::new();
        let mut instructions = 0.0;
        for (samples, count) in load.runs() {
            let mut own = CurveBuilder::new(2 * samples.len());
            for sample in samples {
                let bounds = sample.bounds();
                own.larger(0, 1.0, bounds.floor, bounds.line());
                nosync.larger(NOSYNC_ON, count, bounds.floor, bounds.line());
                add_busy(&mut nosync, NOSYNC_ON, count, sample, bounds, node);
                instructions += count * sample.instructions;
            }
            streams.push(own.build());
        }
        let mut usage = Usage::default();
        for sample in load.nodes.iter().flat_map(|node| &load.streams[node.stream]) {
            usage += sample.usage;
        }
        Self {
            node: node.clone(),
            instructions,
            usage,
            sync: synced(load, node),
            nosync: nosync.build(),
            streams,
            stages: stage_curves(load),
        }
    }

    /// Seconds an instruction of a node.
    pub(super) fn secs_per_instruction(&self, design: &PaperDesign) -> f64 {
        1.0 / (design.instructions_per_s * self.node.cpus())
    }

    /// The result of a design with a barrier after each sample.
    pub fn sync(&self, design: &PaperDesign) -> ClusterOutcome {
        let [time, on @ ..] = self.sync.at(self.secs_per_instruction(design));
        ClusterOutcome { time, energy: self.energy(design, on) }
    }

    /// The result of a design without barriers.
    pub fn nosync(&self, design: &PaperDesign) -> ClusterOutcome {
        let x = self.secs_per_instruction(design);
        let time = self.streams.iter().map(|stream| stream.at(x)[0]).fold(0.0, f64::max);
        ClusterOutcome { time, energy: self.energy(design, self.nosync.at(x)) }
    }

    /// The result of a design with barriers at the ends of the load's stages; without stages, it
    /// takes no time.
    pub fn stages(&self, design: &PaperDesign) -> ClusterOutcome {
        let x = self.secs_per_instruction(design);
        let [_, memory, controller] = self.nosync.at(x);
        let mut time = 0.0;
        let mut on = 0.0;
        for stage in &self.stages {
            let longest = stage.times.iter().map(|curve| curve.at(x)[0]).fold(0.0, f64::max);
            time += longest;
            on += stage.on * longest;
        }
        ClusterOutcome { time, energy: self.energy(design, [on, memory, controller]) }
    }

    fn energy(&self, design: &PaperDesign, [on, memory, controller]: [f64; 3]) -> Energy {
        let cpu = self.instructions / design.instructions_per_s;
        let busy = BusyTimes { cpu, memory, storage: self.usage };
        self.node.energy_of_sums(design.cpu, on, &busy, controller)
    }

    /// Shares of a design's time by [`PAPER_LIMITS`]; `limits` is of the same load.
    pub fn limits(&self, design: &PaperDesign, limits: &PaperLimits) -> [f64; PAPER_LIMITS.len()] {
        limits.shares(self.secs_per_instruction(design))
    }

    /// The results of `designs`, with the limits if `limits` of the same load is given.
    pub fn columns(&self, designs: &[PaperDesign], limits: &PaperLimits) -> PaperColumns {
        let mut columns = PaperColumns::default();
        for design in designs {
            let sync = self.sync(design);
            let nosync = self.nosync(design);
            columns.sync_time.push(sync.time);
            columns.sync_energy.push(sync.energy.total().0);
            columns.nosync_time.push(nosync.time);
            columns.nosync_energy.push(nosync.energy.total().0);
            let shares = limits.shares(self.secs_per_instruction(design));
            for (column, share) in columns.limits.iter_mut().zip(shares) {
                column.push(share);
            }
        }
        columns
    }
}

/// The curves of all nodes with a barrier after each sample.
fn synced(load: &PaperLoad, node: &NodePower) -> Curve<4> {
    let running = |at: usize| {
        load.nodes.iter().filter_map(move |node| {
            let stream = &load.streams[node.stream];
            (at < stream.len()).then(|| &stream[(at + node.shift) % stream.len()])
        })
    };
    let longest = load.runs().map(|(samples, _)| samples.len()).max().unwrap_or(0);
    let mut curve = CurveBuilder::new(8 * longest);
    for at in 0..longest {
        let mut slowest = Bounds::default();
        let mut on = 0.0;
        for bounds in running(at).map(PaperSample::bounds) {
            slowest.floor = slowest.floor.max(bounds.floor);
            slowest.slope = slowest.slope.max(bounds.slope);
            on += 1.0;
        }
        curve.larger(0, 1.0, slowest.floor, slowest.line());
        curve.larger(SYNC_ON, on, slowest.floor, slowest.line());
        for sample in running(at) {
            add_busy(&mut curve, SYNC_ON, 1.0, sample, slowest, node);
        }
    }
    curve.build()
}

/// The curves of the nodes in each stage. Nodes with the same stream and shift are one kind.
fn stage_curves(load: &PaperLoad) -> Vec<StageCurves> {
    let mut kinds = load.nodes.clone();
    kinds.sort_unstable_by_key(|node| (node.stream, node.shift));
    kinds.dedup();
    let positions = |stage: usize| {
        let stages = load.stages.iter().enumerate();
        stages.filter(move |(_, of)| **of == stage).map(|(at, _)| at)
    };
    let of_stage = |stage: usize| {
        let first = positions(stage).next().unwrap_or(usize::MAX);
        let curve = |node: &Node| {
            let samples = &load.streams[node.stream];
            let mut curve = CurveBuilder::new(2 * samples.len());
            for at in positions(stage).filter(|at| *at < samples.len()) {
                let bounds = samples[(at + node.shift) % samples.len()].bounds();
                curve.larger(0, 1.0, bounds.floor, bounds.line());
            }
            curve.build()
        };
        let is_on = |node: &&Node| first < load.streams[node.stream].len();
        #[allow(clippy::cast_precision_loss)]
        let on = load.nodes.iter().filter(is_on).count() as f64;
        StageCurves { times: kinds.iter().map(curve).collect(), on }
    };
    let stages = load.stages.iter().max().map_or(0, |last| last + 1);
    (0..stages).map(of_stage).collect()
}

/// Adds the busy times of a sample's memory and flash controllers, which its time limits.
fn add_busy<const N: usize>(
    curve: &mut CurveBuilder<N>,
    on: usize,
    count: f64,
    sample: &PaperSample,
    time: Bounds,
    node: &NodePower,
) {
    curve.clipped(on + 1, count, sample.memory, node.memories(), time);
    curve.clipped(on + 2, count, sample.usage.controller.as_secs(), node.arrays(), time);
}

/// Results of designs, in their order: seconds and joules of the whole cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaperColumns {
    /// Time with a barrier after each sample.
    pub sync_time: Vec<f64>,
    /// Energy with a barrier after each sample.
    pub sync_energy: Vec<f64>,
    /// Time without barriers.
    pub nosync_time: Vec<f64>,
    /// Energy without barriers.
    pub nosync_energy: Vec<f64>,
    /// Shares of the execution time by [`PAPER_LIMITS`].
    pub limits: [Vec<f64>; PAPER_LIMITS.len()],
}

impl PaperColumns {
    /// Appends the results of more designs.
    pub fn append(&mut self, more: &Self) {
        self.sync_time.extend_from_slice(&more.sync_time);
        self.sync_energy.extend_from_slice(&more.sync_energy);
        self.nosync_time.extend_from_slice(&more.nosync_time);
        self.nosync_energy.extend_from_slice(&more.nosync_energy);
        for (column, more) in self.limits.iter_mut().zip(&more.limits) {
            column.extend_from_slice(more);
        }
    }
}
