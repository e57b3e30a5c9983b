//! The sync journal: the changes of the block table at each sync since the previous one.
//!
//! There are two areas. The records of generation n of the block table are consecutive in area n
//! mod 2; the rest of the area is zero. A record crosses a boundary of 4 KiB only if it is longer
//! than that, so a shorter record that is incomplete is damaged, not interrupted by a kill. A
//! record is written before the sync that makes it durable starts.

use super::table::{self, BlockRecord};
use super::{Fields, MOST, crc_without, is_zero, put_u32, put_u64};
use gordon_units::BlockId;

const MAGIC: u32 = 0x4e52_4a47; // "GJRN"
const CRC_AT: usize = 4;
const HEADER: usize = 40;
const ENTRY: usize = 8 + table::RECORD;
/// Amount that one write puts into the page cache at once.
const PAGE: usize = 4096;

/// The changes of the block table up to one sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRecord {
    /// Generation of the block table to which the changes apply.
    pub generation: u64,
    /// Number of the sync.
    pub sync: u64,
    /// Identifies the mount that wrote the record. After a crash of the host, a record of an
    /// earlier mount may follow the last valid one.
    pub mount: u64,
    /// Index among the records of its generation, from 0.
    pub index: u32,
    /// The blocks whose records changed, with their new records.
    pub changes: Vec<(BlockId, BlockRecord)>,
}

/// Bytes of an area: space for the largest record, or for many small ones.
#[must_use]
pub fn area(blocks: u32) -> usize {
    bytes(blocks as usize).next_multiple_of(PAGE)
}

/// Position of a record of `bytes` bytes that follows data ending at `at`.
#[must_use]
pub fn place(at: usize, bytes: usize) -> usize {
    let crosses = at % PAGE + bytes > PAGE && bytes <= PAGE;
    if crosses { at.next_multiple_of(PAGE) } else { at }
}

/// Bytes of a record with this number of changes.
#[must_use]
pub fn bytes(changes: usize) -> usize {
    HEADER + changes * ENTRY
}

impl SyncRecord {
    /// Encodes the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; bytes(self.changes.len())];
        put_u32(&mut bytes, 0, MAGIC);
        put_u64(&mut bytes, 8, self.generation);
        put_u64(&mut bytes, 16, self.sync);
        put_u32(&mut bytes, 24, self.index);
        put_u32(&mut bytes, 28, u32::try_from(self.changes.len()).expect("at most all blocks"));
        put_u64(&mut bytes, 32, self.mount);
        for ((block, record), entry) in
            self.changes.iter().zip(bytes[HEADER..].chunks_exact_mut(ENTRY))
        {
            put_u32(entry, 0, block.0);
            record.encode(&mut entry[8..]);
        }
        let crc = crc_without(&bytes, CRC_AT, self.index);
        put_u32(&mut bytes, CRC_AT, crc);
        bytes
    }

    fn decode(bytes: &[u8], generation: u64, index: u32, shape: (u32, u32)) -> Option<Self> {
        let (blocks, pages) = shape;
        bytes.get(..HEADER)?;
        let count = bytes.u32_at(28) as usize;
        let bytes = bytes.get(..HEADER.checked_add(count.checked_mul(ENTRY)?)?)?;
        let sound = bytes.u32_at(0) == MAGIC
            && (bytes.u64_at(8), bytes.u32_at(24)) == (generation, index)
            && bytes.u64_at(16) <= MOST
            && bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, index);
        let entry = |entry: &[u8]| {
            let block = BlockId(entry.u32_at(0));
            (block.0 < blocks).then_some((block, BlockRecord::decode(&entry[8..], pages)?))
        };
        if !sound {
            return None;
        }
        let changes = bytes[HEADER..].chunks_exact(ENTRY).map(entry).collect::<Option<_>>()?;
        let (sync, mount) = (bytes.u64_at(16), bytes.u64_at(32));
        Some(Self { generation, sync, mount, index, changes })
    }
}

/// The contents of an area for one generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The records in order, up to the first that is damaged, incomplete, or of another generation
    /// or mount.
    pub records: Vec<SyncRecord>,
    /// The area continues with bytes that are neither zero nor the start of a record long enough
    /// for a kill to interrupt it.
    pub damaged: bool,
}

/// Reads the records of a generation from an area. The array has `blocks` blocks of `pages` pages.
#[must_use]
pub fn read(bytes: &[u8], generation: u64, blocks: u32, pages: u32) -> Area {
    let mut records: Vec<SyncRecord> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let next_page = at.next_multiple_of(PAGE);
        if is_zero(&bytes[at..next_page.min(at + HEADER)]) && next_page > at {
            at = next_page;
            continue;
        }
        let index = u32::try_from(records.len()).expect("an area holds fewer");
        let record = SyncRecord::decode(&bytes[at..], generation, index, (blocks, pages));
        match record {
            Some(record) if records.last().is_none_or(|last| last.mount == record.mount) => {
                at += self::bytes(record.changes.len());
                records.push(record);
            }
            _ => break,
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let is_long = rest.len() >= HEADER && self::bytes(rest.u32_at(28) as usize) > PAGE;
    Area { records, damaged: !is_zero(rest) && !is_long }
}

#[cfg(test)]
mod tests {
    use super::super::table::Contents;
    use super::*;

    fn record(index: u32) -> SyncRecord {
        let contents = Contents::Pages { count: index + 1, sequence: 9 };
        let change = (BlockId(index), BlockRecord { contents, ..BlockRecord::default() });
        SyncRecord {
            generation: 3,
            sync: 7 + u64::from(index),
            mount: 2,
            index,
            changes: vec![change],
        }
    }

    #[test]
    fn an_area_survives_a_round_trip_and_any_flipped_bit_is_detected() {
        let mut bytes = vec![0; 2 * PAGE];
        let (each, mut at) = (super::bytes(1), 0);
        let count = u32::try_from(PAGE / each + 2).expect("few");
        for index in 0..count {
            at = place(at, each);
            bytes[at..at + each].copy_from_slice(&record(index).encode());
            at += each;
        }
        let all: Vec<_> = (0..count).map(record).collect();
        assert_eq!(read(&bytes, 3, 1000, 1000), Area { records: all, damaged: false });
        assert_eq!(at, PAGE + 2 * each, "no record crosses the boundary");
        let in_record = |bit: &usize| bit / 8 % PAGE < PAGE / each * each;
        for bit in (0..at * 8).filter(in_record) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let area = read(&flipped, 3, 1000, 1000);
            // A damaged length may look like a record interrupted by a kill.
            let is_length = (28..32).contains(&(bit / 8 % PAGE % each));
            assert!(area.damaged || is_length, "bit {bit}");
        }
        // Records of another generation are not read.
        assert_eq!(read(&bytes, 4, 1000, 1000), Area { records: vec![], damaged: true });
        assert_eq!(read(&vec![0; PAGE], 4, 10, 8), Area::default());
    }

    #[test]
    fn records_skip_the_gap_before_a_boundary() {
        for changes in 0..4 {
            let with = |index: u32| SyncRecord {
                changes: vec![record(0).changes[0]; (index as usize * 7 + changes) % 5],
                ..record(index)
            };
            let (mut bytes, mut at, mut all) = (vec![0; 8 * PAGE], 0, vec![]);
            for index in 0.. {
                let encoded = with(index).encode();
                at = place(at, encoded.len());
                if at + encoded.len() > bytes.len() {
                    break;
                }
                bytes[at..at + encoded.len()].copy_from_slice(&encoded);
                at += encoded.len();
                all.push(with(index));
            }
            assert_eq!(read(&bytes, 3, 1000, 1000), Area { records: all, damaged: false });
        }
    }
}
