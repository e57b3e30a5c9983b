//! Caches on NAND images: bad blocks, wear, and images that cannot be used.

mod common;

use common::{Clock, Kind, Model, OBJECTS, Step, apply, open, seeds, step, verify};
use gordon_objectcache::{Cache, Config, Error, Flash, block_on};
use gordon_store::{Backend, Command, Engine, Faults, Image, ImageError, Store, check};
use gordon_testkit::{MemoryMedia, Random, image};
use std::path::Path;
use std::sync::Arc;

/// An image whose programs and erases fail at these rates.
fn faulty(kind: Kind, faults: Faults, seed: u64) -> Arc<MemoryMedia> {
    image::image(&kind.device(faults, seed))
}

#[test]
fn blocks_that_go_bad_are_left_out_and_lose_nothing_durable() {
    seeds(8, |seed| {
        let kind = if seed.is_multiple_of(2) { Kind::Nand } else { Kind::LargePages };
        let faults = Faults {
            factory_bad: 0.02,
            program_failures: 0.003,
            erase_failures: 0.003,
            bit_errors: 1e-5,
            ..Faults::default()
        };
        let media = faulty(kind, faults, seed);
        let config = kind.config(seed % 4 < 2);
        let mut model = Model::default();
        let mut random = Random::new(seed);
        let (mut failures, mut bits) = (0, 0);
        for _ in 0..4 {
            let (cache, _) = open(&config, &media);
            let before = cache.stats().nand.expect("it is NAND").bad_blocks;
            for _ in 0..400 {
                assert!(apply(&cache, &mut model, step(&mut random)));
            }
            verify(&cache, &model);
            let stats = cache.stats();
            let nand = stats.nand.expect("it is NAND");
            assert_eq!(stats.events.io_errors, 0, "{nand:?}");
            assert_eq!(u64::from(nand.bad_blocks - before), nand.failures);
            (failures, bits) = (failures + nand.failures, bits + nand.bits_corrected);
            if random.below(2) > 0 {
                block_on(cache.close()).expect("it closes");
            }
        }
        assert!(failures > 0 && bits > 0, "{failures} failures, {bits} bits corrected");
    });
}

#[test]
fn flash_that_wears_out_serves_what_it_has_and_records_removals_to_the_end() {
    let faults = Faults { erase_budget: 60, spread: 0.2, ..Faults::default() };
    let media = faulty(Kind::Nand, faults, 3);
    let config = Kind::Nand.config(false);
    let mut model = Model::default();
    let mut random = Random::new(7);
    let mut recorded = 0;
    let (cache, _) = open(&config, &media);
    // The first segment that cannot be written, then the first removal that cannot be recorded.
    loop {
        let step = step(&mut random);
        if matches!(step, Step::Check) {
            continue;
        }
        if !apply(&cache, &mut model, step) {
            break;
        }
        recorded += u32::from(cache.stats().events.io_errors > 0);
    }
    verify(&cache, &model);
    assert!(recorded > 100, "{recorded} steps after the first segment that was not written");
    let stats = cache.stats();
    assert!(stats.erases > 40.0 && stats.nand.expect("it is NAND").bad_blocks >= 20, "{stats:?}");
    drop(cache);
    // What is left is found after a restart.
    let (cache, _) = open(&config, &media);
    verify(&cache, &model);
}

#[test]
fn erases_are_counted_and_spread_over_all_blocks() {
    for kind in [Kind::Nand, Kind::LargePages] {
        let media = kind.media();
        let config = kind.config(false);
        let mut model = Model::default();
        let (cache, _) = open(&config, &media);
        for round in 0..120 {
            for number in 0..OBJECTS {
                assert!(apply(&cache, &mut model, Step::Put((number * 7 + round) % OBJECTS)));
            }
        }
        let stats = cache.stats();
        let nand = stats.nand.expect("it is NAND");
        let written = nand.write_amplification.expect("it has written");
        // The superblock is written once, and is not counted as written.
        assert!((written - 1.0).abs() < 0.02, "{written}");
        assert_eq!(nand.bad_blocks, 0);
        let mean = nand.block_erases as f64 / f64::from(nand.good_blocks);
        assert!((stats.erases - mean).abs() < 1e-9, "{} of {mean}", stats.erases);
        assert!(nand.most_erases > 20, "{nand:?}");
        let blocks = Image::on(Path::new("image"), Box::new(media.survivor())).expect("it opens");
        let mut erases: Vec<u32> = blocks.records().iter().map(|record| record.erases).collect();
        erases.sort_unstable();
        // The two copies of the superblock stay where they are.
        assert!(erases[2] + 24 > *erases.last().expect("blocks"), "{erases:?}");
        assert!(erases[2] > 0, "{erases:?}");
        // Each erase is one of a block that was filled, but for those that are free or half full.
        let programmed = nand.programmed_bytes / 16_384;
        assert!(nand.block_erases.abs_diff(programmed) < programmed / 2, "{nand:?}");
    }
}

#[test]
fn removals_alone_wear_all_blocks() {
    let kind = Kind::Nand;
    let media = kind.media();
    let mut model = Model::default();
    let (cache, _) = open(&kind.config(false), &media);
    for number in 0..OBJECTS {
        assert!(apply(&cache, &mut model, Step::Put(number)));
    }
    // Records of a prefix that no object has: nothing is written but the journal.
    for round in 0..4_000_u32 {
        block_on(cache.purge(format!("none {round}").as_bytes())).expect("it works");
    }
    let nand = cache.stats().nand.expect("it is NAND");
    let records = Image::on(Path::new("image"), Box::new(media.survivor())).expect("it opens");
    let mut erases: Vec<u32> = records.records().iter().map(|record| record.erases).collect();
    erases.sort_unstable();
    assert!(nand.most_erases > 40, "{nand:?}");
    assert!(erases[2] + 24 > nand.most_erases, "{erases:?}");
    verify(&cache, &model);
    for number in 0..OBJECTS {
        assert!(apply(&cache, &mut model, Step::Get(number)));
    }
    verify(&cache, &model);
    assert_eq!(cache.stats().events.io_errors, 0);
    assert_eq!(cache.stats().events.damaged, 0);
}

/// The error of opening a cache on this medium.
fn refused(config: &Config, media: &Arc<MemoryMedia>) -> Error {
    let medium = Clock::default().medium(media.clone());
    Cache::open_on(config.clone(), medium).err().expect("it is refused")
}

#[test]
fn an_image_with_the_data_of_a_block_device_is_refused() {
    let kind = Kind::Nand;
    let media = kind.media();
    let on = |media: &Arc<MemoryMedia>| {
        Image::on(Path::new("image"), Box::new(media.clone())).expect("it opens")
    };
    let request = |command: Command, data: Vec<u8>, close: bool| {
        let store: Store<Vec<u8>> = Store::open_image(on(&media)).expect("it opens");
        let mut found = None;
        store.submit(&mut vec![(command, data)], |done| found = Some(done));
        if close {
            store.close().expect("it closes");
        }
        let found = found.expect("it ends at once");
        assert_eq!(found.result, Ok(()));
        found.payload
    };
    let config = kind.config(false);
    for close in [true, false] {
        request(Command::Write { offset: 0, fua: true }, vec![7; 512], close);
        let error = refused(&config, &media);
        assert!(matches!(error, Error::Image(ImageError::HoldsDevice(_))), "{error}");
        assert_eq!(request(Command::Read { offset: 0 }, vec![0; 512], true), [7; 512]);
    }
}

#[test]
fn the_image_of_a_cache_is_not_a_block_device() {
    let media = Kind::Nand.media();
    drop(open(&Kind::Nand.config(false), &media));
    let image = || Image::on(Path::new("image"), Box::new(media.clone())).expect("it opens");
    let errors = [
        check(&image()).err(),
        Engine::<Vec<u8>>::open(image()).err(),
        Engine::<Vec<u8>>::salvage(image()).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(ImageError::Raw(_))), "{error:?}");
    }
    assert_eq!(gordon_store::wear(&image()).blocks.len(), 40);
}

#[test]
fn a_cache_takes_all_of_an_image_unless_a_size_is_given() {
    let media = Kind::Nand.media();
    let flash = Flash { segment: None, ..Flash::image("test".into()) };
    let all = Config { flash: Some(flash), ..Config::new(200_000) };
    // 40 blocks of 16 KiB are too few for segments of 256 KiB.
    assert!(matches!(refused(&all, &media), Error::Config { key: "flash", .. }));
    let mut all = all;
    let flash = all.flash.as_mut().expect("it has flash");
    flash.segment = Some(16 << 10);
    let stats = open(&all, &media).0.stats();
    // Two copies of the superblock, two halves of the journal of 8 blocks, and 4 spare blocks.
    assert_eq!(stats.segments, 40 - 2 - 16 - 4);
    // It keeps the size of its creation.
    let flash = all.flash.as_mut().expect("it has flash");
    flash.size = Some(common::SIZE);
    assert!(matches!(refused(&all, &media), Error::OtherShape { what: "a flash of", .. }));
    let flash = all.flash.as_mut().expect("it has flash");
    (flash.size, flash.segment) = (None, None);
    open(&all, &media);
    let flash = all.flash.as_mut().expect("it has flash");
    flash.segment = Some(32 << 10);
    assert!(matches!(refused(&all, &media), Error::OtherShape { what: "segments of", .. }));
}

#[test]
fn sets_on_an_image_are_refused() {
    let media = Kind::Nand.media();
    let mut with_sets = Kind::Nand.config(false);
    with_sets.flash.as_mut().expect("it has flash").sets = Some(0.5);
    let is_refused = || matches!(refused(&with_sets, &media), Error::Config { key: "sets", .. });
    assert!(is_refused());
    drop(open(&Kind::Nand.config(false), &media));
    assert!(is_refused());
}

#[test]
fn images_that_do_not_suit_a_cache_are_refused_and_stay_unused() {
    let refuse = |media: &Arc<MemoryMedia>, change: &dyn Fn(&mut Flash)| {
        let mut config = Kind::Nand.config(false);
        change(config.flash.as_mut().expect("it has flash"));
        let error = refused(&config, media);
        let image = Image::on(Path::new("image"), Box::new(media.clone())).expect("it opens");
        assert!(image.is_unused() && !image.is_raw(), "{error}");
        error
    };
    let media = Kind::Nand.media();
    let error = refuse(&media, &|flash| flash.size = Some(32 << 20));
    assert!(matches!(error, Error::DeviceTooSmall { len, .. } if len == 36 * 16_384), "{error}");
    let error = refuse(&media, &|flash| flash.segment = Some(20 << 10));
    assert!(matches!(error, Error::Config { key: "segment", .. }), "{error}");
    let error = refuse(&media, &|flash| flash.size = Some(300 << 10));
    assert!(matches!(error, Error::Config { key: "flash", .. }), "{error}");
    // Blocks that are smaller than two units of 4 KiB.
    let small = image::image(&image::device(512, 8, 80, Faults::default(), 1));
    assert!(matches!(refuse(&small, &|_| {}), Error::Array { .. }));
    let version = Kind::Nand.media();
    for copy in [0, 4096] {
        version.damage(copy + 8, |byte| *byte = 9);
    }
    let error = refused(&Kind::Nand.config(false), &version);
    assert!(matches!(error, Error::Image(ImageError::Version { version: 9, .. })), "{error}");
}

#[test]
fn the_file_of_an_image_is_locked_and_its_wear_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flash.img");
    let device = image::device(4096, 16, 64, Faults::default(), 1);
    drop(Image::create(&path, device, Backend::File).expect("it is created"));
    let flash = Flash { segment: Some(64 << 10), ..Flash::image(path.clone()) };
    let config = Config { flash: Some(flash), ..Config::new(400_000) };
    let mut erases = 0;
    for round in 0..3_u8 {
        let (cache, recovery) = Cache::open(config.clone()).expect("it opens");
        assert_eq!(recovery.created, round == 0);
        assert_eq!(recovery.clean, round > 0);
        assert_eq!(recovery.objects > 0, round > 0);
        let stats = cache.stats();
        assert!(stats.access.starts_with("NAND image, 64 erase blocks"), "{}", stats.access);
        let before = stats.nand.expect("it is NAND");
        assert!(before.block_erases >= erases && before.programmed_bytes < 1 << 20);
        assert!(matches!(Cache::open(config.clone()), Err(Error::InUse(_))));
        for number in 0..3000_u32 {
            let body = vec![round; 2000 + number as usize % 100];
            block_on(cache.put(&number.to_le_bytes(), b"", body.into())).expect("it works");
        }
        for number in 0..3000_u32 {
            if let Some(object) = block_on(cache.get(&number.to_le_bytes())) {
                let body = block_on(object.read(0..u64::MAX)).expect("it is open");
                assert!(body.expect("it is whole").iter().all(|byte| *byte == round));
            }
        }
        let stats = cache.stats();
        assert!(stats.events.flash_hits > 0 && stats.events.io_errors == 0, "{stats:?}");
        erases = stats.nand.expect("it is NAND").block_erases;
        block_on(cache.close()).expect("it closes");
    }
    assert!(erases > 60, "{erases}");
}
