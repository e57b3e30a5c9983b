//! The out-of-band entry of a page.

use super::{Fields, MOST, MOST_ERASES, crc_without, is_zero, put_u32, put_u64};
use gordon_units::Ppn;

const MAGIC: u32 = 0x424f_4f47; // "GOOB"
const CRC_AT: usize = 28;
const SLOTS_AT: usize = 32;

/// Kind of content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OobContent {
    /// Data of logical pages.
    Data = 1,
    /// The summary of the page's block.
    Summary = 2,
    /// A page of the trim journal.
    Trims = 3,
}

/// The fixed part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OobHead {
    /// Kind of content.
    pub content: OobContent,
    /// Sequence number of the block when the page was programmed.
    pub sequence: u64,
    /// Number of syncs of the image started when the page was programmed.
    pub syncs: u64,
    /// Number of erases of the block when the page was programmed.
    pub erases: u32,
}

/// Metadata of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OobSlot {
    /// The logical page, or [`NO_LPN`](super::NO_LPN).
    pub lpn: u32,
    /// Checksum of the data.
    pub crc: u32,
}

/// A decoded entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OobEntry {
    /// All zeros: the page is erased.
    Erased,
    /// The page is programmed.
    Programmed(OobHead),
    /// All ones: the page was lost in a crash of the host and marked as such.
    Lost,
    /// Any other content.
    Damaged,
}

impl OobEntry {
    /// The head of the entry if the page is programmed.
    #[must_use]
    pub fn head(self) -> Option<OobHead> {
        if let Self::Programmed(head) = self { Some(head) } else { None }
    }
}

/// Bytes of an entry: a power of two, so that no entry crosses a boundary of 4 KiB, or a multiple
/// of 4 KiB.
#[must_use]
pub fn bytes(slots: u32) -> usize {
    let need = SLOTS_AT + slots as usize * 8;
    if need <= 4096 { need.next_power_of_two() } else { need.next_multiple_of(4096) }
}

/// Encodes the entry of page `ppn` into `bytes`, which must have the size of an entry.
pub fn encode(bytes: &mut [u8], ppn: Ppn, head: OobHead, slots: impl Iterator<Item = OobSlot>) {
    bytes.fill(0);
    put_u32(bytes, 0, MAGIC);
    bytes[4] = head.content as u8;
    put_u64(bytes, 8, head.sequence);
    put_u64(bytes, 16, head.syncs);
    put_u32(bytes, 24, head.erases);
    let mut at = SLOTS_AT;
    for slot in slots {
        put_u32(bytes, at, slot.lpn);
        put_u32(bytes, at + 4, slot.crc);
        at += 8;
    }
    let crc = crc_without(bytes, CRC_AT, ppn.0);
    put_u32(bytes, CRC_AT, crc);
}

/// Decodes the entry of page `ppn`.
#[must_use]
pub fn decode(bytes: &[u8], ppn: Ppn) -> OobEntry {
    let kinds = [OobContent::Data, OobContent::Summary, OobContent::Trims];
    let kind = kinds.into_iter().find(|kind| *kind as u8 == bytes[4]);
    match kind {
        Some(content)
            if bytes.u32_at(0) == MAGIC
                && bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, ppn.0)
                && bytes.u64_at(16) <= MOST
                && bytes.u32_at(24) <= MOST_ERASES =>
        {
            OobEntry::Programmed(OobHead {
                content,
                sequence: bytes.u64_at(8),
                syncs: bytes.u64_at(16),
                erases: bytes.u32_at(24),
            })
        }
        _ if is_zero(bytes) => OobEntry::Erased,
        _ if bytes.iter().all(|&byte| byte == 0xff) => OobEntry::Lost,
        _ => OobEntry::Damaged,
    }
}

/// Decodes a slot of an entry.
#[must_use]
pub fn slot(bytes: &[u8], slot: u32) -> OobSlot {
    let at = SLOTS_AT + slot as usize * 8;
    OobSlot { lpn: bytes.u32_at(at), crc: bytes.u32_at(at + 4) }
}
