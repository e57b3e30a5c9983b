//! Encoding and decoding of the image format in docs/SPEC.md: pure functions between bytes and
//! values.

pub mod digest;
pub mod journal;
pub mod legacy;
pub mod oob;
pub mod summary;
pub mod superblock;
pub mod table;
pub mod trims;

/// Marks a slot without a logical page.
pub const NO_LPN: u32 = u32::MAX;

/// Upper limit of generations and sync numbers. A larger number is damage, and must not be
/// continued.
pub const MOST: u64 = 1 << 62;
/// Upper limit of erase counts, for the same reason.
pub const MOST_ERASES: u32 = 1 << 31;

/// The checksum used throughout an image: CRC-32C (Castagnoli), as in iSCSI, RFC 3720.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The checksum of bytes with the four bytes at `at`, which hold it, taken as zeros. `place` is
/// included, so that data written elsewhere do not pass.
#[must_use]
pub fn crc_without(bytes: &[u8], at: usize, place: u32) -> u32 {
    let seed = crc32c::crc32c(&place.to_le_bytes());
    let before = crc32c::crc32c_append(seed, &bytes[..at]);
    let hole = crc32c::crc32c_append(before, &[0; 4]);
    crc32c::crc32c_append(hole, &bytes[at + 4..])
}

/// Reads little-endian integers at an offset.
pub trait Fields {
    /// The 32-bit integer at offset `at`.
    fn u32_at(&self, at: usize) -> u32;
    /// The 64-bit integer at offset `at`.
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

/// Writes a 32-bit integer at offset `at`.
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a 64-bit integer at offset `at`.
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Whether all bytes are zero.
#[must_use]
pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
