//! Pages of the journal of removals.
//!
//! A page is written twice, to two places next to each other, and never again in the same
//! generation. A generation starts with a number of pages that are valid only together.

use super::{Fields, LONGEST_KEY, checksum};

const MAGIC: u64 = u64::from_le_bytes(*b"GObjJnl1");
const HEADER: usize = 72;

/// Bytes for records of a page of this size: the unit of writes of the medium.
pub(crate) fn record_bytes(unit: usize) -> usize {
    unit - HEADER
}

/// A record of the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Record {
    /// Objects of this hash with lower sequence numbers are gone.
    Removed {
        /// Hash of the key.
        hash: u64,
        /// Sequence number of the removal.
        sequence: u64,
    },
    /// Objects with this prefix and with lower sequence numbers are gone.
    Purged {
        /// The prefix.
        prefix: Box<[u8]>,
        /// Whether sets may have such objects.
        in_sets: bool,
        /// Sequence number of the purge.
        sequence: u64,
    },
    /// The object at this offset was damaged.
    Lost {
        /// Offset in the flash in bytes.
        offset: u64,
        /// Sequence number of the segment.
        segment: u64,
        /// Sequence number of the record.
        sequence: u64,
    },
    /// The cache was closed.
    Closed {
        /// Sequence number of the record.
        sequence: u64,
    },
}

impl Record {
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Removed { sequence, .. }
            | Self::Purged { sequence, .. }
            | Self::Lost { sequence, .. }
            | Self::Closed { sequence } => *sequence,
        }
    }

    /// Bytes of a record of a purge.
    pub fn purged_len(prefix: &[u8]) -> usize {
        11 + prefix.len()
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Removed { .. } => 17,
            Self::Purged { prefix, .. } => Self::purged_len(prefix),
            Self::Lost { .. } => 25,
            Self::Closed { .. } => 9,
        }
    }

    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Removed { hash, sequence } => {
                into.push(1);
                into.extend_from_slice(&sequence.to_le_bytes());
                into.extend_from_slice(&hash.to_le_bytes());
            }
            Self::Purged { prefix, in_sets, sequence } => {
                into.push(if *in_sets { 5 } else { 2 });
                into.extend_from_slice(&sequence.to_le_bytes());
                let len = u16::try_from(prefix.len()).unwrap_or(u16::MAX);
                into.extend_from_slice(&len.to_le_bytes());
                into.extend_from_slice(prefix);
            }
            Self::Lost { offset, segment, sequence } => {
                into.push(3);
                into.extend_from_slice(&sequence.to_le_bytes());
                into.extend_from_slice(&offset.to_le_bytes());
                into.extend_from_slice(&segment.to_le_bytes());
            }
            Self::Closed { sequence } => {
                into.push(4);
                into.extend_from_slice(&sequence.to_le_bytes());
            }
        }
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let code = fields.bytes(1)?[0];
        let sequence = fields.u64()?;
        Some(match code {
            1 => Self::Removed { hash: fields.u64()?, sequence },
            2 | 5 => {
                let len = usize::from(fields.u16()?);
                let prefix = fields.bytes(len).filter(|_| len <= LONGEST_KEY)?.into();
                Self::Purged { prefix, in_sets: code == 5, sequence }
            }
            3 => Self::Lost { offset: fields.u64()?, segment: fields.u64()?, sequence },
            4 => Self::Closed { sequence },
            _ => return None,
        })
    }
}

/// A page of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Number of times that the journal was written from its start.
    pub generation: u64,
    /// Number of the page in its generation.
    pub number: u32,
    /// Number of the first page that was written together with this one.
    pub batch: u32,
    /// Number of pages with which the generation started.
    pub first_pages: u32,
    /// Objects with lower sequence numbers are gone.
    pub floor: u64,
    /// Bytes written to the flash in the life of the cache.
    pub written: u64,
    pub records: Vec<Record>,
}

impl Page {
    /// The page, of `unit` bytes.
    pub fn bytes(&self, cache: u64, unit: usize) -> Vec<u8> {
        let mut records = Vec::with_capacity(unit);
        self.records.iter().for_each(|record| record.write(&mut records));
        let mut bytes = Vec::with_capacity(unit);
        for number in [MAGIC, cache, self.generation, self.floor, self.written] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.number, self.first_pages] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let len = u64::try_from(records.len()).unwrap_or(u64::MAX);
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(&self.batch.to_le_bytes());
        bytes.resize(HEADER, 0);
        bytes.append(&mut records);
        bytes.resize(unit, 0);
        let sum = checksum(&bytes);
        bytes[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a page, which takes all of `bytes`.
    pub fn parse(bytes: &[u8], cache: u64) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.u64()? != MAGIC || fields.u64()? != cache {
            return None;
        }
        let (generation, floor, written) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (number, first_pages) = (fields.u32()?, fields.u32()?);
        let len = usize::try_from(fields.u64()?).ok()?;
        let batch = fields.u32()?;
        fields.bytes(4)?;
        let found = fields.u64()?;
        let mut unsealed = bytes.to_vec();
        unsealed[HEADER - 8..HEADER].fill(0);
        if checksum(&unsealed) != found {
            return None;
        }
        let mut fields = Fields(fields.bytes(len)?);
        let mut records = Vec::new();
        while !fields.0.is_empty() {
            records.push(Record::read(&mut fields)?);
        }
        Some(Self { generation, number, batch, first_pages, floor, written, records })
    }
}
