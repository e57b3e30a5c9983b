//! Answers very many designs quickly, by both models.
//!
//! Designs that differ only in the speed, power and price of their processors form a group. Within
//! a group, the time of a sample is the longest of a constant and of lines in one variable: the
//! reciprocal of the speed. For the `paper` model a group sums its samples once, between sorted
//! breakpoints (`curve`), and answers each design with binary searches;
//! [`simulate`](crate::simulate::simulate) is the plain loop, with which the results agree within
//! 1e-12. For the `job` model, whose groups are small, a group evaluates the lines of a sample for
//! all of its designs. docs/design/cluster.md has the formulation.
//!
//! | model | what the groups of a storage and a network share | group | design |
//! |---|---|---|---|
//! | `paper` | [`PaperLoad`], [`PaperLimits`] | [`PaperGroup`] | [`PaperDesign`] |
//! | `job` | [`JobLoad`] | [`JobGroup`] | [`JobDesign`] |
//!
//! Results are columns ([`PaperColumns`], [`JobColumns`]). [`front`] marks the designs of a Pareto
//! front; [`RunningFront`] keeps that of designs which are not stored. [`in_batches`] evaluates
//! groups on all cores.
//!
//! Left out: replays, names of designs, and wear.

mod curve;
mod front;
mod job;
mod job_load;
mod paper;
mod paper_limits;
mod paper_load;

pub use front::{RunningFront, front};
pub use job::{JOB_LIMITS, JobColumns, JobDesign, JobGroup, Rate};
pub use job_load::{JobLoad, JobNode, JobStretches};
pub use paper::{PaperColumns, PaperDesign, PaperGroup};
pub use paper_limits::{PAPER_LIMITS, PaperLimits};
pub use paper_load::{PaperLoad, PaperSample};

use rayon::prelude::*;

/// Number of evaluations that may wait to be taken.
const BATCH: usize = 64;

/// Calls `evaluate` with the numbers 0 to `count` - 1 on all cores, and `take` with the results in
/// their order. Few results are in memory at the same time. A number stands for a group, or for
/// some designs of a large one.
pub fn in_batches<T: Send>(
    count: usize,
    evaluate: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T),
) {
    for start in (0..count).step_by(BATCH) {
        let batch = start..(start + BATCH).min(count);
        let results: Vec<T> = batch.into_par_iter().map(&evaluate).collect();
        results.into_iter().for_each(&mut take);
    }
}
