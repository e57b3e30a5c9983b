//! What lies beside the data of a page: its out-of-band entry.

use super::{Fields, MOST, MOST_ERASES, crc_without, is_zero, put_u32, put_u64};
use gordon_units::Ppn;

const MAGIC: u32 = 0x424f_4f47; // "GOOB"
const CRC_AT: usize = 28;
const SLOTS_AT: usize = 32;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OobContent {
    /// Data of logical pages.
    Data = 1,
    /// The summary of its block.
    Summary = 2,
    /// A page of the trim log.
    Trims = 3,
}

/// The fixed part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OobHead {
    /// What the page holds.
    pub content: OobContent,
    /// The sequence number of its block when it was programmed.
    pub sequence: u64,
    /// How many syncs of the image had been started then.
    pub syncs: u64,
    /// How often its block had been erased.
    pub erases: u32,
}

/// A slot of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OobSlot {
    /// The logical page, [`NO_LPN`](super::NO_LPN) for none.
    pub lpn: u32,
    /// Checksum of the data.
    pub crc: u32,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OobEntry {
    /// All zeros: the page is erased.
    Erased,
    /// Programmed.
    Programmed(OobHead),
    /// All ones: it was lost in a crash of the host, and struck out.
    Lost,
    /// Something else.
    Damaged,
}

impl OobEntry {
    /// What a programmed page says.
    #[must_use]
    pub fn head(self) -> Option<OobHead> {
        if let Self::Programmed(head) = self { Some(head) } else { None }
    }
}

/// Bytes an entry takes: a power of two, so that none crosses a block of 4 KiB, or whole such
/// blocks.
#[must_use]
pub fn bytes(slots: u32) -> usize {
    let need = SLOTS_AT + slots as usize * 8;
    if need <= 4096 { need.next_power_of_two() } else { need.next_multiple_of(4096) }
}

/// Writes the entry of page `ppn` into bytes of just that size.
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

/// Reads an entry.
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

/// A slot of an entry that was read.
#[must_use]
pub fn slot(bytes: &[u8], slot: u32) -> OobSlot {
    let at = SLOTS_AT + slot as usize * 8;
    OobSlot { lpn: bytes.u32_at(at), crc: bytes.u32_at(at + 4) }
}
