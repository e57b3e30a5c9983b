//! Traces of a job on a storage and a network, prepared for groups of any number of cores.
//!
//! Model: docs/design/cluster.md, "Time: `job`". Where the time of a sample went on the traced
//! machine, and the demand ratio of its width, depend neither on the speed nor on the number of
//! cores of a target. They are computed once for all groups of the load.

use crate::job::{Cores, JobCost, PreparedSample};
use crate::node::StoragePower;
use crate::stages::StageWindow;
use gordon_blockio::Usage;

/// A traced machine of the job on a storage and a network.
#[derive(Clone, Debug)]
pub struct JobNode {
    /// Its samples.
    pub costs: Vec<JobCost>,
    /// Busy times of its simulated storage; zero if there is none.
    pub usage: Usage,
    /// The cores of the traced machine.
    pub cores: Cores,
    /// Speed of a core of the traced machine while all are busy, in the unit of the designs' speeds.
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
    pub cores: Cores,
    pub reference_speed: f64,
}

impl JobLoad {
    /// Prepares `nodes`; `storage` is the power of the simulated storage of each, if any.
    pub fn new(nodes: &[JobNode], storage: Option<StoragePower>) -> Self {
        let prepared = nodes.iter().map(|node| PreparedNode {
            samples: node.costs.iter().map(|c| PreparedSample::new(c, nodes.len() > 1)).collect(),
            cpu: node.costs.iter().map(|c| c.sample.cpu).sum::<f64>() * node.reference_speed,
            usage: node.usage,
            cores: node.cores,
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
                cores: node.cores,
                reference_speed: node.reference_speed,
            }
        };
        Self { nodes: self.nodes.iter().enumerate().map(of_node).collect(), storage: self.storage }
    }
}
