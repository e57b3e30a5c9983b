//! A small image with something in every kind of place, mangled: it gives an error, or a device each
//! page of which reads as it once was, or not at all.
#![no_main]

#[path = "../../crates/store/tests/common/mod.rs"]
mod common;

use common::{Bench, NAME, SHAPES, Tagged, device};
use gordon_store::{Command, Engine, Image, Media, Memory, check};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An image that is sound, the pieces of 4 KiB that are no holes, and by sector what it once held.
struct Sound {
    media: Memory,
    pieces: Vec<u64>,
    model: gordon_testkit::Model,
}

fn sound() -> &'static Sound {
    static SOUND: OnceLock<Sound> = OnceLock::new();
    SOUND.get_or_init(|| {
        let mut bench = Bench::new(&device(SHAPES[1], 20, 0.7, 1), 1);
        for _ in 0..500 {
            bench.ask();
            bench.step();
        }
        bench.settle();
        bench.flush();
        bench.settle();
        let media = bench.media.survivor();
        let (mut at, mut pieces) = (0, vec![]);
        loop {
            at = media.next_data(at).expect("it works");
            if at >= media.len() {
                break;
            }
            pieces.push(at);
            at += 4096;
        }
        Sound { media, pieces, model: bench.model }
    })
}

/// Six bytes a change: where, which, how.
fn mangle(media: &Memory, pieces: &[u64], data: &[u8]) {
    for change in data.chunks_exact(6).take(64) {
        let word = |at: usize| usize::from(u16::from_le_bytes([change[at], change[at + 1]]));
        let piece = pieces[word(0) % pieces.len()];
        let within = (word(2) % 4096) as u64;
        match change[4] % 8 {
            0 => media.erase(piece, 4096).expect("it works"),
            1 => {
                let mut other = vec![0; 4096];
                media.read(pieces[word(2) % pieces.len()], &mut other).expect("it works");
                media.write(piece, &other).expect("it works");
            }
            2 => media.damage(piece + within, |byte| *byte = change[5]),
            _ => media.damage(piece + within, |byte| *byte ^= change[5]),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let sound = sound();
    let media = Arc::new(sound.media.survivor());
    mangle(&media, &sound.pieces, data);
    let Ok(image) = Image::on(Path::new(NAME), Box::new(Arc::clone(&media))) else { return };
    drop(check(&image));
    let Ok(mut engine) = Engine::<Tagged>::open(image) else { return };
    engine.ftl().check().expect("the tables agree");
    let per_page = u64::from(engine.ftl().config().sectors_per_page);
    let ask = |engine: &mut Engine<Tagged>, command, data| {
        engine.start(command, Tagged { tag: 0, data });
        engine.run();
        let mut ended = vec![];
        engine.finished(&mut ended);
        assert_eq!(ended.len(), 1, "it ends");
        ended.pop().expect("it ended")
    };
    for first in (0..engine.sectors()).step_by(usize::try_from(per_page).expect("small")) {
        let sectors = per_page.min(engine.sectors() - first);
        let room = vec![0xa5; usize::try_from(sectors * 512).expect("small")];
        let read = ask(&mut engine, Command::Read { offset: first * 512 }, room);
        for sector in first..first + if read.result.is_ok() { sectors } else { 0 } {
            let value = common::sector(&read.payload.data, sector - first);
            assert!(sound.model.was(sector, value), "sector {sector} reads {value}");
        }
    }
    let data = vec![1; usize::try_from(512 * per_page).expect("small")];
    ask(&mut engine, Command::Write { offset: 0, fua: true }, data);
});
