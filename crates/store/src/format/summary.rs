//! The summary of a block: the sequence number and logical pages of each data page, so that a mount
//! need not read the entries of a closed block. It occupies the last pages of the block, as few as
//! possible.

use super::{Fields, MOST, crc_without, put_u32, put_u64};
use gordon_units::{BlockId, Bytes};
use std::ops::Range;

const MAGIC: u32 = 0x4d55_5347; // "GSUM"
const CRC_AT: usize = 28;
/// Bytes of a summary before its pages.
pub const HEAD: usize = 32;

/// A decoded summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// Number of syncs of the image started when the summary was written.
    pub syncs: u64,
    slots: usize,
    pages: &'a [u8],
}

/// Bytes of a summary of `pages` pages.
#[must_use]
pub fn bytes(pages: u32, slots: u32) -> usize {
    HEAD + pages as usize * page_bytes(slots as usize)
}

/// The smallest number of super-pages of `page` bytes, at the end of a block of `block_pages`
/// super-pages, that hold the summary of the others. It always exists, since the summary of a page
/// is smaller than a page.
#[must_use]
pub fn pages(block_pages: u32, slots: u32, page: Bytes) -> u32 {
    let fits = |&count: &u32| bytes(block_pages - count, slots) as u64 <= page.0 * u64::from(count);
    (1..block_pages).find(fits).unwrap_or(block_pages)
}

/// The range of a summary of `len` bytes that its page number `part` holds.
#[must_use]
pub fn part(len: usize, part: u32, page: Bytes) -> Range<usize> {
    let page = usize::try_from(page.0).expect("a page fits in memory");
    let start = len.min(part as usize * page);
    start..len.min(start + page)
}

fn page_bytes(slots: usize) -> usize {
    8 + 4 * slots
}

/// Starts to encode a summary. [`add`] then adds each page, and [`seal`] completes it.
pub fn start(out: &mut Vec<u8>, block: BlockId, pages: u32, slots: u32, syncs: u64) {
    out.clear();
    out.resize(HEAD, 0);
    put_u32(out, 0, MAGIC);
    put_u32(out, 4, block.0);
    put_u32(out, 8, pages);
    put_u32(out, 12, slots);
    put_u64(out, 16, syncs);
}

/// Adds a data page to a summary.
pub fn add(out: &mut Vec<u8>, sequence: u64, lpns: impl Iterator<Item = u32>) {
    out.extend_from_slice(&sequence.to_le_bytes());
    for lpn in lpns {
        out.extend_from_slice(&lpn.to_le_bytes());
    }
}

/// Completes a summary with its checksum.
pub fn seal(out: &mut [u8], block: BlockId) {
    let crc = crc_without(out, CRC_AT, block.0);
    put_u32(out, CRC_AT, crc);
}

/// Decodes the summary of a block; `None` if `bytes` do not hold a valid one.
#[must_use]
pub fn decode(bytes: &[u8], block: BlockId, pages: u32, slots: u32) -> Option<Summary<'_>> {
    let bytes = bytes.get(..self::bytes(pages, slots))?;
    let ours = bytes.u32_at(0) == MAGIC
        && bytes.u32_at(4) == block.0
        && bytes.u32_at(8) == pages
        && bytes.u32_at(12) == slots
        && bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, block.0);
    let syncs = bytes.u64_at(16);
    (ours && syncs <= MOST).then(|| Summary { syncs, slots: slots as usize, pages: &bytes[HEAD..] })
}

impl<'a> Summary<'a> {
    /// Sequence number and logical pages of each data page.
    pub fn pages(&self) -> impl Iterator<Item = (u64, impl Iterator<Item = u32> + use<'a>)> {
        self.pages.chunks_exact(page_bytes(self.slots)).map(|page| {
            let (sequence, lpns) = page.split_at(8);
            (sequence.u64_at(0), lpns.chunks_exact(4).map(|lpn| lpn.u32_at(0)))
        })
    }
}
