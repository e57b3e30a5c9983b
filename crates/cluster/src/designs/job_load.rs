//! Traces of a job on a storage and a network, prepared for groups of any number of cores.
//!
//! Model: docs/design/cluster.md, "Time: `job`". Where the time of a sample went on the traced
//! machine, and the demand ratio of its width, depend neither on the speed nor on the number of
//! cores of a target. They are computed once for all groups of the load.

use crate::job::{JobSample, JobTarget, SampleSplit, demand_ratio};
use crate::node::StoragePower;
use crate::stages::StageWindow;
use gordon_blockio::Usage;

/// A sample on a storage and a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobCost {
    /// What the traced machine did.
    pub sample: JobSample,
    /// Device time of the sample's I/O relative to the traced device's; 1 for the same device.
    pub storage_ratio: f64,
    /// Seconds that the network needs for the sample's bytes.
    pub network: f64,
}

impl JobCost {
    /// The sample's target, for the plain loop.
    pub fn target(&self, cores: u32, speed: f64) -> JobTarget {
        JobTarget { cores, speed, storage_ratio: self.storage_ratio, network: self.network }
    }

    /// Seconds that the device and the network need at least.
    pub(super) fn floor(&self) -> f64 {
        (self.sample.busy * self.storage_ratio).max(self.network)
    }
}

/// A traced machine of the job on a storage and a network.
#[derive(Clone, Debug)]
pub struct JobNode {
    /// Its samples.
    pub costs: Vec<JobCost>,
    /// Busy times of its simulated storage; zero if there is none.
    pub usage: Usage,
    /// Speed of a core of the traced machine, in the unit of the designs' speeds.
    pub reference_speed: f64,
}

/// The nodes of a job on a storage and a network.
#[derive(Clone, Debug)]
pub struct JobLoad {
    pub(super) nodes: Vec<PreparedNode>,
    pub(super) storage: Option<StoragePower>,
}

#[derive(Clone, Debug)]
pub(super) struct PreparedNode {
    pub samples: Vec<PreparedSample>,
    /// Core-seconds at a speed of 1.
    pub cpu: f64,
    pub usage: Usage,
    pub reference_speed: f64,
}

#[derive(Clone, Debug)]
pub(super) struct PreparedSample {
    pub cost: JobCost,
    /// With the best estimate of the blocked time, and with the largest.
    pub splits: [SampleSplit; 2],
    /// Demand ratio of the best estimate.
    pub ratio: f64,
}

impl JobLoad {
    /// Prepares `nodes`; `storage` is the power of the simulated storage of each, if any.
    pub fn new(nodes: &[JobNode], storage: Option<StoragePower>) -> Self {
        let prepared = nodes.iter().map(|node| PreparedNode {
            samples: node.costs.iter().map(PreparedSample::of).collect(),
            cpu: node.costs.iter().map(|c| c.sample.cpu).sum::<f64>() * node.reference_speed,
            usage: node.usage,
            reference_speed: node.reference_speed,
        });
        Self { nodes: prepared.collect(), storage }
    }

    /// What the nodes do in a stage, for times and limits: it leaves out the busy times of storage,
    /// and so the energy. `lag` is the number of samples before the first one of a node.
    pub fn in_stage(&self, window: &StageWindow, lag: impl Fn(usize) -> usize) -> Self {
        let of_node = |(at, node): (usize, &PreparedNode)| {
            let covered = window.of_items(&node.samples, lag(at));
            let samples: Vec<_> = covered.map(|(sample, share)| sample.scaled(share)).collect();
            PreparedNode {
                cpu: samples.iter().map(|s| s.cost.sample.cpu).sum::<f64>() * node.reference_speed,
                samples,
                usage: Usage::default(),
                reference_speed: node.reference_speed,
            }
        };
        Self { nodes: self.nodes.iter().enumerate().map(of_node).collect(), storage: self.storage }
    }
}

impl PreparedSample {
    fn of(cost: &JobCost) -> Self {
        let sample = &cost.sample;
        let splits = [sample.blocked_time(), sample.blocked_time_high()]
            .map(|blocked| sample.split(blocked));
        let varies = splits[0].computing > 0.0 && !sample.steady;
        let ratio = if varies { demand_ratio(splits[0].width, sample.cores) } else { 0.0 };
        Self { cost: *cost, splits, ratio }
    }

    /// A share of the sample: all of its times are this share of the sample's, on any design.
    fn scaled(&self, share: f64) -> Self {
        Self::of(&JobCost {
            sample: self.cost.sample.scaled(share),
            network: self.cost.network * share,
            ..self.cost
        })
    }
}
