//! Chooses the designs that a report shows: the Pareto front and the designs with a name.
//!
//! Designs have numbers, in the order of the space, and are not stored: a choice holds the front so
//! far and the best design for each name. Ties go to the lower number.

use crate::designs::{RunningFront, in_batches};
use crate::error::ClusterError;
use gordon_units::Progress;
use rayon::prelude::*;
use std::ops::Range;

/// Number of designs of a chunk.
const CHUNK: usize = 1 << 14;

/// What an ordering by name compares: the first value, then the others where that is equal.
pub(crate) type Key = [f64; 3];

/// The designs of a group, or some of those of a large one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub group: usize,
    /// Positions in the group.
    pub members: Range<usize>,
}

/// The chunks of groups with these numbers of designs.
pub(crate) fn chunks(sizes: impl IntoIterator<Item = usize>) -> Vec<Chunk> {
    let of_group = |(group, size): (usize, usize)| {
        (0..size)
            .step_by(CHUNK)
            .map(move |start| Chunk { group, members: start..(start + CHUNK).min(size) })
    };
    sizes.into_iter().enumerate().flat_map(of_group).collect()
}

/// The front and the best designs so far, with `NAMES` names.
#[derive(Clone, Debug)]
pub(crate) struct Choice<const NAMES: usize> {
    front: RunningFront,
    best: [Option<(Key, u64)>; NAMES],
}

impl<const NAMES: usize> Choice<NAMES> {
    /// No design; the front has `objectives` objectives.
    pub fn new(objectives: usize) -> Self {
        Self { front: RunningFront::new(objectives), best: [None; NAMES] }
    }

    /// Compares a design with the front.
    pub fn compare(&mut self, number: u64, objectives: &[f64]) {
        self.front.add(number, objectives);
    }

    /// Compares a design with the best of the name; the least key is best.
    pub fn propose(&mut self, name: usize, number: u64, key: Key) {
        let best = &mut self.best[name];
        if best.is_none_or(|(known, other)| is_before((&key, number), (&known, other))) {
            *best = Some((key, number));
        }
    }

    fn append(&mut self, more: &Self) {
        self.front.append(&more.front);
        for (name, best) in more.best.iter().enumerate() {
            if let Some((key, number)) = *best {
                self.propose(name, number, key);
            }
        }
    }

    /// The designs on the front, in the order of their objectives, and those with a name.
    pub fn finish(self) -> (Vec<u64>, [Option<u64>; NAMES]) {
        (self.front.finish().0, self.best.map(|best| best.map(|(_, number)| number)))
    }
}

fn is_before(a: (&Key, u64), b: (&Key, u64)) -> bool {
    let by_key = a.0.iter().zip(b.0).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    by_key.unwrap_or(a.1.cmp(&b.1)).is_lt()
}

/// Evaluates chunks on all cores, each into a choice of its own, and puts the choices together.
///
/// # Errors
/// Returns an error if a stop is requested.
pub(crate) fn choose<const NAMES: usize>(
    chunks: &[Chunk],
    objectives: usize,
    progress: &Progress,
    evaluate: impl Fn(&Chunk, &mut Choice<NAMES>) + Sync,
) -> Result<Choice<NAMES>, ClusterError> {
    let mut whole = Choice::new(objectives);
    let of_chunk = |at: usize| {
        let mut choice = Choice::new(objectives);
        if !progress.stopped() {
            evaluate(&chunks[at], &mut choice);
        }
        choice
    };
    in_batches(chunks.len(), of_chunk, |choice| whole.append(&choice));
    progress.check()?;
    Ok(whole)
}

/// Evaluates the designs of each group together, the groups on all cores. The results are in the
/// order of the designs.
pub(crate) fn in_groups<Design: Copy + Sync, Group: Ord, Result: Send>(
    designs: &[Design],
    group: impl Fn(&Design) -> Group,
    evaluate: impl Fn(&[Design]) -> Vec<Result> + Sync,
) -> Vec<Result> {
    let mut order: Vec<usize> = (0..designs.len()).collect();
    order.sort_by_key(|at| group(&designs[*at]));
    let groups: Vec<&[usize]> =
        order.chunk_by(|a, b| group(&designs[*a]) == group(&designs[*b])).collect();
    let of_group = |same: &[usize]| {
        let members: Vec<Design> = same.iter().map(|at| designs[*at]).collect();
        same.iter().copied().zip(evaluate(&members)).collect::<Vec<_>>()
    };
    let mut results: Vec<(usize, Result)> =
        groups.into_par_iter().flat_map_iter(of_group).collect();
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The numbers to report, ascending: `shown`, and the first `others` until there are `rows` numbers.
pub(crate) fn reported(
    mut shown: Vec<u64>,
    rows: usize,
    others: impl Iterator<Item = u64>,
) -> Vec<u64> {
    shown.sort_unstable();
    shown.dedup();
    let free = rows.saturating_sub(shown.len());
    let more: Vec<u64> =
        others.filter(|number| shown.binary_search(number).is_err()).take(free).collect();
    shown.extend(more);
    shown.sort_unstable();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_number() {
        let mut choice = Choice::<1>::new(1);
        for number in [5, 3, 4] {
            choice.propose(0, number, [1.0, 2.0, 3.0]);
        }
        choice.propose(0, 1, [1.0, 2.0, 3.5]);
        assert_eq!(choice.finish().1, [Some(3)]);
    }

    #[test]
    fn large_groups_are_split() {
        let found = chunks([2, 0, CHUNK + 1]);
        let members: Vec<_> = found.iter().map(|c| (c.group, c.members.clone())).collect();
        assert_eq!(members, [(0, 0..2), (2, 0..CHUNK), (2, CHUNK..CHUNK + 1)]);
    }

    #[test]
    fn results_of_groups_are_in_the_order_of_the_designs() {
        let found = in_groups(
            &[31, 12, 33, 11],
            |n| n / 10,
            |same| same.iter().map(|n| (*n, same.len())).collect(),
        );
        assert_eq!(found, [(31, 2), (12, 2), (33, 2), (11, 2)]);
    }

    #[test]
    fn shown_designs_are_reported_whatever_the_number_of_rows() {
        assert_eq!(reported(vec![7, 2, 7], 0, 0..9), [2, 7]);
        assert_eq!(reported(vec![7, 2], 4, 0..9), [0, 1, 2, 7]);
    }
}
