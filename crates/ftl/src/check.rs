//! Consistency checks between the tables of a layer.

use crate::blocks::BlockCondition;
use crate::buffer::PageBuffer;
use crate::io::ActionSink;
use crate::machine::Ftl;
use alloc::vec;
use core::fmt;
use core::sync::atomic::Ordering;
use gordon_units::{BlockId, Lpn, Ppn, Progress, Stopped};

/// Two tables disagree, which is a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconsistency {
    /// The map points to a page that was programmed with another logical page, or never.
    Written(Lpn, Ppn),
    /// The valid count of a block is not the number of its mapped pages.
    Valid {
        /// The block.
        block: BlockId,
        /// Its valid count.
        counted: u32,
        /// Number of its mapped pages.
        mapped: u32,
    },
    /// The valid count of a block is not the number of set bits in the valid bitmap.
    Filled {
        /// The block.
        block: BlockId,
        /// Its valid count.
        counted: u32,
        /// Number of its set bits.
        filled: u32,
    },
    /// A free block has mapped pages.
    Free(BlockId),
    /// A block has mapped pages where none can have been programmed: in its summary, or after the
    /// next page of its write point.
    Unwritten(BlockId),
    /// The map refers to a buffer that does not hold the page.
    Buffer(Lpn),
    /// The map and the reverse map disagree, though all counts agree.
    Reverse,
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(lpn, ppn) => {
                write!(f, "page {lpn} is mapped to {ppn}, which holds something else")
            }
            Self::Valid { block, counted, mapped } => {
                write!(f, "block {block} counts {counted} valid pages and has {mapped}")
            }
            Self::Filled { block, counted, filled } => write!(
                f,
                "block {block} counts {counted} valid pages and has {filled} in its bitmap"
            ),
            Self::Free(block) => write!(f, "free block {block} has mapped pages"),
            Self::Unwritten(block) => {
                write!(f, "block {block} has mapped pages where none was programmed")
            }
            Self::Buffer(lpn) => write!(f, "page {lpn} is in a buffer that does not hold it"),
            Self::Reverse => f.write_str("the map and the reverse map disagree"),
        }
    }
}

impl core::error::Error for Inconsistency {}

impl<O: ActionSink> Ftl<O> {
    /// Compares the map with the reverse map, the valid counts and the states of the blocks; works
    /// with operations in flight. It also follows that no two logical pages share a slot.
    ///
    /// The lookups are in random order and miss every cache: the check takes minutes for a
    /// terabyte. See [`check_at_rest`](Self::check_at_rest) for a faster one.
    ///
    /// # Errors
    /// Returns the first disagreement found.
    pub fn check(&self) -> Result<(), Inconsistency> {
        let mut mapped = vec![0u32; self.layout.blocks() as usize];
        for lpn in (0..self.config.exported).map(Lpn) {
            if let Some(at) = self.map.buffer_of(lpn.0) {
                let holds = |buffer: &PageBuffer| buffer.in_map && buffer.lpn == lpn.0;
                if at >= self.buffers.capacity() || !holds(&self.buffers[at]) {
                    return Err(Inconsistency::Buffer(lpn));
                }
            }
            let Some(psn) = self.mapped_psn(lpn) else { continue };
            let ppn = self.page_of(psn);
            let written = self.map.written(psn) == Some(lpn.0);
            if !written || !self.map.is_filled(psn) || self.layout.page_of(ppn) >= self.data_pages {
                return Err(Inconsistency::Written(lpn, ppn));
            }
            mapped[self.layout.block_of(ppn).index()] += 1;
        }
        for (block, mapped) in (0..).map(BlockId).zip(mapped) {
            let counted = self.blocks.valid(block);
            if counted != mapped {
                return Err(Inconsistency::Valid { block, counted, mapped });
            }
        }
        self.check_blocks()
    }

    /// Compares the map with the reverse map, the valid counts and the states of the blocks: each
    /// mapped page is in a slot that was programmed with it and whose valid bit is set, each slot
    /// with a valid bit holds a mapped page, the valid count of a block is the number of its valid
    /// bits, and a free block has none.
    ///
    /// Each table is read once, sequentially, in a few nanoseconds a slot: fast enough for each
    /// mount. The map and the reverse map are compared by a hash of all pairs of page and slot,
    /// which misses a disagreement with probability 2^-64. With work in flight this function calls
    /// [`check`](Self::check) instead.
    ///
    /// # Errors
    /// Returns the first disagreement found.
    pub fn check_at_rest(&self) -> Result<(), Inconsistency> {
        if self.buffers.len() > usize::from(self.cached.is_some()) {
            return self.check();
        }
        self.check_blocks()?;
        if self.map.agrees(&Progress::default()).expect("nobody stops it") {
            return Ok(());
        }
        // Finds the page that disagrees.
        self.check()?;
        Err(Inconsistency::Reverse)
    }

    /// Whether the map and the blocks of a layer at rest agree, by the same comparison as
    /// [`check_at_rest`](Self::check_at_rest).
    ///
    /// # Errors
    /// Returns [`Stopped`] if `progress` requests it.
    pub(crate) fn is_sound(&self, progress: &Progress) -> Result<bool, Stopped> {
        progress.total.fetch_add(self.map.steps(), Ordering::Relaxed);
        Ok(self.check_blocks().is_ok() && self.map.agrees(progress)?)
    }

    /// Compares the valid count of each block with the valid bitmap and the state of the block.
    fn check_blocks(&self) -> Result<(), Inconsistency> {
        // By block: the number of leading slots that can have been programmed with data.
        let data_slots = self.data_pages * self.config.slots;
        let mut programmed = vec![data_slots; self.layout.blocks() as usize];
        for point in self.write_points.all() {
            if let Some(block) = point.block {
                programmed[block.index()] = data_slots.min(point.next * self.config.slots);
            }
        }
        for (block, programmed) in (0..).map(BlockId).zip(programmed) {
            let (counted, slots) = (self.blocks.valid(block), self.block_slots(block));
            let end = slots.start + programmed;
            let filled = self.map.filled_in(slots.start..end);
            if counted != filled {
                return Err(Inconsistency::Filled { block, counted, filled });
            }
            if self.map.filled_in(end..slots.end) > 0 {
                return Err(Inconsistency::Unwritten(block));
            }
            if filled > 0 && self.blocks.condition(block) == BlockCondition::Free {
                return Err(Inconsistency::Free(block));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Action, Config};
    use alloc::collections::VecDeque;
    use gordon_nand::{Geometry, Layout, SuperPageShape};

    type Layer = Ftl<VecDeque<Action>>;

    /// A layer with all pages written once. Blocks have 6 data pages and 2 summary pages; some
    /// blocks are open.
    fn layer() -> Layer {
        let geometry = Geometry {
            buses: 1,
            packages_per_bus: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 40,
            pages_per_block: 8,
            page_bytes: 4096,
            oob_bytes: 16,
        };
        let layout =
            Layout::new(geometry, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 }).unwrap();
        let mut config = Config { slots: 4, summary_pages: 2, ..Config::new(&layout, 1, 2) };
        (config.write_points, config.contents) = (3, false);
        config.exported = u32::try_from(config.most_exported(&layout)).unwrap() - 7;
        let mut ftl = Layer::with_bad(layout, config, &[], VecDeque::new()).unwrap();
        let all = (0..config.exported).map(Lpn);
        ftl.preload(all, &mut |_, _, _| (), &Progress::default()).unwrap();
        assert_eq!((ftl.check(), ftl.check_at_rest()), (Ok(()), Ok(())));
        ftl
    }

    /// The findings of both checks after a change.
    fn found(change: impl FnOnce(&mut Layer)) -> [Option<Inconsistency>; 2] {
        let mut ftl = layer();
        change(&mut ftl);
        [ftl.check().err(), ftl.check_at_rest().err()]
    }

    /// The slot and the block of a page.
    fn place(ftl: &Layer, lpn: u32) -> (u32, BlockId) {
        let psn = ftl.mapped_psn(Lpn(lpn)).unwrap();
        (psn, ftl.block_of(psn))
    }

    fn in_condition(ftl: &Layer, condition: BlockCondition) -> BlockId {
        let mut blocks = (0..ftl.blocks.len()).map(BlockId);
        blocks.find(|&block| ftl.blocks.condition(block) == condition).unwrap()
    }

    #[test]
    fn two_pages_mapped_to_one_slot_are_found() {
        for found in found(|ftl| ftl.map.set(5, ftl.map.get(9))) {
            assert!(matches!(found, Some(Inconsistency::Written(Lpn(5), _))), "{found:?}");
        }
    }

    #[test]
    fn a_page_and_its_slot_that_disagree_are_found() {
        let swapped = found(|ftl| {
            let slots = [5, 9].map(|lpn| place(ftl, lpn).0);
            ftl.map.write(slots[0], Some(9));
            ftl.map.write(slots[1], Some(5));
        });
        for found in swapped {
            assert!(matches!(found, Some(Inconsistency::Written(Lpn(5), _))), "{found:?}");
        }
    }

    #[test]
    fn a_page_that_is_lost_from_the_map_is_found() {
        let found = found(|ftl| ftl.map.set(5, crate::buffer::NONE));
        assert!(matches!(found, [Some(Inconsistency::Valid { .. }), Some(_)]), "{found:?}");
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn a_wrong_count_of_valid_pages_is_found() {
        let [slow, quick] = found(|ftl| {
            let (_, block) = place(ftl, 5);
            ftl.blocks.add_valid(block, 1);
        });
        assert!(matches!(slow, Some(Inconsistency::Valid { .. })), "{slow:?}");
        assert!(matches!(quick, Some(Inconsistency::Filled { .. })), "{quick:?}");
    }

    #[test]
    fn a_wrong_bit_is_found() {
        for found in found(|ftl| ftl.map.empty(place(ftl, 5).0)) {
            let bits = |found: &Inconsistency| {
                matches!(found, Inconsistency::Filled { .. } | Inconsistency::Written(..))
            };
            assert!(found.as_ref().is_some_and(bits), "{found:?}");
        }
        let beyond = found(|ftl| {
            let summary = ftl.block_slots(in_condition(ftl, BlockCondition::Closed)).end - 1;
            ftl.map.fill(summary);
        });
        assert!(beyond.iter().all(|found| matches!(found, Some(Inconsistency::Unwritten(_)))));
        let ahead = found(|ftl| {
            let block = in_condition(ftl, BlockCondition::Open);
            let last = ftl.block_slots(block).start + ftl.data_pages * ftl.config.slots - 1;
            ftl.map.fill(last);
        });
        assert!(ahead.iter().all(|found| matches!(found, Some(Inconsistency::Unwritten(_)))));
    }

    #[test]
    fn a_free_block_with_a_page_is_found() {
        let [_, quick] = found(|ftl| {
            let block = in_condition(ftl, BlockCondition::Free);
            ftl.map.fill(ftl.block_slots(block).start);
            ftl.blocks.add_valid(block, 1);
        });
        assert!(matches!(quick, Some(Inconsistency::Free(_))), "{quick:?}");
    }

    #[test]
    fn a_page_in_a_buffer_that_is_not_there_is_found() {
        for found in found(|ftl| ftl.map.set_buffer(5, 3)) {
            assert_eq!(found, Some(Inconsistency::Buffer(Lpn(5))));
        }
    }

    #[test]
    #[should_panic(expected = "is erased with")]
    fn a_block_that_holds_a_page_is_not_erased() {
        let mut ftl = layer();
        let (_, block) = place(&ftl, 5);
        ftl.erase(block);
    }

    #[test]
    #[should_panic(expected = "is erased with 0 valid pages, 1 in its bitmap")]
    fn a_block_whose_bitmap_is_not_empty_is_not_erased() {
        let mut ftl = layer();
        let block = in_condition(&ftl, BlockCondition::Free);
        ftl.map.fill(ftl.block_slots(block).start);
        ftl.erase(block);
    }
}
