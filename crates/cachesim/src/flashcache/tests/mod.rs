//! Times and powers of a FlashCache of the paper's design, computed by hand; and complete runs.

mod below;
mod hardware;
mod runs;

use super::*;
use crate::WarmUp;
use gordon_cache::NEVER;
use gordon_config::from_toml;
use gordon_replay::config::TraceLoad;
use gordon_units::Ns;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

pub(super) fn design() -> Design {
    let text = include_str!("../../../../../python/gordon/parts/flashcache/cases-2006.toml");
    let design: Design = from_toml(text, "cases-2006.toml").unwrap();
    design.check().unwrap();
    design
}

fn machine(design: &Design, dram: u64, flash: u64, fill: Fill) -> Machine {
    machine_of(design, dram, flash, fill, BackendKind::Disk)
}

fn machine_of(design: &Design, dram: u64, flash: u64, fill: Fill, below: BackendKind) -> Machine {
    let shape = design.shape(Bytes(flash), fill).unwrap();
    let cache = FlashCache::new(shape, 4096, PolicyKind::Lru.make(Bytes(dram)));
    Machine::new(design, cache, Backend::new(design, &below, "page").unwrap())
}

fn page(key: u64) -> Request {
    Request { key, next: NEVER, size: 4096, asked: 4096 }
}

const MS: u64 = 1_000_000;
/// Search of the primary page cache: 350 ns; of the table: two lines of 64 bytes, 50 + 10 ns each.
const SEARCH: u64 = 350;
const LOOKUP: u64 = 120;
/// 4 KiB from DRAM: 50 ns and 640 ns at 6.4 GB/s.
const PAGE_DRAM: u64 = 690;
/// A page of 4 KiB from flash: two of 2 KiB, each 25 us and 40.96 us at 50 MB/s.
const PAGE_READ: u64 = 2 * (25_000 + 40_960);
/// A page of 4 KiB to flash: two programs of 200 us, and the transfers.
const PAGE_PROGRAM: u64 = 2 * (200_000 + 40_960);
/// 128 KiB from the disk: 3.3 ms and 436.906... us at 300 MB/s.
const BLOCK_DISK: u64 = 3_300_000 + 436_907;
/// The erases of a logical block.
const ERASES: u64 = 4 * 1_500_000;

/// A trace in MQSim's format: time in microseconds, page, whether it is a read.
fn config(
    lines: &[(u64, u64, bool)],
    dram: u64,
    flash: u64,
) -> (tempfile::TempDir, FlashCacheConfig) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut text = String::new();
    for (us, page, read) in lines {
        writeln!(text, "{} 0 {} 8 {}", us * 1000, page * 8, u8::from(*read)).unwrap();
    }
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    (folder, of(path, dram, flash))
}

fn of(path: PathBuf, dram: u64, flash: u64) -> FlashCacheConfig {
    let trace: TraceLoad =
        serde_json::from_value(serde_json::json!({"path": path, "format": "mqsim"})).unwrap();
    FlashCacheConfig {
        trace,
        design: design(),
        dram: Bytes(dram),
        flash: Bytes(flash),
        dram_policy: "lru".into(),
        objects: false,
        backend: BackendKind::Disk,
        pace: PaceConfig { speed: None, rate: None, outstanding: None, think: None },
        warmup: None,
    }
}
