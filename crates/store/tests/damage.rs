//! Damaged images: a check finds the damage, and no wrong data are served.

mod common;

use common::nand_faults::{Tally, damage, judge, page_of, pages_of, swap};
use common::{
    Bench, NAME, SHAPES, Tagged, contents, device, device_with_long_summaries, image, seal, seeds,
};
use gordon_nand::Layout;
use gordon_store::{CheckReport, Command, Engine, Image, ImageError, ImageOffsets, Media, check};
use gordon_testkit::{MemoryMedia, Random};
use gordon_units::{BlockId, Ppn};
use std::path::Path;
use std::sync::Arc;

/// A store at rest with contents in every part of the image.
fn full(seed: u64) -> Bench {
    Bench::full(&device(SHAPES[(seed % 4) as usize], 20, 0.7, seed), seed)
}

/// As [`full`], but shut down in order.
fn closed(seed: u64) -> Bench {
    let mut bench = full(seed);
    bench.engine.close().expect("it closes");
    bench
}

/// The findings of a check after bytes of an intact image were changed.
fn found(bench: &Bench, change: impl FnOnce(&MemoryMedia, &ImageOffsets, &Layout)) -> CheckReport {
    let media = Arc::new(bench.media.survivor());
    let before = image(&media);
    change(&media, before.offsets(), &before.resolved().layout);
    check(&image(&media)).expect("it works")
}

fn expect(found: &CheckReport, words: &str) {
    let errors = &found.errors;
    assert!(errors.iter().any(|error| error.contains(words)), "{words:?} is not in {errors:#?}");
}

#[test]
fn a_check_finds_each_kind_of_damage() {
    for bench in [full(2), closed(2)] {
        let clean = found(&bench, |_, _, _| {});
        assert!(clean.clean && clean.servable, "{:#?}", clean.errors);
        let errors = found(&bench, |media, _, _| media.damage(300, |byte| *byte ^= 1));
        expect(&errors, "superblock 0 is damaged");
        assert!(errors.servable);
        for generation in 0..2 {
            let errors = found(&bench, |media, offsets, _| {
                media.damage(offsets.table(generation) + 100, |byte| *byte ^= 1);
            });
            expect(&errors, "of the block table is damaged");
            assert!(errors.servable);
        }
        let errors = found(&bench, |media, offsets, layout| {
            let ppn = page_of(media, offsets, layout, 2);
            media.damage(offsets.slot(ppn, 0) + 40, |byte| *byte ^= 4);
        });
        expect(&errors, "the summary of block");
        let errors = found(&bench, |media, offsets, layout| {
            let ppn = page_of(media, offsets, layout, 3);
            media.damage(offsets.slot(ppn, 0) + 12, |byte| *byte ^= 4);
        });
        expect(&errors, "a page of the trim journal is damaged");
        let oob = |change: &dyn Fn(&MemoryMedia, &ImageOffsets, Ppn)| {
            found(&bench, |media, offsets, layout| {
                change(media, offsets, page_of(media, offsets, layout, 1));
            })
        };
        let errors = oob(&|media, offsets, ppn| {
            media.damage(offsets.oob(ppn) + 33, |byte| *byte ^= 4);
        });
        expect(&errors, "out-of-band entry is damaged");
        // An entry that is gone, and one in the place of another.
        let errors = oob(&|media, offsets, ppn| {
            media.write(offsets.oob(ppn), &vec![0; offsets.oob_bytes]).unwrap();
        });
        assert!(!errors.clean, "{errors:#?}");
        let errors = oob(&|media, offsets, ppn| {
            swap(media, offsets.oob(ppn), offsets.oob(Ppn(ppn.0 + 1)), offsets.oob_bytes);
        });
        expect(&errors, "out-of-band entry is damaged");
    }
}

/// The data of a unit are compared with their checksum if they are in use, and only then.
#[test]
fn a_check_finds_damaged_data_only_of_units_in_use() {
    for bench in [full(2), closed(2)] {
        let sound = found(&bench, |_, _, _| {});
        let (mut damaged, mut exempt) = (0, 0);
        let sound_image = image(&bench.media);
        let (offsets, layout) = (*sound_image.offsets(), sound_image.resolved().layout);
        for ppn in pages_of(&bench.media, &offsets, &layout, 1) {
            let errors = found(&bench, |media, offsets, _| {
                media.damage(offsets.slot(ppn, 0) + 17, |byte| *byte ^= 4);
            });
            if errors.clean {
                exempt += 1;
                continue;
            }
            damaged += 1;
            expect(&errors, "slot 0: the data do not fit their checksum");
            assert!(errors.servable);
            let [bad] = &errors.unreadable_ranges[..] else { panic!("{errors:#?}") };
            assert_eq!(bad.end - bad.start, offsets.unit);
        }
        let slots = offsets.page_bytes / offsets.unit;
        assert!(damaged > 0 && damaged * slots >= sound.slots / 2, "{damaged} of {sound:#?}");
        assert!(exempt > 0, "superseded data are exempt");
    }
}

/// Counters at the end of their range, with valid checksums: the layer must not continue from them.
#[test]
fn extreme_counters_cause_no_panic() {
    let bench = full(2);
    let forged = |change: &dyn Fn(&MemoryMedia, &ImageOffsets, &Layout)| {
        let media = Arc::new(bench.media.survivor());
        let before = image(&media);
        change(&media, before.offsets(), &before.resolved().layout);
        let Ok(image) = Image::on(Path::new(NAME), Box::new(media)) else { return };
        drop(check(&image));
        let Ok(mut engine) = Engine::<Tagged>::open(image) else { return };
        for _ in 0..20 {
            for offset in (0..engine.sectors()).map(|sector| sector * 512) {
                let payload = Tagged { tag: 0, data: vec![1; 512] };
                engine.start(Command::Write { offset, fua: false }, payload);
                engine.run();
            }
        }
    };
    let put = |media: &MemoryMedia, at, bytes: &[u8]| media.write(at, bytes).unwrap();
    forged(&|media, _, _| {
        for copy in [0, 4096] {
            put(media, copy + 16, &[0xff; 8]);
            seal(media, copy, 4096, 12, 0);
        }
    });
    // Fields of the block table: generation, sync, shutdown, blocks, mount. Fields of its records:
    // erases, pages, sequence number.
    for (field, bytes, step) in [
        (8, 8, 0),
        (16, 8, 0),
        (24, 8, 0),
        (32, 4, 0),
        (40, 8, 0),
        (64, 4, 24),
        (72, 4, 24),
        (80, 8, 24),
    ] {
        forged(&|media, offsets, layout| {
            let len = 64 + layout.blocks() as usize * 24;
            for table in [offsets.table(0), offsets.table(1)] {
                for block in 0..if step > 0 { u64::from(layout.blocks()) } else { 1 } {
                    put(media, table + field + block * step, &[0xff; 8][..bytes]);
                }
                seal(media, table, len, 4, 0);
            }
        });
    }
    for kind in 1..=3 {
        for (field, bytes) in [(16, 8), (24, 4)] {
            forged(&|media, offsets, layout| {
                let ppn = page_of(media, offsets, layout, kind);
                put(media, offsets.oob(ppn) + field, &[0xff; 8][..bytes]);
                seal(media, offsets.oob(ppn), offsets.oob_bytes, 28, ppn.0);
            });
        }
    }
    forged(&|media, offsets, layout| {
        let ppn = page_of(media, offsets, layout, 2);
        let slots = offsets.page_bytes / offsets.unit;
        let len = 32 + (layout.pages_per_block() as usize - 1) * (8 + 4 * slots as usize);
        put(media, offsets.slot(ppn, 0) + 16, &[0xff; 8]);
        seal(media, offsets.slot(ppn, 0), len, 28, layout.block_of(ppn).0);
    });
    // A snapshot of the trim journal that extends beyond the last possible page.
    forged(&|media, offsets, layout| {
        let ppn = page_of(media, offsets, layout, 3);
        let at = offsets.slot(ppn, 0);
        for (field, number) in [(4, 2), (8, u32::MAX), (12, 128)] {
            put(media, at + field, &number.to_le_bytes());
        }
        put(media, at + 32, &[0xff; 16]);
        seal(media, at, 48, 28, ppn.0);
    });
}

/// A summary with a valid checksum that names pages that are not exported, in a block whose pages
/// are all erased.
#[test]
fn a_forged_summary_is_refused() {
    let bench = closed(2);
    let media = Arc::new(bench.media.survivor());
    let before = image(&media);
    let (offsets, layout) = (before.offsets(), before.resolved().layout);
    for ppn in pages_of(&media, offsets, &layout, 2) {
        let block = layout.block_of(ppn);
        media.write(offsets.block(block), &vec![0; offsets.oob_area()]).unwrap();
        let slots = offsets.page_bytes / offsets.unit;
        let len = 32 + (layout.pages_per_block() as usize - 1) * (8 + 4 * slots as usize);
        media.write(offsets.slot(ppn, 0) + 40, &[0xee; 4]).unwrap();
        seal(&media, offsets.slot(ppn, 0), len, 28, block.0);
    }
    drop(before);
    let opened = Engine::<Tagged>::open(image(&media));
    assert!(matches!(opened, Err(ImageError::Unproven { .. })));
}

/// A check finds damage to any page of a summary, and a mount then reads the pages of the block.
#[test]
fn a_summary_counts_only_if_all_its_pages_are_intact() {
    for seed in 0..2 {
        let mut bench = Bench::full(&device_with_long_summaries(6, 1.0, seed), seed);
        let before = bench.contents();
        let resolved = *image(&bench.media).resolved();
        let (layout, config) = (resolved.layout, resolved.config);
        for page in config.data_pages(&layout)..layout.pages_per_block() {
            let media = Arc::new(bench.media.survivor());
            let offsets = *image(&media).offsets();
            let pages = (0..layout.blocks()).map(|block| layout.ppn(BlockId(block), page));
            let is_summary = |ppn: &Ppn| {
                let mut entry = vec![0; offsets.oob_bytes];
                media.read(offsets.oob(*ppn), &mut entry).unwrap();
                entry[4] == 2
            };
            let summaries: Vec<Ppn> = pages.filter(is_summary).collect();
            assert!(!summaries.is_empty());
            for &ppn in &summaries {
                media.damage(offsets.slot(ppn, 0) + 9, |byte| *byte ^= 1);
            }
            let report = check(&image(&media)).unwrap();
            assert!(!report.clean && report.servable, "{report:#?}");
            expect(&report, "the summary of block");
            let mut engine = Engine::<Tagged>::open(image(&media)).unwrap();
            assert!(contents(&mut engine) == before, "page {page} of the summaries is damaged");
        }
    }
}

/// Images with one or several kinds of damage, half of them shut down in order.
#[test]
fn no_damage_causes_wrong_data() {
    let mut tallies = [Tally::default(), Tally::default()];
    let tallies = std::sync::Mutex::new(&mut tallies);
    let each = |seed: u64| {
        let device = match seed % 5 {
            4 => device_with_long_summaries(6, 0.7, seed),
            shape => device(SHAPES[shape as usize], 20, 0.7, seed),
        };
        let mut bench = Bench::new(&device, seed);
        let mut older = vec![];
        for _ in 0..4 {
            bench.work(if seed % 5 == 4 { 600 } else { 120 + seed as usize % 7 * 20 });
            bench.settle();
            bench.flush();
            bench.settle();
            older.push(bench.media.survivor());
        }
        let is_closed = seed.is_multiple_of(2);
        if is_closed {
            bench.engine.close().unwrap();
        } else if seed % 4 == 1 {
            // Adds data that are not flushed.
            bench.work(10);
        }
        let sound = bench.media.survivor();
        let mut random = Random::new(seed);
        for _ in 0..40 {
            let media = sound.survivor();
            let before = image(&Arc::new(sound.survivor()));
            let older = &older[random.below(older.len())];
            let count = if random.below(4) == 0 { 4 } else { 1 };
            let all = (0..count)
                .map(|_| damage(&media, older, &before, count == 1, &mut random))
                .collect::<Vec<_>>();
            let what = format!("closed {is_closed}, {}", all.join("; "));
            let tally =
                &mut tallies.lock().unwrap_or_else(|e| e.into_inner())[usize::from(is_closed)];
            judge(&media, &bench.model, &what, tally);
        }
    };
    seeds(16, each);
    // In this case garbage collection used to stop when a copy was unreadable.
    if std::env::var("STORE_SEED").is_err() {
        each(29);
    }
    let [killed, closed] = tallies.into_inner().unwrap();
    for (tally, what) in [(&*killed, "killed"), (closed, "closed in order")] {
        // The message is for the reader of the test's output.
        #[allow(clippy::print_stderr)]
        {
            eprintln!("{what}: {tally:?}");
        }
        assert!(tally.images == 0 || tally.refused > 0 && tally.unreadable > 0, "{tally:?}");
        assert!(tally.unrepaired * 10 <= tally.refused, "{tally:?}");
    }
}
