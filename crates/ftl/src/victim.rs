//! The policies that choose the next block to collect, one file each. Those of other programs
//! are behind [`VictimChooser`](crate::VictimChooser).

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;

use crate::blocks::Blocks;
use crate::config::Victim;
use gordon_units::{BlockId, SplitMix64};

/// The victim that the policy chooses; a block has at most `pages` valid pages.
pub(crate) fn choose(
    policy: Victim,
    blocks: &Blocks,
    pages: u32,
    random: &mut SplitMix64,
) -> Option<BlockId> {
    match policy {
        Victim::Greedy => greedy::choose(blocks),
        Victim::Fifo => fifo::choose(blocks),
        Victim::Random => random::choose(blocks, random),
        Victim::DChoices(choices) => d_choices::choose(blocks, choices, random),
        Victim::CostBenefit => cost_benefit::choose(blocks, pages),
    }
}
