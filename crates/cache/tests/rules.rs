//! The characteristic rule of each policy in short sequences, memory, and extreme sizes.

use gordon_cache::{Access, HitCounts, NEVER, Policy, PolicyKind, Request};
use gordon_units::Bytes;

fn ask(cache: &mut dyn Policy, key: u64, size: u64) -> bool {
    cache.access(&Request { key, next: NEVER, size, asked: size }) == Access::Hit
}

/// The objects in a cache of `capacity` bytes after requests for objects of one byte.
fn left(kind: PolicyKind, capacity: u64, keys: &[u64]) -> Vec<u64> {
    let mut cache = kind.make(Bytes(capacity));
    for key in keys {
        ask(&mut *cache, *key, 1);
    }
    let mut held = Vec::new();
    cache.residents(&mut |key, _| held.push(key));
    held.sort_unstable();
    held
}

#[test]
fn fifo_ignores_hits() {
    assert_eq!(left(PolicyKind::Fifo, 3, &[1, 2, 3, 1, 1, 4]), [2, 3, 4]);
}

#[test]
fn lru_keeps_the_most_recently_requested_objects() {
    assert_eq!(left(PolicyKind::Lru, 3, &[1, 2, 3, 1, 4]), [1, 3, 4]);
}

#[test]
fn clock_reinserts_a_hit_object_at_the_new_end() {
    assert_eq!(left(PolicyKind::Clock, 3, &[1, 2, 3, 1, 4]), [1, 3, 4]);
    // 1 was reinserted behind 3, so 3 is evicted before it.
    assert_eq!(left(PolicyKind::Clock, 3, &[1, 2, 3, 1, 4, 5]), [1, 4, 5]);
    // All have hits: after one round the hand evicts the first.
    assert_eq!(left(PolicyKind::Clock, 3, &[1, 2, 3, 1, 2, 3, 4]), [2, 3, 4]);
}

#[test]
fn sieve_does_not_move_the_objects_that_it_keeps() {
    // The hand passes 1 and evicts 2; then it continues to 3 and 4, though 1 is clear and older.
    assert_eq!(left(PolicyKind::Sieve, 3, &[1, 2, 3, 1, 4]), [1, 3, 4]);
    assert_eq!(left(PolicyKind::Sieve, 3, &[1, 2, 3, 1, 4, 5]), [1, 4, 5]);
    assert_eq!(left(PolicyKind::Sieve, 3, &[1, 2, 3, 1, 4, 5, 6]), [1, 5, 6]);
}

#[test]
fn a_scan_passes_only_through_the_small_queue_of_s3_fifo() {
    let mut cache = PolicyKind::S3Fifo.make(Bytes(20));
    // 1 and 2 have two hits each in the small queue.
    for key in [1, 2, 1, 2, 1, 2] {
        ask(&mut *cache, key, 1);
    }
    for scanned in 100..1000 {
        assert!(!ask(&mut *cache, scanned, 1));
    }
    assert!(ask(&mut *cache, 1, 1) && ask(&mut *cache, 2, 1));
    // 998 and 999 are in the small queue, which has two bytes.
    assert!(ask(&mut *cache, 998, 1));
    assert!(!ask(&mut *cache, 900, 1));
    assert!(cache.ghosts() > 0);
}

#[test]
fn s3_fifo_does_not_admit_an_object_that_fills_its_small_queue() {
    let mut cache = PolicyKind::S3Fifo.make(Bytes(100));
    assert!(!ask(&mut *cache, 1, 10) && !ask(&mut *cache, 1, 10));
    assert!(!ask(&mut *cache, 2, 11) && !ask(&mut *cache, 2, 11));
    assert!(!ask(&mut *cache, 3, 9) && ask(&mut *cache, 3, 9));
    assert_eq!((cache.counts().refused, cache.counts().objects), (4, 1));
}

#[test]
fn arc_keeps_objects_requested_twice_through_a_scan() {
    let scan: Vec<u64> = [1, 2, 1, 2].into_iter().chain(100..200).collect();
    assert_eq!(left(PolicyKind::Arc, 4, &scan)[..2], [1, 2]);
    // LRU keeps only the end of the scan.
    assert_eq!(left(PolicyKind::Lru, 4, &scan), [196, 197, 198, 199]);
}

#[test]
fn arc_inserts_an_object_with_a_ghost_into_t2() {
    // 1, 2 and 3 are requested twice and are in T2. 6 evicts 5, which becomes a ghost in B1.
    let mut cache = PolicyKind::Arc.make(Bytes(4));
    for key in [1, 2, 3, 4, 1, 2, 3, 5, 6] {
        ask(&mut *cache, key, 1);
    }
    assert_eq!(cache.ghosts(), 2);
    assert!(!ask(&mut *cache, 5, 1));
    // 5 is now in T2, so one more new object does not evict it.
    ask(&mut *cache, 7, 1);
    assert!(ask(&mut *cache, 5, 1));
}

#[test]
fn w_tinylfu_admits_an_object_requested_more_often_than_the_victim() {
    // 200 bytes: a window of 2, segments of 39 and 158.
    let mut cache = PolicyKind::WTinyLfu.make(Bytes(200));
    // The cache is full. All objects were counted once, and those that left the window twice.
    (0..200).for_each(|key| assert!(!ask(&mut *cache, key, 1)));
    // A scan only passes through the window, because its objects are not requested more often.
    (1000..2000).for_each(|key| assert!(!ask(&mut *cache, key, 1)));
    let mut held = 0;
    cache.residents(&mut |key, _| held += u64::from(key < 200));
    assert_eq!(held, 198);
    // An object that is requested again and again is admitted, though it always leaves the window.
    for round in 0..4 {
        ask(&mut *cache, 5000, 1);
        (0..2).for_each(|i| assert!(!ask(&mut *cache, 6000 + round * 2 + i, 1)));
    }
    assert!(ask(&mut *cache, 5000, 1));
}

#[test]
fn w_tinylfu_does_not_admit_an_object_larger_than_its_window() {
    let mut cache = PolicyKind::WTinyLfu.make(Bytes(1000));
    assert!(!ask(&mut *cache, 1, 11) && !ask(&mut *cache, 1, 11));
    assert!(!ask(&mut *cache, 2, 10) && ask(&mut *cache, 2, 10));
    assert_eq!((cache.counts().refused, cache.counts().objects), (2, 1));
}

#[test]
fn lecar_evicts_both_by_recency_and_by_frequency() {
    // 1 to 50 were requested twice, long ago: LFU keeps them, LRU evicts them first.
    let keys: Vec<u64> = (1..=50).chain(1..=50).chain(100..180).collect();
    let held = left(PolicyKind::LeCaR, 100, &keys);
    let frequent = held.iter().filter(|key| **key <= 50).count();
    assert!(frequent > 0 && frequent < 50, "{frequent}");
    assert_eq!(left(PolicyKind::LeCaR, 100, &keys), held, "each run has the same draws");
}

#[test]
fn lecar_learns_to_evict_by_frequency() {
    // Each round requests fifty objects twice, then a scan. Objects that LRU evicts return.
    let mut cache = PolicyKind::LeCaR.make(Bytes(60));
    let hits = (0..10).map(|round| {
        let scan = 1000 + round * 80..1000 + round * 80 + 80;
        let hits = (0..50).filter(|key| ask(&mut *cache, *key, 1)).count();
        (0..50).chain(scan).for_each(|key| assert!(ask(&mut *cache, key, 1) == (key < 50)));
        hits
    });
    let hits: Vec<usize> = hits.collect();
    assert!(hits[1] < 40 && hits[9] > 45, "{hits:?}");
    assert!(left(PolicyKind::LeCaR, 4, &[1, 2, 3, 1, 2, 3]).len() == 3);
}

#[test]
fn belady_evicts_the_object_with_the_furthest_next_request() {
    let mut cache = PolicyKind::Belady.make(Bytes(2));
    let next = [4, 3, NEVER, NEVER, NEVER];
    let hits = [1, 2, 3, 2, 1]
        .into_iter()
        .zip(next)
        .map(|(key, next)| cache.access(&Request { key, next, size: 1, asked: 1 }) == Access::Hit);
    // 3 replaces 1, whose next request is the furthest. No policy can do better here.
    assert_eq!(hits.collect::<Vec<_>>(), [false, false, false, true, false]);
}

#[test]
fn an_object_that_does_not_fit_evicts_nothing() {
    for kind in PolicyKind::ALL {
        let mut cache = kind.make(Bytes(500));
        ask(&mut *cache, 1, 5);
        assert!(!ask(&mut *cache, 2, 501), "{}", kind.name());
        assert!(!ask(&mut *cache, 2, u64::MAX), "{}", kind.name());
        assert!(ask(&mut *cache, 1, 5), "{}", kind.name());
        let counts = cache.counts();
        assert_eq!((counts.objects, counts.bytes, counts.refused, counts.evicted), (1, 5, 2, 0));
    }
}

#[test]
fn a_large_object_evicts_many_small_ones() {
    for kind in PolicyKind::ALL {
        let mut cache = kind.make(Bytes(1000));
        (0..500).for_each(|key| assert!(!ask(&mut *cache, key, 2)));
        // W-TinyLFU admits objects up to a hundredth of the capacity.
        let (size, evicted) = if kind == PolicyKind::WTinyLfu { (10, 5) } else { (99, 50) };
        assert!(!ask(&mut *cache, 1000, size));
        let counts = cache.counts();
        assert!(counts.bytes <= 1000 && counts.bytes > 900, "{}: {counts:?}", kind.name());
        assert!(counts.evicted >= evicted, "{}: {counts:?}", kind.name());
    }
}

#[test]
fn memory_is_at_most_forty_bytes_an_object() {
    for kind in PolicyKind::ALL {
        let mut cache = kind.make(Bytes(800_000));
        let mut most = 0.0_f64;
        for key in 0..200_000_u64 {
            // All objects have 8 bytes, because S3-FIFO would refuse large ones.
            ask(&mut *cache, key.wrapping_mul(0x9e37_79b9_7f4a_7c15), 8);
            let known = cache.counts().objects + cache.ghosts();
            if known >= 4096 && key % 1000 == 0 {
                most = most.max((cache.memory() - cache.sketch_memory()) as f64 / known as f64);
            }
        }
        assert!(most <= 40.0, "{}: {most}", kind.name());
        assert!(most > 24.0, "{}: {most}", kind.name());
    }
}

#[test]
fn the_index_finds_all_keys_of_regular_patterns() {
    // Multiples, neighbours, and keys with only high bits: a weak hash would make them collide.
    for step in [1, 8, 4096, 1 << 20, 1 << 40, 0x9e37_79b9_7f4a_7c15] {
        let mut cache = PolicyKind::Lru.make(Bytes(1 << 20));
        let requests: Vec<Request> = (0..20_000_u64)
            .map(|i| Request { key: i.wrapping_mul(step), next: NEVER, size: 1, asked: 1 })
            .collect();
        let mut tally = HitCounts::default();
        cache.serve(&requests, &mut tally);
        assert_eq!(tally.hits, 0);
        cache.serve(&requests, &mut tally);
        assert_eq!(tally.hits, 20_000);
    }
}

#[test]
fn names_of_policies_are_parsed_in_any_spelling() {
    for kind in PolicyKind::ALL {
        assert_eq!(PolicyKind::parse(kind.name()), Some(kind));
        assert_eq!(PolicyKind::parse(&kind.name().to_uppercase()), Some(kind));
        assert!(!kind.about().is_empty() && !kind.source().is_empty());
    }
    assert_eq!(PolicyKind::parse("S3FIFO"), Some(PolicyKind::S3Fifo));
    assert_eq!(PolicyKind::parse("lfu"), None);
    assert!(
        PolicyKind::ALL.into_iter().all(|kind| kind.needs_oracle() == (kind == PolicyKind::Belady))
    );
}

#[test]
fn w_tinylfu_does_not_admit_an_object_requested_as_often_as_the_victim() {
    // 200 bytes: a window of 2. The main part has 0 to 197, which were counted at their insertion
    // and when they left the window. Hits on all of them but 1 raise the counts to three; 1 is
    // evicted when 0 moves to the protected segment.
    let mut cache = PolicyKind::WTinyLfu.make(Bytes(200));
    (0..201).for_each(|key| assert!(!ask(&mut *cache, key, 1)));
    assert!((0..198).filter(|key| *key != 1).all(|key| ask(&mut *cache, key, 1)));
    (300..305).for_each(|key| assert!(!ask(&mut *cache, key, 1)));
    let mut fresh = 2000..;
    let mut through_the_window = |key| {
        assert!(!ask(&mut *cache, key, 1));
        fresh.by_ref().take(2).for_each(|other| assert!(!ask(&mut *cache, other, 1)));
        let mut held = Vec::new();
        cache.residents(&mut |key, _| held.push(key));
        (held.contains(&key), held.iter().filter(|key| **key < 198).count())
    };
    // The object leaves the window with a count of 1, then 3, which all others have too, then 5.
    assert_eq!(through_the_window(1000), (false, 197));
    assert_eq!(through_the_window(1000), (false, 197));
    assert_eq!(through_the_window(1000), (true, 196));
}
