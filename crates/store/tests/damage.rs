//! Images that are damaged: a check finds it, and a store never gives wrong data for right.

mod common;

use common::{Bench, NAME, SHAPES, Tagged, device, image, seal, seeds};
use gordon_nand::Layout;
use gordon_store::{Command, Engine, Image, Media, Memory, Places, check};
use gordon_testkit::Random;
use gordon_units::{BlockId, Ppn};
use std::path::Path;
use std::sync::Arc;

/// A store with something in every kind of place, at rest.
fn full(seed: u64) -> Bench {
    Bench::full(&device(SHAPES[(seed % 4) as usize], 20, 0.7, seed), seed)
}

/// What a check finds after bytes of a sound image were changed.
fn found(bench: &Bench, change: impl FnOnce(&Memory, &Places, &Layout)) -> Vec<String> {
    let media = Arc::new(bench.media.survivor());
    let before = image(&media);
    change(&media, before.places(), &before.resolved().layout);
    check(&image(&media)).expect("it works").errors
}

fn expect(found: &[String], words: &str) {
    assert!(found.iter().any(|error| error.contains(words)), "{words:?} is not in {found:#?}");
}

/// The first page whose out-of-band entry is of this kind (docs/SPEC.md).
fn page_of(media: &Memory, places: &Places, layout: &Layout, kind: u8) -> Ppn {
    (0..layout.pages())
        .map(Ppn)
        .find(|&ppn| {
            let mut entry = vec![0; places.oob_bytes];
            media.read(places.oob(ppn), &mut entry).expect("it works");
            entry[4] == kind
        })
        .expect("there is one")
}

#[test]
fn a_check_finds_each_kind_of_damage() {
    let bench = full(2);
    assert_eq!(found(&bench, |_, _, _| {}), Vec::<String>::new());
    let errors = found(&bench, |media, _, _| media.damage(300, |byte| *byte ^= 1));
    expect(&errors, "superblocks is damaged");
    let errors = found(&bench, |media, places, _| {
        media.damage(places.record(BlockId(3)), |byte| *byte ^= 1);
    });
    expect(&errors, "block 3: its record");
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 1);
        media.damage(places.slot(ppn, 0) + 17, |byte| *byte ^= 4);
    });
    expect(&errors, "slot 0: the data do not fit their checksum");
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 1);
        media.damage(places.oob(ppn) + 33, |byte| *byte ^= 4);
    });
    expect(&errors, "out-of-band entry is damaged");
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 2);
        media.damage(places.slot(ppn, 0) + 40, |byte| *byte ^= 4);
    });
    expect(&errors, "the summary of block");
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 3);
        media.damage(places.slot(ppn, 0) + 12, |byte| *byte ^= 4);
    });
    expect(&errors, "a page of the trim log is damaged");
    // A page that is gone, and one that is in the place of another.
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 1);
        media.write(places.oob(ppn), &vec![0; places.oob_bytes]).unwrap();
    });
    expect(&errors, "erased, yet a later page is programmed");
    let errors = found(&bench, |media, places, layout| {
        let ppn = page_of(media, places, layout, 1);
        let mut entry = vec![0; places.oob_bytes];
        media.read(places.oob(ppn), &mut entry).unwrap();
        media.write(places.oob(Ppn(ppn.0 + 1)), &entry).unwrap();
    });
    expect(&errors, "out-of-band entry is damaged");
}

/// Numbers that nobody counts to, under checksums that fit: the layer counts on from none of them.
#[test]
fn numbers_at_the_end_of_their_fields_are_no_panic() {
    let bench = full(2);
    let forged = |change: &dyn Fn(&Memory, &Places, &Layout)| {
        let media = Arc::new(bench.media.survivor());
        let before = image(&media);
        change(&media, before.places(), &before.resolved().layout);
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
    let put = |media: &Memory, at, bytes: &[u8]| media.write(at, bytes).unwrap();
    forged(&|media, _, _| {
        for copy in [0, 4096] {
            put(media, copy + 16, &[0xff; 8]);
            seal(media, copy, 4096, 12, 0);
        }
    });
    forged(&|media, places, layout| {
        for block in (0..layout.blocks()).map(BlockId) {
            put(media, places.record(block), &[0xff; 4]);
            seal(media, places.record(block), 16, 12, block.0);
        }
    });
    for kind in 1..=3 {
        for (field, bytes) in [(16, 8), (24, 4)] {
            forged(&|media, places, layout| {
                let ppn = page_of(media, places, layout, kind);
                put(media, places.oob(ppn) + field, &[0xff; 8][..bytes]);
                seal(media, places.oob(ppn), places.oob_bytes, 28, ppn.0);
            });
        }
    }
    forged(&|media, places, layout| {
        let ppn = page_of(media, places, layout, 2);
        let slots = places.page_bytes / places.unit;
        let len = 32 + (layout.pages_per_block() as usize - 1) * (8 + 4 * slots as usize);
        put(media, places.slot(ppn, 0) + 16, &[0xff; 8]);
        seal(media, places.slot(ppn, 0), len, 28, layout.block_of(ppn).0);
    });
    // A snapshot of the trim log that goes past the last page there can be.
    forged(&|media, places, layout| {
        let ppn = page_of(media, places, layout, 3);
        let at = places.slot(ppn, 0);
        for (field, number) in [(4, 2), (8, u32::MAX), (12, 128)] {
            put(media, at + field, &number.to_le_bytes());
        }
        put(media, at + 32, &[0xff; 16]);
        seal(media, at, 48, 28, ppn.0);
    });
}

/// A block all pages of which are erased, beside a summary that fits its checksum and tells of pages
/// that are not exported: it is empty, and is programmed from its first page on.
#[test]
fn a_forged_summary_leaves_its_block_erased() {
    let mut bench = full(2);
    bench.engine.close().unwrap();
    let media = Arc::new(bench.media.survivor());
    let before = image(&media);
    let (places, layout) = (before.places(), before.resolved().layout);
    for ppn in (0..layout.pages()).map(Ppn) {
        let mut entry = vec![0; places.oob_bytes];
        media.read(places.oob(ppn), &mut entry).unwrap();
        if entry[4] == 2 {
            let block = layout.block_of(ppn);
            media.write(places.block(block), &vec![0; places.oob_area()]).unwrap();
            let slots = places.page_bytes / places.unit;
            let len = 32 + (layout.pages_per_block() as usize - 1) * (8 + 4 * slots as usize);
            media.write(places.slot(ppn, 0) + 40, &[0xee; 4]).unwrap();
            seal(&media, places.slot(ppn, 0), len, 28, block.0);
        }
    }
    drop(before);
    let mut engine = Engine::<Tagged>::open(image(&media)).unwrap_or_else(|e| panic!("{e}"));
    for offset in (0..engine.sectors()).map(|sector| sector * 512) {
        engine.start(Command::Write { offset, fua: false }, Tagged { tag: 0, data: vec![1; 512] });
        engine.run();
    }
}

/// Whatever is done to an image, it gives an error, or a device each page of which reads as it once
/// was, or not at all.
#[test]
fn a_mangled_image_never_gives_wrong_data() {
    seeds(40, |seed| {
        let bench = full(seed % 4);
        let mut random = Random::new(seed);
        let media = bench.media.survivor();
        // Bytes that are there, for most of an image are holes.
        let blocks: Vec<u64> = {
            let (mut at, mut blocks) = (0, vec![]);
            while media.next_data(at).unwrap() < media.len() {
                at = media.next_data(at).unwrap();
                blocks.push(at);
                at += 4096;
            }
            blocks
        };
        for _ in 0..1 + random.below(20) {
            // The superblocks, whose text says what all the rest is, get their share.
            let block =
                if random.below(10) == 0 { random.below(2) } else { random.below(blocks.len()) };
            let at = blocks[block] + random.below(4096) as u64;
            let bits = random.next_u64() as u8;
            match random.below(3) {
                0 => media.damage(at, |byte| *byte ^= bits),
                1 => media.erase(blocks[block], 4096).unwrap(),
                _ => {
                    let mut other = vec![0; 4096];
                    media.read(blocks[random.below(blocks.len())], &mut other).unwrap();
                    media.write(blocks[block], &other).unwrap();
                }
            }
        }
        let media = Arc::new(media);
        let Ok(image) = Image::on(Path::new(NAME), Box::new(media.clone())) else { return };
        // Not a panic.
        drop(check(&image));
        let Ok(mut engine) = Engine::<Tagged>::open(image) else { return };
        if engine.ftl().check().is_err() {
            panic!("the tables disagree");
        }
        let per_page = u64::from(engine.ftl().config().sectors_per_page);
        for first in (0..engine.sectors()).step_by(per_page as usize) {
            let sectors = per_page.min(engine.sectors() - first);
            let data = vec![0xa5; sectors as usize * 512];
            engine.start(Command::Read { offset: first * 512 }, Tagged { tag: 0, data });
            engine.run();
            let mut ended = vec![];
            engine.finished(&mut ended);
            let read = ended.pop().expect("it has ended");
            for sector in first..first + if read.result.is_ok() { sectors } else { 0 } {
                let value = common::sector(&read.payload.data, sector - first);
                assert!(bench.model.was(sector, value), "sector {sector} reads {value}");
            }
        }
        // And it takes writes, or says why not.
        let data = vec![1; 512 * per_page as usize];
        engine.start(Command::Write { offset: 0, fua: true }, Tagged { tag: 0, data });
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended.len(), 1);
    });
}
