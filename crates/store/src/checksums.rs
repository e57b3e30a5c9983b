//! A cache of the checksums of slots, for the blocks in use. Without it, each read of a unit would
//! also read the out-of-band entry of its page. The cache also holds the sequence numbers of pages,
//! for the summaries of their blocks.

use crate::format::NO_LPN;
use crate::format::oob::{self, OobContent, OobEntry, OobHead};
use crate::media::Media;
use crate::offsets::ImageOffsets;
use gordon_ftl::Ftl;
use gordon_nand::Layout;
use gordon_units::{BlockId, Ppn};
use std::io;

/// Memory limit of the cache, in bytes.
const BYTES: usize = 64 << 20;

/// The state with which an out-of-band entry is compared before its checksums are used, since an
/// older version of a page also has valid checksums.
#[derive(Clone, Copy)]
pub(crate) struct Proof<'a> {
    pub ftl: &'a Ftl,
    /// Number of erases of the block.
    pub erases: u32,
}

impl Proof<'_> {
    fn holds(self, ppn: Ppn, head: OobHead, entry: &[u8], slots: u32) -> bool {
        let lpn = |slot| self.ftl.written(ppn, slot).map_or(NO_LPN, |lpn| lpn.0);
        let same = |slot| oob::slot(entry, slot).lpn == lpn(slot);
        head.erases == self.erases && (head.content != OobContent::Data || (0..slots).all(same))
    }
}

/// The cached checksums of a block.
#[derive(Debug)]
struct BlockChecksums {
    /// By page: its sequence number.
    sequences: Box<[u64]>,
    /// By page and slot: the checksum.
    crcs: Box<[u32]>,
    /// By page: whether its entry is valid.
    pages: Box<[bool]>,
    /// Used since the clock hand last passed the block.
    used: bool,
}

#[derive(Debug)]
pub(crate) struct Checksums {
    blocks: Vec<Option<BlockChecksums>>,
    slots: u32,
    pages: u32,
    cached: usize,
    most: usize,
    /// Position of the clock hand, which selects the block to evict.
    hand: usize,
    /// A block of checksums for reuse.
    spare: Option<BlockChecksums>,
    entries: Vec<u8>,
}

impl Checksums {
    pub fn new(layout: &Layout, slots: u32) -> Self {
        let pages = layout.pages_per_block();
        let each = (pages * slots) as usize * 4;
        Self {
            blocks: (0..layout.blocks()).map(|_| None).collect(),
            slots,
            pages,
            cached: 0,
            most: (BYTES / each).max(64),
            hand: 0,
            spare: None,
            entries: Vec::new(),
        }
    }

    /// Records the checksums of the slots of a programmed page.
    pub fn set(
        &mut self,
        block: BlockId,
        page: u32,
        sequence: u64,
        crcs: impl Iterator<Item = u32>,
    ) {
        if page == 0 {
            self.forget(block);
            self.add(block);
        }
        if let Some(known) = &mut self.blocks[block.index()] {
            let from = (page * self.slots) as usize;
            known.pages[page as usize] = true;
            known.sequences[page as usize] = sequence;
            for (place, crc) in known.crcs[from..].iter_mut().zip(crcs) {
                *place = crc;
            }
        }
    }

    /// The sequence numbers of the pages of a block.
    pub fn sequences(
        &mut self,
        block: BlockId,
        offsets: &ImageOffsets,
        media: &dyn Media,
        proof: Proof<'_>,
    ) -> io::Result<&[u64]> {
        if self.blocks[block.index()].is_none() {
            self.load(block, offsets, media, proof)?;
        }
        Ok(&self.blocks[block.index()].as_ref().expect("it was loaded").sequences)
    }

    /// The checksum of a slot; `None` if the page's entry is damaged or does not match `proof`.
    pub fn get(
        &mut self,
        block: BlockId,
        page: u32,
        slot: u32,
        offsets: &ImageOffsets,
        media: &dyn Media,
        proof: Proof<'_>,
    ) -> io::Result<Option<u32>> {
        if self.blocks[block.index()].is_none() {
            self.load(block, offsets, media, proof)?;
        }
        let known = self.blocks[block.index()].as_mut().expect("it was loaded");
        known.used = true;
        let at = (page * self.slots + slot) as usize;
        Ok(known.pages[page as usize].then_some(known.crcs[at]))
    }

    /// Drops the checksums of an erased block.
    pub fn forget(&mut self, block: BlockId) {
        if let Some(known) = self.blocks[block.index()].take() {
            self.cached -= 1;
            self.spare = Some(known);
        }
    }

    fn add(&mut self, block: BlockId) -> &mut BlockChecksums {
        while self.cached >= self.most {
            self.evict();
        }
        self.cached += 1;
        let known = match self.spare.take() {
            Some(mut known) => {
                known.pages.fill(false);
                known
            }
            None => BlockChecksums {
                sequences: vec![0; self.pages as usize].into(),
                crcs: vec![0; (self.pages * self.slots) as usize].into(),
                pages: vec![false; self.pages as usize].into(),
                used: false,
            },
        };
        self.blocks[block.index()].insert(BlockChecksums { used: true, ..known })
    }

    fn evict(&mut self) {
        loop {
            self.hand = (self.hand + 1) % self.blocks.len();
            if let Some(known) = &mut self.blocks[self.hand]
                && !std::mem::take(&mut known.used)
            {
                self.spare = self.blocks[self.hand].take();
                self.cached -= 1;
                return;
            }
        }
    }

    fn load(
        &mut self,
        block: BlockId,
        offsets: &ImageOffsets,
        media: &dyn Media,
        proof: Proof<'_>,
    ) -> io::Result<()> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.resize(offsets.oob_area(), 0);
        let read = media.read(offsets.block(block), &mut entries);
        let (slots, pages) = (self.slots, self.pages);
        if read.is_ok() {
            let known = self.add(block);
            for (page, entry) in (0..pages).zip(entries.chunks_exact(offsets.oob_bytes)) {
                let ppn = Ppn(block.0 * pages + page);
                if let OobEntry::Programmed(head) = oob::decode(entry, ppn)
                    && proof.holds(ppn, head, entry, slots)
                {
                    known.pages[page as usize] = true;
                    known.sequences[page as usize] = head.sequence;
                }
                let crcs = (0..slots).map(|slot| oob::slot(entry, slot).crc);
                let from = (page * slots) as usize;
                for (place, crc) in known.crcs[from..].iter_mut().zip(crcs) {
                    *place = crc;
                }
            }
        }
        self.entries = entries;
        read
    }
}
