//! One design, all nodes: section 5.3's two bounds.
//!
//! A sample on a node takes the longest of its processor, storage and network time. `sync`: a
//! barrier after each sample, so every node takes the slowest's time. `nosync`: none, so the job
//! takes the slowest node's sum. A node that has run its trace is off and draws nothing.

use crate::node::{BusyTimes, Energy, NodePower};
use gordon_units::Joules;
use std::collections::BTreeMap;

/// What one sample of one stream costs on a design, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleCost {
    /// Processor time, with the work divided over the node's processors.
    pub cpu: f64,
    /// Storage time.
    pub storage: f64,
    /// Network time.
    pub network: f64,
    /// What the parts do meanwhile.
    pub busy: BusyTimes,
}

impl SampleCost {
    /// The sample's length: perfect overlap of the three.
    pub fn time(&self) -> f64 {
        self.cpu.max(self.storage).max(self.network)
    }
}

/// A node of the cluster: which stream it runs, and from which sample on (cyclically).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the stream.
    pub stream: usize,
    /// First sample.
    pub shift: usize,
}

/// Spreads `streams` (their numbers of samples) over `nodes` nodes, each stream in turn; the copies
/// of one are shifted evenly over `share` of its length, so that they do not march in step.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
pub fn spread(streams: &[usize], nodes: usize, share: f64) -> Vec<Node> {
    (0..nodes)
        .map(|node| {
            let (stream, copy) = (node % streams.len(), node / streams.len());
            let copies = (nodes - stream).div_ceil(streams.len());
            let window = streams[stream] as f64 * share;
            Node { stream, shift: (window * copy as f64 / copies as f64) as usize }
        })
        .collect()
}

/// Time and energy of the whole cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeOutcome {
    /// Seconds until the last node is done.
    pub time: f64,
    /// Joules of all nodes.
    pub energy: Energy,
}

impl NodeOutcome {
    /// Average power of the cluster in watts; zero for a job that takes no time.
    pub fn power(&self) -> f64 {
        if self.time > 0.0 { self.energy.total().0 / self.time } else { 0.0 }
    }
}

/// A sample's component limits it if its time is at least this part of the sample's.
pub const LIMITING: f64 = 0.95;

/// Both bounds of a design, and what limits it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignOutcome {
    /// A barrier after each sample.
    pub sync: NodeOutcome,
    /// No barrier.
    pub nosync: NodeOutcome,
    /// Share of the nodes' own execution time by what was fully used in it: `cpu`, `storage`,
    /// `network` and their combinations joined by `+` (Figure 7). Sums to one.
    pub limits: BTreeMap<String, f64>,
}

/// Runs `nodes` of a design. `costs[stream][sample]`.
pub fn simulate(costs: &[Vec<SampleCost>], nodes: &[Node], power: &NodePower) -> DesignOutcome {
    let mut result = DesignOutcome::default();
    let longest = nodes.iter().map(|n| costs[n.stream].len()).max().unwrap_or(0);
    let cost = |node: &Node, sample: usize| {
        let stream = &costs[node.stream];
        (sample < stream.len()).then(|| &stream[(sample + node.shift) % stream.len()])
    };
    for sample in 0..longest {
        let running = || nodes.iter().filter_map(|node| cost(node, sample));
        let slowest = running().map(SampleCost::time).fold(0.0, f64::max);
        result.sync.time += slowest;
        for cost in running() {
            result.sync.energy.add(&power.energy(slowest, &cost.busy));
        }
    }
    let mut spent = 0.0;
    for node in nodes {
        let mut own = 0.0;
        for cost in &costs[node.stream] {
            let time = cost.time();
            own += time;
            result.nosync.energy.add(&power.energy(time, &cost.busy));
            if time > 0.0 {
                *result.limits.entry(limit(cost)).or_default() += time;
            }
        }
        result.nosync.time = result.nosync.time.max(own);
        spent += own;
    }
    result.limits.values_mut().for_each(|share| *share /= spent);
    result
}

/// The components that are fully used in a sample.
fn limit(cost: &SampleCost) -> String {
    let least = cost.time() * LIMITING;
    [("cpu", cost.cpu), ("storage", cost.storage), ("network", cost.network)]
        .into_iter()
        .filter(|(_, time)| *time >= least)
        .map(|(name, _)| name)
        .collect::<Vec<_>>()
        .join("+")
}

/// Joules of `outcome` by part name.
pub fn by_part(outcome: &NodeOutcome) -> BTreeMap<String, f64> {
    outcome.energy.parts().into_iter().map(|(name, Joules(j))| (name.into(), j)).collect()
}
