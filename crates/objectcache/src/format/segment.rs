//! The directory and the footer at the end of a segment.

use super::object::{Kind, UNIT};
use super::{Fields, LONGEST_KEY, PAGE, checksum, padded};

const MAGIC: u64 = u64::from_le_bytes(*b"GObjSeg1");
/// Length of the footer in bytes.
pub(crate) const FOOTER: usize = 64;
/// Length of an entry of the directory in bytes, without the key.
pub(crate) const ENTRY: usize = 32;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub hash: u64,
    pub sequence: u64,
    /// Offset in the segment in bytes.
    pub offset: u32,
    /// Size of the object in bytes, with padding.
    pub bytes: u32,
    pub kind: Kind,
    pub key: Box<[u8]>,
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Number of the segment: one that was copied elsewhere is not valid there.
    pub number: u32,
    /// Sequence number of the segment.
    pub sequence: u64,
    /// Bytes written to the flash in the life of the cache, this segment included.
    pub written: u64,
    pub entries: Vec<Entry>,
}

/// The end of a segment, and what it says about the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub sequence: u64,
    written: u64,
    count: u32,
    /// Length of the directory in bytes.
    pub directory: u32,
    checksum: u64,
}

/// Bytes of an entry with a key of this length.
pub(crate) fn entry_size(key: usize) -> usize {
    ENTRY + padded(key, 8)
}

impl Footer {
    /// Reads the footer at the end of `bytes`. Its checksum is that of the directory too.
    pub fn parse(bytes: &[u8], cache: u64, number: u32) -> Option<Self> {
        let at = bytes.len().checked_sub(FOOTER)?;
        let mut fields = Fields(&bytes[at..]);
        if fields.u64()? != MAGIC || fields.u64()? != cache {
            return None;
        }
        let (sequence, written) = (fields.u64()?, fields.u64()?);
        let (count, directory) = (fields.u32()?, fields.u32()?);
        if fields.u32()? != number {
            return None;
        }
        fields.bytes(12)?;
        Some(Self { sequence, written, count, directory, checksum: fields.u64()? })
    }

    /// Bytes from the end of a segment that have the footer and the directory.
    pub fn len(&self) -> usize {
        FOOTER + self.directory as usize
    }
}

impl Directory {
    /// Length of the directory with its footer in bytes.
    pub fn len(&self) -> usize {
        FOOTER + self.entries.iter().map(|entry| entry_size(entry.key.len())).sum::<usize>()
    }

    /// Writes the directory and its footer to the end of `segment`.
    pub fn write(&self, cache: u64, segment: &mut [u8]) {
        let start = segment.len() - self.len();
        let end = segment.len() - FOOTER;
        let mut at = start;
        for entry in &self.entries {
            let size = entry_size(entry.key.len());
            let into = &mut segment[at..at + size];
            into.fill(0);
            into[..8].copy_from_slice(&entry.hash.to_le_bytes());
            into[8..16].copy_from_slice(&entry.sequence.to_le_bytes());
            into[16..20].copy_from_slice(&entry.offset.to_le_bytes());
            into[20..24].copy_from_slice(&entry.bytes.to_le_bytes());
            into[24..28].copy_from_slice(&entry.kind.code().to_le_bytes());
            let len = u32::try_from(entry.key.len()).unwrap_or(u32::MAX);
            into[28..32].copy_from_slice(&len.to_le_bytes());
            into[ENTRY..ENTRY + entry.key.len()].copy_from_slice(&entry.key);
            at += size;
        }
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let directory = u32::try_from(end - start).unwrap_or(u32::MAX);
        let footer = &mut segment[end..];
        footer.fill(0);
        footer[..8].copy_from_slice(&MAGIC.to_le_bytes());
        footer[8..16].copy_from_slice(&cache.to_le_bytes());
        footer[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        footer[24..32].copy_from_slice(&self.written.to_le_bytes());
        footer[32..36].copy_from_slice(&count.to_le_bytes());
        footer[36..40].copy_from_slice(&directory.to_le_bytes());
        footer[40..44].copy_from_slice(&self.number.to_le_bytes());
        let len = segment.len();
        let sum = checksum(&segment[start..len - 8]);
        segment[len - 8..].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the directory of a segment of `size` bytes, which ends with `bytes`. Returns `None` if
    /// it is damaged, cut off, or not of this cache.
    pub fn parse(bytes: &[u8], size: usize, cache: u64, number: u32) -> Option<Self> {
        let footer = Footer::parse(bytes, cache, number)?;
        let start = bytes.len().checked_sub(footer.len())?;
        if checksum(&bytes[start..bytes.len() - 8]) != footer.checksum {
            return None;
        }
        let data_end = size.checked_sub(footer.len())?;
        let mut fields = Fields(&bytes[start..bytes.len() - FOOTER]);
        let mut entries = Vec::new();
        let mut free = 0;
        for _ in 0..footer.count {
            let (hash, sequence) = (fields.u64()?, fields.u64()?);
            let (offset, bytes) = (fields.u32()?, fields.u32()?);
            let kind = Kind::from_code(fields.u32()?)?;
            let len = usize::try_from(fields.u32()?).ok().filter(|len| *len <= LONGEST_KEY)?;
            let key = fields.bytes(padded(len, 8))?[..len].into();
            let end = usize::try_from(offset).ok()?.checked_add(usize::try_from(bytes).ok()?)?;
            let fits = offset as usize >= free && end <= data_end && bytes > 0;
            if !fits || !(offset as usize).is_multiple_of(UNIT) {
                return None;
            }
            free = end;
            entries.push(Entry { hash, sequence, offset, bytes, kind, key });
        }
        fields.0.is_empty().then_some(Self {
            number,
            sequence: footer.sequence,
            written: footer.written,
            entries,
        })
    }
}

/// Bytes at the end of a segment that are read first: the footer and most directories.
pub(crate) fn first_read(segment: usize) -> usize {
    // Entries of objects of 16 KiB with keys of 64 bytes take 0.6 % of a segment.
    padded(segment / 128, PAGE).clamp(PAGE, 64 << 10).min(segment)
}
