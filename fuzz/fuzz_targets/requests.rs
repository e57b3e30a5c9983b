//! Clients of the HTTP server, with the files of a folder and with an origin that may do anything.
//! They get valid responses of their objects, or a closed connection.
#![no_main]

use gordon_objectcache::{Cache, Config, Flash, Medium, Recovery};
use gordon_serve::fuzzing::{Folder, serve};
use gordon_testkit::MemoryMedia;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

const BLOCK: u32 = 2048;
const SEGMENT: u32 = 16 << 10;

/// The files. Their content never changes, so that all processes use the same ones.
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let path = std::env::temp_dir().join("gordon-fuzz-requests");
    Folder::new(&path).expect("files of the target")
});

/// A cache of 12 KB of DRAM, and of 12 segments in memory.
fn cache() -> (Cache, Recovery) {
    let size = 288 * 1024 + 12 * u64::from(SEGMENT);
    let flash = Flash { segment: Some(SEGMENT), ..Flash::new("fuzz".into(), size) };
    let config = Config { flash: Some(flash), block: BLOCK, ..Config::new(12_000) };
    let clock = Arc::new(|| Duration::ZERO);
    let media = Arc::new(MemoryMedia::new(0));
    Cache::open_on(config, Medium { media, clock, inline: true }).expect("it opens")
}

fuzz_target!(|data: &[u8]| {
    serve(&FOLDER, cache(), BLOCK.into(), data);
});
