//! Completion times of operations on die groups: computed by hand for pairs, and compared with a
//! model for random sequences.

mod gate;
mod model;
mod properties;

use gordon_nand::{Geometry, Layout, Modes, SuperPageShape, Times, Timing};
use gordon_ssd::{CommandDone, CommandKind, DieGroups, FlashCommand};
use gordon_units::{BlockId, Hertz, Ns};

/// 2 buses with 2 dies each, 4 planes per die; blocks of 4 pages of 1,024 + 26 bytes.
const GEOMETRY: Geometry = Geometry {
    buses: 2,
    packages_per_bus: 1,
    dies_per_package: 2,
    planes_per_die: 4,
    blocks_per_plane: 4,
    pages_per_block: 4,
    page_bytes: 1024,
    oob_bytes: 26,
};

/// A page takes 100 ns on an 8-bit bus at 10.5 GT/s, and its command 10.
fn timing(modes: Modes) -> Timing {
    Timing {
        read: Times::new([1_000, 1_500].map(Ns)).expect("there are two"),
        program: Times::new([5_000, 7_000].map(Ns)).expect("there are two"),
        erase: Ns(30_000),
        bus_bits: 8,
        bus_rate: Hertz(1.05e10),
        command: Ns(10),
        modes,
    }
}

fn layout(shape: SuperPageShape) -> Layout {
    Layout::new(GEOMETRY, shape).expect("the shape divides the array")
}

fn command(kind: CommandKind, block: u32, page: u32, tag: u32) -> FlashCommand {
    FlashCommand { block: BlockId(block), page, transfer_slots: 1, tag, kind, background: false }
}

/// All completed commands, in order.
fn finish(die_groups: &mut DieGroups) -> Vec<(Ns, CommandDone)> {
    let mut all = vec![];
    while die_groups.next_at().is_some() {
        let (at, done) = die_groups.step();
        all.extend(done.map(|done| (at, done)));
    }
    all
}
