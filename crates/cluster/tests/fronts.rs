//! Pareto fronts against their definition, on random designs with ties.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, missing_docs)]

use gordon_cluster::survey::{RunningFront, front};
use gordon_units::SplitMix64;

/// More designs than a running front holds before it drops some.
const COUNT: usize = 40_000;

/// Columns of whole numbers below `limit`, some of them unknown or infinite.
fn columns(random: &mut SplitMix64, objectives: usize, count: usize, limit: u64) -> Vec<Vec<f64>> {
    let value = |random: &mut SplitMix64| match random.below(50) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -0.0,
        _ => random.below(limit) as f64,
    };
    (0..objectives).map(|_| (0..count).map(|_| value(random)).collect()).collect()
}

fn defined(columns: &[Vec<f64>]) -> Vec<bool> {
    let count = columns[0].len();
    let known = |at: usize| columns.iter().all(|column| !column[at].is_nan());
    let beats = |a: usize, b: usize| {
        columns.iter().all(|column| column[a] <= column[b])
            && columns.iter().any(|column| column[a] < column[b])
    };
    (0..count)
        .map(|at| known(at) && !(0..count).any(|other| known(other) && beats(other, at)))
        .collect()
}

fn fast(columns: &[Vec<f64>]) -> Vec<bool> {
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    front(&columns)
}

#[test]
fn fronts_equal_their_definition() {
    for seed in 0..2000 {
        let random = &mut SplitMix64(seed);
        let objectives = 1 + random.below(4) as usize;
        let count = random.below(80) as usize;
        let limit = 1 + random.below(20);
        let columns = columns(random, objectives, count, limit);
        assert_eq!(fast(&columns), defined(&columns), "seed {seed}: {columns:?}");
    }
}

#[test]
fn a_running_front_is_the_front_of_all_its_designs() {
    for seed in 0..10 {
        let random = &mut SplitMix64(seed);
        let objectives = 1 + random.below(3) as usize;
        let columns = columns(random, objectives, COUNT, 1_000_000);
        let mut running = [RunningFront::new(objectives), RunningFront::new(objectives)];
        for at in 0..COUNT {
            let values: Vec<f64> = columns.iter().map(|column| column[at]).collect();
            running[at % 2].add(at as u64, &values);
        }
        let [mut whole, other] = running;
        whole.append(&other);
        let (mut ids, values) = whole.finish();
        for (column, all) in values.iter().zip(&columns) {
            assert!(column.iter().zip(&ids).all(|(value, id)| *value == all[*id as usize]));
        }
        ids.sort_unstable();
        let on = fast(&columns);
        let expected: Vec<u64> = (0..COUNT).filter(|at| on[*at]).map(|at| at as u64).collect();
        assert_eq!(ids, expected, "seed {seed}");
    }
}

#[test]
fn no_designs_have_no_front() {
    assert!(front(&[]).is_empty());
    assert!(front(&[&[], &[]]).is_empty());
    assert!(RunningFront::new(2).finish().0.is_empty());
}
