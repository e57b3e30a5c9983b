//! Greedy: the block with the fewest valid pages, which needs the fewest copies now.

use crate::blocks::Blocks;
use gordon_units::BlockId;

pub(super) fn choose(blocks: &Blocks) -> Option<BlockId> {
    blocks.first_listed()
}
