//! The superblock: what the cache is, and where its parts are.

use super::journal::record_bytes;
use super::{Fields, PAGE, VERSION, checksum};
use gordon_cache::tiered::JournalShape;

const MAGIC: &[u8; 16] = b"gordon objcache\n";
const LEN: usize = 88;

/// Largest size of a half of the journal in bytes.
const LARGEST_JOURNAL: u64 = 16 << 20;
/// Smallest size of a half of the journal in bytes.
const SMALLEST_JOURNAL: u64 = 128 << 10;
/// A half of the journal is this part of the flash.
const JOURNAL_SHARE: u64 = 512;

/// Pairs of pages that a half of the journal has at least.
const FEWEST_PAIRS: u64 = 16;

/// Writes and erases of NAND flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EraseBlocks {
    /// Unit of writes in bytes.
    pub unit: u32,
    /// Bytes that are erased together: a multiple of the unit.
    pub block: u32,
}

impl EraseBlocks {
    /// Size of a half of the journal in bytes, for a flash of this size.
    pub fn journal(&self, size: u64) -> u64 {
        let share = (size / JOURNAL_SHARE).clamp(SMALLEST_JOURNAL, LARGEST_JOURNAL);
        let fewest = 2 * FEWEST_PAIRS * u64::from(self.unit);
        share.max(fewest).next_multiple_of(self.block.into())
    }
}

/// The superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Identity of the cache: a random number.
    pub id: u64,
    /// Size of the flash in bytes.
    pub size: u64,
    /// Size of a segment in bytes.
    pub segment: u32,
    /// Seed of the hash of keys.
    pub seed: u64,
    /// Time of creation in seconds since 1970.
    pub created: u64,
    /// The erase blocks, on NAND flash.
    pub blocks: Option<EraseBlocks>,
    /// Erases of all blocks of NAND flash before the creation.
    pub erases: u64,
    /// Number of sets.
    pub sets: u32,
}

/// Why there is no usable superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSuperblock {
    /// All bytes are zero.
    Empty,
    /// The bytes are not a superblock.
    Foreign,
    /// A superblock of this version.
    Version(u32),
    /// The start of a superblock, but its checksum is wrong.
    Damaged,
}

impl Superblock {
    /// Unit of writes in bytes.
    pub fn unit(&self) -> u64 {
        self.blocks.map_or(PAGE as u64, |blocks| blocks.unit.into())
    }

    /// Offset of the second copy of the superblock.
    pub fn copy_at(blocks: Option<EraseBlocks>) -> u64 {
        blocks.map_or(PAGE as u64, |blocks| blocks.block.into())
    }

    /// Bytes of a page of the journal, which is written twice.
    pub fn journal_page(&self) -> u64 {
        2 * self.unit()
    }

    /// Size of a half of the journal in bytes.
    pub fn journal(&self) -> u64 {
        let Some(blocks) = self.blocks else {
            let share = (self.size / JOURNAL_SHARE).clamp(SMALLEST_JOURNAL, LARGEST_JOURNAL);
            return share / self.journal_page() * self.journal_page();
        };
        blocks.journal(self.size)
    }

    /// Number of pages of a half of the journal.
    pub fn journal_pages(&self) -> u32 {
        u32::try_from(self.journal() / self.journal_page()).unwrap_or(u32::MAX)
    }

    /// The pages of the journal.
    pub fn journal_shape(&self) -> JournalShape {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let records = record_bytes(usize::try_from(self.unit()).unwrap_or(usize::MAX));
        JournalShape {
            pages: self.journal_pages(),
            page: narrow(self.journal_page()),
            capacity: narrow(records as u64),
        }
    }

    /// Offset of a half of the journal.
    pub fn journal_at(&self, half: usize) -> u64 {
        2 * Self::copy_at(self.blocks) + half as u64 * self.journal()
    }

    /// Offset of the first segment: a multiple of the segment size.
    pub fn segments_at(&self) -> u64 {
        let end = self.journal_at(2);
        end.next_multiple_of(u64::from(self.segment))
    }

    /// Number of segments.
    pub fn segments(&self) -> u64 {
        let space = self.size.saturating_sub(self.segments_at());
        space.saturating_sub(self.set_bytes()) / u64::from(self.segment)
    }

    /// Bytes of all sets.
    pub fn set_bytes(&self) -> u64 {
        u64::from(self.sets) * PAGE as u64
    }

    /// Offset of the first set: after the segments.
    pub fn sets_at(&self) -> u64 {
        self.segments_at() + self.segments() * u64::from(self.segment)
    }

    /// The page of the superblock.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PAGE);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.segment.to_le_bytes());
        for number in [self.id, self.size, self.seed, self.created] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let EraseBlocks { unit, block } = self.blocks.unwrap_or(EraseBlocks { unit: 0, block: 0 });
        bytes.extend_from_slice(&unit.to_le_bytes());
        bytes.extend_from_slice(&block.to_le_bytes());
        bytes.extend_from_slice(&self.erases.to_le_bytes());
        bytes.extend_from_slice(&u64::from(self.sets).to_le_bytes());
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        bytes.resize(PAGE, 0);
        bytes
    }

    /// Reads a superblock.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoSuperblock> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(NoSuperblock::Empty);
        }
        let mut fields = Fields(bytes);
        if fields.bytes(MAGIC.len()) != Some(&MAGIC[..]) {
            return Err(NoSuperblock::Foreign);
        }
        let damaged = NoSuperblock::Damaged;
        let version = fields.u32().ok_or(damaged)?;
        if version != VERSION {
            return Err(NoSuperblock::Version(version));
        }
        let segment = fields.u32().ok_or(damaged)?;
        let mut next = || fields.u64().ok_or(damaged);
        let (id, size, seed, created) = (next()?, next()?, next()?, next()?);
        let unit = fields.u32().ok_or(damaged)?;
        let block = fields.u32().ok_or(damaged)?;
        let erases = fields.u64().ok_or(damaged)?;
        let sets = fields.u64().and_then(|sets| u32::try_from(sets).ok()).ok_or(damaged)?;
        let is_valid = unit > 0 && unit.is_multiple_of(PAGE as u32) && block.is_multiple_of(unit);
        let blocks = match (unit, block) {
            (0, 0) => None,
            (unit, block) if is_valid && block > 0 => Some(EraseBlocks { unit, block }),
            _ => return Err(damaged),
        };
        let found = bytes.get(LEN - 8..).and_then(|rest| Fields(rest).u64()).ok_or(damaged)?;
        if found != checksum(&bytes[..LEN - 8]) || segment == 0 {
            return Err(damaged);
        }
        Ok(Self { id, size, segment, seed, created, blocks, erases, sets })
    }
}
