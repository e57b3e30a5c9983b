//! Deferred erases: those that the layer has asked for and that the file does not know of yet.
//!
//! What a block held may go once a sync has recorded that nothing of it is needed, which makes
//! durable what stands for its pages now: newer copies and trims. A block of which no sync has
//! recorded anything may go at once.

use super::{Engine, Payload};
use gordon_units::BlockId;
use std::collections::{BTreeSet, VecDeque};
use std::io::Result;

/// Erases to be carried out before their blocks are programmed again.
#[derive(Debug)]
pub(super) struct DeferredErases {
    /// In the order in which they may be carried out.
    queue: VecDeque<DeferredErase>,
    /// By block: changes that have to be durable before it is erased, if it is to be.
    required_seq: Vec<Option<u64>>,
    /// A sync is due, best by a thread that does not hold the engine: then programs do not wait for
    /// it while everybody else waits for them.
    sync_due: bool,
    /// Erased blocks whose data still take room in the file.
    unpunched: BTreeSet<BlockId>,
}

#[derive(Clone, Copy, Debug)]
struct DeferredErase {
    block: BlockId,
    /// Changes that have to be durable first.
    required_seq: u64,
    /// The block has a summary, or the first page of one.
    summary: bool,
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

    /// The first page of a block is about to be programmed.
    pub fn opened(&mut self, block: BlockId) {
        self.unpunched.remove(&block);
    }

    /// Defers an erase until the first `required_seq` changes are durable, which only grows, but
    /// for 0.
    pub fn defer(&mut self, block: BlockId, summary: bool, required_seq: u64) {
        self.sync_due |= required_seq > 0;
        if self.required_seq[block.index()].is_some() {
            // It has not been programmed since, so one erase serves both.
            return;
        }
        self.required_seq[block.index()] = Some(required_seq);
        let erase = DeferredErase { block, required_seq, summary };
        if required_seq == 0 { self.queue.push_front(erase) } else { self.queue.push_back(erase) }
    }

    /// Changes that have to be durable before a block is programmed again, if its erase is
    /// deferred.
    pub fn wait(&self, block: BlockId) -> Option<u64> {
        self.required_seq[block.index()]
    }

    /// Whether a sync is due, if this was not reported before.
    pub fn sync_due(&mut self) -> bool {
        std::mem::take(&mut self.sync_due)
    }
}

impl<P: Payload> Engine<P> {
    /// Makes the first `required_seq` changes durable, and carries out the erases that waited for
    /// no more.
    pub(super) fn erase_deferred(&mut self, required_seq: u64) -> Result<()> {
        self.sync_tracker().sync_to(required_seq)?;
        let durable = self.sync_tracker().durable_seq();
        while let Some(&DeferredErase { block, required_seq, summary }) = self.erases.queue.front()
            && required_seq <= durable
        {
            let offsets = &self.image.offsets;
            let start = offsets.block(block);
            if summary {
                let layout = self.ftl.layout();
                let first = layout.ppn(block, self.ftl.config().data_pages(layout));
                let head = offsets.slot(first, 0);
                self.sync_tracker().change(|media| media.write(head, &[0; 32]))?;
            }
            // Written, not punched out: the next entries then allocate nothing, which a sync would
            // have to commit.
            let zeros = vec![0; self.image.offsets.oob_area()];
            self.sync_tracker().change(|media| media.write(start, &zeros))?;
            self.erases.unpunched.insert(block);
            self.erases.required_seq[block.index()] = None;
            self.erases.queue.pop_front();
        }
        Ok(())
    }

    /// Gives the room of an erased block's data back to the file system; false if there is none. No
    /// flush waits for that.
    pub(super) fn punch_hole(&mut self) -> bool {
        let Some(block) = self.erases.unpunched.pop_first() else { return false };
        let (at, len) = self.image.offsets.data(block);
        // If it fails, the room is kept until it is written again.
        let _ = self.sync_tracker().media().erase(at, len);
        true
    }
}
