//! Deferred erases: erases that the layer has issued but that have not been applied to the file.
//!
//! The contents of a block may be erased once a sync has recorded that none of them are needed;
//! that sync also makes durable the newer copies and trims that supersede them. If no sync has ever
//! recorded contents of the block, it may be erased at once. An erase is applied together with
//! others that became possible, at the latest when its block is next programmed or the image is
//! shut down.

use super::{Engine, Payload};
use crate::format::summary;
use gordon_units::BlockId;
use std::collections::{BTreeSet, VecDeque};
use std::io::Result;

/// Erases to be applied at the latest when their blocks are programmed again.
#[derive(Debug)]
pub(super) struct DeferredErases {
    /// In the order in which they may be applied.
    queue: VecDeque<DeferredErase>,
    /// By block: if its erase is deferred, the number of changes that must be durable first.
    required_seq: Vec<Option<u64>>,
    /// A sync is due. A thread that does not hold the engine should do it, since otherwise a
    /// program would wait for it while all others wait for the engine.
    sync_due: bool,
    /// Erased blocks whose data still occupy space in the file.
    unpunched: BTreeSet<BlockId>,
}

#[derive(Clone, Copy, Debug)]
struct DeferredErase {
    block: BlockId,
    /// Number of changes that must be durable before the erase.
    required_seq: u64,
    /// The block has a summary, or the first page of one.
    has_summary: bool,
}

impl DeferredErases {
    pub fn new(blocks: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            required_seq: vec![None; blocks as usize],
            sync_due: false,
            unpunched: BTreeSet::new(),
        }
    }

    /// The first page of a block is about to be programmed, so its space is in use again.
    pub fn opened(&mut self, block: BlockId) {
        self.unpunched.remove(&block);
    }

    /// Defers an erase until the first `required_seq` changes are durable. Values other than 0
    /// never decrease from call to call.
    pub fn defer(&mut self, block: BlockId, has_summary: bool, required_seq: u64) {
        self.sync_due |= required_seq > 0;
        if self.required_seq[block.index()].is_some() {
            // The block has not been programmed since, so one erase serves both.
            return;
        }
        self.required_seq[block.index()] = Some(required_seq);
        let erase = DeferredErase { block, required_seq, has_summary };
        if required_seq == 0 { self.queue.push_front(erase) } else { self.queue.push_back(erase) }
    }

    /// If the erase of a block is deferred: the number of changes that must be durable before the
    /// block is programmed again.
    pub fn required_seq_of(&self, block: BlockId) -> Option<u64> {
        self.required_seq[block.index()]
    }

    /// Whether a sync is due; returns true only once for each.
    pub fn take_sync_due(&mut self) -> bool {
        std::mem::take(&mut self.sync_due)
    }
}

impl<P: Payload> Engine<P> {
    /// Makes the first `required_seq` changes durable, and applies the erases that waited for them.
    pub(super) fn erase_deferred(&mut self, required_seq: u64) -> Result<()> {
        self.sync_tracker().sync_to(required_seq)?;
        let durable = self.sync_tracker().durable_seq();
        while let Some(&DeferredErase { block, required_seq: own_seq, has_summary }) =
            self.erases.queue.front()
            && own_seq <= durable
        {
            let offsets = &self.image.offsets;
            let start = offsets.block(block);
            if has_summary {
                let layout = self.ftl.layout();
                let first = layout.ppn(block, self.ftl.config().data_pages(layout));
                let head = offsets.slot(first, 0);
                self.sync_tracker().change(|media| media.write(head, &[0; summary::HEAD]))?;
            }
            // Zeros are written, rather than a hole punched, so that the next entries allocate no
            // space, which a sync would have to commit.
            let zeros = vec![0; self.image.offsets.oob_area()];
            self.sync_tracker().change(|media| media.write(start, &zeros))?;
            self.erases.unpunched.insert(block);
            self.erases.required_seq[block.index()] = None;
            self.erases.queue.pop_front();
        }
        Ok(())
    }

    /// Returns the space of an erased block's data to the file system; returns false if there is no
    /// such block. No flush waits for this.
    pub(super) fn punch_hole(&mut self) -> bool {
        let Some(block) = self.erases.unpunched.pop_first() else { return false };
        let (at, len) = self.image.offsets.data(block);
        // If it fails, the space stays allocated until the block is written again.
        let _ = self.sync_tracker().media().erase(at, len);
        true
    }
}
