//! Measures the cost of the store itself, without a network: `store_rate IMAGE [direct]`.
//!
//! Accesses 1 GiB of an 8 GB device that has the array of preset gordon-slc-256g and units of 4
//! KiB, in batches as large as the queue depth. Prints request rates and the processor time of a
//! request.

use gordon_ftl::Config;
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_store::{Backend, Command, DeviceParams, Store};
use gordon_units::Bytes;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const UNIT: u64 = 4096;
const SPAN: u64 = 1 << 30;

fn device() -> Result<DeviceParams, Box<dyn Error>> {
    let geometry = Geometry {
        buses: 4,
        packages_per_bus: 4,
        dies_per_package: 4,
        planes_per_die: 2,
        blocks_per_plane: 512,
        pages_per_block: 64,
        page_bytes: 2048,
        oob_bytes: 32,
    };
    let layout = Layout::new(geometry, SuperPageShape { buses: 4, dies_per_bus: 4, planes: 2 })?;
    let config = Config { slots: 16, ..Config::new(&layout, 1, 8) };
    Ok(DeviceParams::new("gordon-slc-256g", &layout, &config, Bytes(7_200_000_000 / UNIT * UNIT)))
}

/// Processor time used by this process, in seconds.
fn cpu() -> f64 {
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    // The run takes seconds, which a float represents well.
    #[allow(clippy::cast_precision_loss)]
    let (whole, part) = (usage.tv_sec as f64, usage.tv_nsec as f64);
    whole + part / 1e9
}

#[allow(clippy::print_stdout, clippy::cast_precision_loss)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: store_rate IMAGE [direct]")?;
    let direct = args.next().is_some_and(|word| word == "direct");
    let backend = if direct { Backend::Direct } else { Backend::File };
    let store: Store<Vec<u8>> = Store::create(Path::new(&path), device()?, backend)?;
    let mut random = 1u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let mut run = |name: &str, depth: usize, size: u64, count: u64, write: bool, seq: bool| {
        let mut spare: Vec<Vec<u8>> = (0..depth).map(|i| vec![i as u8; size as usize]).collect();
        let mut batch = Vec::with_capacity(depth);
        let (start, used, mut at, mut failed) = (Instant::now(), cpu(), 0, 0u64);
        for _ in 0..count / depth as u64 {
            for _ in 0..depth {
                let place = if seq { at } else { next(SPAN / size) };
                at = (at + 1) % (SPAN / size);
                let offset = place * size;
                let command = if write {
                    Command::Write { offset, fua: false }
                } else {
                    Command::Read { offset }
                };
                batch.push((command, spare.pop().unwrap_or_default()));
            }
            store.submit(&mut batch, |ended| {
                if let Err(why) = ended.result {
                    if failed == 0 {
                        println!("{why}");
                    }
                    failed += 1;
                }
                spare.push(ended.payload);
            });
        }
        let (wall, used) = (start.elapsed().as_secs_f64(), cpu() - used);
        let done = (count / depth as u64 * depth as u64) as f64;
        println!(
            "{name:24} QD{depth:<3} {:>9.0} IOPS {:>8.0} MB/s {:>7.2} us cpu/op, {failed} failed",
            done / wall,
            done * size as f64 / wall / 1e6,
            used / done * 1e6
        );
    };
    run("sequential 1 MiB write", 4, 1 << 20, 1024, true, true);
    for depth in [1, 32] {
        run("random 4 KiB read", depth, UNIT, 400_000, false, false);
        run("random 4 KiB write", depth, UNIT, 400_000, true, false);
    }
    run("sequential 1 MiB read", 4, 1 << 20, 1024, false, true);
    run("random 4 KiB write", 32, UNIT, 2_000_000, true, false);
    let start = Instant::now();
    let telemetry = store.telemetry();
    println!(
        "write amplification {:.3}, {} erases, {} syncs",
        telemetry.write_amplification(UNIT).unwrap_or(0.0),
        telemetry.ftl.erases,
        telemetry.counters.syncs
    );
    store.close()?;
    println!("closed in {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let store: Store<Vec<u8>> = Store::open(Path::new(&path), backend)?;
    println!("opened in {:.3} s", start.elapsed().as_secs_f64());
    drop(store);
    let start = Instant::now();
    let store: Store<Vec<u8>> = Store::open(Path::new(&path), backend)?;
    println!("opened after a kill in {:.3} s", start.elapsed().as_secs_f64());
    drop(store);
    Ok(())
}
