//! The bytes of an image: docs/SPEC.md in code. Pure functions between bytes and values.

pub mod digest;
pub mod journal;
pub mod legacy;
pub mod oob;
pub mod summary;
pub mod superblock;
pub mod table;
pub mod trims;

/// No logical page.
pub const NO_LPN: u32 = u32::MAX;

/// Generations and syncs that an image can count; more is damage, which must not count on.
pub const MOST: u64 = 1 << 62;
/// Erases likewise.
pub const MOST_ERASES: u32 = 1 << 31;

/// The checksum of everything in an image: CRC-32C (Castagnoli), as in iSCSI, RFC 3720.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Of bytes in which the four at `at` count as zeros: they are to hold it. `place` goes in first,
/// so that what was written elsewhere does not pass.
#[must_use]
pub fn crc_without(bytes: &[u8], at: usize, place: u32) -> u32 {
    let seed = crc32c::crc32c(&place.to_le_bytes());
    let before = crc32c::crc32c_append(seed, &bytes[..at]);
    let hole = crc32c::crc32c_append(before, &[0; 4]);
    crc32c::crc32c_append(hole, &bytes[at + 4..])
}

/// Little-endian numbers at places in bytes.
pub trait Fields {
    /// A 32-bit number.
    fn u32_at(&self, at: usize) -> u32;
    /// A 64-bit number.
    fn u64_at(&self, at: usize) -> u64;
}

impl Fields for [u8] {
    fn u32_at(&self, at: usize) -> u32 {
        let bytes = self[at..].first_chunk().copied().expect("a field lies inside");
        u32::from_le_bytes(bytes)
    }

    fn u64_at(&self, at: usize) -> u64 {
        let bytes = self[at..].first_chunk().copied().expect("a field lies inside");
        u64::from_le_bytes(bytes)
    }
}

/// Writes a 32-bit number.
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a 64-bit number.
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Whether all bytes are zero.
#[must_use]
pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
