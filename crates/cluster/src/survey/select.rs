//! Chooses the designs that a report shows: Pareto fronts and the designs with a name.
//!
//! Designs have numbers, in the order of the space, and are not stored: a choice holds the fronts
//! so far and the best design for each name. Ties go to the lower number.

use crate::error::ClusterError;
use crate::survey::RunningFront;
use crate::survey::batches::in_batches;
use gordon_units::Progress;
use rayon::prelude::*;
use std::ops::Range;

/// Number of designs of a chunk, at most.
const CHUNK: usize = 1 << 12;
/// Number of chunks that keep all cores busy, whatever the number of cores: results do not depend
/// on it.
const CHUNKS: usize = 64;

/// What an ordering by name compares: the first value, then the others where that is equal.
pub type Key = [f64; 3];

/// Designs that are evaluated together: those of a group, or some of a large one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Index of the group.
    pub group: usize,
    /// Positions in the group.
    pub members: Range<usize>,
}

/// Number of designs of a chunk, of `designs` in all.
fn chunk_size(designs: usize) -> usize {
    designs.div_ceil(CHUNKS).clamp(1, CHUNK)
}

/// The chunks of groups with these numbers of designs.
pub(crate) fn chunks(sizes: impl Iterator<Item = usize> + Clone) -> Vec<Chunk> {
    let most = chunk_size(sizes.clone().sum());
    let of_group = |(group, size): (usize, usize)| {
        (0..size)
            .step_by(most)
            .map(move |start| Chunk { group, members: start..(start + most).min(size) })
    };
    sizes.enumerate().flat_map(of_group).collect()
}

/// The fronts and the best designs so far.
#[derive(Clone, Debug)]
pub struct Choice {
    fronts: Vec<RunningFront>,
    /// By name.
    best: Vec<Option<(Key, u64)>>,
}

/// The designs on a front, in the order of their objectives.
pub struct Front {
    /// Their numbers.
    pub numbers: Vec<u64>,
    /// A column of each objective.
    pub objectives: Vec<Vec<f64>>,
}

/// The designs that were chosen, by number.
pub struct Chosen {
    /// The fronts, in the order of [`Model::objectives`](super::Model::objectives).
    pub fronts: Vec<Front>,
    /// The best design of each name, with its key.
    pub best: Vec<Option<(Key, u64)>>,
}

/// The designs that were chosen, by their ids.
pub(crate) struct ChosenIds {
    /// The front that is reported, in the order of its objectives.
    pub front: Vec<String>,
    /// The best design of each name, if any.
    pub named: Vec<(&'static str, Option<String>)>,
}

impl Chosen {
    /// The front that is reported.
    pub fn front(&self) -> &[u64] {
        &self.fronts[0].numbers
    }

    /// The ids of the front that is reported, and of the best design of each of `names`.
    pub(crate) fn ids(&self, names: &[&'static str], id: impl Fn(u64) -> String) -> ChosenIds {
        let best = self.best.iter().map(|best| best.map(|(_, number)| id(number)));
        ChosenIds {
            front: self.front().iter().copied().map(&id).collect(),
            named: names.iter().copied().zip(best).collect(),
        }
    }

    /// The designs with a name, in the order of the names.
    pub fn named(&self) -> impl Iterator<Item = u64> {
        self.best.iter().flatten().map(|(_, number)| *number)
    }
}

impl Choice {
    /// No design; each front has its number of objectives.
    fn new(objectives: &[usize], names: usize) -> Self {
        let fronts = objectives.iter().map(|count| RunningFront::new(*count)).collect();
        Self { fronts, best: vec![None; names] }
    }

    /// Compares a design with a front.
    pub fn compare(&mut self, front: usize, number: u64, objectives: &[f64]) {
        self.fronts[front].add(number, objectives);
    }

    /// Compares a design with the best of the name; the least key is best.
    pub fn propose(&mut self, name: usize, number: u64, key: Key) {
        let best = &mut self.best[name];
        if best.is_none_or(|(known, other)| is_before((&key, number), (&known, other))) {
            *best = Some((key, number));
        }
    }

    fn append(&mut self, more: &Self) {
        for (front, more) in self.fronts.iter_mut().zip(&more.fronts) {
            front.append(more);
        }
        for (name, best) in more.best.iter().enumerate() {
            if let Some((key, number)) = *best {
                self.propose(name, number, key);
            }
        }
    }

    /// What was chosen.
    fn finish(self) -> Chosen {
        let front = |front: RunningFront| {
            let (numbers, objectives) = front.finish();
            Front { numbers, objectives }
        };
        Chosen { fronts: self.fronts.into_iter().map(front).collect(), best: self.best }
    }
}

fn is_before(a: (&Key, u64), b: (&Key, u64)) -> bool {
    let by_key = a.0.iter().zip(b.0).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    by_key.unwrap_or(a.1.cmp(&b.1)).is_lt()
}

/// Evaluates chunks on all cores, each into a choice of its own, and puts the choices together.
/// Each design is a step of `progress`.
///
/// # Errors
/// Returns an error if a stop is requested.
pub(crate) fn choose(
    chunks: &[Chunk],
    objectives: &[usize],
    names: usize,
    progress: &Progress,
    evaluate: impl Fn(&Chunk, &mut Choice) + Sync,
) -> Result<Chosen, ClusterError> {
    let mut whole = Choice::new(objectives, names);
    progress.begin(chunks.iter().map(|chunk| chunk.members.len() as u64).sum());
    let of_chunk = |at: usize| {
        let mut choice = Choice::new(objectives, names);
        if !progress.stopped() {
            evaluate(&chunks[at], &mut choice);
            progress.step(chunks[at].members.len() as u64);
        }
        choice
    };
    in_batches(chunks.len(), of_chunk, |choice| whole.append(&choice));
    progress.check()?;
    Ok(whole.finish())
}

/// Chooses among designs that are all known; `compare` adds a design, by its number, to a choice.
/// `objectives` is the number of objectives of each front.
pub(crate) fn choose_among<Design>(
    designs: &[Design],
    objectives: &[usize],
    names: &[&'static str],
    id: impl Fn(&Design) -> String,
    compare: impl Fn(&mut Choice, u64, &Design),
) -> ChosenIds {
    let mut choice = Choice::new(objectives, names.len());
    for (number, design) in (0..).zip(designs) {
        compare(&mut choice, number, design);
    }
    let of = |number: u64| id(&designs[usize::try_from(number).expect("an index of a design")]);
    choice.finish().ids(names, of)
}

/// Evaluates designs in the order of a key, some at once on all cores. The results are in the order
/// of the designs.
pub(crate) fn in_order<Design: Copy + Sync, Key: Ord, Result: Send>(
    designs: &[Design],
    key: impl Fn(&Design) -> Key,
    evaluate: impl Fn(&[Design]) -> Vec<Result> + Sync,
) -> Vec<Result> {
    let mut order: Vec<usize> = (0..designs.len()).collect();
    order.sort_by_key(|at| key(&designs[*at]));
    let of_some = |some: &[usize]| {
        let members: Vec<Design> = some.iter().map(|at| designs[*at]).collect();
        some.iter().copied().zip(evaluate(&members)).collect::<Vec<_>>()
    };
    let mut results: Vec<(usize, Result)> =
        order.par_chunks(chunk_size(designs.len())).flat_map_iter(of_some).collect();
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The numbers to report, ascending: `shown`, and the first `others` until there are `rows`
/// numbers.
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
        let mut choice = Choice::new(&[], 1);
        for number in [5, 3, 4] {
            choice.propose(0, number, [1.0, 2.0, 3.0]);
        }
        choice.propose(0, 1, [1.0, 2.0, 3.5]);
        assert_eq!(choice.finish().best, [Some(([1.0, 2.0, 3.0], 3))]);
    }

    #[test]
    fn large_groups_are_split() {
        let most = |size: usize| chunks([size].into_iter()).iter().map(|c| c.members.len()).max();
        assert_eq!([1, 64, 65, 1 << 20].map(most), [1, 1, 2, CHUNK].map(Some));
        let found = chunks([2 * CHUNKS, 0, 3].into_iter());
        assert_eq!(found.iter().map(|chunk| chunk.members.len()).sum::<usize>(), 2 * CHUNKS + 3);
        assert_eq!(found.last(), Some(&Chunk { group: 2, members: 0..3 }));
    }

    #[test]
    fn results_in_the_order_of_a_key_are_in_the_order_of_the_designs() {
        let designs: Vec<u32> = (0..1000).rev().collect();
        let found = in_order(&designs, |n| n % 10, <[u32]>::to_vec);
        assert_eq!(found, designs);
    }

    #[test]
    fn shown_designs_are_reported_whatever_the_number_of_rows() {
        assert_eq!(reported(vec![7, 2, 7], 0, 0..9), [2, 7]);
        assert_eq!(reported(vec![7, 2], 4, 0..9), [0, 1, 2, 7]);
    }
}
