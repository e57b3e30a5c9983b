//! Circular lists of the closed blocks. For greedy collection there is one list for each valid
//! count, so the victim is found at once; for FIFO a single list by age; for policies that examine
//! a few blocks or all of them, none.

use super::{Block, BlockState, NONE, Neighbours};
use crate::config::Victim;
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::BlockId;

/// How closed blocks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListOrder {
    ByValid,
    ByAge,
    Not,
}

/// The lists. The links are in [`BlockState::Closed`].
#[derive(Clone, Debug)]
pub(super) struct ClosedLists {
    listed: ListOrder,
    /// By list: its first block, or `NONE`.
    heads: Vec<u32>,
    /// All lists with a smaller index are empty.
    least: usize,
}

impl ClosedLists {
    /// Lists for blocks with at most `most_valid` valid pages.
    pub fn new(victim: Victim, most_valid: u32) -> Self {
        let listed = match victim {
            Victim::Greedy => ListOrder::ByValid,
            Victim::Fifo => ListOrder::ByAge,
            Victim::Random | Victim::DChoices(_) | Victim::CostBenefit => ListOrder::Not,
        };
        let lists = if listed == ListOrder::ByValid { most_valid as usize + 1 } else { 1 };
        Self { listed, heads: vec![NONE; lists], least: 0 }
    }

    #[inline]
    pub fn are_by_valid(&self) -> bool {
        self.listed == ListOrder::ByValid
    }

    /// The first block of the first list that is not empty.
    pub fn first(&self) -> Option<BlockId> {
        let head = self.heads[self.least..].iter().find(|&&head| head != NONE)?;
        Some(BlockId(*head))
    }

    /// All closed blocks, in the order of the lists; `None` if the policy keeps no lists.
    pub fn in_order(&self, blocks: &[Block]) -> Option<Vec<BlockId>> {
        if self.listed == ListOrder::Not {
            return None;
        }
        let mut all = Vec::new();
        for &head in self.heads.iter().filter(|&&head| head != NONE) {
            let mut at = head;
            loop {
                all.push(BlockId(at));
                let BlockState::Closed(neighbours) = blocks[at as usize].state else {
                    panic!("block {at} is listed and not closed")
                };
                at = neighbours.next;
                if at == head {
                    break;
                }
            }
        }
        Some(all)
    }

    fn list_of(&self, blocks: &[Block], id: u32) -> usize {
        match self.listed {
            ListOrder::ByValid => blocks[id as usize].valid as usize,
            ListOrder::ByAge | ListOrder::Not => 0,
        }
    }

    /// Appends a closed block to its list.
    pub fn link(&mut self, blocks: &mut [Block], id: u32) {
        if self.listed == ListOrder::Not {
            return;
        }
        let list = self.list_of(blocks, id);
        let head = self.heads[list];
        let (prev, next) = match head {
            NONE => {
                self.heads[list] = id;
                (id, id)
            }
            head => (blocks[head as usize].neighbours().prev, head),
        };
        blocks[prev as usize].neighbours().next = id;
        blocks[next as usize].neighbours().prev = id;
        *blocks[id as usize].neighbours() = Neighbours { prev, next };
        self.least = self.least.min(list);
    }

    /// Removes a block from its list.
    pub fn unlink(&mut self, blocks: &mut [Block], id: u32) {
        if self.listed == ListOrder::Not {
            return;
        }
        let list = self.list_of(blocks, id);
        let Neighbours { prev, next } = *blocks[id as usize].neighbours();
        let head = &mut self.heads[list];
        if next == id {
            *head = NONE;
            while self.least + 1 < self.heads.len() && self.heads[self.least] == NONE {
                self.least += 1;
            }
            return;
        }
        if *head == id {
            *head = next;
        }
        blocks[prev as usize].neighbours().next = next;
        blocks[next as usize].neighbours().prev = prev;
    }

    /// Bytes of memory allocated.
    pub fn memory(&self) -> u64 {
        self.heads.capacity() as u64 * 4
    }
}
