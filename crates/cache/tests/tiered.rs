//! Tests of caches in DRAM and flash: rules in short sequences, and properties of any requests.

use gordon_cache::tiered::{
    Admission, Budget, Io, JournalSettings, JournalShape, Layout, TierLookup, Tiered, TieredShape,
};
use gordon_units::Ns;
use proptest::prelude::*;
use std::collections::HashMap;

/// A cache with enough DRAM for the index (12 bytes a set, 10 an object in the log) and for
/// `objects` bytes of objects.
fn cache(shape: &TieredShape, objects: u64, admission: Admission) -> Tiered {
    let index = shape.sets() * 12 + if shape.log() > 0 { 10 * 64 } else { 0 };
    Tiered::new(index + objects, shape, admission, 1)
}

fn shape(layout: Layout) -> TieredShape {
    TieredShape {
        flash: 4000,
        layout,
        set: 1000,
        segment: 1000,
        log_share: 0.5,
        threshold: 2,
        set_largest: 1000,
        set_saving: 0,
        journal: None,
        reinsert: false,
    }
}

fn ask(cache: &mut Tiered, keys: &[u64]) -> Vec<TierLookup> {
    keys.iter().map(|key| cache.access(Ns::ZERO, *key, 400)).collect()
}

fn in_flash(cache: &Tiered) -> Vec<u64> {
    let mut keys = Vec::new();
    cache.residents(&mut |level, key, _| {
        if level == TierLookup::Flash {
            keys.push(key);
        }
    });
    keys.sort_unstable();
    keys
}

/// A cache whose DRAM holds one object of 400 bytes: each object moves on to flash when the next
/// one arrives.
fn passing(shape: &TieredShape, admission: Admission) -> Tiered {
    // The index of the log takes 10 bytes an object, so there is space for one object of 400 bytes,
    // but not for two, while the log has fewer than 40 objects.
    let index = shape.sets() * 12;
    Tiered::new(index + 799, shape, admission, 1)
}

#[test]
fn a_log_evicts_its_oldest_segment() {
    let mut cache = passing(&shape(Layout::Log), Admission::All);
    // Each of the 4 segments of 1000 bytes has two objects of 400. Seven are in flash, the eighth
    // in DRAM.
    assert!(ask(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 8]).iter().all(|f| *f == TierLookup::Miss));
    assert_eq!(in_flash(&cache), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(cache.counts().written, 3000);
    // A hit reads the object; 7 is in the open segment, which is in memory.
    let writes = |at: u64| Io { write: true, offset: at * 1000, bytes: 1000 };
    assert_eq!(cache.io().collect::<Vec<_>>(), [writes(0), writes(1), writes(2)]);
    assert_eq!(
        ask(&mut cache, &[3, 7, 8]),
        [TierLookup::Flash, TierLookup::Flash, TierLookup::Dram]
    );
    assert_eq!(cache.io().collect::<Vec<_>>(), [Io { write: false, offset: 1000, bytes: 400 }]);
    // 8 fills the last segment; 9 needs the first, from which 1 and 2 are evicted.
    ask(&mut cache, &[9, 10]);
    assert_eq!(in_flash(&cache), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(cache.counts().evicted, 2);
}

#[test]
fn a_removal_is_written_to_the_journal_which_evicts_segments_if_its_records_do_not_fit() {
    let evicting: Vec<u64> = (1..=10).collect();
    // A page has one record. In the two pages of a half, one is left after a compaction.
    let journal = JournalShape { pages: 2, page: 100, capacity: 17 };
    let settings = JournalSettings { shape: journal, record: 17, batch: 1.0 };
    let small = TieredShape { journal: Some(settings), ..shape(Layout::Log) };
    let mut cache = passing(&small, Admission::All);
    ask(&mut cache, &evicting);
    assert_eq!(cache.counts().journal, 0);
    cache.io();
    // 1 and 2 were evicted, but the medium has them until the segment is written. The first record
    // goes to the second page of half 1, and 10 fills the segment.
    ask(&mut cache, &[1]);
    let page = |offset: u64| Io { write: true, offset, bytes: 100 };
    assert_eq!(cache.io().collect::<Vec<_>>(), [page(4300)]);
    // The second one does not fit: the segments that are older than both records are evicted.
    ask(&mut cache, &[2]);
    assert_eq!(cache.io().next_back(), Some(page(4000)));
    assert_eq!(in_flash(&cache), [1, 9, 10]);
    assert_eq!((cache.counts().journal, cache.counts().written), (200, 5200));

    // In a larger journal both are kept, and two share a write.
    let shape = JournalShape { pages: 16, ..journal };
    let settings = JournalSettings { shape, batch: 2.0, ..settings };
    let mut cache = passing(&TieredShape { journal: Some(settings), ..small }, Admission::All);
    ask(&mut cache, &evicting);
    ask(&mut cache, &[1, 2]);
    assert_eq!(in_flash(&cache), [1, 5, 6, 7, 8, 9, 10]);
    // Two pages in one write.
    assert_eq!(cache.counts().journal, 200);
    assert_eq!(cache.io().next_back(), Some(Io { bytes: 200, ..page(4000 + 17 * 100) }));
}

#[test]
fn a_log_with_reinsertion_rewrites_requested_objects() {
    let reinsert = TieredShape { reinsert: true, ..shape(Layout::Log) };
    let mut cache = passing(&reinsert, Admission::All);
    ask(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 10]);
    // 2 and 9 are in the first segment now.
    assert_eq!(in_flash(&cache), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!((cache.counts().evicted, cache.counts().reinserted), (1, 1));
    // Without another request, 2 is evicted with its segment the next time.
    ask(&mut cache, &[11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert!(!in_flash(&cache).contains(&2));
}

#[test]
fn a_set_keeps_requested_objects() {
    let one = TieredShape { flash: 1000, ..shape(Layout::Sets) };
    let mut cache = passing(&one, Admission::All);
    ask(&mut cache, &[1, 2, 3]);
    assert_eq!(in_flash(&cache), [1, 2]);
    // Objects 1 and 2 are in the set, with the value 6; 3 is in DRAM.
    assert_eq!(ask(&mut cache, &[1]), [TierLookup::Flash]);
    ask(&mut cache, &[4]);
    // The request sets 1 to the value 0; 2 ages to 7 and is evicted for 3.
    assert_eq!(in_flash(&cache), [1, 3]);
    let done = cache.counts();
    assert_eq!((done.written, done.admitted, done.evicted), (3000, 1200, 1));
    // One read for the request, and one for each set written that was not empty.
    assert_eq!(done.read, 3000);
}

#[test]
fn objects_move_from_the_log_to_their_set_together() {
    // Three segments of log in front of two sets.
    let both = TieredShape { flash: 5000, log_share: 0.6, ..shape(Layout::LogSets) };
    assert_eq!((both.log(), both.sets()), (3000, 2));
    let mut cache = passing(&both, Admission::All);
    let keys: Vec<u64> = (1..=8).collect();
    ask(&mut cache, &keys);
    let done = cache.counts();
    // The segments hold 1 and 2, 3 and 4, 5 and 6. The first is evicted when 7 needs it: of four
    // objects on the medium, two or more of the same set move there.
    let found = in_flash(&cache);
    let lost: Vec<u64> = (1..=7).filter(|key| !found.contains(key)).collect();
    assert_eq!(done.dropped + done.evicted, lost.len() as u64);
    assert!(lost.iter().all(|key| *key <= 2), "{lost:?}");
    // The segments were written, and a set for each group.
    assert!(done.written >= 3000 + 1000 && done.written.is_multiple_of(1000), "{done:?}");
    // Objects that are too large for a set stay in the log, and leave with their segment.
    let mut cache = passing(&TieredShape { set_largest: 300, ..both }, Admission::All);
    ask(&mut cache, &keys);
    let done = cache.counts();
    assert_eq!((in_flash(&cache), done.evicted, done.written), (vec![3, 4, 5, 6, 7], 2, 3000));
    // With a threshold that no group reaches, sets stay empty, and the objects of an evicted
    // segment are dropped.
    let high = TieredShape { threshold: 100, ..both };
    let mut cache = passing(&high, Admission::All);
    ask(&mut cache, &keys);
    assert_eq!((in_flash(&cache), cache.counts().dropped), (vec![3, 4, 5, 6, 7], 2));
    // Requested objects are written to the log again.
    let mut cache = passing(&TieredShape { reinsert: true, ..high }, Admission::All);
    ask(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 1, 8]);
    assert_eq!(in_flash(&cache), [1, 3, 4, 5, 6, 7]);
}

#[test]
fn a_set_holds_more_objects_that_are_smaller_there() {
    // Objects of 400 bytes, in one set of 1000.
    let one = TieredShape { flash: 4000, log_share: 0.75, ..shape(Layout::LogSets) };
    assert_eq!((one.log(), one.sets()), (3000, 1));
    let in_sets = |set_saving| {
        let mut cache = passing(&TieredShape { set_saving, ..one }, Admission::All);
        ask(&mut cache, &(1..=40).collect::<Vec<u64>>());
        let all = in_flash(&cache).len();
        // The newest objects are in the segments.
        all - in_flash(&cache).iter().filter(|key| **key > 40 - 6).count()
    };
    assert!(in_sets(150) > in_sets(0), "{} {}", in_sets(150), in_sets(0));
}

#[test]
fn each_admission_rule_admits_the_right_objects() {
    let log = shape(Layout::Log);
    // Two requests in DRAM: only 2 has them.
    let mut cache = passing(&log, Admission::Hits(2));
    ask(&mut cache, &[1, 2, 2, 3, 4]);
    assert_eq!(in_flash(&cache), [2]);
    // A second offer within 800 bytes of offers: 1 has one, for 2 it comes too late.
    let mut cache = passing(&log, Admission::Ghost(800));
    ask(&mut cache, &[1, 2, 1, 3, 4, 5, 2, 6]);
    assert_eq!(in_flash(&cache), [1]);
    let done = cache.counts();
    assert_eq!((done.offered, done.admitted), (2800, 400));
    // Random.
    let wide = TieredShape { flash: 1 << 20, segment: 4000, ..log };
    let mut cache = Tiered::new(1 << 20, &wide, Admission::Random(0.25), 7);
    for key in 0..20_000 {
        cache.access(Ns::ZERO, key, 400);
    }
    let done = cache.counts();
    let part = done.admitted as f64 / done.offered as f64;
    assert!((part - 0.25).abs() < 0.02, "{part}");
}

#[test]
fn writes_keep_to_the_budget() {
    // 400 bytes a millisecond are offered, and sets of 4000 bytes write ten times as much: 4 MB a
    // second without the budget of 1 MB a second.
    let sets = TieredShape { flash: 4_000_000, set: 4000, ..shape(Layout::Sets) };
    let budget = Budget { bytes_per_s: 1e6, every: 62_500 };
    let mut cache = Tiered::new(100_000, &sets, Admission::Budget(budget), 3);
    let mut written = Vec::new();
    for key in 0..200_000 {
        cache.access(Ns(key * 1_000_000), key, 400);
        if key % 20_000 == 19_999 {
            written.push(cache.counts().written);
        }
    }
    // Bytes written after 20, 40, ... seconds.
    for (at, written) in written.iter().enumerate() {
        let budget = 20e6 * (at + 1) as f64;
        let used = *written as f64 / budget;
        assert!(used < 1.01 && (at < 2 || used > 0.95), "{used} at {at}");
    }
    assert!((cache.admission_rate() - 0.25).abs() < 0.03, "{}", cache.admission_rate());
}

fn layouts() -> impl Strategy<Value = TieredShape> {
    let layout = prop_oneof![Just(Layout::Log), Just(Layout::Sets), Just(Layout::LogSets)];
    (layout, 4u64..20, 1u32..4, any::<bool>()).prop_map(|(layout, units, threshold, reinsert)| {
        TieredShape { flash: units * 1000, threshold, reinsert, ..shape(layout) }
    })
}

fn admissions() -> impl Strategy<Value = Admission> {
    prop_oneof![
        Just(Admission::All),
        (0.0..1.0).prop_map(Admission::Random),
        (1u32..4).prop_map(Admission::Hits),
        (400u64..9000).prop_map(Admission::Ghost),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn an_object_is_in_one_tier_and_found_there(
        shape in layouts(), admission in admissions(), objects in 500u64..4000,
        asked in prop::collection::vec(0u64..60, 1..600),
    ) {
        let mut cache = cache(&shape, objects, admission);
        let size = |key: u64| key * 37 % 700 + 20;
        let dram = shape.sets() * 12 + if shape.log() > 0 { 640 } else { 0 } + objects;
        let (mut io, mut written) = (0, 0);
        for key in asked {
            let mut before = HashMap::new();
            cache.residents(&mut |level, key, _| {
                assert!(before.insert(key, level).is_none(), "{key} twice");
            });
            let found = cache.access(Ns::ZERO, key, size(key));
            prop_assert_eq!(found, before.get(&key).copied().unwrap_or(TierLookup::Miss));
            let (mut bytes, mut count) = ((0, 0), 0);
            cache.residents(&mut |level, key, held| {
                assert_eq!(held, size(key));
                match level {
                    TierLookup::Dram => bytes.0 += held,
                    _ => bytes.1 += held,
                }
                count += 1;
            });
            prop_assert_eq!(cache.in_dram().1, bytes.0);
            prop_assert!(bytes.0 + cache.index_bytes() <= dram || bytes.0 == 0);
            prop_assert!(bytes.1 <= shape.flash, "{} of {}", bytes.1, shape.flash);
            for one in cache.io() {
                prop_assert!(one.offset + u64::from(one.bytes) <= shape.flash);
                let unit = if one.offset < shape.log() { shape.segment } else { shape.set };
                if one.write {
                    prop_assert_eq!((one.bytes, one.offset % 1000), (unit, 0));
                    written += u64::from(one.bytes);
                } else {
                    io += u64::from(one.bytes);
                }
            }
            let done = cache.counts();
            prop_assert_eq!((done.written, done.read), (written, io));
            prop_assert!(done.admitted <= done.offered);
            prop_assert!(count > 0 || size(key) > 500);
        }
    }
}
