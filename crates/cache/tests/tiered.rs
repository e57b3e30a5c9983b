//! Objects in DRAM and flash: rules by hand, and what holds for any requests.

use gordon_cache::tiered::{Admission, Budget, Io, Layout, TierLookup, Tiered, TieredShape};
use gordon_units::Ns;
use proptest::prelude::*;
use std::collections::HashMap;

/// Twelve bytes a set, ten an object in a log; so much DRAM is for objects.
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

/// A cache in whose DRAM no object of 400 bytes stays beside another: each continues as the next
/// comes.
fn passing(shape: &TieredShape, admission: Admission) -> Tiered {
    // The log's index grows by 10 an object: 400 is enough for one, with any number of them below
    // 40.
    let index = shape.sets() * 12;
    Tiered::new(index + 799, shape, admission, 1)
}

#[test]
fn a_log_is_first_in_first_out_by_segments() {
    let mut cache = passing(&shape(Layout::Log), Admission::All);
    // Two of 400 in each of 4 segments of 1000: seven go on, the eighth is in DRAM.
    assert!(ask(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 8]).iter().all(|f| *f == TierLookup::Miss));
    assert_eq!(in_flash(&cache), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(cache.counts().written, 3000);
    // Read where they lie; 7 is in the open segment, in memory.
    let writes = |at: u64| Io { write: true, offset: at * 1000, bytes: 1000 };
    assert_eq!(cache.io().collect::<Vec<_>>(), [writes(0), writes(1), writes(2)]);
    assert_eq!(
        ask(&mut cache, &[3, 7, 8]),
        [TierLookup::Flash, TierLookup::Flash, TierLookup::Dram]
    );
    assert_eq!(cache.io().collect::<Vec<_>>(), [Io { write: false, offset: 1000, bytes: 400 }]);
    // 8 fills the last segment; 9 needs the first: 1 and 2 go.
    ask(&mut cache, &[9, 10]);
    assert_eq!(in_flash(&cache), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(cache.counts().evicted, 2);
}

#[test]
fn what_was_asked_for_is_written_again() {
    let reinsert = TieredShape { reinsert: true, ..shape(Layout::Log) };
    let mut cache = passing(&reinsert, Admission::All);
    ask(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 10]);
    // 2 and 9 are in the first segment now.
    assert_eq!(in_flash(&cache), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!((cache.counts().evicted, cache.counts().reinserted), (1, 1));
    // It is not again, without having been asked for again: 10, 11 and 12 to 15 go round.
    ask(&mut cache, &[11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert!(!in_flash(&cache).contains(&2));
}

#[test]
fn a_set_keeps_what_was_asked_for() {
    let one = TieredShape { flash: 1000, ..shape(Layout::Sets) };
    let mut cache = passing(&one, Admission::All);
    ask(&mut cache, &[1, 2, 3]);
    assert_eq!(in_flash(&cache), [1, 2]);
    // Both lie at 6, and 1 came first; the new one stays out: the old go before the new at 6 aged
    // to 7.
    assert_eq!(ask(&mut cache, &[1]), [TierLookup::Flash]);
    ask(&mut cache, &[4]);
    // 1 is at 0; 2 ages to 7 and goes for 3.
    assert_eq!(in_flash(&cache), [1, 3]);
    let done = cache.counts();
    assert_eq!((done.written, done.admitted, done.evicted), (3000, 1200, 1));
    // One read for the request, and one for each set written that was not empty.
    assert_eq!(done.read, 3000);
}

#[test]
fn sets_take_several_at_once() {
    // Two segments of log before two sets.
    let both = shape(Layout::LogSets);
    assert_eq!((both.log(), both.sets()), (2000, 2));
    let mut cache = passing(&both, Admission::All);
    let keys: Vec<u64> = (1..=6).collect();
    ask(&mut cache, &keys);
    let done = cache.counts();
    // Segments hold 1 2, 3 4: as 5 comes the first goes. Those of a set that are two or more went
    // there.
    let found = in_flash(&cache);
    let lost: Vec<u64> = (1..=5).filter(|key| !found.contains(key)).collect();
    assert_eq!(done.dropped + done.evicted, lost.len() as u64);
    assert!(lost.iter().all(|key| *key <= 4), "{lost:?}");
    // Segments and sets were written, sets once for each group.
    assert!(done.written >= 2000 + 1000 && done.written.is_multiple_of(1000), "{done:?}");
    // With a threshold that none reaches, sets stay empty and what is in a segment that goes is
    // dropped.
    let high = TieredShape { threshold: 100, ..both };
    let mut cache = passing(&high, Admission::All);
    ask(&mut cache, &keys);
    assert_eq!((in_flash(&cache), cache.counts().dropped), (vec![3, 4, 5], 2));
    // What was asked for goes round.
    let mut cache = passing(&TieredShape { reinsert: true, ..high }, Admission::All);
    ask(&mut cache, &[1, 2, 3, 4, 5, 1, 6]);
    assert_eq!(in_flash(&cache), [1, 3, 4, 5]);
}

#[test]
fn admissions_by_hand() {
    let log = shape(Layout::Log);
    // Twice in DRAM: 2 alone.
    let mut cache = passing(&log, Admission::Hits(2));
    ask(&mut cache, &[1, 2, 2, 3, 4]);
    assert_eq!(in_flash(&cache), [2]);
    // Offered for the second time within 800 bytes of offers: 1 is, 2 no longer.
    let mut cache = passing(&log, Admission::Ghost(800));
    ask(&mut cache, &[1, 2, 1, 3, 4, 5, 2, 6]);
    assert_eq!(in_flash(&cache), [1]);
    let done = cache.counts();
    assert_eq!((done.offered, done.admitted), (2800, 400));
    // By lot.
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
fn a_budget_is_kept() {
    // 400 bytes a millisecond are offered, of which sets of 4000 make ten times as much; 1 MB a
    // second may be.
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
    // After 20, 40, ... seconds.
    for (at, written) in written.iter().enumerate() {
        let may = 20e6 * (at + 1) as f64;
        let of = *written as f64 / may;
        assert!(of < 1.01 && (at < 2 || of > 0.95), "{of} at {at}");
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
    fn an_object_is_where_it_was_put(
        shape in layouts(), admission in admissions(), objects in 500u64..4000,
        asked in prop::collection::vec(0u64..60, 1..600),
    ) {
        let mut cache = cache(&shape, objects, admission);
        let size = |key: u64| key * 37 % 700 + 20;
        let dram = shape.sets() * 12 + if shape.log() > 0 { 640 } else { 0 } + objects;
        let (mut io, mut written) = (0, 0);
        for key in asked {
            let mut before = HashMap::new();
            cache.residents(&mut |level, key, _| assert!(before.insert(key, level).is_none(), "{key} twice"));
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
