//! Pareto fronts: the designs that no other beats. The least of each objective is best.
//!
//! A design is off the front if another is no worse in every objective and better in one. Equal
//! designs are on it together. A design with an unknown objective (NaN) is not compared: it is off
//! the front and beats no other.
//!
//! In lexicographic order only an earlier design can beat a later one. A sweep in this order needs
//! the least last objective so far for two objectives, and that among the designs with no greater
//! second objective for three (a Fenwick tree of minima): O(n log n). For more objectives it
//! compares with the front so far: O(n x front).

use std::cmp::Ordering;

/// Which designs are on the front; `objectives` holds a column of equal length of each objective.
pub fn front(objectives: &[&[f64]]) -> Vec<bool> {
    let count = objectives.first().map_or(0, |column| column.len());
    let mut on = vec![false; count];
    for at in indices(objectives) {
        on[at] = true;
    }
    on
}

/// Indices of the designs on the front, in lexicographic order of their objectives.
fn indices(objectives: &[&[f64]]) -> Vec<usize> {
    let Some(first) = objectives.first() else {
        return Vec::new();
    };
    let known = |at: &usize| objectives.iter().all(|column| !column[*at].is_nan());
    let mut order: Vec<usize> = (0..first.len()).filter(known).collect();
    order.sort_unstable_by(|a, b| compare(objectives, *a, *b));
    let mut swept = Swept::new(objectives, &order);
    let mut found = Vec::new();
    let mut last: Option<(usize, bool)> = None;
    for at in order {
        let equal = last.filter(|(other, _)| compare(objectives, *other, at).is_eq());
        let on = equal.map_or_else(|| swept.add(at), |(_, on)| on);
        last = Some((at, on));
        if on {
            found.push(at);
        }
    }
    found
}

fn compare(objectives: &[&[f64]], a: usize, b: usize) -> Ordering {
    let by = |column: &&[f64]| column[a].partial_cmp(&column[b]).unwrap_or(Ordering::Equal);
    objectives.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The designs of a sweep so far.
enum Swept<'a> {
    /// One objective: whether there was a design.
    One(bool),
    /// Two objectives: the second, and its least value.
    Two(&'a [f64], Option<f64>),
    /// Three: by design, the rank of its second objective and its third objective; and by rank, the
    /// least third objective of the designs so far.
    Three(Vec<u32>, &'a [f64], Minima),
    /// More: the objectives, and the front.
    More(&'a [&'a [f64]], Vec<usize>),
}

impl<'a> Swept<'a> {
    fn new(objectives: &'a [&'a [f64]], order: &[usize]) -> Self {
        match objectives {
            [_] => Self::One(false),
            [_, second] => Self::Two(second, None),
            [_, second, third] => {
                let (ranks, count) = ranks(second, order);
                Self::Three(ranks, third, Minima(vec![f64::NAN; count + 1]))
            }
            _ => Self::More(objectives, Vec::new()),
        }
    }

    /// Adds the design `at`, which differs from all earlier ones, unless one of them beats it.
    /// Returns whether it is on the front.
    fn add(&mut self, at: usize) -> bool {
        match self {
            Self::One(any) => !std::mem::replace(any, true),
            Self::Two(second, least) => {
                let on = least.is_none_or(|least| second[at] < least);
                if on {
                    *least = Some(second[at]);
                }
                on
            }
            Self::Three(ranks, third, minima) => {
                let rank = ranks[at] as usize;
                let least = minima.up_to(rank);
                let on = least.is_nan() || third[at] < least;
                if on {
                    minima.add(rank, third[at]);
                }
                on
            }
            Self::More(objectives, front) => {
                let no_worse = |other: &usize| objectives.iter().all(|c| c[*other] <= c[at]);
                let on = !front.iter().any(no_worse);
                if on {
                    front.push(at);
                }
                on
            }
        }
    }
}

/// The rank of each value of `order` among the distinct values, from 0, and their number. Values
/// outside `order` have rank 0.
fn ranks(values: &[f64], order: &[usize]) -> (Vec<u32>, usize) {
    let mut sorted = order.to_vec();
    sorted.sort_unstable_by(|a, b| compare(&[values], *a, *b));
    let mut ranks = vec![0; values.len()];
    let mut rank = 0;
    for same in sorted.chunk_by(|a, b| compare(&[values], *a, *b).is_eq()) {
        for at in same {
            ranks[*at] = rank;
        }
        rank += 1;
    }
    (ranks, rank as usize)
}

/// A Fenwick tree of minima. Ranks start at 0, the tree at 1. NaN stands for no value.
struct Minima(Vec<f64>);

impl Minima {
    fn add(&mut self, rank: usize, value: f64) {
        let mut at = rank + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].min(value);
            at += at & at.wrapping_neg();
        }
    }

    /// The least value of the ranks up to `rank`.
    fn up_to(&self, rank: usize) -> f64 {
        let mut least = f64::NAN;
        let mut at = rank + 1;
        while at > 0 {
            least = least.min(self.0[at]);
            at &= at - 1;
        }
        least
    }
}

/// Number of designs that a running front holds before it drops those that are beaten.
const LEAST_KEPT: usize = 1 << 14;

/// The front of designs that are not stored. It holds little more than twice the front.
#[derive(Clone, Debug)]
pub struct RunningFront {
    ids: Vec<u64>,
    objectives: Vec<Vec<f64>>,
    most_kept: usize,
}

impl RunningFront {
    /// An empty front of `objectives` objectives.
    pub fn new(objectives: usize) -> Self {
        Self { ids: Vec::new(), objectives: vec![Vec::new(); objectives], most_kept: LEAST_KEPT }
    }

    /// Adds the design `id`, with a value of each objective.
    pub fn add(&mut self, id: u64, values: &[f64]) {
        debug_assert_eq!(values.len(), self.objectives.len());
        self.ids.push(id);
        for (column, value) in self.objectives.iter_mut().zip(values) {
            column.push(*value);
        }
        if self.ids.len() >= self.most_kept {
            self.reduce();
        }
    }

    /// Adds the designs of another front.
    pub fn append(&mut self, more: &Self) {
        self.ids.extend_from_slice(&more.ids);
        for (column, more) in self.objectives.iter_mut().zip(&more.objectives) {
            column.extend_from_slice(more);
        }
        if self.ids.len() >= self.most_kept {
            self.reduce();
        }
    }

    /// Drops the designs that are beaten.
    pub fn reduce(&mut self) {
        let columns: Vec<&[f64]> = self.objectives.iter().map(Vec::as_slice).collect();
        let kept = indices(&columns);
        self.ids = kept.iter().map(|at| self.ids[*at]).collect();
        for column in &mut self.objectives {
            *column = kept.iter().map(|at| column[*at]).collect();
        }
        self.most_kept = LEAST_KEPT.max(2 * kept.len());
    }

    /// The designs on the front and a column of each objective, in lexicographic order of the
    /// objectives; equal designs are in the order of their ids.
    pub fn finish(mut self) -> (Vec<u64>, Vec<Vec<f64>>) {
        self.reduce();
        for same in equal_runs(&self.objectives, self.ids.len()) {
            self.ids[same].sort_unstable();
        }
        (self.ids, self.objectives)
    }
}

/// Ranges of equal designs.
fn equal_runs(objectives: &[Vec<f64>], count: usize) -> Vec<std::ops::Range<usize>> {
    let differs = |at: &usize| objectives.iter().any(|column| column[*at] != column[*at - 1]);
    let mut starts = vec![0];
    starts.extend((1..count).filter(differs));
    starts.push(count);
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}
