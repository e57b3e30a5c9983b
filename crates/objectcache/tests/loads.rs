//! Loads whose results are predicted: hit ratios by the simulator, bytes written by the lifetime.

mod common;

use bytes::Bytes;
use common::{Clock, SEGMENT, SIZE};
use gordon_cache::tiered::{
    Admission as Rule, JournalSettings, JournalShape, Layout, TierLookup, Tiered, TieredCounts,
    TieredShape,
};
use gordon_objectcache::{Cache, Config, Flash, Lifetime, Stats, block_on};
use gordon_testkit::{MemoryMedia, Random};
use gordon_units::Ns;
use std::path::Path;
use std::sync::Arc;

/// A number below `count` from a distribution like that of popular objects.
fn popular(random: &mut Random, count: usize) -> usize {
    let part = random.below(1 << 30) as f64 / f64::from(1 << 30);
    ((part.powi(3)) * count as f64) as usize
}

/// Numbers by Zipf's law.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: u32, exponent: f64) -> Self {
        let mut sum = 0.0;
        let add = |rank: u32| {
            sum += f64::from(rank).powf(-exponent);
            sum
        };
        Self((1..=count).map(add).collect())
    }

    fn draw(&self, random: &mut Random) -> usize {
        let part = random.below(1 << 30) as f64 / f64::from(1 << 30);
        let at = part * self.0.last().expect("it has numbers");
        self.0.partition_point(|below| *below <= at)
    }
}

/// Requests an object, and stores it if it is not there.
fn request(cache: &Cache, number: usize, len: usize) {
    let key = format!("/objects/{number}");
    if block_on(cache.get(key.as_bytes())).is_none() {
        let body = Bytes::from(vec![number as u8; len]);
        block_on(cache.put(key.as_bytes(), b"metadata", body)).expect("it works");
    }
}

#[test]
fn the_simulator_predicts_the_hits_and_writes_of_the_trace() {
    for (reinsert, large) in [(false, false), (true, false), (false, true)] {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace");
        let size = 8 << 20;
        let flash = Flash { segment: Some(64 << 10), reinsert, ..Flash::new("test".into(), size) };
        let config = Config {
            flash: Some(flash),
            block: 4096,
            trace: Some(trace.clone()),
            ..Config::new(400_000)
        };
        let clock = Clock::default();
        let media = Arc::new(MemoryMedia::new(size));
        let (cache, _) = Cache::open_on(config.clone(), clock.medium(media)).expect("it opens");
        let mut random = Random::new(1);
        for step in 0..30_000_u32 {
            clock.set(f64::from(step) * 0.01);
            let number = popular(&mut random, 10_000);
            // Large objects are 2 to 5 blocks.
            let len = if large { 5000 + number % 13_000 } else { 200 + number * 7919 % 3000 };
            let key = format!("/objects/{number}");
            let found = block_on(cache.get(key.as_bytes()));
            let complete = match found {
                Some(object) => block_on(object.read(0..u64::MAX)).expect("it is open").is_some(),
                None => false,
            };
            if !complete {
                request_again(&cache, &key, len);
            }
        }
        let stats = cache.stats();
        block_on(cache.close()).expect("it closes");
        let shape = TieredShape {
            flash: stats.flash_capacity,
            layout: Layout::Log,
            set: 4096,
            segment: 64 << 10,
            log_share: 0.5,
            threshold: 1,
            set_largest: 0,
            set_saving: 0,
            reinsert,
            journal: Some(journal(&stats)),
        };
        let (requests, [dram, flash], counts) = replay(&trace, config.dram, &shape);
        let measured = (stats.events.dram_hits + stats.events.flash_hits) as f64 / requests as f64;
        let predicted = (dram + flash) as f64 / requests as f64;
        assert!(flash > 0 && dram > 0 && measured < 0.99, "{measured} {predicted}");
        assert!(
            (measured - predicted).abs() < 0.01,
            "reinsert {reinsert}, large {large}: {measured} measured, {predicted} predicted"
        );
        assert_written(&stats, &counts, &format!("reinsert {reinsert}, large {large}"));
    }
}

/// The journal of a cache on a file, as docs/design/object-cache-format.md specifies it.
fn journal(stats: &Stats) -> JournalSettings {
    let pages = u32::try_from(stats.journal_capacity / 8192).expect("it is small");
    let shape = JournalShape { pages, page: 8192, capacity: 4096 - 72 };
    JournalSettings { shape, record: 17, batch: 1.0 }
}

/// Compares the bytes written to flash, and those of the journal alone, with the prediction.
fn assert_written(stats: &Stats, counts: &TieredCounts, what: &str) {
    let written = [stats.written_bytes, counts.written].map(|bytes| bytes as f64);
    assert!((written[0] / written[1] - 1.0).abs() < 0.015, "{what}: {written:?}");
    let journal = [stats.journal_written_bytes, counts.journal].map(|bytes| bytes as f64);
    assert!((journal[0] / journal[1] - 1.0).abs() < 0.2, "{what}: {journal:?} in the journal");
}

/// Simulates a cache with the trace of another one. Returns the requests, the hits in DRAM and in
/// flash, and the counts.
fn replay(trace: &Path, dram: u64, shape: &TieredShape) -> (u64, [u64; 2], TieredCounts) {
    let mut simulated = Tiered::new(dram, shape, Rule::All, 1);
    let (mut requests, mut hits) = (0, [0; 2]);
    for record in std::fs::read(trace).expect("the trace").chunks_exact(24) {
        let seconds = u32::from_le_bytes(record[..4].try_into().expect("4 bytes"));
        let key = u64::from_le_bytes(record[4..12].try_into().expect("8 bytes"));
        let size = u32::from_le_bytes(record[12..16].try_into().expect("4 bytes"));
        let at = Ns(u64::from(seconds) * Ns::SECOND.0);
        requests += 1;
        match simulated.access(at, key, size.into()) {
            TierLookup::Dram => hits[0] += 1,
            TierLookup::Flash => hits[1] += 1,
            TierLookup::Miss => {}
        }
    }
    (requests, hits, simulated.counts())
}

#[test]
fn the_simulator_predicts_the_hits_and_writes_with_small_objects_in_sets() {
    for exponent in [0.7, 0.9, 1.1] {
        for (dram, size) in [(150_000, 8 << 20), (400_000, 4 << 20), (1_000_000, 8 << 20)] {
            let folder = tempfile::tempdir().expect("a folder");
            let trace = folder.path().join("trace");
            let flash = Flash {
                segment: Some(64 << 10),
                sets: Some(0.8),
                ..Flash::new("test".into(), size)
            };
            let config =
                Config { flash: Some(flash), trace: Some(trace.clone()), ..Config::new(dram) };
            let media = Arc::new(MemoryMedia::new(size));
            let (cache, _) =
                Cache::open_on(config, Clock::default().medium(media)).expect("it opens");
            let mut random = Random::new(1);
            let zipf = Zipf::new(20_000, exponent);
            for _ in 0..60_000 {
                let number = zipf.draw(&mut random);
                request(&cache, number, 100 + number * 7919 % 1900);
            }
            let stats = cache.stats();
            block_on(cache.close()).expect("it closes");
            let shape = TieredShape {
                flash: stats.flash_capacity,
                layout: Layout::LogSets,
                set: 4096,
                segment: 64 << 10,
                log_share: stats.log_capacity as f64 / stats.flash_capacity as f64,
                threshold: 2,
                // Of the page on the design: keys have 10 to 14 bytes, in 16.
                set_largest: 1056 + 16,
                set_saving: 111 + 16,
                reinsert: false,
                journal: Some(journal(&stats)),
            };
            assert_eq!((shape.log(), shape.sets()), (stats.log_capacity, stats.sets));
            let (requests, hits, counts) = replay(&trace, dram, &shape);
            let what = format!("exponent {exponent}, {dram} bytes of DRAM, {size} of flash");
            assert_written(&stats, &counts, &what);
            let measured = [stats.events.dram_hits, stats.events.flash_hits];
            let ratio = |hits: u64| hits as f64 / requests as f64;
            for (tier, (measured, predicted)) in measured.into_iter().zip(hits).enumerate() {
                let (measured, predicted) = (ratio(measured), ratio(predicted));
                assert!(
                    measured > 0.001 && (measured - predicted).abs() < 0.005,
                    "{what}, tier {tier}: {measured} measured, {predicted} predicted"
                );
            }
        }
    }
}

fn request_again(cache: &Cache, key: &str, len: usize) {
    let body = Bytes::from(vec![7; len]);
    block_on(cache.put(key.as_bytes(), b"metadata", body)).expect("it works");
}

#[test]
fn the_log_writes_at_most_a_tenth_more_than_it_admits() {
    let size = 24 << 20;
    let flash = Flash { segment: Some(1 << 20), ..Flash::new("test".into(), size) };
    let config = Config { flash: Some(flash), ..Config::new(1 << 20) };
    let media = Arc::new(MemoryMedia::new(size));
    let (cache, _) = Cache::open_on(config, Clock::default().medium(media)).expect("it opens");
    for number in 0..4000 {
        request(&cache, number, 16 << 10);
    }
    let stats = cache.stats();
    let each = stats.written_bytes as f64 / stats.admitted_bytes as f64;
    assert!(each <= 1.1 && stats.refused_bytes == 0, "{each}");
    // By the bodies alone.
    let bodies = (stats.events.dram_evictions * (16 << 10)) as f64;
    assert!(stats.written_bytes as f64 / bodies <= 1.1, "{}", stats.written_bytes as f64 / bodies);
    assert!(stats.index_bytes <= 12 * stats.flash_objects.max(2000), "{stats:?}");
}

#[test]
fn sets_hold_more_small_objects_than_a_log_with_the_same_dram() {
    let load = |sets: Option<f64>| {
        let size = 4 << 20;
        let flash = Flash { segment: Some(64 << 10), sets, ..Flash::new("test".into(), size) };
        let config = Config { flash: Some(flash), ..Config::new(192 << 10) };
        let media = Arc::new(MemoryMedia::new(size));
        let (cache, _) = Cache::open_on(config, Clock::default().medium(media)).expect("it opens");
        let mut random = Random::new(1);
        for _ in 0..80_000 {
            let number = popular(&mut random, 50_000);
            request(&cache, number, 40 + number * 7919 % 200);
        }
        let stats = cache.stats();
        assert_eq!((stats.events.damaged, stats.events.io_errors), (0, 0));
        stats
    };
    let log = load(None);
    let sets = load(Some(0.9));
    let ratio = |stats: &Stats| 1.0 - stats.events.misses as f64 / stats.events.requests as f64;

    assert_eq!(sets.flash_capacity / 4096 * 4096, sets.flash_capacity);
    assert!(sets.sets * 4096 > sets.flash_capacity * 8 / 10);
    assert!(sets.set_objects > 5 * sets.flash_objects);
    let each = |stats: &Stats| stats.index_bytes_per_object.expect("it has objects");
    assert!(each(&log) > 10.0 && each(&sets) < 3.0, "{} {}", each(&log), each(&sets));
    assert!(ratio(&sets) > ratio(&log));
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;

#[test]
fn a_lifetime_is_kept_over_a_year_of_a_shifting_load_with_restarts() {
    let lifetime = Lifetime { years: 5.0, endurance: 1500 };
    let flash = Flash {
        segment: Some(SEGMENT),
        lifetime: Some(lifetime),
        ..Flash::new("test".into(), SIZE)
    };
    let config = Config { flash: Some(flash), block: 2048, ..Config::new(12_000) };
    let media = Arc::new(MemoryMedia::new(SIZE));
    let clock = Clock::default();
    let open = || Cache::open_on(config.clone(), clock.medium(media.clone())).expect("it opens").0;
    let mut cache = open();
    let budget = cache.stats().budget_bytes_per_day.expect("a lifetime was promised");
    let mut random = Random::new(1);
    let mut shown = 0.0;
    for day in 0..365_u32 {
        // Weekends are quiet, and the load of a season is twice that of another.
        let weekend = if day % 7 < 2 { 0.5 } else { 1.0 };
        let season = 1.5 + 0.5 * (f64::from(day) / 365.0 * std::f64::consts::TAU).sin();
        let count = (700.0 * weekend * season) as u32;
        for step in 0..count {
            // Most requests are in the second half of the day.
            let part = (f64::from(step) / f64::from(count)).sqrt();
            clock.set((f64::from(day) + part) * DAY);
            // The popular objects change from month to month.
            let number = popular(&mut random, 4000) + day as usize / 30 * 1000;
            request(&cache, number, 300 + number % 1700);
        }
        let stats = cache.stats();
        let may = budget * f64::from(day + 1);
        let used = stats.total_written_bytes as f64 / may;
        assert!(used <= 1.05 || day < 7, "day {day}: {used} of the budget");
        assert!(used >= 0.95 || day < 30, "day {day}: {used} of the budget");
        shown = stats.expected_life_years.expect("it has written");
        if day % 50 == 49 {
            if day % 100 == 49 {
                block_on(cache.close()).expect("it closes");
            }
            drop(cache);
            cache = open();
            let lost = stats.total_written_bytes.abs_diff(cache.stats().total_written_bytes);
            assert!(lost <= 4 * u64::from(SEGMENT), "{lost} bytes written were forgotten");
        }
    }
    assert!((shown / 5.0 - 1.0).abs() < 0.05, "{shown} years");
}
