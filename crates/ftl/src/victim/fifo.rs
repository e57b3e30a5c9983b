//! FIFO: the block that was closed first. It needs no valid counts, and levels wear by itself.

use crate::blocks::Blocks;
use gordon_units::BlockId;

pub(super) fn choose(blocks: &Blocks) -> Option<BlockId> {
    blocks.first_listed()
}
