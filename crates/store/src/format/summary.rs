//! The summary of a block: the sequence number and the logical pages of each of its data pages, so
//! that a mount need not look at the pages of a closed block. It lies in the last pages of the
//! block, as few as it fits into.

use super::{Fields, MOST, crc_without, put_u32, put_u64};
use gordon_units::{BlockId, Bytes};
use std::ops::Range;

const MAGIC: u32 = 0x4d55_5347; // "GSUM"
const CRC_AT: usize = 28;
const HEAD: usize = 32;

/// What a summary says, beside its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// How many syncs of the image had been started when the summary was written.
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
/// super-pages, that hold the summary of the others. There is always one: what a summary records of
/// a page is smaller than a page.
#[must_use]
pub fn pages(block_pages: u32, slots: u32, page: Bytes) -> u32 {
    let fits = |&count: &u32| bytes(block_pages - count, slots) as u64 <= page.0 * u64::from(count);
    (1..block_pages).find(fits).unwrap_or(block_pages)
}

/// Which of the `len` bytes of a summary lie in its page number `part`.
#[must_use]
pub fn part(len: usize, part: u32, page: Bytes) -> Range<usize> {
    let page = usize::try_from(page.0).expect("a page fits in memory");
    let start = len.min(part as usize * page);
    start..len.min(start + page)
}

fn page_bytes(slots: usize) -> usize {
    8 + 4 * slots
}

/// Starts a summary; then each page is [added](add), then it is [sealed](seal).
pub fn start(out: &mut Vec<u8>, block: BlockId, pages: u32, slots: u32, syncs: u64) {
    out.clear();
    out.resize(HEAD, 0);
    put_u32(out, 0, MAGIC);
    put_u32(out, 4, block.0);
    put_u32(out, 8, pages);
    put_u32(out, 12, slots);
    put_u64(out, 16, syncs);
}

/// Adds a page.
pub fn add(out: &mut Vec<u8>, sequence: u64, lpns: impl Iterator<Item = u32>) {
    out.extend_from_slice(&sequence.to_le_bytes());
    for lpn in lpns {
        out.extend_from_slice(&lpn.to_le_bytes());
    }
}

/// Ends it.
pub fn seal(out: &mut [u8], block: BlockId) {
    let crc = crc_without(out, CRC_AT, block.0);
    put_u32(out, CRC_AT, crc);
}

/// Reads the summary of a block, from at least as many bytes as it takes; none if there is none.
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
    /// Sequence number and logical pages of each page.
    pub fn pages(&self) -> impl Iterator<Item = (u64, impl Iterator<Item = u32> + use<'a>)> {
        self.pages.chunks_exact(page_bytes(self.slots)).map(|page| {
            let (sequence, lpns) = page.split_at(8);
            (sequence.u64_at(0), lpns.chunks_exact(4).map(|lpn| lpn.u32_at(0)))
        })
    }
}
