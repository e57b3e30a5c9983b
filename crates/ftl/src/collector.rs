//! The state of garbage collection and wear levelling: blocks under collection, and copies in
//! flight. [`gc`](crate::gc) holds the rules.

use crate::buffer::BufferList;
use crate::config::Config;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::{BlockId, SplitMix64};

/// State of garbage collection and wear levelling.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// Blocks under collection.
    pub active: Vec<BlockId>,
    /// Blocks with a failed program, to be emptied when there is space for the copies.
    pub pending_retire: Vec<BlockId>,
    /// Blocks whose copying waits until other copies are done; may contain duplicates.
    pub throttled: VecDeque<BlockId>,
    /// Blocks that hold no needed data but may not be fully erased; they are erased before use.
    pub erasable: Vec<BlockId>,
    /// Copies in flight, and their maximum: two super-pages for each write point, one being
    /// programmed and one being read.
    pub copies: u32,
    pub most_copies: u32,
    /// Number of copies being programmed.
    pub programming: u32,
    /// Copies that wait for a write point.
    pub ready: BufferList,
    pub random: SplitMix64,
    /// The block being emptied by static wear levelling.
    pub levelling: Option<BlockId>,
    /// Number of erases when wear was last examined.
    pub levelled_at: u64,
    /// Number of consecutive collections that gained no space.
    pub zero_gain_streak: u32,
}

impl Collector {
    pub fn new(config: &Config) -> Self {
        Self {
            active: vec![],
            pending_retire: vec![],
            throttled: VecDeque::new(),
            erasable: vec![],
            copies: 0,
            most_copies: 2 * config.points() * config.slots,
            programming: 0,
            ready: BufferList::EMPTY,
            random: SplitMix64(config.seed),
            levelling: None,
            levelled_at: 0,
            zero_gain_streak: 0,
        }
    }

    /// State of the random number generator.
    pub fn random_state(&self) -> u64 {
        self.random.0
    }

    pub fn set_random_state(&mut self, state: u64) {
        self.random = SplitMix64(state);
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Abandons all collections.
    pub fn stop(&mut self) {
        self.active.clear();
    }

    pub fn forget(&mut self, block: BlockId) {
        self.active.retain(|&active| active != block);
        self.levelling = self.levelling.filter(|&levelling| levelling != block);
        self.pending_retire.retain(|&retiring| retiring != block);
    }

    pub fn has_pending_retire(&self) -> bool {
        !self.pending_retire.is_empty()
    }

    pub fn retire_later(&mut self, block: BlockId) {
        self.pending_retire.push(block);
    }
}
