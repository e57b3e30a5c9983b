//! A device of minimum size. `make miri` runs this test, too; Miri checks memory accesses and is
//! slow.

use gordon_blockio::{Device, IoOp, Request};
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, Ns};

const PAGE: u64 = 2048;

/// One die with 16 blocks of 8 pages; 48 pages are exported.
fn config() -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let path = format!("{root}gordon-slc-256g.toml");
    let text = std::fs::read_to_string(path).expect("the preset is there");
    let mut config: SsdConfig = toml::from_str(&text).expect("a right preset");
    config.geometry.buses = 1.into();
    config.geometry.packages_per_bus = 1.into();
    config.geometry.dies_per_package = 1.into();
    config.geometry.planes_per_die = 1.into();
    config.geometry.blocks_per_plane = 16.into();
    config.geometry.pages_per_block = 8.into();
    config.super_page.size = Bytes(PAGE).into();
    config.capacity = Bytes(48 * PAGE).into();
    config
}

#[test]
fn a_small_device_fills_up_collects_and_reads() {
    let mut ssd = Ssd::with_seed(&config(), 1).expect("a device that can exist");
    ssd.preload(Bytes(0), Bytes(16 * PAGE));
    let mut done = vec![];
    for id in 0..200 {
        let op = if id % 4 == 3 { IoOp::Read } else { IoOp::Write };
        let request = Request::new(op, Bytes(id * 37 % 48 * PAGE), Bytes(PAGE));
        ssd.submit(Ns(id * 10_000_000), id, request);
        ssd.run_until(Ns::MAX, &mut done);
    }
    assert!(done.iter().map(|completion| completion.id).eq(0..200));
    assert!(done.iter().all(|completion| !completion.failed));
    let ftl = ssd.stats().ftl;
    assert!(ftl.erases > 0 && ftl.program_operations > 150, "{ftl:?}");
    ssd.ftl().check().expect("the tables agree");
}
