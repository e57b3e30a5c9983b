//! d-choices: of a few random blocks, the one with the fewest valid pages (Van Houdt,
//! SIGMETRICS'13). It is nearly greedy, and needs no lists.

use super::random;
use crate::blocks::Blocks;
use gordon_units::BlockId;
use gordon_units::SplitMix64;

pub(super) fn choose(blocks: &Blocks, choices: u32, random: &mut SplitMix64) -> Option<BlockId> {
    let drawn = (0..choices).filter_map(|_| random::choose(blocks, random));
    drawn.min_by_key(|&block| blocks.valid(block))
}
