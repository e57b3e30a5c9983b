//! Simulates one design on all nodes, with the two bounds of section 5.3.
//!
//! A sample takes the longest of its processor, storage and network times. `sync` has a barrier
//! after each sample, so every sample takes the time of the slowest node. `nosync` has no barriers,
//! so the job takes the time of the slowest node. A node that has finished its trace is off and
//! draws no power.

use crate::space::node::{BusyTimes, Energy, NodePower};
use gordon_units::Joules;
use std::collections::BTreeMap;

/// Cost of one sample of one stream on a design, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleCost {
    /// Processor time, with the work divided among the node's processors.
    pub cpu: f64,
    /// Storage time.
    pub storage: f64,
    /// Network time.
    pub network: f64,
    /// Busy times of the parts during the sample.
    pub busy: BusyTimes,
}

impl SampleCost {
    /// Duration of the sample, with perfect overlap of the three times.
    pub fn time(&self) -> f64 {
        self.cpu.max(self.storage).max(self.network)
    }
}

/// A node of the cluster: the stream that it runs, and its first sample. Streams wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the stream.
    pub stream: usize,
    /// Index of the first sample.
    pub shift: usize,
}

/// Spreads streams over `nodes` nodes in turn; `streams` holds their numbers of samples. The copies
/// of a stream are shifted evenly over the fraction `share` of its length, so that they do not run
/// in step.
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
pub struct ClusterOutcome {
    /// Seconds until the last node has finished.
    pub time: f64,
    /// Energy of all nodes.
    pub energy: Energy,
}

impl ClusterOutcome {
    /// Average power of the cluster in watts; zero if the job takes no time.
    pub fn power(&self) -> f64 {
        if self.time > 0.0 { self.energy.total().0 / self.time } else { 0.0 }
    }
}

/// A part limits a sample if its time is at least this fraction of the sample's.
pub const LIMITING: f64 = 0.95;

/// Both bounds of a design, and its limiting parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignOutcome {
    /// With a barrier after each sample.
    pub sync: ClusterOutcome,
    /// Without barriers.
    pub nosync: ClusterOutcome,
    /// Fraction of the nodes' execution time by the parts that were fully used: `cpu`, `storage`,
    /// `network` and their combinations joined by `+` (Figure 7). The sum is one.
    pub limits: BTreeMap<String, f64>,
}

/// Simulates `nodes` of a design; `costs[stream][sample]` holds the costs.
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
            result.sync.energy += power.energy(slowest, &cost.busy);
        }
    }
    let mut spent = 0.0;
    for node in nodes {
        let mut own = 0.0;
        for cost in &costs[node.stream] {
            let time = cost.time();
            own += time;
            result.nosync.energy += power.energy(time, &cost.busy);
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

/// Simulates `nodes` with barriers at the ends of stages; `stages` holds the stage of each sample
/// number. A node is on until the end of its last stage.
pub fn simulate_stages(
    costs: &[Vec<SampleCost>],
    nodes: &[Node],
    power: &NodePower,
    stages: &[usize],
) -> ClusterOutcome {
    let mut result = ClusterOutcome::default();
    let count = stages.iter().max().map_or(0, |last| last + 1);
    for stage in 0..count {
        let positions = || stages.iter().enumerate().filter(|(_, of)| **of == stage);
        let of_node = |node: &Node| -> Vec<&SampleCost> {
            let stream = &costs[node.stream];
            positions()
                .filter(|(at, _)| *at < stream.len())
                .map(|(at, _)| &stream[(at + node.shift) % stream.len()])
                .collect()
        };
        let own = |node: &Node| of_node(node).into_iter().map(SampleCost::time).sum::<f64>();
        let longest = nodes.iter().map(own).fold(0.0, f64::max);
        result.time += longest;
        for node in nodes {
            let samples = of_node(node);
            if samples.is_empty() {
                continue;
            }
            for cost in samples {
                result.energy += power.energy(cost.time(), &cost.busy);
            }
            // While it waits, the node is idle.
            result.energy += power.energy(longest - own(node), &BusyTimes::default());
        }
    }
    result
}

/// The parts that are fully used in a sample.
fn limit(cost: &SampleCost) -> String {
    let least = cost.time() * LIMITING;
    [("cpu", cost.cpu), ("storage", cost.storage), ("network", cost.network)]
        .into_iter()
        .filter(|(_, time)| *time >= least)
        .map(|(name, _)| name)
        .collect::<Vec<_>>()
        .join("+")
}

/// The energy of `outcome` in joules, by part name.
pub fn by_part(outcome: &ClusterOutcome) -> BTreeMap<String, f64> {
    outcome.energy.parts().into_iter().map(|(name, Joules(j))| (name.into(), j)).collect()
}
