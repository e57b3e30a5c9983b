//! The block table of image version 2: a single copy of 16-byte records, each with its own
//! checksum. It holds the health and erase count of a block, not its contents.

use super::table::{BlockHealth, BlockRecord, Contents, ShutdownState};
use super::{Fields, MOST_ERASES, crc_without};
use gordon_units::BlockId;

/// Bytes of a record.
pub const RECORD: usize = 16;
const CRC_AT: usize = 12;

/// Decodes a whole table. A damaged record is replaced by that of a good block with the mean number
/// of erases, since a bad block will fail again. Also returns the blocks with damaged records.
#[must_use]
pub fn decode(table: &[u8]) -> (Vec<BlockRecord>, Vec<BlockId>) {
    let read = (0..).zip(table.chunks_exact(RECORD));
    let read: Vec<_> = read.map(|(block, bytes)| record(block, bytes)).collect();
    let known = read.iter().flatten();
    let erases: u64 = known.clone().map(|record| u64::from(record.erases)).sum();
    let mean = erases / (known.count() as u64).max(1);
    let guess =
        BlockRecord { erases: u32::try_from(mean).unwrap_or(u32::MAX), ..BlockRecord::default() };
    let damaged = (0..).map(BlockId).zip(&read).filter(|(_, record)| record.is_none());
    let damaged = damaged.map(|(block, _)| block).collect();
    (read.into_iter().map(|record| record.unwrap_or(guess)).collect(), damaged)
}

fn record(block: u32, bytes: &[u8]) -> Option<BlockRecord> {
    let sealed = bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, block);
    if !sealed || bytes.u32_at(0) > MOST_ERASES {
        return None;
    }
    ShutdownState::decode(bytes[5], u16::from_le_bytes([bytes[6], bytes[7]]))?;
    Some(BlockRecord {
        erases: bytes.u32_at(0),
        health: BlockHealth::of(bytes[4])?,
        contents: Contents::Nothing,
        // An image of version 2 is treated as after a kill, so its open blocks do not matter.
        shutdown_state: ShutdownState::Plain,
    })
}
