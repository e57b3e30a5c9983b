//! A small image with something in every kind of place, mangled: it gives an error, or a device
//! each page of which reads as it once was, or not at all. Where the checksums are forged as well,
//! anything may be read; it still ends, and not in a panic.
#![no_main]

#[path = "../../crates/store/tests/common/mod.rs"]
mod common;

use common::{Bench, NAME, SHAPES, Tagged, device, forget_boot, image, seal};
use gordon_store::{Command, Engine, Image, Media, check};
use gordon_testkit::{MemoryMedia, Model};
use gordon_units::Ppn;
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Something under a checksum: where, how long, where in it the checksum is, and of what place.
#[derive(Clone, Copy)]
struct Sealed {
    at: u64,
    len: usize,
    crc_at: usize,
    place: u32,
}

/// An image that is sound.
struct Sound {
    media: MemoryMedia,
    /// The pieces of 4 KiB that are no holes.
    pieces: Vec<u64>,
    /// All that docs/SPEC.md puts under a checksum, but data.
    sealed: Vec<Sealed>,
}

/// Images that are sound, killed and closed in order, and what each sector once held.
fn sound() -> &'static ([Sound; 2], Model) {
    static SOUND: OnceLock<([Sound; 2], Model)> = OnceLock::new();
    SOUND.get_or_init(|| {
        let mut bench = Bench::full(&device(SHAPES[1], 12, 0.7, 1), 1);
        let killed = Sound::new(bench.media.survivor());
        bench.engine.close().expect("it closes");
        ([killed, Sound::new(bench.media.survivor())], bench.model)
    })
}

impl Sound {
    fn new(media: MemoryMedia) -> Self {
        let next = |at| Some(media.next_data(at).expect("it works")).filter(|&at| at < media.len());
        let pieces = std::iter::successors(next(0), |at| next(at + 4096)).collect();
        let sealed = find(&media);
        Self { media, pieces, sealed }
    }
}

fn read<const N: usize>(media: &MemoryMedia, at: u64) -> [u8; N] {
    let mut bytes = [0; N];
    media.read(at, &mut bytes).expect("it works");
    bytes
}

fn put(media: &MemoryMedia, at: u64, bytes: &[u8]) {
    media.write(at, bytes).expect("it works");
}

fn find(media: &MemoryMedia) -> Vec<Sealed> {
    let image = image(&Arc::new(media.survivor()));
    let (offsets, layout) = (image.offsets(), image.resolved().layout);
    let slots = image.resolved().config.slots as usize;
    let superblock = |copy: u64| Sealed { at: copy * 4096, len: 4096, crc_at: 12, place: 0 };
    let len = 64 + layout.blocks() as usize * 24;
    let table = |copy| Sealed { at: offsets.table(copy), len, crc_at: 4, place: 0 };
    let mut found: Vec<_> = (0..2).map(superblock).chain((0..2).map(table)).collect();
    for ppn in (0..layout.pages()).map(Ppn) {
        let at = offsets.oob(ppn);
        let entry = Sealed { at, len: offsets.oob_bytes, crc_at: 28, place: ppn.0 };
        let at = offsets.slot(ppn, 0);
        let words = read::<16>(media, at);
        let word = |at| words[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let pages = layout.pages_per_block() as usize - 1;
        let (content, place) = match read::<5>(media, entry.at)[4] {
            0 => continue,
            1 => (None, 0),
            2 => (Some(pages * (8 + 4 * slots)), layout.block_of(ppn).0),
            _ if word(4) == 1 => (Some(word(12) as usize * 8), ppn.0),
            _ => (Some(word(12).div_ceil(64) as usize * 8), ppn.0),
        };
        found.push(entry);
        found.extend(content.map(|content| Sealed { at, len: 32 + content, crc_at: 28, place }));
    }
    found
}

impl Sealed {
    fn seal(self, media: &MemoryMedia) {
        seal(media, self.at, self.len, self.crc_at, self.place);
    }
}

/// Six bytes a change: where, where in it, how, with what.
fn mangle(sound: &Sound, media: &MemoryMedia, forged: bool, data: &[u8]) {
    for change in data.chunks_exact(6).take(64) {
        let word = |at: usize| usize::from(u16::from_le_bytes([change[at], change[at + 1]]));
        let (how, with) = (change[4], change[5]);
        let sealed = sound.sealed[word(0) % sound.sealed.len()];
        let piece = sound.pieces[word(0) % sound.pieces.len()];
        let at = match how & 8 {
            0 => piece + word(2) as u64 % 4096,
            _ => sealed.at + (word(2) % sealed.len) as u64,
        };
        match how % 8 {
            0 => media.erase(piece, 4096).expect("it works"),
            1 => {
                let other = sound.pieces[word(2) % sound.pieces.len()];
                put(media, piece, &read::<4096>(media, other));
            }
            2 => put(media, at, &[with]),
            // A number at either end of what a field holds.
            3 => put(media, at & !3, &i32::from(with.cast_signed()).to_le_bytes()),
            4 => put(media, at & !7, &i64::from(with.cast_signed()).to_le_bytes()),
            _ => media.damage(at, |byte| *byte ^= with),
        }
        if forged && how & 8 != 0 {
            sealed.seal(media);
        }
    }
}

fn ask(engine: &mut Engine<Tagged>, command: Command, data: Vec<u8>) -> Option<Vec<u8>> {
    engine.start(command, Tagged { tag: 0, data });
    engine.run();
    let mut ended = vec![];
    engine.finished(&mut ended);
    assert_eq!(ended.len(), 1, "it ends");
    ended.pop().and_then(|ended| ended.result.is_ok().then_some(ended.payload.data))
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, changes)) = data.split_first() else { return };
    let (forged, crashed, closed) = (how & 1 != 0, how & 2 != 0, how >> 2 & 1);
    let (images, model) = sound();
    let sound = &images[usize::from(closed)];
    let media = Arc::new(sound.media.survivor());
    if crashed {
        forget_boot(&media);
    }
    mangle(sound, &media, forged, changes);
    let Ok(image) = Image::on(Path::new(NAME), Box::new(Arc::clone(&media))) else { return };
    drop(check(&image));
    let Ok(mut engine) = Engine::<Tagged>::open(image) else { return };
    engine.ftl().check().expect("the tables agree");
    let per_page = u64::from(engine.ftl().config().sectors_per_page).min(engine.sectors());
    let bytes = |sectors: u64| usize::try_from(sectors * 512).expect("small");
    for first in (0..engine.sectors()).step_by(bytes(per_page) / 512) {
        let sectors = per_page.min(engine.sectors() - first);
        let room = vec![0xa5; bytes(sectors)];
        let Some(data) = ask(&mut engine, Command::Read { offset: first * 512 }, room) else {
            continue;
        };
        for sector in first..first + if forged { 0 } else { sectors } {
            let value = common::sector(&data, sector - first);
            assert!(model.was(sector, value), "sector {sector} reads {value}");
        }
    }
    // It takes writes, or says why not.
    for first in (0..engine.sectors().min(8 * per_page)).step_by(bytes(per_page) / 512) {
        let data = vec![1; bytes(per_page.min(engine.sectors() - first))];
        ask(&mut engine, Command::Write { offset: first * 512, fua: true }, data);
    }
});
