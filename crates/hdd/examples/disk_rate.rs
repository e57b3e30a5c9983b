//! Simulation speed of a disk in requests per CPU second, with counts of the simulated operations.
//!
//!     cargo run --release -p gordon-hdd --example disk_rate [REQUESTS]

use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR};
use gordon_hdd::{Disk, DiskConfig};
use gordon_units::{Bytes, Ns, SplitMix64};
use std::io::Write;

const PRESET: &str = include_str!("../../../python/gordon/parts/disk/sata-7200-1tb.toml");

/// CPU time of this process.
fn cpu() -> Ns {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    Ns(text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds on CPU first"))
}

/// Keeps `depth` requests of `next` in the disk until `count` are done. Returns the number of steps
/// and the simulated time.
fn closed_loop(
    disk: &mut Disk,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Request,
) -> (u64, Ns) {
    let (mut sent, mut steps, mut now) = (0, 0, Ns::ZERO);
    let mut done: Vec<Completion> = Vec::new();
    while sent < depth.min(count) {
        disk.submit(Ns::ZERO, sent, next(sent));
        sent += 1;
    }
    let mut left = count;
    while left > 0 {
        disk.step(&mut done);
        steps += 1;
        for completion in done.drain(..) {
            left -= 1;
            now = completion.at;
            if sent < count {
                disk.submit(now, sent, next(sent));
                sent += 1;
            }
        }
    }
    (steps, now)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(500_000), |n| n.parse())?;
    let config = DiskConfig::from_toml(PRESET)?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{:<34} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9}",
        "pattern",
        "requests",
        "per CPU s",
        "steps",
        "seeks",
        "hits",
        "destages",
        "sim s",
        "sim MB/s"
    )?;
    for depth in [1, 32] {
        for (name, least, most, writes) in [
            ("random read 4KiB", 8, 8, 0),
            ("random write 4KiB", 8, 8, 100),
            ("random 4-64KiB, 1/3 writes", 8, 128, 33),
            ("sequential read 1MiB", 0, 2048, 0),
            ("sequential write 1MiB", 0, 2048, 100),
        ] {
            let mut disk = Disk::new(&config)?;
            let mut random = SplitMix64(42);
            let sectors = disk.capacity().0 / SECTOR.0;
            let mut bytes = 0;
            let before = cpu();
            let (steps, simulated) = closed_loop(&mut disk, depth, count, |i| {
                let op = if random.below(100) < writes { IoOp::Write } else { IoOp::Read };
                let (start, len) = if least == 0 {
                    (i * most % (sectors - most), most)
                } else {
                    let len = (least / 8 + random.below(most / 8 - least / 8 + 1)) * 8;
                    (random.below((sectors - most) / 8) * 8, len)
                };
                bytes += len * SECTOR.0;
                Request::new(op, SECTOR * start, SECTOR * len)
            });
            let spent = cpu() - before;
            let stats = disk.stats();
            writeln!(
                out,
                "{:<34} {:>9} {:>11.0} {:>9} {:>9} {:>9} {:>9} {:>10.1} {:>9.2}",
                format!("{name}, depth {depth}"),
                count,
                rate(count, spent),
                steps,
                stats.seeks,
                stats.cache_hits,
                stats.destages,
                simulated.as_secs(),
                rate(Bytes(bytes).0, simulated) / 1e6,
            )?;
        }
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
fn rate(count: u64, span: Ns) -> f64 {
    count as f64 / span.as_secs()
}
