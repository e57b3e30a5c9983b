//! The superblock: the device parameters of an image, and whether it was shut down in order.

use super::{Fields, MOST, crc_without, put_u32, put_u64};
use crate::device::DeviceParams;

/// Bytes of one copy; the image starts with two of them.
pub const BYTES: usize = 4096;
/// The first bytes of an image.
pub const MAGIC: &[u8; 8] = b"GordonNF";
/// The format version that this code writes.
pub const VERSION: u32 = 3;
/// The oldest format version that this code reads.
pub const OLDEST: u32 = 2;

const CRC_AT: usize = 12;
const TEXT_AT: usize = 128;
const CLEAN: u32 = 1;
const USAGE_AT: usize = 80;
const RAW: u32 = 1;

/// Who decides what the blocks of an image hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The translation layer: the image is a block device.
    Layer,
    /// A program that erases and programs blocks itself.
    Raw,
}

/// The content of a copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Superblock {
    /// Format version of the image. A new copy always has [`VERSION`].
    pub version: u32,
    /// Of the two copies, the one with the higher generation counts.
    pub generation: u64,
    /// The store was shut down in order, and nothing was written since.
    pub clean: bool,
    /// Unique identifier of the image.
    pub uuid: [u8; 16],
    /// Boot identifier of the host when the image was last opened; zeros if unknown.
    pub boot: [u8; 16],
    /// Identifies the mount or orderly shutdown for which this copy was written.
    pub mount: u64,
    /// Identifies the mount or orderly shutdown that wrote the block table found at this mount.
    pub found: u64,
    /// Who decides what the blocks hold.
    pub usage: Usage,
    /// The device parameters.
    pub device: DeviceParams,
}

/// Why a copy is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockError {
    /// The magic number is wrong.
    Foreign,
    /// The version is not supported.
    Version(u32),
    /// The checksum, the parameters or the generation are invalid.
    Damaged,
}

/// Encodes a copy.
///
/// # Panics
/// Panics if the device parameters take more than 3,968 bytes as text.
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
    put_u32(&mut bytes, USAGE_AT, if superblock.usage == Usage::Raw { RAW } else { 0 });
    bytes[TEXT_AT..TEXT_AT + text.len()].copy_from_slice(&text);
    let crc = crc_without(&bytes, CRC_AT, 0);
    put_u32(&mut bytes, CRC_AT, crc);
    bytes
}

/// Decodes a copy of [`BYTES`] bytes.
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
    let usage = match bytes.u32_at(USAGE_AT) {
        0 => Usage::Layer,
        RAW => Usage::Raw,
        _ => return Err(SuperblockError::Damaged),
    };
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
        usage,
        device: device.map_err(|_| SuperblockError::Damaged)?,
    })
}
