//! Random histories compared with a model: each byte that is found is that of the newest version,
//! with evictions, restarts, power cuts at every write and sync, and full devices.

mod common;

use bytes::Bytes;
use common::{
    Clock, Intercept, Intercepted, KINDS, Kind, Model, OBJECTS, apply, open, read, seeds, step,
    verify,
};
use gordon_objectcache::{Cache, Config, block_on};
use gordon_store::Media;
use gordon_testkit::{MemoryMedia, Random};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A medium whose writes and syncs fail from some operation on: the power was cut.
struct Cut {
    media: Arc<MemoryMedia>,
    /// Writes and syncs until the cut.
    left: AtomicU64,
    /// Whether the write at which the power is cut happens in part.
    torn: bool,
}

impl Cut {
    /// Counts an operation. An error once the power was cut; `Ok(true)` for the torn write.
    fn count(&self) -> Result<bool> {
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(1))
        });
        match before {
            Ok(0) | Err(_) => Err(Error::other("the power was cut")),
            Ok(1) if self.torn => Ok(true),
            Ok(_) => Ok(false),
        }
    }
}

impl Intercept for Cut {
    fn media(&self) -> &MemoryMedia {
        &self.media
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        if self.count()? {
            // Sectors of 512 bytes are written whole.
            let part = bytes.len() / 1024 * 512;
            self.media.write(at, &bytes[..part])?;
            return Err(ErrorKind::Interrupted.into());
        }
        self.media.write(at, bytes)
    }

    fn sync(&self) -> Result<()> {
        self.count()?;
        self.media.sync()
    }
}

#[test]
fn every_byte_is_that_of_the_newest_version_across_evictions_and_restarts() {
    seeds(24, |seed| {
        let mut random = Random::new(seed);
        let kind = KINDS[seed as usize % 4];
        let config = kind.config(seed % 2 == 0);
        let media = kind.media();
        let mut model = Model::default();
        let (mut evicted, mut recovered) = (0, 0);
        for _ in 0..6 {
            let (cache, recovery) = open(&config, &media);
            recovered += recovery.objects;
            for _ in 0..400 {
                assert!(apply(&cache, &mut model, step(&mut random)));
            }
            verify(&cache, &model);
            let stats = cache.stats();
            evicted += stats.flash_evictions;
            assert_eq!((stats.events.io_errors, stats.events.damaged), (0, 0), "{kind:?}");
            assert_eq!(stats.nand.is_some(), kind.is_nand());
            // Otherwise as after a kill of the process.
            if random.below(3) > 0 {
                block_on(cache.close()).expect("it closes");
            }
        }
        assert!(evicted > 0 && recovered > 0, "{evicted} evicted, {recovered} recovered");
    });
}

#[test]
fn a_clean_restart_finds_what_was_in_dram_and_flash() {
    for (kind, reinsert) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let media = kind.media();
        let config = kind.config(reinsert);
        let mut model = Model::default();
        let (cache, recovery) = open(&config, &media);
        assert!(recovery.created && recovery.objects == 0);
        for number in 0..OBJECTS {
            assert!(apply(&cache, &mut model, common::Step::Put(number)));
        }
        let before: Vec<usize> = (0..OBJECTS).filter(|n| read(&cache, *n).is_some()).collect();
        block_on(cache.close()).expect("it closes");
        assert!(block_on(cache.get(&common::key(1))).is_none(), "it is closed");
        drop(cache);
        let (cache, recovery) = open(&config, &media);
        assert!(recovery.clean && !recovery.created && recovery.damaged_segments == 0);
        let after: Vec<usize> = (0..OBJECTS).filter(|n| read(&cache, *n).is_some()).collect();
        // The last objects evict a segment of the oldest ones.
        assert!(after.len() + 12 >= before.len(), "{} of {}", after.len(), before.len());
        assert!(after.contains(&(OBJECTS - 1)));
        verify(&cache, &model);
    }
}

/// A cache whose flash is full, which was closed.
fn full(kind: Kind, config: &Config) -> (Arc<MemoryMedia>, Model) {
    let media = kind.media();
    let mut model = Model::default();
    let (cache, _) = open(config, &media);
    while cache.stats().flash_evictions == 0 {
        for number in 0..OBJECTS {
            assert!(apply(&cache, &mut model, common::Step::Put(number)));
        }
    }
    assert_eq!(cache.stats().set_objects > 0, kind == Kind::Sets);
    block_on(cache.close()).expect("it closes");
    (media, model)
}

/// Runs a history on a full cache until the power is cut, and checks what a restart finds. Returns
/// whether the history ended before the cut.
fn cut(
    kind: Kind,
    config: &Config,
    full: &(Arc<MemoryMedia>, Model),
    seed: u64,
    at: u64,
    crash: u64,
) -> bool {
    let media = Arc::new(full.0.survivor());
    let mut model = full.1.clone();
    let mut random = Random::new(seed);
    let torn = crash % 2 == 1;
    let cutting =
        Arc::new(Intercepted(Cut { media: media.clone(), left: AtomicU64::new(u64::MAX), torn }));
    let medium = Clock::default().medium(cutting.clone());
    let (cache, _) = Cache::open_on(config.clone(), medium).expect("it opens");
    cutting.0.left.store(at, Ordering::Relaxed);
    for number in 0..60 {
        if cutting.0.left.load(Ordering::Relaxed) == 0 {
            break;
        }
        // Many objects, so that segments are written again.
        let step = match number % 3 {
            0 => step(&mut random),
            _ => common::Step::Put(random.below(OBJECTS)),
        };
        apply(&cache, &mut model, step);
    }
    let ended = cutting.0.left.load(Ordering::Relaxed) > 0;
    drop(cache);
    // Each 4 KiB since the last sync has its old or its new contents.
    let mut keep = Random::new(crash);
    let mut media = match crash {
        0 => Arc::new(media.survivor()),
        1 => kind.crashed(&media, || true),
        2 | 3 => kind.crashed(&media, || false),
        _ => kind.crashed(&media, || keep.below(2) == 0),
    };
    if crash > 3 {
        // The power is cut during the recovery as well.
        let left = AtomicU64::new(1 + at % 12);
        let cutting = Arc::new(Intercepted(Cut { media: media.clone(), left, torn }));
        drop(Cache::open_on(config.clone(), Clock::default().medium(cutting)));
        media = kind.crashed(&media, || keep.below(2) == 0);
    }
    for _ in 0..2 {
        let (cache, recovery) = open(config, &media);
        assert!(!recovery.damaged_journal, "cut {at}, crash {crash}");
        verify(&cache, &model);
        // Objects that were overwritten while their directory was not are damaged: misses.
        for number in 0..20 {
            assert!(apply(&cache, &mut model, common::Step::Delete(number)));
        }
        // The second restart sees the deletions.
    }
    if kind.is_nand() && crash == 5 {
        lose_segments(kind, config, &media, &mut model);
    }
    ended
}

/// Writes all segments again after a power cut, and loses some of them: a block with an older one,
/// which the power cut may have left, must not take its place.
fn lose_segments(kind: Kind, config: &Config, media: &Arc<MemoryMedia>, model: &mut Model) {
    let (cache, _) = open(config, media);
    let (lost, kept): (Vec<usize>, Vec<usize>) =
        (0..OBJECTS).partition(|number| read(&cache, *number).is_none());
    for number in kept.iter().chain(&kept).chain(&kept) {
        assert!(apply(&cache, model, common::Step::Put(*number)));
    }
    // New versions of objects that are in no segment stay in DRAM, and no record says so.
    for number in lost.iter().rev().take(6) {
        assert!(apply(&cache, model, common::Step::Put(*number)));
    }
    drop(cache);
    let mut newest = BTreeMap::new();
    for (start, _, number) in common::blocks_of(media) {
        let mut sequence = [0; 8];
        media.read(start + 8, &mut sequence).expect("it works");
        let found = (u64::from_le_bytes(sequence), start);
        let known = newest.entry(number).or_insert(found);
        *known = found.max(*known);
    }
    for (_, (_, start)) in newest.range(kind.metadata()..).step_by(2) {
        media.damage(start + 9, |byte| *byte ^= 1);
    }
    verify(&open(config, media).0, model);
}

/// Whether two erase blocks hold the same logical block, and whether the newer one comes first.
fn twice(media: &Arc<MemoryMedia>) -> Option<bool> {
    let mut found = BTreeMap::new();
    for (start, _, number) in common::blocks_of(media) {
        let mut sequence = [0; 8];
        media.read(start + 8, &mut sequence).expect("it works");
        let sequence = u64::from_le_bytes(sequence);
        if let Some(other) = found.insert(number, sequence) {
            return Some(other > sequence);
        }
    }
    None
}

#[test]
fn of_two_blocks_with_the_same_content_the_older_one_is_erased_at_start() {
    let kind = Kind::Nand;
    let config = kind.config(false);
    let full = full(kind, &config);
    let (mut newer_first, mut older_first) = (0, 0);
    for at in 1..200 {
        let media = Arc::new(full.0.survivor());
        let mut model = full.1.clone();
        let left = AtomicU64::new(u64::MAX);
        let cutting = Arc::new(Intercepted(Cut { media: media.clone(), left, torn: false }));
        let medium = Clock::default().medium(cutting.clone());
        let (cache, _) = Cache::open_on(config.clone(), medium).expect("it opens");
        cutting.0.left.store(at, Ordering::Relaxed);
        for number in (0..OBJECTS).cycle() {
            if cutting.0.left.load(Ordering::Relaxed) == 0 {
                break;
            }
            apply(&cache, &mut model, common::Step::Put(number));
        }
        drop(cache);
        // The power cut loses one write since the last sync: often none, or an erase.
        let mut writes = 0;
        kind.crashed(&media, || {
            writes += 1;
            true
        });
        for lost in 0..writes {
            let mut number = 0;
            let media = kind.crashed(&media, || {
                number += 1;
                number != lost + 1
            });
            match twice(&media) {
                None => continue,
                Some(true) => newer_first += 1,
                Some(false) => older_first += 1,
            }
            let (cache, _) = open(&config, &media);
            assert_eq!(twice(&media), None, "cut {at}, write {lost} lost");
            verify(&cache, &model);
        }
    }
    assert!(newer_first > 0 && older_first > 0, "{newer_first} and {older_first}");
}

#[test]
fn a_power_cut_at_any_write_or_sync_brings_nothing_back() {
    // All cuts of `CACHE_RUNS` histories; one by default.
    seeds(1, |seed| {
        let file = [(Kind::File, false), (Kind::File, true)];
        let nand = [(Kind::Nand, false), (Kind::LargePages, true)];
        for (kind, reinsert) in file.into_iter().chain(nand) {
            let config = kind.config(reinsert);
            let full = full(kind, &config);
            let crashes: &[u64] = match kind {
                Kind::File => &[0, 1, 2, 3, 4, 5, 6, 7],
                Kind::Nand => &[0, 2, 4, 5],
                Kind::LargePages | Kind::Sets => &[4, 5],
            };
            crashes.iter().for_each(|crash| cut_everywhere(kind, &config, &full, seed, *crash));
        }
    });
}

/// Runs a history with a power cut at each write and sync.
fn cut_everywhere(
    kind: Kind,
    config: &Config,
    full: &(Arc<MemoryMedia>, Model),
    seed: u64,
    crash: u64,
) {
    let mut at = 1;
    while !cut(kind, config, full, seed, at, crash) {
        at += 1;
    }
    assert!(at > 20, "only {at} cuts");
}

#[test]
fn a_power_cut_at_any_write_or_sync_brings_nothing_back_from_sets() {
    seeds(1, |seed| {
        let config = Kind::Sets.config(seed % 2 == 0);
        let full = full(Kind::Sets, &config);
        (0..8).for_each(|crash| cut_everywhere(Kind::Sets, &config, &full, seed, crash));
    });
}

#[test]
fn power_cuts_during_successive_compactions_bring_nothing_back() {
    seeds(20, |seed| {
        for kind in KINDS {
            let config = kind.config(false);
            let mut model = Model::default();
            let mut random = Random::new(seed);
            let mut media = kind.media();
            for round in 0..30 {
                let left = AtomicU64::new(u64::MAX);
                let cutting =
                    Arc::new(Intercepted(Cut { media: media.clone(), left, torn: round % 2 == 1 }));
                let medium = Clock::default().medium(cutting.clone());
                let (cache, _) = Cache::open_on(config.clone(), medium).expect("it opens");
                if round > 1 {
                    cutting.0.left.store(1 + random.below(60) as u64, Ordering::Relaxed);
                }
                for number in 0..40 {
                    apply(&cache, &mut model, common::Step::Put(random.below(OBJECTS)));
                    // A record of a page, so that a generation starts with several.
                    apply(&cache, &mut model, common::Step::LongPurge(number));
                    apply(&cache, &mut model, common::Step::Delete(random.below(OBJECTS)));
                    if cutting.0.left.load(Ordering::Relaxed) == 0 {
                        break;
                    }
                }
                drop(cache);
                media = kind.crashed(&media, || random.below(2) == 0);
                let (cache, recovery) = open(&config, &media);
                assert!(!recovery.damaged_journal, "round {round}");
                verify(&cache, &model);
            }
        }
    });
}

#[test]
fn objects_of_at_most_a_quarter_of_a_set_move_to_sets() {
    // A header of 64 bytes, and a key of 4.
    for (len, moves) in [(0, true), (1024 - 68, true), (1024 - 67, false)] {
        let (cache, _) = open(&Kind::Sets.config(false), &Kind::Sets.media());
        for number in 0..1000_u32 {
            let body = Bytes::from(vec![number as u8; len]);
            block_on(cache.put(&number.to_le_bytes(), b"", body)).expect("it works");
        }
        let stats = cache.stats();
        assert_eq!(stats.set_objects > 0, moves, "{len}: {stats:?}");
    }
}

#[test]
fn a_power_cut_while_a_cache_is_created_leaves_none_or_a_whole_one() {
    for kind in KINDS {
        let config = kind.config(false);
        for crash in 0..6 {
            let mut created = false;
            let mut at = 0;
            while !created {
                at += 1;
                let media = kind.media();
                let left = AtomicU64::new(at);
                let cutting =
                    Arc::new(Intercepted(Cut { media: media.clone(), left, torn: crash % 2 == 1 }));
                let medium = Clock::default().medium(cutting);
                created = Cache::open_on(config.clone(), medium).is_ok();
                let mut keep = Random::new(crash);
                let media = kind.crashed(&media, || crash < 2 || keep.below(2) == 0);
                let mut model = Model::default();
                for _ in 0..2 {
                    let (cache, _) = open(&config, &media);
                    verify(&cache, &model);
                    for number in 0..OBJECTS {
                        assert!(apply(&cache, &mut model, common::Step::Put(number)));
                    }
                }
            }
            assert!(at > 4, "only {at} cuts");
        }
    }
}

#[test]
fn a_full_device_loses_no_more_than_objects() {
    // The second one has no space for any set.
    for (kind, limit) in [(Kind::File, 90), (Kind::Sets, 74)] {
        fill(kind, limit);
    }
}

/// A history on a device that takes this number of blocks only, and then all.
fn fill(kind: Kind, limit: usize) {
    let media = kind.media();
    let config = kind.config(false);
    let mut model = Model::default();
    let (cache, _) = open(&config, &media);
    media.limit(Some(limit));
    let mut random = Random::new(5);
    for _ in 0..3000 {
        apply(&cache, &mut model, step(&mut random));
    }
    let stats = cache.stats();
    assert!(stats.events.io_errors > 0 && stats.events.flash_hits > 0, "{stats:?}");
    media.limit(None);
    for _ in 0..500 {
        apply(&cache, &mut model, step(&mut random));
    }
    drop(cache);
    let (cache, _) = open(&config, &media);
    verify(&cache, &model);
}

#[test]
fn many_deletions_do_not_fill_the_journal() {
    for kind in KINDS {
        // More deletions than a half of the journal has records.
        let media = kind.media();
        let config = kind.config(true);
        let mut model = Model::default();
        let (cache, _) = open(&config, &media);
        for round in 0..40 {
            for number in 0..OBJECTS {
                assert!(apply(&cache, &mut model, common::Step::Put(number)));
            }
            for number in (round % 2..OBJECTS).step_by(2) {
                assert!(apply(&cache, &mut model, common::Step::Delete(number)));
            }
            if round % 10 == 9 {
                let survivor = kind.crashed(&media, || false);
                let (cache, _) = open(&config, &survivor);
                verify(&cache, &model);
            }
        }
        verify(&cache, &model);
    }
}

#[test]
fn a_cache_that_was_closed_is_clean_however_full_its_journal_is() {
    for kind in KINDS {
        let media = kind.media();
        let config = kind.config(false);
        let mut model = Model::default();
        for round in 0..20 {
            let (cache, recovery) = open(&config, &media);
            assert_eq!(recovery.clean, round > 0);
            for number in 0..OBJECTS {
                assert!(apply(&cache, &mut model, common::Step::Put(number)));
            }
            for number in 0..round {
                assert!(apply(&cache, &mut model, common::Step::Delete(number)));
            }
            block_on(cache.close()).expect("it closes");
        }
    }
}

#[test]
fn records_that_do_not_fit_the_journal_evict_the_oldest_objects() {
    for kind in KINDS {
        let media = kind.media();
        let config = kind.config(false);
        let mut model = Model::default();
        let (cache, _) = open(&config, &media);
        for number in 0..OBJECTS {
            assert!(apply(&cache, &mut model, common::Step::Put(number)));
        }
        let before = cache.stats().flash_objects;
        for round in 0..60_u64 {
            // A record of its own page, for no object.
            let mut prefix = vec![b'x'; 3900];
            prefix.extend_from_slice(&round.to_le_bytes());
            assert_eq!(block_on(cache.purge(&prefix)).expect("it works"), 0);
            assert!(apply(&cache, &mut model, common::Step::Delete(OBJECTS - 1)));
            assert!(apply(&cache, &mut model, common::Step::Put(OBJECTS - 1)));
            let survivor = kind.crashed(&media, || round % 2 == 0);
            let (again, recovery) = open(&config, &survivor);
            assert!(!recovery.damaged_journal);
            verify(&again, &model);
        }
        let after = cache.stats();
        assert!(after.flash_objects < before, "{after:?}");
        for number in 0..OBJECTS {
            assert!(apply(&cache, &mut model, common::Step::Get(number)));
        }
        let survivor = kind.crashed(&media, || false);
        verify(&open(&config, &survivor).0, &model);
    }
}
