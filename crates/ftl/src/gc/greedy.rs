//! The block with the fewest valid pages: the fewest copies now, whatever becomes of the rest.

use crate::blocks::Blocks;
use gordon_units::BlockId;

pub(super) fn choose(blocks: &Blocks) -> Option<BlockId> {
    blocks.first_listed()
}
