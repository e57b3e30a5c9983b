//! The recorded load of a service: the sum of its nodes, sample by sample.
//!
//! The samples are those of the node with the longest ones. Those of other nodes count by the time
//! that they share with each; samples that a node has no record of are left out and counted.

use super::sample::{LeftOutSamples, NodeSample, Rates, Recorded, middle};
use super::series::Series;
use crate::error::ClusterError;

/// Share of a sample that all nodes have to cover.
const COVERED: f64 = 0.9;
/// Share of the time in which a resource may be full without a doubt about the p99: what is hidden
/// is above it.
pub const HIDDEN: f64 = 0.01;

/// A node's samples, and when they start, in seconds since the start of the first node.
pub struct NodeRecord {
    pub start: f64,
    pub samples: Vec<NodeSample>,
    pub left_out: LeftOutSamples,
    pub recorded: Recorded,
    /// Whether time is missing within the record, after which its samples are too early.
    pub has_gaps: bool,
}

/// A sample of all nodes.
#[derive(Clone, Copy, Debug)]
pub struct ServiceSample {
    /// Seconds since the start of the first node.
    pub start: f64,
    pub secs: f64,
    /// The sum over the nodes.
    pub sum: Rates,
    /// The greatest of any node.
    pub most: Rates,
}

/// The load of a service.
pub struct ServiceLoad {
    pub samples: Vec<ServiceSample>,
    /// Number of recorded nodes.
    pub nodes: usize,
    pub recorded: Recorded,
    /// Samples that are not used, of the node whose samples are those of the load, and their
    /// seconds.
    pub left_out: usize,
    pub left_out_secs: f64,
    /// What is left out of each node.
    pub of_nodes: Vec<LeftOutSamples>,
}

impl ServiceLoad {
    /// The load of nodes, at least one.
    ///
    /// # Errors
    /// Returns an error if the nodes have no time in common.
    pub fn new(nodes: &[NodeRecord]) -> Result<Self, ClusterError> {
        let impossible = |why: &str| {
            Err(ClusterError::Impossible { what: "traces of a service".into(), why: why.into() })
        };
        let longest = nodes.iter().max_by(|a, b| usual(a).total_cmp(&usual(b)));
        let Some(grid) = longest else { return impossible("at least one is needed") };
        let mut load = Self {
            samples: Vec::with_capacity(grid.samples.len()),
            nodes: nodes.len(),
            recorded: Recorded {
                memory: nodes.iter().all(|node| node.recorded.memory),
                disk: nodes.iter().all(|node| node.recorded.disk),
                network: nodes.iter().all(|node| node.recorded.network),
            },
            left_out: grid.left_out.count,
            left_out_secs: grid.left_out.gap_secs,
            of_nodes: nodes.iter().map(|node| node.left_out).collect(),
        };
        let mut cursors = vec![0; nodes.len()];
        for sample in &grid.samples {
            let (start, secs) = (grid.start + sample.start, sample.secs);
            let mut of =
                ServiceSample { start, secs, sum: Rates::default(), most: Rates::default() };
            let is_covered = nodes.iter().zip(&mut cursors).all(|(node, cursor)| {
                let own = match std::ptr::eq(node, grid) {
                    true => Some(sample.rates),
                    false => node.mean(start, secs, cursor),
                };
                own.is_some_and(|own| {
                    of.sum = of.sum.plus(&own);
                    of.most = of.most.most(&own);
                    true
                })
            });
            match is_covered {
                true => load.samples.push(of),
                false => {
                    load.left_out += 1;
                    load.left_out_secs += secs;
                }
            }
        }
        if load.samples.is_empty() {
            return impossible("no time is in all of them; give those of the same hours");
        }
        Ok(load)
    }

    pub fn secs(&self) -> f64 {
        self.samples.iter().map(|sample| sample.secs).sum()
    }

    /// The usual length of a sample.
    pub fn interval(&self) -> f64 {
        middle(self.samples.iter().map(|sample| sample.secs).collect())
    }

    /// A series of the samples.
    pub fn series(&self, of: impl Fn(&ServiceSample) -> f64) -> Series {
        Series::new(self.samples.iter().map(|sample| (of(sample), sample.secs)))
    }

    /// Memory of each of `nodes` nodes, by the measures of [`Rates::memory`]: that of the recorded
    /// node with most, and of fewer nodes their share of all. More nodes do not need less each.
    /// Samples whose memory was not recorded do not count.
    pub fn memory(&self, nodes: u32) -> [Series; 3] {
        [0, 1, 2].map(|of| {
            let recorded = self.samples.iter().filter(|sample| sample.most.memory[1] > 0.0);
            Series::new(recorded.map(|sample| {
                let each = sample.sum.memory[of] / f64::from(nodes);
                (sample.most.memory[of].max(each), sample.secs)
            }))
        })
    }

    /// Share of the time in which cores, disk and network of a recorded node were full.
    pub fn full(&self) -> [f64; 3] {
        [0, 1, 2].map(|of| {
            let is_full = |sample: &&ServiceSample| sample.most.full[of] > 0.0;
            let secs: f64 = self.samples.iter().filter(is_full).map(|sample| sample.secs).sum();
            secs / self.secs()
        })
    }

    /// Whether cores, disk and network were full for so long that the p99 is not known.
    pub fn hides(&self) -> [bool; 3] {
        self.full().map(|share| share > HIDDEN)
    }

    /// Mean bytes of a read; `None` without reads.
    pub fn read_size(&self) -> Option<f64> {
        let sum = |of: fn(&Rates) -> f64| {
            self.samples.iter().map(|sample| of(&sample.sum) * sample.secs).sum::<f64>()
        };
        let reads = sum(|rates| rates.requests[0]);
        (reads > 0.0).then(|| sum(|rates| rates.bytes[0]) / reads)
    }
}

impl NodeRecord {
    /// The mean of a node over `secs` seconds from `start`; `None` if it has no record of most of
    /// them. `cursor` is the first sample that may be in the time, of successive calls.
    fn mean(&self, start: f64, secs: f64, cursor: &mut usize) -> Option<Rates> {
        let (from, to) = (start - self.start, start - self.start + secs);
        while self.samples.get(*cursor).is_some_and(|sample| sample.start + sample.secs <= from) {
            *cursor += 1;
        }
        let (mut sum, mut covered) = (Rates::default(), 0.0);
        for sample in self.samples[*cursor..].iter().take_while(|sample| sample.start < to) {
            let common = (sample.start + sample.secs).min(to) - sample.start.max(from);
            sum = sum.plus_share(&sample.rates, common);
            covered += common;
        }
        (covered >= COVERED * secs).then(|| Rates::default().plus_share(&sum, 1.0 / covered))
    }
}

/// The usual length of a node's samples.
fn usual(node: &NodeRecord) -> f64 {
    middle(node.samples.iter().map(|sample| sample.secs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(start: f64, secs: f64, busy: &[f64]) -> NodeRecord {
        let sample = |(at, busy): (usize, &f64)| NodeSample {
            #[allow(clippy::cast_precision_loss)]
            start: at as f64 * secs,
            secs,
            rates: Rates { busy: *busy, memory: [*busy; 3], ..Rates::default() },
        };
        NodeRecord {
            start,
            samples: busy.iter().enumerate().map(sample).collect(),
            left_out: LeftOutSamples::default(),
            recorded: Recorded::default(),
            has_gaps: false,
        }
    }

    fn busy(load: &ServiceLoad) -> Vec<f64> {
        load.samples.iter().map(|sample| sample.sum.busy).collect()
    }

    #[test]
    fn nodes_are_added_in_the_samples_of_the_longest() {
        let nodes = [node(0.0, 1.0, &[1.0, 3.0, 5.0, 7.0]), node(0.0, 2.0, &[10.0, 20.0])];
        let load = ServiceLoad::new(&nodes).unwrap();
        assert_eq!(busy(&load), [12.0, 26.0]);
        assert_eq!((load.left_out, load.secs(), load.interval()), (0, 4.0, 2.0));
    }

    #[test]
    fn samples_that_a_node_has_no_record_of_are_left_out_and_counted() {
        let nodes = [node(0.0, 1.0, &[1.0; 5]), node(2.0, 1.0, &[2.0; 5])];
        let load = ServiceLoad::new(&nodes).unwrap();
        assert_eq!(busy(&load), [3.0; 3]);
        assert_eq!((load.left_out, load.left_out_secs), (2, 2.0));
        assert_eq!(load.samples[0].start, 2.0);
        let apart = [node(0.0, 1.0, &[1.0]), node(9.0, 1.0, &[1.0])];
        assert!(matches!(ServiceLoad::new(&apart), Err(ClusterError::Impossible { .. })));
    }

    #[test]
    fn more_nodes_do_not_need_less_memory_each() {
        let nodes = [node(0.0, 1.0, &[4.0]), node(0.0, 1.0, &[6.0])];
        let load = ServiceLoad::new(&nodes).unwrap();
        let of = |nodes| load.memory(nodes)[1].peak();
        assert_eq!([1, 2, 4].map(of), [10.0, 6.0, 6.0]);
    }

    #[test]
    fn samples_without_memory_do_not_lower_the_memory_in_use() {
        let load = ServiceLoad::new(&[node(0.0, 1.0, &[0.0, 0.0, 0.0, 4.0])]).unwrap();
        let [_, used, _] = load.memory(1);
        assert_eq!((used.mean(), used.p99()), (4.0, 4.0));
    }
}
