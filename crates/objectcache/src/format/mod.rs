//! The bytes of a cache on flash. All numbers are little-endian.
//!
//! | part | content |
//! |---|---|
//! | 2 pages | two copies of the superblock: identity, sizes, seed, time of creation |
//! | 2 halves | journal of removals: the half with the higher generation is in use |
//! | segments | objects from the start, the directory and a footer at the end |
//! | sets | a page each: small objects, if the cache has sets |
//!
//! Each part has a checksum (XXH3, 64 bits) over all of its bytes, and the identity of the cache,
//! so that bytes of an older cache in the same place are not taken for its own.

pub(crate) mod journal;
pub(crate) mod object;
pub(crate) mod segment;
pub(crate) mod set;
pub(crate) mod superblock;

use twox_hash::XxHash3_64;

/// Unit of writes in bytes, and alignment of reads: that of direct I/O.
pub(crate) const PAGE: usize = 4096;

/// Version of the format.
pub(crate) const VERSION: u32 = 3;

/// Longest key, and longest prefix of a purge, in bytes: a record of the journal fits a page.
pub(crate) const LONGEST_KEY: usize = 4000;

/// The checksum of all parts.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The hash of a key.
pub(crate) fn hash(seed: u64, kind: object::Kind, key: &[u8]) -> u64 {
    // Blocks of large objects have keys of their own.
    let seed = if kind == object::Kind::Block { !seed } else { seed };
    XxHash3_64::oneshot_with_seed(seed, key)
}

/// Reads numbers from a slice. A number beyond its end is an error, not a panic: the bytes come
/// from the medium.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (now, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(now)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Rounds up to a multiple of `unit`.
pub(crate) fn padded(bytes: usize, unit: usize) -> usize {
    bytes.div_ceil(unit) * unit
}
