//! The positions of the parts of an image, as docs/SPEC.md lays them out.

use crate::format::{digest, journal, legacy, oob, superblock, table};
use crate::resolved_device::ResolvedDevice;
use gordon_units::{BlockId, Ppn};

/// Offset of the block table in an image of version 2; unused in later versions.
pub(crate) const LEGACY_TABLE: u64 = 2 * superblock::BYTES as u64;

/// Alignment of holes and file sizes, in bytes.
const BLOCK: u64 = 4096;

/// Offsets and lengths of the parts of an image, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageOffsets {
    /// Bytes of an out-of-band entry.
    pub oob_bytes: usize,
    /// Bytes of a super-page.
    pub page_bytes: u64,
    /// Bytes of a slot.
    pub unit: u64,
    blocks: u64,
    /// Distance between super-blocks.
    stride: u64,
    /// Offset of the first page within a super-block.
    data: u64,
    pages: u32,
    /// Offsets of the copies of the block table, and the bytes of one.
    pub(crate) tables: [u64; 2],
    pub(crate) table_bytes: usize,
    /// Offset of the first area of the sync journal, which the second area follows, and the bytes
    /// of one.
    journals: u64,
    pub(crate) journal_bytes: usize,
    /// Offset of the digests of the map.
    pub(crate) digests: u64,
    /// End of the last super-block, which is the end of an image of version 2.
    pub(crate) blocks_end: u64,
    /// Length of the image.
    pub len: u64,
}

impl ImageOffsets {
    /// The offsets for this device.
    #[must_use]
    pub fn new(resolved: &ResolvedDevice) -> Self {
        let (layout, config) = (&resolved.layout, &resolved.config);
        let pages = layout.pages_per_block();
        let page_bytes = layout.page_bytes().0;
        let oob_bytes = oob::bytes(config.slots);
        let legacy = u64::from(layout.blocks()) * legacy::RECORD as u64;
        let blocks = (LEGACY_TABLE + legacy).next_multiple_of(BLOCK);
        let data = (u64::from(pages) * oob_bytes as u64).next_multiple_of(BLOCK);
        let stride = (data + u64::from(pages) * page_bytes).next_multiple_of(BLOCK);
        let blocks_end = blocks + u64::from(layout.blocks()) * stride;
        let table_bytes = table::bytes(layout.blocks());
        let table = (table_bytes as u64).next_multiple_of(BLOCK);
        let journal_bytes = journal::area(layout.blocks());
        let journals = blocks_end + 2 * table;
        let digests = journals + 2 * journal_bytes as u64;
        Self {
            oob_bytes,
            page_bytes,
            unit: page_bytes / u64::from(config.slots),
            blocks,
            stride,
            data,
            pages,
            tables: [blocks_end, blocks_end + table],
            table_bytes,
            journals,
            journal_bytes,
            digests,
            blocks_end,
            len: digests + digest::bytes(config.exported),
        }
    }

    /// Offset of the copy of the block table with this generation.
    #[must_use]
    pub fn table(&self, generation: u64) -> u64 {
        self.tables[usize::from(generation % 2 == 1)]
    }

    /// Offset of the area of the sync journal for this generation of the block table.
    #[must_use]
    pub fn journal(&self, generation: u64) -> u64 {
        self.journals + generation % 2 * self.journal_bytes as u64
    }

    /// Offset of a super-block, which starts with its out-of-band entries.
    #[must_use]
    pub fn block(&self, block: BlockId) -> u64 {
        self.blocks + u64::from(block.0) * self.stride
    }

    /// Bytes of a super-block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.stride
    }

    /// Offset and length of the data of a super-block.
    #[must_use]
    pub fn data(&self, block: BlockId) -> (u64, u64) {
        (self.block(block) + self.data, self.stride - self.data)
    }

    /// Bytes of the out-of-band entries of a super-block.
    #[must_use]
    pub fn oob_area(&self) -> usize {
        self.pages as usize * self.oob_bytes
    }

    /// Offset of the out-of-band entry of a page.
    #[must_use]
    pub fn oob(&self, ppn: Ppn) -> u64 {
        let (block, page) = self.split(ppn);
        self.block(block) + u64::from(page) * self.oob_bytes as u64
    }

    /// Offset of a slot of a page.
    #[must_use]
    pub fn slot(&self, ppn: Ppn, slot: u32) -> u64 {
        let (block, page) = self.split(ppn);
        let within = u64::from(page) * self.page_bytes + u64::from(slot) * self.unit;
        self.block(block) + self.data + within
    }

    fn split(&self, ppn: Ppn) -> (BlockId, u32) {
        (BlockId(ppn.0 / self.pages), ppn.0 % self.pages)
    }
}
