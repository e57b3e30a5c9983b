//! Damage to the flash: never a wrong byte, and nothing that was deleted comes back.

mod common;

use common::{
    Clock, Kind, Model, OBJECTS, SEGMENT, SEGMENTS_AT, SETS, SETS_AT, SIZE, Step, apply, config,
    open, seeds, step, verify,
};
use gordon_objectcache::{Cache, Error, block_on};
use gordon_store::Media as _;
use gordon_testkit::{MemoryMedia, Random};
use std::sync::Arc;

/// A cache on a file that was in use, and was closed or killed.
fn used(seed: u64, reinsert: bool) -> (Arc<MemoryMedia>, Model) {
    used_of(Kind::File, seed, reinsert)
}

fn used_of(kind: Kind, seed: u64, reinsert: bool) -> (Arc<MemoryMedia>, Model) {
    let media = kind.media();
    let mut model = Model::default();
    let mut random = Random::new(seed);
    let (cache, _) = open(&kind.config(reinsert), &media);
    for number in 0..OBJECTS {
        assert!(apply(&cache, &mut model, Step::Put(number)));
    }
    for _ in 0..300 {
        assert!(apply(&cache, &mut model, step(&mut random)));
    }
    if seed.is_multiple_of(2) {
        block_on(cache.close()).expect("it closes");
    }
    (media, model)
}

#[test]
fn flipped_bits_are_misses_and_bring_nothing_back() {
    seeds(150, |seed| {
        let (media, mut model) = used(seed, seed % 3 == 0);
        let mut random = Random::new(seed);
        // Anywhere, in the journal and the superblock, or in the segments.
        let (start, len) = match seed % 3 {
            0 => (0, SIZE),
            1 => (0, SEGMENTS_AT),
            _ => (SEGMENTS_AT, SIZE - SEGMENTS_AT),
        };
        // One bit in the metadata, which have two copies; many elsewhere.
        let flips = if start == 0 { 1 } else { 1 + random.below(200) };
        for _ in 0..flips {
            let at = start + random.below(len as usize) as u64;
            let bit = 1 << random.below(8);
            media.damage(at, |byte| *byte ^= bit);
        }
        let (cache, _) = open(&config(false), &media);
        verify(&cache, &model);
        let checked = block_on(cache.check()).expect("it works");
        assert_eq!(block_on(cache.check()).expect("it works").damaged, 0, "{checked:?}");
        let mut random = Random::new(seed + 1000);
        for _ in 0..300 {
            let step = step(&mut random);
            if !matches!(step, Step::Check) {
                assert!(apply(&cache, &mut model, step));
            }
        }
        drop(cache);
        let (cache, _) = open(&config(false), &media);
        verify(&cache, &model);
    });
}

#[test]
fn damaged_erase_blocks_are_misses_and_bring_nothing_back() {
    seeds(120, |seed| {
        let kind = if seed.is_multiple_of(4) { Kind::LargePages } else { Kind::Nand };
        let (media, mut model) = used_of(kind, seed, seed % 3 == 0);
        let mut random = Random::new(seed);
        let all = common::blocks_of(&media);
        let (segments, others): (Vec<_>, Vec<_>) =
            all.iter().partition(|(.., number)| *number >= kind.metadata());
        assert!(segments.len() > 8 && others.len() >= 4, "{all:?}");
        // A bit of the superblock and the journal, or any damage to several segments.
        if seed.is_multiple_of(5) {
            let (start, len, _) = others[random.below(others.len())];
            media.damage(start + random.below(len) as u64, |byte| *byte ^= 1 << (seed % 8));
        } else {
            for _ in 0..1 + random.below(4) {
                let (start, len, _) = segments[random.below(segments.len())];
                let (other, ..) = segments[random.below(segments.len())];
                let at = start + (random.below(len) / 4096 * 4096) as u64;
                match seed % 5 {
                    1 => media.damage(at + random.below(4096) as u64, |byte| *byte ^= 0x80),
                    2 => media.write(at, &[0; 4096]).expect("it works"),
                    3 => media.write(at, &[0xff; 4096]).expect("it works"),
                    _ => {
                        let mut bytes = vec![0; len];
                        media.read(other, &mut bytes).expect("it works");
                        media.write(start, &bytes).expect("it works");
                    }
                }
            }
        }
        let (cache, recovery) = open(&kind.config(false), &media);
        assert!(!recovery.damaged_journal);
        verify(&cache, &model);
        block_on(cache.check()).expect("it works");
        assert_eq!(block_on(cache.check()).expect("it works").damaged, 0);
        for _ in 0..200 {
            let step = step(&mut random);
            if !matches!(step, Step::Check) {
                assert!(apply(&cache, &mut model, step));
            }
        }
        drop(cache);
        let (cache, _) = open(&kind.config(false), &media);
        verify(&cache, &model);
    });
}

#[test]
fn an_erase_block_with_older_contents_is_not_used() {
    for kind in [Kind::Nand, Kind::LargePages] {
        let (media, mut model) = used_of(kind, 1, false);
        let contents = |media: &MemoryMedia, (start, len, _): (u64, usize, u32)| {
            let mut bytes = vec![0; len];
            media.read(start, &mut bytes).expect("it works");
            bytes
        };
        let older: Vec<_> =
            common::blocks_of(&media).into_iter().map(|at| (at, contents(&media, at))).collect();
        let (cache, _) = open(&kind.config(false), &media);
        for _ in 0..3 {
            for number in 0..OBJECTS {
                assert!(apply(&cache, &mut model, Step::Put(number)));
            }
        }
        for number in (0..OBJECTS).step_by(2) {
            assert!(apply(&cache, &mut model, Step::Delete(number)));
        }
        drop(cache);
        let newest = common::blocks_of(&media);
        let mut replaced = 0;
        for (at, bytes) in older {
            // All segments that were written again since.
            if at.2 >= kind.metadata() && newest.iter().all(|new| contents(&media, *new) != bytes) {
                media.write(at.0, &bytes).expect("it works");
                replaced += 1;
            }
        }
        assert!(replaced > 6, "{replaced}");
        let (cache, _) = open(&kind.config(false), &media);
        verify(&cache, &model);
    }
}

/// Uses a cache while one byte after another of its flash is unreadable.
fn use_with_unreadable_bytes(
    cache: &Cache,
    model: &mut Model,
    media: &MemoryMedia,
    mut place: impl FnMut(&mut Random) -> u64,
) {
    let mut random = Random::new(3);
    for _ in 0..60 {
        media.fail_reads(Some(place(&mut random)));
        for _ in 0..30 {
            let step = step(&mut random);
            if !matches!(step, Step::Check) {
                apply(cache, model, step);
            }
        }
        media.fail_reads(None);
    }
}

#[test]
fn unreadable_bytes_of_nand_are_misses() {
    for kind in [Kind::Nand, Kind::LargePages] {
        let (media, mut model) = used_of(kind, 2, true);
        let (cache, _) = open(&kind.config(true), &media);
        use_with_unreadable_bytes(&cache, &mut model, &media, |random| {
            let blocks = common::blocks_of(&media);
            let (start, len, _) = blocks[random.below(blocks.len())];
            start + random.below(len) as u64
        });
        verify(&cache, &model);
        drop(cache);
        let (cache, _) = open(&kind.config(true), &media);
        verify(&cache, &model);
    }
}

#[test]
fn a_damaged_object_is_removed_and_counted() {
    let (media, model) = used(2, false);
    let (cache, recovery) = open(&config(false), &media);
    // A byte in each 64 of all segments, but not in the directories at their ends.
    for segment in 0..12 {
        let start = SEGMENTS_AT + segment * u64::from(SEGMENT);
        for at in (start + 20..start + u64::from(SEGMENT) - 4096).step_by(64) {
            media.damage(at, |byte| *byte ^= 0x10);
        }
    }
    let checked = block_on(cache.check()).expect("it works");
    assert!(checked.damaged > recovery.objects / 2, "{checked:?} of {}", recovery.objects);
    assert_eq!(cache.stats().events.damaged, checked.damaged);
    assert_eq!(cache.stats().flash_objects, checked.objects);
    verify(&cache, &model);
    // Bytes that can be read again do not bring them back.
    drop(cache);
    for segment in 0..12 {
        let start = SEGMENTS_AT + segment * u64::from(SEGMENT);
        for at in (start + 20..start + u64::from(SEGMENT) - 4096).step_by(64) {
            media.damage(at, |byte| *byte ^= 0x10);
        }
    }
    let (cache, recovery) = open(&config(false), &media);
    assert_eq!(recovery.objects, checked.objects);
    verify(&cache, &model);
}

#[test]
fn unreadable_bytes_are_misses() {
    let (media, mut model) = used(2, true);
    let (cache, _) = open(&config(true), &media);
    let mut random = Random::new(3);
    for round in 0..60 {
        media.fail_reads(Some(SEGMENTS_AT + random.below((SIZE - SEGMENTS_AT) as usize) as u64));
        for _ in 0..30 {
            let step = step(&mut random);
            if !matches!(step, Step::Check) {
                apply(&cache, &mut model, step);
            }
        }
        media.fail_reads(None);
        if round % 20 == 0 {
            verify(&cache, &model);
        }
    }
    verify(&cache, &model);
    drop(cache);
    let (cache, _) = open(&config(true), &media);
    verify(&cache, &model);
}

#[test]
fn segments_that_were_swapped_or_copied_are_not_used() {
    for copies in [false, true] {
        let (media, model) = used(2, false);
        let segment = u64::from(SEGMENT);
        let read = |number: u64| {
            let mut bytes = vec![0; SEGMENT as usize];
            media.read(SEGMENTS_AT + number * segment, &mut bytes).expect("it works");
            bytes
        };
        let (first, second) = (read(3), read(7));
        media.write(SEGMENTS_AT + 7 * segment, &first).expect("it works");
        if !copies {
            media.write(SEGMENTS_AT + 3 * segment, &second).expect("it works");
        }
        let (cache, recovery) = open(&config(false), &media);
        assert_eq!(recovery.damaged_segments, if copies { 1 } else { 2 });
        verify(&cache, &model);
    }
}

#[test]
fn a_lost_journal_gives_an_empty_cache() {
    let (media, mut model) = used(2, false);
    for at in 8192..SEGMENTS_AT - 8192 {
        media.damage(at, |byte| *byte = 0xff);
    }
    let (cache, recovery) = open(&config(false), &media);
    assert!(recovery.damaged_journal && recovery.objects == 0, "{recovery:?}");
    for number in 0..OBJECTS {
        assert!(apply(&cache, &mut model, Step::Put(number)));
        assert!(apply(&cache, &mut model, Step::Delete(number / 2)));
    }
    block_on(cache.close()).expect("it closes");
    let (cache, recovery) = open(&config(false), &media);
    assert!(!recovery.damaged_journal && recovery.objects > 0);
    verify(&cache, &model);
}

#[test]
fn media_of_other_programs_versions_and_sizes_are_refused() {
    let refused = |media: MemoryMedia, config: &gordon_objectcache::Config| {
        let medium = Clock::default().medium(Arc::new(media));
        Cache::open_on(config.clone(), medium).err().expect("it is refused")
    };
    let ours = config(false);
    let foreign = MemoryMedia::new(SIZE);
    foreign.write(0, b"of another program").expect("it works");
    assert!(matches!(refused(foreign, &ours), Error::Foreign(_)));
    let (media, _) = used(1, false);
    let version = media.survivor();
    for page in [0, 4096] {
        version.damage(page + 16, |byte| *byte = 9);
    }
    assert!(matches!(refused(version, &ours), Error::Version { version: 9, known: 3, .. }));
    let damaged = media.survivor();
    for page in [0, 4096] {
        damaged.damage(page + 40, |byte| *byte ^= 1);
    }
    assert!(matches!(refused(damaged, &ours), Error::Damaged { .. }));
    // One copy of the superblock is enough.
    media.damage(40, |byte| *byte ^= 1);
    drop(open(&ours, &media));
    let mut other = ours.clone();
    if let Some(flash) = &mut other.flash {
        flash.size = flash.size.map(|size| size + (1 << 20));
    }
    let larger = refused(media.survivor(), &other);
    assert!(matches!(larger, Error::OtherShape { what: "a flash of", .. }), "{larger}");
    let mut other = ours;
    if let Some(flash) = &mut other.flash {
        flash.segment = flash.segment.map(|segment| segment * 2);
    }
    assert!(matches!(refused(media.survivor(), &other), Error::OtherShape { .. }));
}

#[test]
fn flipped_bits_of_sets_are_misses_and_bring_nothing_back() {
    let mut damaged = 0;
    seeds(60, |seed| {
        let (media, mut model) = used_of(Kind::Sets, seed, seed % 3 == 0);
        let config = Kind::Sets.config(seed % 3 == 0);
        let mut random = Random::new(seed);
        for _ in 0..1 + random.below(8) {
            let at = SETS_AT + random.below(SETS as usize * 4096) as u64;
            media.damage(at, |byte| *byte ^= 1 << (seed % 8));
        }
        let (cache, _) = open(&config, &media);
        verify(&cache, &model);
        damaged += block_on(cache.check()).expect("it works").damaged;
        damaged += cache.stats().events.damaged;
        assert_eq!(block_on(cache.check()).expect("it works").damaged, 0);
        for _ in 0..300 {
            assert!(apply(&cache, &mut model, step(&mut random)));
        }
        drop(cache);
        let (cache, _) = open(&config, &media);
        verify(&cache, &model);
    });
    assert!(damaged > 0);
}

#[test]
fn a_damaged_set_that_can_be_read_again_brings_nothing_back() {
    for deletes in [false, true] {
        let (media, mut model) = used_of(Kind::Sets, 2, false);
        let config = Kind::Sets.config(false);
        let flip = || {
            for set in 0..SETS {
                media.damage(SETS_AT + set * 4096 + 100, |byte| *byte ^= 0x10);
            }
        };
        flip();
        let (cache, _) = open(&config, &media);
        // The new versions stay in DRAM, and are lost.
        for number in 0..6 {
            let step = if deletes { Step::Delete(number) } else { Step::Put(number) };
            assert!(apply(&cache, &mut model, step));
        }
        drop(cache);
        flip();
        verify(&open(&config, &media).0, &model);
    }
}

#[test]
fn a_lost_journal_empties_sets() {
    let (media, mut model) = used_of(Kind::Sets, 2, false);
    let config = Kind::Sets.config(false);
    for at in 8192..SEGMENTS_AT - 8192 {
        media.damage(at, |byte| *byte = 0xff);
    }
    let (cache, recovery) = open(&config, &media);
    assert!(recovery.damaged_journal && recovery.objects == 0, "{recovery:?}");
    // It is not known what was purged.
    assert_eq!(verify(&cache, &model), 0);
    for number in 0..OBJECTS {
        assert!(apply(&cache, &mut model, Step::Put(number)));
        assert!(apply(&cache, &mut model, Step::Delete(number / 2)));
    }
    drop(cache);
    verify(&open(&config, &media).0, &model);
}

#[test]
fn sets_that_were_swapped_or_are_unreadable_are_misses() {
    let (media, mut model) = used_of(Kind::Sets, 2, true);
    let config = Kind::Sets.config(true);
    let page = |set: u64| {
        let mut bytes = vec![0; 4096];
        media.read(SETS_AT + set * 4096, &mut bytes).expect("it works");
        bytes
    };
    let pages = [page(1), page(4)];
    assert!(pages.iter().all(|page| page.starts_with(b"GObjSet1")));
    media.write(SETS_AT + 4096, &pages[1]).expect("it works");
    media.write(SETS_AT + 4 * 4096, &pages[0]).expect("it works");
    let (cache, _) = open(&config, &media);
    // One may have been updated already.
    block_on(cache.check()).expect("it works");
    assert_eq!(cache.stats().events.damaged, 2);
    use_with_unreadable_bytes(&cache, &mut model, &media, |random| {
        SETS_AT + random.below(SETS as usize * 4096) as u64
    });
    verify(&cache, &model);
    drop(cache);
    verify(&open(&config, &media).0, &model);
}
