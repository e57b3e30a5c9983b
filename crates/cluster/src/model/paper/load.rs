//! Traces on a storage and a network, for groups of designs by the `paper` model.
//!
//! Model: docs/design/cluster.md, "Time: `paper`". The needs of a sample do not depend on the
//! processors of a design, except for the time of its instructions.

use super::curve::Bounds;
use crate::model::paper::simulate::Node;
use crate::trace::stages::StageWindow;
use gordon_blockio::Usage;

/// The needs of a sample that do not depend on the processors; times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PaperSample {
    /// Instructions, on all processors.
    pub instructions: f64,
    /// Storage time.
    pub storage: f64,
    /// Network time.
    pub network: f64,
    /// Time for which cache misses occupy the memory.
    pub memory: f64,
    /// Busy times of the storage parts.
    pub usage: Usage,
}

impl PaperSample {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds { floor: self.storage.max(self.network), slope: self.instructions }
    }

    /// A share of the sample: its time on any design is this share of the sample's.
    fn scaled(&self, share: f64) -> Self {
        Self {
            instructions: self.instructions * share,
            storage: self.storage * share,
            network: self.network * share,
            memory: self.memory * share,
            usage: Usage::default(),
        }
    }
}

/// Traces on a storage and a network, and the nodes that run them.
#[derive(Clone, Debug)]
pub struct PaperLoad {
    /// Samples of each stream.
    pub streams: Vec<Vec<PaperSample>>,
    /// The nodes, with indices of `streams`.
    pub nodes: Vec<Node>,
    /// The stage of each sample number; empty unless the times of stages are requested.
    pub stages: Vec<usize>,
}

impl PaperLoad {
    /// What the nodes do in a stage, for times and limits: it leaves out the busy times of storage,
    /// and so the energy. Copies of a trace are not shifted.
    pub fn in_stage(&self, window: &StageWindow) -> Self {
        let of_stream = |samples: &Vec<PaperSample>| {
            window.of_items(samples, 0).map(|(sample, share)| sample.scaled(share)).collect()
        };
        Self {
            streams: self.streams.iter().map(of_stream).collect(),
            nodes: self.nodes.iter().map(|node| Node { shift: 0, ..*node }).collect(),
            stages: Vec::new(),
        }
    }

    /// The streams that a node runs, with the number of such nodes.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&[PaperSample], f64)> {
        let mut counts = vec![0.0; self.streams.len()];
        for node in &self.nodes {
            counts[node.stream] += 1.0;
        }
        let runs = self.streams.iter().map(Vec::as_slice).zip(counts);
        runs.filter(|(_, count)| *count > 0.0)
    }
}
