//! A page of the trim journal.

use super::{Fields, crc_without, put_u32, put_u64};
use gordon_ftl::TrimRecord;
use gordon_units::{Lpn, Ppn};

const MAGIC: u32 = 0x4d52_5447; // "GTRM"
const SEQUENCE_AT: usize = 16;
const CRC_AT: usize = 28;
const HEAD: usize = 32;
const TRIMMED: u32 = 1;
const UNMAPPED: u32 = 2;

/// Encodes a record, without its checksum.
pub fn encode(out: &mut Vec<u8>, record: &TrimRecord) {
    out.clear();
    out.resize(HEAD, 0);
    put_u32(out, 0, MAGIC);
    match record {
        TrimRecord::Trimmed(ranges) => {
            put_u32(out, 4, TRIMMED);
            put_u32(out, 12, u32::try_from(ranges.len()).expect("they fit into a page"));
            for (first, count) in ranges {
                out.extend_from_slice(&first.0.to_le_bytes());
                out.extend_from_slice(&count.to_le_bytes());
            }
        }
        TrimRecord::Unmapped { first, count, bits } => {
            put_u32(out, 4, UNMAPPED);
            put_u32(out, 8, first.0);
            put_u32(out, 12, *count);
            for word in bits {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
    }
}

/// Completes a record for the page to which it is written, with the sequence number of that page's
/// out-of-band entry. Without the number, after a crash of the host a page from before an erase
/// could pass under a newer entry.
pub fn seal(out: &mut [u8], ppn: Ppn, sequence: u64) {
    put_u64(out, SEQUENCE_AT, sequence);
    let crc = crc_without(out, CRC_AT, ppn.0);
    put_u32(out, CRC_AT, crc);
}

/// Decodes the record in page `ppn`, whose entry has sequence number `sequence`; `None` if it is
/// not a valid one.
#[must_use]
pub fn decode(bytes: &[u8], ppn: Ppn, sequence: u64) -> Option<TrimRecord> {
    let head = bytes.get(..HEAD)?;
    let (kind, first, count) = (head.u32_at(4), head.u32_at(8), head.u32_at(12));
    let words = match kind {
        TRIMMED => count as usize,
        UNMAPPED => (count as usize).div_ceil(64),
        _ => return None,
    };
    let bytes = bytes.get(..HEAD + words * 8)?;
    if head.u32_at(0) != MAGIC || head.u64_at(SEQUENCE_AT) != sequence {
        return None;
    }
    if head.u32_at(CRC_AT) != crc_without(bytes, CRC_AT, ppn.0) {
        return None;
    }
    let words = bytes[HEAD..].chunks_exact(8);
    if kind == UNMAPPED {
        first.checked_add(count.checked_next_multiple_of(64)?)?;
        let bits = words.map(|word| word.u64_at(0)).collect();
        return Some(TrimRecord::Unmapped { first: Lpn(first), count, bits });
    }
    let ranges: Vec<_> = words.map(|range| (Lpn(range.u32_at(0)), range.u32_at(4))).collect();
    let ends = |&(first, count): &(Lpn, u32)| first.0.checked_add(count).is_some();
    ranges.iter().all(ends).then_some(TrimRecord::Trimmed(ranges))
}
