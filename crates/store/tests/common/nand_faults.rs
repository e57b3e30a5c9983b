//! Damages an array: flips bits in data and metadata, and replaces areas with zeros, ones, other
//! contents or older contents. Also judges the resulting image.
#![allow(dead_code)]

use super::{NAME, Tagged, image, sector};
use gordon_nand::Layout;
use gordon_store::{Command, Engine, Image, ImageError, ImageOffsets, IoError, Media, check};
use gordon_testkit::{MemoryMedia, Model, Random};
use gordon_units::Ppn;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Pages whose out-of-band entry is of this kind (docs/SPEC.md).
pub fn pages_of(
    media: &MemoryMedia,
    offsets: &ImageOffsets,
    layout: &Layout,
    kind: u8,
) -> Vec<Ppn> {
    let is_kind = |ppn: &Ppn| {
        let mut entry = vec![0; offsets.oob_bytes];
        media.read(offsets.oob(*ppn), &mut entry).expect("it works");
        entry[4] == kind
    };
    (0..layout.pages()).map(Ppn).filter(is_kind).collect()
}

/// The first page of this kind that must be present.
pub fn page_of(media: &MemoryMedia, offsets: &ImageOffsets, layout: &Layout, kind: u8) -> Ppn {
    let image = image(&Arc::new(media.survivor()));
    let must_be = |ppn: &Ppn| {
        let (block, page) = layout.place_of(*ppn);
        page < image.record(block).contents.count()
    };
    let pages = pages_of(media, offsets, layout, kind);
    pages.into_iter().find(must_be).expect("there is one")
}

/// Swaps two ranges of the same length.
pub fn swap(media: &MemoryMedia, first: u64, second: u64, len: usize) {
    let (mut one, mut other) = (vec![0; len], vec![0; len]);
    media.read(first, &mut one).expect("it works");
    media.read(second, &mut other).expect("it works");
    media.write(first, &other).expect("it works");
    media.write(second, &one).expect("it works");
}

/// The areas that are damaged.
pub const AREAS: [&str; 13] = [
    "a slot of data",
    "a page of data",
    "an out-of-band entry",
    "an out-of-band area",
    "4 KiB of an out-of-band area",
    "a summary",
    "4 KiB of a summary",
    "a page of the trim journal",
    "a block",
    "a copy of the block table",
    "a record of the sync journal",
    "a page of digests",
    "a superblock",
];

/// The number of areas at the start of the list that redundant metadata prove.
const PROVED: usize = 9;

/// The kinds of damage.
const KINDS: [&str; 6] = ["one bit", "many bits", "zeros", "ones", "another's", "older"];

/// An area of the image, and the offset of another one of the same format.
fn pick(area: usize, media: &MemoryMedia, image: &Image, random: &mut Random) -> (Range<u64>, u64) {
    let (offsets, layout) = (image.offsets(), image.resolved().layout);
    let mut page = |kind: u8| {
        let pages = pages_of(media, offsets, &layout, kind);
        let any = (0..layout.pages()).map(Ppn).collect();
        let pages = if pages.is_empty() { any } else { pages };
        (pages[random.below(pages.len())], pages[random.below(pages.len())])
    };
    let part = |at: u64, len: u64, other: u64| (at..at + len, other);
    match area {
        0 => {
            let (one, other) = page(1);
            part(offsets.slot(one, 0), offsets.unit, offsets.slot(other, 0))
        }
        1 => {
            let (one, other) = page(1);
            part(offsets.slot(one, 0), offsets.page_bytes, offsets.slot(other, 0))
        }
        2 => {
            let (one, other) = page(1);
            part(offsets.oob(one), offsets.oob_bytes as u64, offsets.oob(other))
        }
        3 | 4 | 8 => {
            let (one, other) = page(1);
            let (one, other) = (layout.block_of(one), layout.block_of(other));
            let len = [offsets.oob_area() as u64, 4096, offsets.block_bytes()];
            let len = len[[3, 4, 8].iter().position(|&of| of == area).expect("one of them")];
            part(offsets.block(one), len, offsets.block(other))
        }
        5 | 6 => {
            let (one, other) = page(2);
            let len = if area == 5 { offsets.page_bytes } else { offsets.page_bytes.min(4096) };
            part(offsets.slot(one, 0), len, offsets.slot(other, 0))
        }
        7 => {
            let (one, other) = page(3);
            part(offsets.slot(one, 0), offsets.page_bytes, offsets.slot(other, 0))
        }
        9 => {
            let copy = random.below(2) as u64;
            part(
                offsets.table(copy),
                offsets.journal(0) - offsets.table(1),
                offsets.table(copy + 1),
            )
        }
        10 => {
            let area = random.below(2) as u64;
            part(offsets.journal(area), 4096, offsets.journal(area + 1))
        }
        11 => {
            let from = offsets.journal(1) + offsets.journal(1) - offsets.journal(0);
            part(from, 4096, from)
        }
        _ => {
            let copy = random.below(2) as u64;
            part(copy * 4096, 4096, (1 - copy) * 4096)
        }
    }
}

/// Damages a part of an image and returns a description. Metadata that prove others are damaged
/// only if this is the only damage (`alone`).
pub fn damage(
    media: &MemoryMedia,
    older: &MemoryMedia,
    image: &Image,
    alone: bool,
    random: &mut Random,
) -> String {
    let areas = if alone { AREAS.len() } else { PROVED };
    let (area, kind) = (random.below(areas), random.below(KINDS.len()));
    let (part, other) = pick(area, media, image, random);
    let len = usize::try_from(part.end - part.start).expect("small");
    let flip = |random: &mut Random| {
        let at = part.start + random.below(len) as u64;
        let bit = random.below(8);
        media.damage(at, |byte| *byte ^= 1 << bit);
    };
    match kind {
        0 => flip(random),
        1 => (0..2 + random.below(60)).for_each(|_| flip(random)),
        2 => media.write(part.start, &vec![0; len]).expect("it works"),
        3 => media.write(part.start, &vec![0xff; len]).expect("it works"),
        4 => swap(media, part.start, other, len),
        _ => {
            let mut bytes = vec![0; len];
            older.read(part.start, &mut bytes).expect("it works");
            media.write(part.start, &bytes).expect("it works");
        }
    }
    format!("{}: {} at {part:?}", AREAS[area], KINDS[kind])
}

/// Reads unit by unit: each must have a value that the model allows, or be unreadable. Returns the
/// number of unreadable units.
pub fn read_all(engine: &mut Engine<Tagged>, model: &Model, what: &str) -> usize {
    let mut model = model.clone();
    let per_page = u64::from(engine.ftl().config().sectors_per_page);
    let mut unreadable = 0;
    for first in (0..engine.sectors()).step_by(per_page as usize) {
        let sectors = per_page.min(engine.sectors() - first);
        let data = vec![0xa5; sectors as usize * 512];
        engine.start(Command::Read { offset: first * 512 }, Tagged { tag: 0, data });
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        let read = ended.pop().expect("it has ended");
        if read.result == Err(IoError::Unreadable) {
            unreadable += 1;
            continue;
        }
        assert_eq!(read.result, Ok(()), "{what}");
        let values: Vec<u32> = (0..sectors).map(|at| sector(&read.payload.data, at)).collect();
        model.settle(first, &values).unwrap_or_else(|lost| panic!("{what}: {lost}"));
    }
    unreadable
}

/// Results of serving damaged images.
#[derive(Debug, Default)]
pub struct Tally {
    pub images: usize,
    pub refused: usize,
    /// Images served with unreadable units.
    pub unreadable: usize,
    /// Images in which a check found errors.
    pub found: usize,
    /// Units of refused images, and the number of them that can be salvaged.
    pub units: usize,
    pub salvaged: usize,
    /// Refused images without space for a repair.
    pub unrepaired: usize,
}

/// Checks that an image is refused, or served without any unit older than its last flush. The same
/// holds for salvaged units, and a repair must make the image servable.
pub fn judge(media: &MemoryMedia, model: &Model, what: &str, tally: &mut Tally) {
    let media = Arc::new(media.survivor());
    tally.images += 1;
    let Ok(found) = Image::on(Path::new(NAME), Box::new(media.clone())) else {
        tally.refused += 1;
        return;
    };
    let report = check(&found).expect(what);
    tally.found += usize::from(!report.clean);
    let mut salvaged = Engine::<Tagged>::salvage(image(&Arc::new(media.survivor()))).expect(what);
    let lost = read_all(&mut salvaged, model, &format!("salvaged: {what}"));
    match Engine::<Tagged>::open(found) {
        Ok(mut engine) => {
            engine.ftl().check().expect(what);
            tally.unreadable += usize::from(read_all(&mut engine, model, what) > 0);
            assert!(report.servable, "{what}: {report:#?}");
            // The store accepts writes, or reports why not.
            let data = vec![1; 512 * engine.ftl().config().sectors_per_page as usize];
            engine.start(Command::Write { offset: 0, fua: true }, Tagged { tag: 0, data });
            engine.run();
            let mut ended = vec![];
            engine.finished(&mut ended);
            assert_eq!(ended.len(), 1);
        }
        Err(ImageError::Unproven { .. }) => {
            assert!(!report.servable && !report.clean, "{what}: {report:#?}");
            tally.refused += 1;
            tally.units += salvaged.ftl().config().exported as usize;
            tally.salvaged += salvaged.ftl().config().exported as usize - lost;
            tally.unrepaired += usize::from(!is_repaired(&media, what));
        }
        Err(other) => panic!("{what}: {other}"),
    }
}

/// Whether a repair makes a damaged image servable, with no findings of a check afterwards. It
/// returns false if too many blocks are damaged, so that there is no space to empty them.
fn is_repaired(media: &Arc<MemoryMedia>, what: &str) -> bool {
    let several = what.contains(';');
    let repaired = gordon_store::repair_on(|| Image::on(Path::new(NAME), Box::new(media.clone())));
    let repaired = match repaired {
        Err(ImageError::Io { .. }) if several => return false,
        repaired => repaired.unwrap_or_else(|error| panic!("{what}: {error}")),
    };
    assert!(repaired.after.clean && repaired.after.closed_in_order, "{what}: {repaired:#?}");
    assert!(!repaired.unproven_ranges.is_empty(), "{what}: {repaired:#?}");
    Engine::<Tagged>::open(image(media)).unwrap_or_else(|error| panic!("{what}: {error}"));
    true
}
