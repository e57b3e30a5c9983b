//! The block table: the wear and the state of each super-block.

use super::{Fields, MOST_ERASES, crc_without, put_u32};

/// Bytes of a record.
pub const BYTES: usize = 16;
const CRC_AT: usize = 12;

/// Whether a block is in service, and if not, why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// In service.
    #[default]
    Good = 1,
    /// It left the factory bad.
    Factory = 2,
    /// A program failed.
    Program = 3,
    /// An erase failed.
    Erase = 4,
    /// It was erased as often as it lasts for.
    Worn = 5,
}

impl Standing {
    /// In words.
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

    fn of(number: u8) -> Option<Self> {
        [Self::Good, Self::Factory, Self::Program, Self::Erase, Self::Worn]
            .into_iter()
            .find(|standing| *standing as u8 == number)
    }
}

/// A block's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// How often it was erased.
    pub erases: u32,
    /// Whether it is in service.
    pub standing: Standing,
    /// When the store was closed in order: how it left the block.
    pub left: Left,
}

/// How a store that was closed in order left a block, where its pages do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// As its pages tell.
    #[default]
    Plain,
    /// It has to be erased before it is used, since an earlier cut.
    Suspect,
    /// At a write point.
    Open {
        /// The order of the write points, from 1.
        rank: u16,
        /// It is for copies of garbage collection.
        copies: bool,
    },
}

const SUSPECT: u8 = 1;
const COPIES: u8 = 2;

/// Writes the record of block number `block`.
#[must_use]
pub fn encode(block: u32, record: Record) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    put_u32(&mut bytes, 0, record.erases);
    bytes[4] = record.standing as u8;
    match record.left {
        Left::Plain => {}
        Left::Suspect => bytes[5] = SUSPECT,
        Left::Open { rank, copies } => {
            bytes[5] = if copies { COPIES } else { 0 };
            bytes[6..8].copy_from_slice(&rank.to_le_bytes());
        }
    }
    let crc = crc_without(&bytes, CRC_AT, block);
    put_u32(&mut bytes, CRC_AT, crc);
    bytes
}

/// Reads it; none if it is damaged.
#[must_use]
pub fn decode(block: u32, bytes: &[u8]) -> Option<Record> {
    let sealed = bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, block);
    if !sealed || bytes.u32_at(0) > MOST_ERASES {
        return None;
    }
    let rank = u16::from_le_bytes([bytes[6], bytes[7]]);
    let left = match (bytes[5], rank) {
        (0, 0) => Left::Plain,
        (SUSPECT, 0) => Left::Suspect,
        (flags @ (0 | COPIES), rank) => Left::Open { rank, copies: flags == COPIES },
        _ => return None,
    };
    Some(Record { erases: bytes.u32_at(0), standing: Standing::of(bytes[4])?, left })
}
