//! The state before the first request in a form that yields single entries of the map.

use super::ranked_bits::RankedBits;
use crate::io::ActionSink;
use crate::permutation::Permutation;
use crate::stripes::Stripes;
use alloc::vec;
use alloc::vec::Vec;

/// In [`InitialState::order`]: the block holds no page.
const NONE: u32 = u32::MAX;

/// The logical pages that are mapped, in the order in which they fill the valid slots.
#[derive(Debug)]
pub(crate) enum PageOrder {
    /// The pages of a preconditioned device.
    Permuted {
        /// All pages below this one are mapped.
        first: u32,
        /// The other mapped pages, in ascending order.
        more: Vec<u32>,
        /// A permutation of all mapped pages, which it numbers in ascending order.
        order: Permutation,
    },
    /// The first pages of a device, preloaded in ascending order.
    Striped(Stripes),
}

impl PageOrder {
    fn page_at(&self, position: u32) -> u32 {
        match self {
            Self::Permuted { first, more, order } => page(*first, more, order.number_at(position)),
            Self::Striped(stripes) => stripes.number_at(position),
        }
    }

    /// The position of a page; `None` if it is not mapped.
    fn position_of(&self, lpn: u32) -> Option<u32> {
        match self {
            Self::Permuted { first, order, .. } if lpn < *first => Some(order.position_of(lpn)),
            Self::Permuted { first, more, order } => {
                let at = more.binary_search(&lpn).ok()?;
                let at = u32::try_from(at).expect("fewer than are exported");
                Some(order.position_of(first + at))
            }
            Self::Striped(stripes) => (lpn < stripes.pages).then(|| stripes.position_of(lpn)),
        }
    }

    /// Number of mapped pages.
    pub fn mapped(&self) -> u32 {
        match self {
            Self::Permuted { first, more, .. } => {
                first + u32::try_from(more.len()).expect("fewer than are exported")
            }
            Self::Striped(stripes) => stripes.pages,
        }
    }
}

/// The mapped page with a number.
#[inline]
pub(super) fn page(first: u32, more: &[u32], number: u32) -> u32 {
    if number < first { number } else { more[(number - first) as usize] }
}

/// The slots that hold a page, block by block in the order in which the blocks are filled.
#[derive(Debug)]
pub(crate) struct FilledBlocks {
    /// Words of a block's bitmap.
    block_words: usize,
    /// The first slot of each block.
    starts: Vec<u32>,
    /// A bit for each slot, in whole words for each block.
    valid: Vec<u64>,
}

impl FilledBlocks {
    /// No blocks yet, with room for `blocks`, each of `slots` slots.
    pub fn with_capacity(blocks: u32, slots: u32) -> Self {
        let block_words = slots.div_ceil(64) as usize;
        let valid = Vec::with_capacity(blocks as usize * block_words);
        Self { block_words, starts: Vec::with_capacity(blocks as usize), valid }
    }

    /// Adds the block that starts at slot `start`, with the bitmap of its valid slots.
    pub fn push(&mut self, start: u32, valid: &[u64]) {
        assert_eq!(valid.len(), self.block_words, "the bitmap of a block");
        self.starts.push(start);
        self.valid.extend_from_slice(valid);
    }
}

/// The state before the first request: the n-th logical page of an order is in the n-th valid slot.
/// Either can be computed from the other.
#[derive(Debug)]
pub(super) struct InitialState {
    pages: PageOrder,
    /// Slots of a block, including those of its summary.
    block_slots: u32,
    block_words: usize,
    starts: Vec<u32>,
    valid: RankedBits,
    /// By block: its position in the order in which blocks are filled.
    order: Vec<u32>,
}

impl InitialState {
    /// The state of an array of `blocks` blocks, each of `block_slots` slots.
    pub fn new(pages: PageOrder, filled: FilledBlocks, blocks: u32, block_slots: u32) -> Self {
        let FilledBlocks { block_words, starts, valid } = filled;
        let mut order = vec![NONE; blocks as usize];
        for (at, start) in (0..).zip(&starts) {
            order[(start / block_slots) as usize] = at;
        }
        let valid = RankedBits::new(valid);
        Self { pages, block_slots, block_words, starts, valid, order }
    }

    /// The slot of a page; `None` if it is not mapped.
    pub fn slot_of(&self, lpn: u32) -> Option<u32> {
        let bit = self.valid.select(self.pages.position_of(lpn)?);
        let block_bits = self.block_words * 64;
        // Less than the slots of a block.
        #[allow(clippy::cast_possible_truncation)]
        let within = (bit % block_bits) as u32;
        Some(self.starts[bit / block_bits] + within)
    }

    /// Prefetches what [`slot_of`](Self::slot_of) reads.
    pub fn prefetch(&self, out: &impl ActionSink, lpn: u32) {
        if let Some(position) = self.pages.position_of(lpn) {
            let (counts, words) = self.valid.memory_near(position);
            out.prefetch(counts);
            out.prefetch(words);
        }
    }

    /// The page in a slot; `None` if it holds none.
    pub fn page_in(&self, psn: u32) -> Option<u32> {
        let order = self.order[(psn / self.block_slots) as usize];
        let within = (psn % self.block_slots) as usize;
        let block_bits = self.block_words * 64;
        if order == NONE || within >= block_bits {
            return None;
        }
        let position = self.valid.rank(order as usize * block_bits + within)?;
        Some(self.pages.page_at(position))
    }

    /// The first slot of each block and the bitmap of its valid slots, in the order in which the
    /// pages fill them.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, &[u64])> {
        self.starts.iter().copied().zip(self.valid.words().chunks(self.block_words))
    }

    /// The mapped pages and their order.
    pub fn pages(&self) -> &PageOrder {
        &self.pages
    }

    /// Number of blocks of the array, and of slots of each.
    pub fn shape(&self) -> (usize, u32) {
        (self.order.len(), self.block_slots)
    }
}
