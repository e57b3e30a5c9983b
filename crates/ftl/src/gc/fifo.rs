//! The block that was closed first: no counts are kept, and wear is level by itself.

use crate::blocks::Blocks;
use gordon_units::BlockId;

pub(super) fn choose(blocks: &Blocks) -> Option<BlockId> {
    blocks.first_listed()
}
