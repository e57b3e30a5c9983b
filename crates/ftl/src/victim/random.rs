//! Random: any closed block.

use crate::blocks::Blocks;
use gordon_units::BlockId;
use gordon_units::SplitMix64;

/// Number of draws after which the policy takes the next closed block after a random one. When
/// collection runs, nearly all blocks are closed, so the limit is rarely reached.
const DRAWS: u32 = 64;

pub(super) fn choose(blocks: &Blocks, random: &mut SplitMix64) -> Option<BlockId> {
    let is_closed = |id: &BlockId| blocks.is_closed(*id);
    let mut draw = || BlockId(random.below_u32(blocks.len()));
    if let Some(block) = (0..DRAWS).map(|_| draw()).find(is_closed) {
        return Some(block);
    }
    let from = draw().0;
    (from..blocks.len()).chain(0..from).map(BlockId).find(is_closed)
}
