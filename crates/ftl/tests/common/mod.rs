//! A small array for tests.

use gordon_nand::{Geometry, Layout, SuperPageShape};

/// An array of `die_groups` die groups of one die, each with these numbers of planes, of blocks of
/// a plane and of pages of a block.
pub fn layout(die_groups: u32, planes: u32, blocks: u32, pages: u32, page_bytes: u32) -> Layout {
    let geometry = Geometry {
        buses: 1,
        packages_per_bus: 1,
        dies_per_package: die_groups,
        planes_per_die: planes,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        page_bytes,
        oob_bytes: 16,
    };
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
    Layout::new(geometry, shape).expect("a small array")
}
