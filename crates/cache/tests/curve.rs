//! Comparison of curves with LRU caches, and of sampled curves with exact ones.

use gordon_cache::{Curve, HitCounts, NEVER, NextAccessBuilder, PolicyKind, Request, Sample};
use gordon_units::Bytes;
use proptest::prelude::*;

fn requests(drawn: &[(u64, u64)]) -> Vec<Request> {
    let one = |&(key, size): &(u64, u64)| Request { key, next: NEVER, size, asked: size };
    drawn.iter().map(one).collect()
}

fn lru(capacity: u64, requests: &[Request]) -> (u64, u64) {
    let (mut cache, mut tally) = (PolicyKind::Lru.make(Bytes(capacity)), HitCounts::default());
    cache.serve(requests, &mut tally);
    (tally.requests - tally.hits, tally.bytes - tally.hit_bytes)
}

fn curve(sample: Sample, capacities: Vec<u64>, requests: &[Request]) -> Curve {
    let mut curve = Curve::new(sample, capacities);
    requests.chunks(7).for_each(|some| curve.record(some));
    curve
}

/// Generates requests. A key is the product of two uniform draws, so that small keys are frequent.
fn skewed(count: usize) -> Vec<Request> {
    let mut state = 1_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 48
    };
    let keys: Vec<(u64, u64)> = (0..count).map(|_| ((draw() * draw()) >> 16, 4096)).collect();
    requests(&keys)
}

proptest! {
    #[test]
    fn an_exact_curve_equals_lru_for_objects_of_one_size(
        size in 1_u64..5000,
        keys in proptest::collection::vec(0_u64..120, 1..600),
        spare in 0_u64..3,
    ) {
        let requests = requests(&keys.iter().map(|key| (*key, size)).collect::<Vec<_>>());
        let capacities: Vec<u64> = (1..130).step_by(3).map(|n| n * size + spare).collect();
        let curve = curve(Sample::All, capacities, &requests);
        prop_assert!(curve.has_one_size());
        for point in curve.points() {
            let (misses, bytes) = lru(point.capacity, &requests);
            prop_assert_eq!((point.misses, point.miss_bytes), (misses as f64, bytes as f64));
        }
    }

    #[test]
    fn lru_misses_at_least_as_often_as_the_curve_for_objects_of_several_sizes(
        drawn in proptest::collection::vec(0_u64..60, 1..400),
    ) {
        // The size of an object is a function of its key, so it does not change.
        let drawn: Vec<(u64, u64)> = drawn.iter().map(|k| (*k, 1 + k * 7 % 20)).collect();
        let requests = requests(&drawn);
        // Caches that hold at least the largest object.
        let capacities = (20..700).step_by(13).collect();
        for point in curve(Sample::All, capacities, &requests).points() {
            prop_assert!(lru(point.capacity, &requests).0 as f64 >= point.misses);
        }
    }

    #[test]
    fn stack_distances_equal_those_of_a_plain_list(
        drawn in proptest::collection::vec((0_u64..50, 1_u64..30), 1..500),
    ) {
        let requests = requests(&drawn);
        let capacities: Vec<u64> = (1..900).collect();
        let mut list: Vec<(u64, u64)> = Vec::new();
        let mut hits = vec![0_u64; capacities.len()];
        for request in &requests {
            if let Some(at) = list.iter().position(|held| held.0 == request.key) {
                let needed: u64 = list[at..].iter().map(|held| held.1).sum();
                list.remove(at);
                capacities.iter().zip(&mut hits).for_each(|(c, h)| *h += u64::from(*c >= needed));
            }
            list.push((request.key, request.size));
        }
        let curve = curve(Sample::All, capacities, &requests);
        prop_assert_eq!(curve.footprint(), list.iter().map(|held| held.1).sum::<u64>() as f64);
        for (point, hits) in curve.points().iter().zip(hits) {
            prop_assert_eq!(point.misses, (requests.len() as u64 - hits) as f64);
        }
    }

    #[test]
    fn next_access_times_equal_those_of_a_search(
        keys in proptest::collection::vec(0_u64..50, 0..400),
    ) {
        let mut builder = NextAccessBuilder::default();
        keys.iter().for_each(|key| assert!(builder.record(*key)));
        let next_access = builder.finish();
        for (at, key) in keys.iter().enumerate() {
            let next = keys[at + 1..].iter().position(|other| other == key);
            let next = next.map_or(NEVER, |further| (at + 1 + further) as u64);
            prop_assert_eq!(next_access.after(at as u64), next);
        }
        prop_assert_eq!(next_access.after(keys.len() as u64), NEVER);
    }
}

#[test]
fn sampled_curves_are_close_and_take_less_memory() {
    let requests = skewed(400_000);
    let capacities: Vec<u64> = (1..=12).map(|n| n * 4096 * 4000).collect();
    let whole = curve(Sample::All, capacities.clone(), &requests);
    let all = requests.len() as f64;
    for sample in [Sample::Rate(0.1), Sample::Objects(4000)] {
        let sampled = curve(sample, capacities.clone(), &requests);
        let pairs = whole.points().into_iter().zip(sampled.points());
        let off = pairs.map(|(whole, part)| (whole.misses - part.misses).abs() / all);
        let off: Vec<f64> = off.collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        assert!(mean < 0.03, "{sample:?}: {off:?}");
        assert!(mean > 0.0, "{sample:?}");
        assert!(sampled.memory() * 5 < whole.memory(), "{sample:?}");
        let footprint = sampled.footprint() / whole.footprint();
        assert!((footprint - 1.0).abs() < 0.05, "{sample:?}: {footprint}");
    }
    let few = curve(Sample::Objects(4000), capacities.clone(), &requests);
    assert_eq!(few.objects(), 4000);
    // Samples that follow all objects are exact.
    for sample in [Sample::Objects(1 << 20), Sample::Rate(1.0)] {
        assert_eq!(curve(sample, capacities.clone(), &requests).points(), whole.points());
    }
}

#[test]
fn memory_depends_on_objects_and_not_on_requests() {
    let keys: Vec<(u64, u64)> = (0..1_000_000_u64).map(|i| (i % 1000, 4096)).collect();
    let curve = curve(Sample::All, vec![1000 * 4096], &requests(&keys));
    assert!(curve.memory() < 100 * 1000, "{}", curve.memory());
    assert_eq!(curve.points()[0].misses, 1000.0);
}
