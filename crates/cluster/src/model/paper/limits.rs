//! The limiting parts of a design by the `paper` model, from ranges between breakpoints.
//!
//! Model: a part limits a sample if it takes at least [`LIMITING`] of the sample's time. As the
//! processors slow down, a sample passes through at most five ranges: storage and network limit
//! alone, then together with the processors, then leave one at a time. Each range adds the
//! sample's time to one combination of parts.
//!
//! A part within rounding of the threshold may count or not, as in the plain loop.

use super::curve::{Curve, CurveBuilder};
use super::load::{PaperLoad, PaperSample};
use crate::model::line::Line;
use crate::model::paper::simulate::LIMITING;

/// The combinations of parts, as [`simulate`](crate::model::paper::simulate::simulate) names them.
pub const PAPER_LIMITS: [&str; 7] = [
    "cpu",
    "storage",
    "cpu+storage",
    "network",
    "cpu+network",
    "storage+network",
    "cpu+storage+network",
];

/// Bits of the number of a combination, which is one more than its index.
const CPU: usize = 1;
const STORAGE: usize = 2;
const NETWORK: usize = 4;

/// Limiting parts of the designs of a load, whatever their number of processors.
#[derive(Clone, Debug)]
pub struct PaperLimits(Curve<{ PAPER_LIMITS.len() }>);

impl PaperLimits {
    /// Prepares the designs of `load`.
    pub fn new(load: &PaperLoad) -> Self {
        let samples: usize = load.runs().map(|(samples, _)| samples.len()).sum();
        let mut curve = CurveBuilder::new(5 * samples);
        for (samples, count) in load.runs() {
            for sample in samples {
                add(&mut curve, count, sample);
            }
        }
        Self(curve.build())
    }

    /// Share of the nodes' execution time by [`PAPER_LIMITS`], for a node that needs `x` seconds an
    /// instruction. The sum is one, or zero if the job takes no time.
    pub(super) fn shares(&self, x: f64) -> [f64; PAPER_LIMITS.len()] {
        let secs = self.0.at(x);
        let spent: f64 = secs.iter().sum();
        if spent > 0.0 { secs.map(|secs| secs / spent) } else { secs }
    }
}

fn add(curve: &mut CurveBuilder<{ PAPER_LIMITS.len() }>, count: f64, sample: &PaperSample) {
    let bounds = sample.bounds();
    let others = [(sample.storage, STORAGE), (sample.network, NETWORK)];
    let floor = Line::constant(bounds.floor) * count;
    let line = bounds.line() * count;
    let limiting: usize = others
        .into_iter()
        .filter(|(secs, _)| *secs >= bounds.floor * LIMITING)
        .map(|(_, part)| part)
        .sum();
    if bounds.slope <= 0.0 {
        curve.piece(limiting - 1, 0.0, f64::INFINITY, floor);
        return;
    }
    let joins = bounds.floor * LIMITING / bounds.slope;
    let leads = bounds.floor / bounds.slope;
    curve.piece(limiting - 1, 0.0, joins, floor);
    curve.piece((limiting | CPU) - 1, joins, leads, floor);
    // x up to which each part still limits.
    let leaves = others.map(|(secs, part)| (secs / (bounds.slope * LIMITING), part));
    let mut from = leads;
    let mut ends = [leaves[0].0, leaves[1].0, f64::INFINITY];
    ends.sort_unstable_by(f64::total_cmp);
    for to in ends {
        let still: usize = leaves.iter().filter(|(end, _)| *end > from).map(|(_, part)| part).sum();
        curve.piece((still | CPU) - 1, from, to, line);
        from = from.max(to);
    }
}
