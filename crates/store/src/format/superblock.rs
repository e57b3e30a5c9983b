//! The superblock: what the image is of, and whether it was left in order.

use super::{Fields, MOST, crc_without, put_u32, put_u64};
use crate::device::DeviceParams;

/// Bytes of one copy; there are two, one after the other.
pub const BYTES: usize = 4096;
/// The first bytes of an image.
pub const MAGIC: &[u8; 8] = b"GordonNF";
/// The version that this code writes.
pub const VERSION: u32 = 3;
/// The oldest version that this code reads.
pub const OLDEST: u32 = 2;

const CRC_AT: usize = 12;
const TEXT_AT: usize = 128;
const CLEAN: u32 = 1;

/// What a copy says.
#[derive(Clone, Debug, PartialEq)]
pub struct Superblock {
    /// Version of the image's format. A new copy always has [`VERSION`].
    pub version: u32,
    /// Of two copies, the one with the higher number counts.
    pub generation: u64,
    /// The store was closed in order, and nothing was written since.
    pub clean: bool,
    /// Names the image.
    pub uuid: [u8; 16],
    /// The run of the host's kernel in which it was opened last; all zero: not known.
    pub boot: [u8; 16],
    /// Identifies the mount or the orderly shutdown that this copy was written for.
    pub mount: u64,
    /// Identifies the mount or the orderly shutdown that wrote the block table that this one found.
    pub found: u64,
    /// What it is of.
    pub device: DeviceParams,
}

/// Why a copy cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockError {
    /// It does not start as images do.
    Foreign,
    /// Another version.
    Version(u32),
    /// The checksum, the text or the generation is wrong.
    Damaged,
}

/// Writes a copy.
///
/// # Panics
/// Where the device's text takes more than the 3,968 bytes there are.
#[must_use]
pub fn encode(superblock: &Superblock) -> Vec<u8> {
    let text = serde_json::to_vec(&superblock.device).expect("numbers and names");
    assert!(text.len() <= BYTES - TEXT_AT, "the name of the preset is too long");
    let mut bytes = vec![0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    put_u32(&mut bytes, 8, VERSION);
    put_u64(&mut bytes, 16, superblock.generation);
    put_u32(&mut bytes, 24, if superblock.clean { CLEAN } else { 0 });
    put_u32(&mut bytes, 28, u32::try_from(text.len()).expect("short"));
    bytes[32..48].copy_from_slice(&superblock.uuid);
    bytes[48..64].copy_from_slice(&superblock.boot);
    put_u64(&mut bytes, 64, superblock.mount);
    put_u64(&mut bytes, 72, superblock.found);
    bytes[TEXT_AT..TEXT_AT + text.len()].copy_from_slice(&text);
    let crc = crc_without(&bytes, CRC_AT, 0);
    put_u32(&mut bytes, CRC_AT, crc);
    bytes
}

/// Reads a copy of [`BYTES`] bytes.
pub fn decode(bytes: &[u8]) -> Result<Superblock, SuperblockError> {
    if bytes.len() != BYTES || &bytes[..8] != MAGIC {
        return Err(SuperblockError::Foreign);
    }
    let version = bytes.u32_at(8);
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(SuperblockError::Version(version));
    }
    let length = bytes.u32_at(28) as usize;
    let sealed = bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, 0);
    let counts = [16, 64, 72].iter().all(|&at| bytes.u64_at(at) <= MOST);
    if !sealed || length > BYTES - TEXT_AT || !counts {
        return Err(SuperblockError::Damaged);
    }
    let device = serde_json::from_slice(&bytes[TEXT_AT..TEXT_AT + length]);
    let array = |at: usize| bytes[at..].first_chunk().copied().expect("it lies inside");
    Ok(Superblock {
        version,
        generation: bytes.u64_at(16),
        clean: bytes.u32_at(24) == CLEAN,
        uuid: array(32),
        boot: array(48),
        mount: bytes.u64_at(64),
        found: bytes.u64_at(72),
        device: device.map_err(|_| SuperblockError::Damaged)?,
    })
}
