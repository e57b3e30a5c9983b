//! The block table: the recorded contents of each super-block.
//!
//! An image holds two copies. A copy is written as a whole, with one checksum and a generation; the
//! copy of generation n is number n mod 2. The sync journal (`super::journal`) holds the changes
//! since.

use super::{Fields, MOST, MOST_ERASES, crc_without, put_u32, put_u64};

const MAGIC: u32 = 0x4c42_5447; // "GTBL"
const CRC_AT: usize = 4;
/// Bytes of a copy before its records.
const HEADER: usize = 64;
/// Bytes of a record.
pub const RECORD: usize = 24;

/// Whether a block is in service and, if not, why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockHealth {
    /// In service.
    #[default]
    Good = 1,
    /// Bad from the factory.
    Factory = 2,
    /// A program failed.
    Program = 3,
    /// An erase failed.
    Erase = 4,
    /// The erase budget is used up.
    Worn = 5,
}

impl BlockHealth {
    /// A description of the health.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Factory => "factory bad",
            Self::Program => "program failed",
            Self::Erase => "erase failed",
            Self::Worn => "worn out",
        }
    }

    /// The health with this number, if any.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        [Self::Good, Self::Factory, Self::Program, Self::Erase, Self::Worn]
            .into_iter()
            .find(|health| *health as u8 == number)
    }
}

/// The contents that a mount must find in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// No contents that anything relies on: the block is erased, may be erased at any moment, or
    /// was first programmed after the last sync.
    #[default]
    Nothing,
    /// The first pages of the block, programmed since its last erase.
    Pages {
        /// Number of pages, at least 1.
        count: u32,
        /// Highest sequence number of its data and trim pages.
        sequence: u64,
    },
}

impl Contents {
    /// Number of pages that must be present.
    #[must_use]
    pub fn count(self) -> u32 {
        if let Self::Pages { count, .. } = self { count } else { 0 }
    }

    /// Highest sequence number of the pages that must be present; 0 if there are none.
    #[must_use]
    pub fn sequence(self) -> u64 {
        if let Self::Pages { sequence, .. } = self { sequence } else { 0 }
    }
}

/// The record of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Number of erases.
    pub erases: u32,
    /// Whether the block is in service.
    pub health: BlockHealth,
    /// The contents that a mount must find.
    pub contents: Contents,
    /// State at an orderly shutdown.
    pub shutdown_state: ShutdownState,
}

/// The state of a block at an orderly shutdown that cannot be derived from its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShutdownState {
    /// Nothing beyond what its pages show.
    #[default]
    Plain,
    /// The block must be erased before it is used, because of an earlier power cut.
    Suspect,
    /// The block was open.
    Open {
        /// Position in the order of the write points, from 1.
        rank: u16,
        /// The write point was for copies of garbage collection.
        copies: bool,
    },
}

const SUSPECT: u8 = 1;
const COPIES: u8 = 2;

impl ShutdownState {
    /// Encodes the state as a byte of flags and a rank.
    #[must_use]
    pub fn encode(self) -> (u8, u16) {
        match self {
            Self::Plain => (0, 0),
            Self::Suspect => (SUSPECT, 0),
            Self::Open { rank, copies } => (if copies { COPIES } else { 0 }, rank),
        }
    }

    /// Decodes the state from a byte of flags and a rank; `None` if they are invalid.
    #[must_use]
    pub fn decode(flags: u8, rank: u16) -> Option<Self> {
        match (flags, rank) {
            (0, 0) => Some(Self::Plain),
            (SUSPECT, 0) => Some(Self::Suspect),
            (0 | COPIES, rank) => Some(Self::Open { rank, copies: flags == COPIES }),
            _ => None,
        }
    }
}

impl BlockRecord {
    /// Encodes the record into `bytes`.
    pub fn encode(&self, bytes: &mut [u8]) {
        let (flags, rank) = self.shutdown_state.encode();
        bytes.fill(0);
        put_u32(bytes, 0, self.erases);
        bytes[4] = self.health as u8;
        bytes[5] = flags;
        bytes[6..8].copy_from_slice(&rank.to_le_bytes());
        put_u32(bytes, 8, self.contents.count());
        put_u64(bytes, 16, self.contents.sequence());
    }

    /// Decodes a record of a block of `pages` pages; `None` if it is invalid.
    #[must_use]
    pub fn decode(bytes: &[u8], pages: u32) -> Option<Self> {
        let rank = u16::from_le_bytes([bytes[6], bytes[7]]);
        let (erases, count, sequence) = (bytes.u32_at(0), bytes.u32_at(8), bytes.u64_at(16));
        if erases > MOST_ERASES || count > pages || sequence > MOST {
            return None;
        }
        let contents = match count {
            0 => Contents::Nothing,
            count => Contents::Pages { count, sequence },
        };
        let (health, left) = (BlockHealth::of(bytes[4])?, ShutdownState::decode(bytes[5], rank)?);
        Some(Self { erases, health, contents, shutdown_state: left })
    }
}

/// One copy of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCopy {
    /// Generation of this copy.
    pub generation: u64,
    /// The last sync whose journal record is included in this copy.
    pub sync: u64,
    /// Identifies the mount that wrote the copy.
    pub mount: u64,
    /// Identifies the orderly shutdown that wrote the copy; 0 if it was written in use.
    pub shutdown: u64,
    /// The records by block.
    pub records: Vec<BlockRecord>,
}

impl TableCopy {
    /// Identifies the mount or orderly shutdown that wrote the copy.
    #[must_use]
    pub fn writer(&self) -> u64 {
        if self.shutdown > 0 { self.shutdown } else { self.mount }
    }
}

/// Bytes of a copy with records of `blocks` blocks.
#[must_use]
pub fn bytes(blocks: u32) -> usize {
    HEADER + blocks as usize * RECORD
}

impl TableCopy {
    /// Encodes this copy.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let blocks = u32::try_from(self.records.len()).expect("blocks are numbered in 32 bits");
        let mut bytes = vec![0; bytes(blocks)];
        put_u32(&mut bytes, 0, MAGIC);
        put_u64(&mut bytes, 8, self.generation);
        put_u64(&mut bytes, 16, self.sync);
        put_u64(&mut bytes, 24, self.shutdown);
        put_u32(&mut bytes, 32, blocks);
        put_u64(&mut bytes, 40, self.mount);
        for (record, into) in self.records.iter().zip(bytes[HEADER..].chunks_exact_mut(RECORD)) {
            record.encode(into);
        }
        let crc = crc_without(&bytes, CRC_AT, 0);
        put_u32(&mut bytes, CRC_AT, crc);
        bytes
    }

    /// Decodes copy number `number` for blocks of `pages` pages; `None` if it is damaged.
    #[must_use]
    pub fn decode(bytes: &[u8], number: u64, pages: u32) -> Option<Self> {
        let blocks = (bytes.len() - HEADER) / RECORD;
        let generation = bytes.u64_at(8);
        let sound = bytes.u32_at(0) == MAGIC
            && bytes.u32_at(32) as usize == blocks
            && bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, 0)
            && generation % 2 == number
            && [8, 16, 24, 40].iter().all(|&at| bytes.u64_at(at) <= MOST);
        let records = bytes[HEADER..].chunks_exact(RECORD);
        let records = records.map(|record| BlockRecord::decode(record, pages));
        let records = sound.then(|| records.collect::<Option<_>>())??;
        let (sync, shutdown, mount) = (bytes.u64_at(16), bytes.u64_at(24), bytes.u64_at(40));
        Some(Self { generation, sync, mount, shutdown, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_survives_a_round_trip_and_any_flipped_bit_is_detected() {
        let records = vec![
            BlockRecord {
                erases: 7,
                shutdown_state: ShutdownState::Suspect,
                ..BlockRecord::default()
            },
            BlockRecord {
                erases: 1,
                health: BlockHealth::Program,
                contents: Contents::Pages { count: 8, sequence: 1 << 40 },
                shutdown_state: ShutdownState::Open { rank: 3, copies: true },
            },
        ];
        let copy = TableCopy { generation: 5, sync: 9, mount: 3, shutdown: 4, records };
        let bytes = copy.encode();
        assert_eq!(TableCopy::decode(&bytes, 1, 8), Some(copy));
        assert_eq!(TableCopy::decode(&bytes, 0, 8), None, "it is the other copy");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(TableCopy::decode(&flipped, 1, 8), None, "bit {bit}");
        }
    }
}
