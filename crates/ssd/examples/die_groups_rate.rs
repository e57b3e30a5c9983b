//! Simulation speed of the array: operations per second of CPU time, events included, with die
//! groups alone.
//!
//!     cargo run --release -p gordon-ssd --example die_groups_rate [OPERATIONS [LOAD]]
#![allow(clippy::print_stdout)]

use gordon_nand::{Geometry, Layout, Modes, SuperPageShape, Times, Timing};
use gordon_ssd::{CommandKind, DieGroups, FlashCommand};
use gordon_units::{BlockId, Hertz, Ns};

/// 8 buses of 4 packages of 2 dies of 2 planes, pages of 8 KiB.
const ARRAY: Geometry = Geometry {
    buses: 8,
    packages_per_bus: 4,
    dies_per_package: 2,
    planes_per_die: 2,
    blocks_per_plane: 2048,
    pages_per_block: 256,
    page_bytes: 8192,
    oob_bytes: 448,
};

fn timing(modes: Modes) -> Timing {
    Timing {
        read: Times::new([75_000, 90_000].map(Ns)).expect("there are two"),
        program: Times::new([750_000, 1_300_000].map(Ns)).expect("there are two"),
        erase: Ns(3_800_000),
        bus_bits: 8,
        bus_rate: Hertz(333e6),
        command: Ns(100),
        modes,
    }
}

/// User CPU time of this process in seconds, which the kernel counts in hundredths.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let after = text.rsplit_once(") ").expect("the command is in brackets").1;
    // The fields after the command are numbered from 3; user time is 14.
    after.split(' ').nth(11).and_then(|t| t.parse::<f64>().ok()).expect("a number") / 100.0
}

struct Load {
    name: &'static str,
    reads: u64,
    erases: u64,
}

/// Runs a closed loop of random operations with `depth` outstanding. The load gives the percentages
/// of reads and erases.
fn run(array: Geometry, modes: Modes, load: &Load, depth: u32, operations: u64) {
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    let layout = Layout::new(array, shape).expect("the shape divides the array");
    let mut die_groups = DieGroups::new(layout, &timing(modes), 2);
    let (mut state, blocks) = (1u64, u64::from(layout.blocks()));
    let mut draw = |tag| {
        // A linear congruential generator (Knuth's MMIX); its high bits are random enough here.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (high, low) = (state >> 32, (state >> 16) & 0xffff);
        let kind = match (low * 100) >> 16 {
            k if k < load.erases => CommandKind::Erase,
            k if k < load.erases + load.reads => CommandKind::Read,
            _ => CommandKind::Program,
        };
        let block = BlockId(((high * blocks) >> 32) as u32);
        let page = (high & 0xff) as u32;
        FlashCommand {
            block,
            page,
            transfer_slots: 1 + (low & 1) as u32,
            tag,
            kind,
            background: low & 8 > 0,
        }
    };
    let start = cpu();
    for tag in 0..depth {
        die_groups.issue(Ns(0), draw(tag));
    }
    let mut left = operations;
    while left > 0 {
        let (now, done) = die_groups.step();
        if let Some(done) = done {
            left -= 1;
            die_groups.issue(now, draw(done.command.tag));
        }
    }
    let cpu = cpu() - start;
    let stats = die_groups.stats();
    let behind: u64 = stats.kinds.iter().map(|k| k.behind_background).sum();
    println!(
        "{:>4} die groups, depth {depth:>3}, {:<28} {:>6.2} M/s of CPU, {:>5.1} ns each, {:>4.2} \
         events, {:>3.0} % behind background, {} joined",
        layout.die_groups(),
        load.name,
        operations as f64 / cpu / 1e6,
        cpu / operations as f64 * 1e9,
        stats.events as f64 / operations as f64,
        behind as f64 / operations as f64 * 100.0,
        stats.kinds.iter().map(|k| k.joined).sum::<u64>(),
    );
}

fn main() {
    let operations = std::env::args().nth(1).map_or(20_000_000, |n| n.parse().expect("a number"));
    let only = std::env::args().nth(2).unwrap_or_default();
    let loads = [
        Load { name: "programs", reads: 0, erases: 0 },
        Load { name: "reads", reads: 100, erases: 0 },
        Load { name: "half reads, 2 % erases", reads: 50, erases: 2 },
    ];
    for (packages, depth) in [(4, 32), (4, 128), (16, 128)] {
        for load in loads.iter().filter(|load| load.name.starts_with(&only)) {
            let array = Geometry { packages_per_bus: packages, ..ARRAY };
            run(array, Modes { multi_plane: true, ..Modes::default() }, load, depth, operations);
        }
    }
    if !only.is_empty() {
        return;
    }
    let all = Modes {
        multi_plane: true,
        independent_reads: true,
        cache_read: true,
        cache_program: true,
        read_first: true,
        suspend: None,
    };
    run(ARRAY, all, &Load { name: "mixed, all modes on", ..loads[2] }, 128, operations);
    run(ARRAY, Modes::default(), &Load { name: "mixed, no modes", ..loads[2] }, 128, operations);
}
