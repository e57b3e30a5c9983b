//! Traces of a job on a storage and a network, prepared for groups of any number of cores.
//!
//! Model: docs/design/cluster.md, "Time: `job`". Where the time of a sample went on the traced
//! machine, and the demand ratio of its width, depend neither on the speed nor on the number of
//! cores of a target. They are computed once for all groups of the load.

use crate::model::job::demand::StretchTable;
use crate::model::job::range::{PlaceCost, PreparedSample, SampleStretches};
use crate::space::cores::Cores;
use crate::space::node::StoragePower;
use crate::trace::sample::JobSample;
use crate::trace::stages::StageWindow;
use gordon_blockio::Usage;
use std::borrow::Cow;
use std::sync::Arc;

/// A traced machine of the job on a storage and a network.
#[derive(Clone, Debug)]
pub struct JobNode {
    /// Its samples.
    pub samples: Vec<JobSample>,
    /// What storage and network need, by sample.
    pub costs: Vec<PlaceCost>,
    /// Busy times of its simulated storage; zero if there is none.
    pub usage: Usage,
    /// The cores of the traced machine.
    pub cores: Cores,
    /// Speed of a core of the traced machine while all are busy, in the unit of the designs'
    /// speeds.
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
    /// Shared by the loads of all places at which the samples are the same.
    pub samples: Arc<[PreparedSample]>,
    /// By sample.
    pub costs: Vec<PlaceCost>,
    /// Core-seconds at a speed of 1.
    pub cpu: f64,
    pub usage: Usage,
    pub cores: Cores,
    pub reference_speed: f64,
}

impl JobLoad {
    /// Prepares `nodes`; `storage` is the power of the simulated storage of each, if any. What does
    /// not depend on storage and network is taken from `other`, a load of the same traces.
    pub fn new(nodes: Vec<JobNode>, storage: Option<StoragePower>, other: Option<&Self>) -> Self {
        let has_peers = nodes.len() > 1;
        let prepare = |(at, node): (usize, JobNode)| {
            let same = other.map(|other| &other.nodes[at].samples).filter(|samples| {
                samples.iter().map(|prepared| &prepared.sample).eq(&node.samples)
            });
            let prepared = || node.samples.iter().map(|x| PreparedSample::new(x, has_peers));
            let samples = same.map_or_else(|| prepared().collect(), Arc::clone);
            PreparedNode::new(samples, node.costs, node.usage, node.cores, node.reference_speed)
        };
        Self { nodes: nodes.into_iter().enumerate().map(prepare).collect(), storage }
    }

    /// What the nodes do in a stage, for times and limits: it leaves out the busy times of storage,
    /// and so the energy. `lag` is the number of samples before the first one of a node.
    pub fn in_stage(&self, window: &StageWindow, lag: impl Fn(usize) -> usize) -> Self {
        let of_node = |(at, node): (usize, &PreparedNode)| {
            let pairs: Vec<_> = node.samples.iter().zip(&node.costs).collect();
            let covered = window.of_items(&pairs, lag(at));
            let scaled =
                covered.map(|((sample, cost), share)| (sample.scaled(share), cost.scaled(share)));
            let (samples, costs): (Vec<_>, Vec<_>) = scaled.unzip();
            let usage = Usage::default();
            PreparedNode::new(samples.into(), costs, usage, node.cores, node.reference_speed)
        };
        Self { nodes: self.nodes.iter().enumerate().map(of_node).collect(), storage: self.storage }
    }
}

impl PreparedNode {
    fn new(
        samples: Arc<[PreparedSample]>,
        costs: Vec<PlaceCost>,
        usage: Usage,
        cores: Cores,
        reference_speed: f64,
    ) -> Self {
        let cpu = samples.iter().map(|prepared| prepared.sample.cpu).sum::<f64>() * reference_speed;
        Self { samples, costs, cpu, usage, cores, reference_speed }
    }
}

/// The stretches of a load's samples on some cores. Loads at other places have the same where their
/// samples are the same.
#[derive(Clone, Debug)]
pub struct JobStretches {
    pub(super) cores: Cores,
    nodes: Vec<NodeStretches>,
}

#[derive(Clone, Debug)]
pub(super) struct NodeStretches {
    of: Arc<[PreparedSample]>,
    pub samples: Vec<SampleStretches>,
    /// Mean stretch of the computing time.
    pub mean: f64,
}

impl JobStretches {
    /// The stretches on `cores`.
    pub fn new(load: &JobLoad, cores: Cores) -> Self {
        let nodes = load.nodes.iter().map(|node| NodeStretches::new(node, &cores)).collect();
        Self { cores, nodes }
    }

    /// Those of the node `at`, which is `node`.
    pub(super) fn of(&self, at: usize, node: &PreparedNode) -> Cow<'_, NodeStretches> {
        let known = &self.nodes[at];
        if Arc::ptr_eq(&known.of, &node.samples) {
            Cow::Borrowed(known)
        } else {
            Cow::Owned(NodeStretches::new(node, &self.cores))
        }
    }
}

impl NodeStretches {
    fn new(node: &PreparedNode, cores: &Cores) -> Self {
        let table = StretchTable::new(&node.cores, cores);
        let samples: Vec<_> = node.samples.iter().map(|sample| sample.stretches(&table)).collect();
        let works = || node.samples.iter().zip(&samples).map(|(sample, own)| sample.work(own));
        let work: f64 = works().map(|(work, _)| work).sum();
        let computing: f64 = works().map(|(_, computing)| computing).sum();
        let mean = if work > 0.0 { computing / work } else { 0.0 };
        Self { of: Arc::clone(&node.samples), samples, mean }
    }
}
