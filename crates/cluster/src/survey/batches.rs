//! Evaluation on all cores with results in order, so that they do not depend on the number of
//! cores.

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
