//! Erases that the layer has asked for and the file does not know of yet: what each waits for, and how
//! it is carried out.

use super::{Engine, Payload};
use crate::synced::Synced;
use gordon_units::BlockId;
use std::collections::BTreeSet;
use std::io::Result;

/// What is known of blocks to be erased, by the number of changes to the file.
#[derive(Debug)]
pub(super) struct Erases {
    put_off: Vec<Erase>,
    /// By block: changes before its first page was programmed; 0 where that was in an earlier run.
    first: Vec<u64>,
    /// By block: changes when a page of it was last written elsewhere, in this run.
    superseded: Vec<u64>,
    /// Changes when trims were last recorded.
    trimmed: u64,
    /// A sync is due, best by a thread that does not hold the engine: then erases do not wait for it
    /// while everybody else waits for them.
    sync_due: bool,
    /// Erased blocks whose place still holds data.
    litter: BTreeSet<BlockId>,
}

#[derive(Clone, Copy, Debug)]
struct Erase {
    block: BlockId,
    /// Changes that are to be durable before what the block held goes.
    wanted: u64,
    /// It has a summary.
    summary: bool,
}

impl Erases {
    pub fn new(blocks: u32) -> Self {
        let none = vec![0; blocks as usize];
        Self {
            put_off: Vec::new(),
            first: none.clone(),
            superseded: none,
            trimmed: 0,
            sync_due: false,
            litter: BTreeSet::new(),
        }
    }

    /// The first page of a block is about to be programmed.
    pub fn opened(&mut self, block: BlockId, changes: u64) {
        self.first[block.index()] = changes;
        self.litter.remove(&block);
    }

    /// A page of a block was written elsewhere.
    pub fn superseded(&mut self, block: BlockId, changes: u64) {
        self.superseded[block.index()] = changes;
    }

    /// Trims were recorded.
    pub fn trimmed(&mut self, changes: u64) {
        self.trimmed = changes;
    }

    /// Notes an erase.
    pub fn put_off(&mut self, block: BlockId, summary: bool, disk: &Synced) {
        let wanted = self.wanted(block, disk);
        self.put_off.push(Erase { block, wanted, summary });
    }

    /// Changes that are to be durable before what a block held goes: the copies that stand for it now,
    /// and the trims. Where no sync speaks of it, it was promised to nobody.
    fn wanted(&mut self, block: BlockId, disk: &Synced) -> u64 {
        let claimed = disk.claimed();
        if claimed <= self.first[block.index()] {
            return 0;
        }
        let wanted = self.superseded[block.index()].max(self.trimmed);
        // Nearer to what is not durable than half of what was changed since: the rest is for the sync.
        self.sync_due |= wanted + disk.changes() > 2 * claimed;
        wanted
    }

    /// What a block that was erased waits for, if the file does not know of that yet.
    pub fn wait(&self, block: BlockId) -> Option<u64> {
        self.put_off.iter().find(|erase| erase.block == block).map(|erase| erase.wanted)
    }

    /// Whether a sync is due, if it was not said before.
    pub fn sync_due(&mut self) -> bool {
        std::mem::take(&mut self.sync_due)
    }
}

impl<P: Payload> Engine<P> {
    /// Makes so many changes durable, and carries out the erases that waited for no more.
    pub(super) fn wipe(&mut self, wanted: u64) -> Result<()> {
        self.disk().sync_to(wanted)?;
        let durable = self.disk().durable();
        while let Some(at) = self.erases.put_off.iter().position(|erase| erase.wanted <= durable) {
            let Erase { block, summary, .. } = self.erases.put_off[at];
            let places = &self.image.places;
            let (start, (data, _)) = (places.block(block), places.data(block));
            if summary {
                let layout = self.ftl.layout();
                let last = places.slot(layout.ppn(block, layout.pages_per_block() - 1), 0);
                self.disk().change(|media| media.write(last, &[0; 32]))?;
            }
            self.disk().change(|media| media.erase(start, data - start))?;
            let mut record = self.image.record(block);
            record.erases = self.rules.block(block).erases;
            self.image.set_record(block, record)?;
            self.erases.litter.insert(block);
            self.erases.put_off.swap_remove(at);
        }
        Ok(())
    }

    /// Gives the place of an erased block's data back to the file system; false if there is none.
    pub(super) fn tidy(&mut self) -> bool {
        let Some(block) = self.erases.litter.pop_first() else { return false };
        let (at, len) = self.image.places.data(block);
        // If it fails, the place is kept until it is written again.
        let _ = self.disk().change(|media| media.erase(at, len));
        true
    }
}
