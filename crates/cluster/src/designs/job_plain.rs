//! The `job` model without curves: sums over all samples, for one design. Groups agree with them
//! within 1e-12, which tests check.

use super::job::JobDesign;
use super::job_load::{JobLoad, PreparedNode};
use crate::job::{Cores, JobRange, SampleTimes, StretchTable, TimeOfSpeed, computing_error, range};

/// The range of the time of a job on a machine with `cores`; see [`JobGroup`](super::JobGroup).
pub fn plain_range(load: &JobLoad, cores: Cores, design: &JobDesign) -> JobRange {
    let nodes = load.nodes.iter().map(|node| PlainNode::new(node, &cores, design)).collect();
    range(&PlainJob { nodes, speed_error: design.speed_error }, design.reread)
}

struct PlainJob {
    nodes: Vec<PlainNode>,
    speed_error: f64,
}

struct PlainNode {
    samples: Vec<SampleTimes>,
    /// Mean stretch of the computing time.
    stretch: f64,
    /// The reciprocal of the core speed.
    y: f64,
}

impl PlainNode {
    fn new(node: &PreparedNode, cores: &Cores, design: &JobDesign) -> Self {
        let table = StretchTable::new(&node.cores, cores);
        let samples: Vec<_> = node.samples.iter().map(|sample| sample.times(&table)).collect();
        let computing: f64 = samples.iter().map(|times| times.computing).sum();
        let work: f64 = samples.iter().map(|times| times.work).sum();
        let stretch = if work > 0.0 { computing / work } else { 0.0 };
        Self { samples, stretch, y: node.reference_speed / design.speed }
    }
}

impl TimeOfSpeed for PlainJob {
    fn best(&self, error: f64) -> f64 {
        let of_node = |node: &PlainNode| {
            let y = node.y * (error * computing_error(self.speed_error, node.stretch)).exp();
            node.samples.iter().map(|times| times.own.at(y).max(times.floor)).sum()
        };
        self.nodes.iter().map(of_node).fold(0.0, f64::max)
    }

    fn varied(&self, source: usize, end: usize) -> f64 {
        let of_node = |node: &PlainNode| {
            let of_sample = |times: &SampleTimes| match &times.varied[source] {
                Some(varied) => varied.end(end, node.y),
                None => times.own.at(node.y).max(times.floor),
            };
            node.samples.iter().map(of_sample).sum()
        };
        self.nodes.iter().map(of_node).fold(0.0, f64::max)
    }
}
