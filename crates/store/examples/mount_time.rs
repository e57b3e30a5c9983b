//! Measures the time and memory of mounting an image whose blocks are all closed: `mount_time IMAGE
//! BLOCKS_PER_PLANE` (16384 blocks are 256 GiB). Drops the page cache first if permitted.

use gordon_ftl::Config;
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_store::{Backend, DeviceParams, Image, Store, fill};
use gordon_units::Bytes;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: mount_time IMAGE BLOCKS_PER_PLANE";
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or(usage)?;
    let blocks_per_plane: u32 = args.next().ok_or(usage)?.parse()?;
    let path = Path::new(&path);
    let geometry = Geometry {
        buses: 4,
        packages_per_bus: 4,
        dies_per_package: 4,
        planes_per_die: 2,
        blocks_per_plane,
        pages_per_block: 64,
        page_bytes: 2048,
        oob_bytes: 32,
    };
    let layout = Layout::new(geometry, SuperPageShape { buses: 4, dies_per_bus: 4, planes: 2 })?;
    let config = Config { slots: 16, durable: true, ..Config::new(&layout, 1, 8) };
    let raw = geometry.capacity().0;
    let exported = Bytes((raw / 1024 * 953).min(config.most_exported(&layout) * 4096) / 512 * 512);
    let device = DeviceParams::new("gordon-slc-256g", &layout, &config, exported);
    let start = Instant::now();
    let closed = fill(Image::create(path, device, Backend::File)?)?;
    println!(
        "{exported} exported, {closed} blocks closed in {:.2} s",
        start.elapsed().as_secs_f64()
    );
    // Dropping the page cache requires root.
    let cold = fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
    let start = Instant::now();
    let store: Store<Vec<u8>> = Store::open(path, Backend::File)?;
    let cache = if cold { "cold" } else { "warm" };
    println!("mounted in {:.2} s, cache {cache}", start.elapsed().as_secs_f64());
    let status = fs::read_to_string("/proc/self/status")?;
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    let mapped = store.with(|engine| {
        let mut mapped = 0;
        engine.extents(0, exported.0, |length, data| {
            mapped += if data { length } else { 0 };
            true
        });
        mapped
    });
    println!("{} mapped", Bytes(mapped));
    drop(store);
    let start = Instant::now();
    let store: Store<Vec<u8>> = Store::open(path, Backend::File)?;
    println!("mounted after a kill in {:.2} s, cache warm", start.elapsed().as_secs_f64());
    store.close()?;
    Ok(())
}
