//! An object in a segment: a header, the key, the metadata and the body.

use super::{Fields, checksum, padded};
use bytes::{Bytes, BytesMut};

const MAGIC: u32 = u32::from_le_bytes(*b"GObj");
/// Length of the header in bytes.
pub(crate) const HEADER: usize = 64;
/// Objects start at multiples of this number of bytes.
pub(crate) const UNIT: usize = 64;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole object.
    Whole,
    /// The metadata of a large object; the body says where its blocks are.
    Head,
    /// A block of a large object.
    Block,
}

impl Kind {
    pub fn code(self) -> u32 {
        self as u32
    }

    pub fn from_code(code: u32) -> Option<Self> {
        [Self::Whole, Self::Head, Self::Block].into_iter().find(|kind| kind.code() == code)
    }
}

/// The place and age of an object, which its header repeats: an object that was there before has
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Sequence number of its segment.
    pub segment: u64,
    /// Hash of its key.
    pub hash: u64,
    /// Its sequence number.
    pub sequence: u64,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub kind: Kind,
    pub key: Bytes,
    pub meta: Bytes,
    pub body: Bytes,
}

/// Bytes of an object in a segment.
pub(crate) fn size(key: usize, meta: usize, body: usize) -> usize {
    padded(HEADER + key + meta + body, UNIT)
}

impl Stored {
    pub fn size(&self) -> usize {
        size(self.key.len(), self.meta.len(), self.body.len())
    }

    /// Writes the object to the start of `into`.
    pub fn write(&self, identity: Identity, into: &mut [u8]) {
        let len = |bytes: &Bytes| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        into[..4].copy_from_slice(&MAGIC.to_le_bytes());
        into[4..8].copy_from_slice(&self.kind.code().to_le_bytes());
        into[8..16].copy_from_slice(&identity.segment.to_le_bytes());
        into[16..24].copy_from_slice(&identity.hash.to_le_bytes());
        into[24..32].copy_from_slice(&identity.sequence.to_le_bytes());
        into[32..36].copy_from_slice(&len(&self.key));
        into[36..40].copy_from_slice(&len(&self.meta));
        into[40..44].copy_from_slice(&len(&self.body));
        into[44..56].fill(0);
        let mut at = HEADER;
        for part in [&self.key, &self.meta, &self.body] {
            into[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let sum = sum(&into[..at]);
        into[56..64].copy_from_slice(&sum.to_le_bytes());
    }

    /// The hash of the key of the object at the start of `bytes`, which may be cut off.
    pub fn hash(bytes: &[u8]) -> Option<u64> {
        header(bytes).map(|(identity, ..)| identity.hash)
    }

    /// A copy with memory of its own.
    pub fn copied(&self) -> Self {
        let copied = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        let (key, meta) = (copied(&self.key), copied(&self.meta));
        Self { kind: self.kind, key, meta, body: copied(&self.body) }
    }

    /// Reads the object at the start of `bytes`, whose parts then share the memory. Returns `None`
    /// if it is damaged or cut off.
    pub fn read(bytes: &Bytes) -> Option<(Self, Identity)> {
        let (identity, kind, [key, meta, body], found) = header(bytes)?;
        let end = HEADER.checked_add(key)?.checked_add(meta)?.checked_add(body)?;
        if sum(bytes.get(..end)?) != found {
            return None;
        }
        let part = |start: usize, len: usize| bytes.slice(start..start + len);
        let stored = Self {
            kind,
            key: part(HEADER, key),
            meta: part(HEADER + key, meta),
            body: part(HEADER + key + meta, body),
        };
        Some((stored, identity))
    }
}

/// The fields of a header: identity, kind, lengths of key, metadata and body, and checksum.
fn header(bytes: &[u8]) -> Option<(Identity, Kind, [usize; 3], u64)> {
    let mut fields = Fields(bytes);
    if fields.u32()? != MAGIC {
        return None;
    }
    let kind = Kind::from_code(fields.u32()?)?;
    let (segment, hash, sequence) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut len = || usize::try_from(fields.u32()?).ok();
    let lens = [len()?, len()?, len()?];
    fields.bytes(12)?;
    Some((Identity { segment, hash, sequence }, kind, lens, fields.u64()?))
}

/// The checksum of an object: of all its bytes but the checksum.
fn sum(bytes: &[u8]) -> u64 {
    let (header, rest) = bytes.split_at(HEADER);
    checksum(&header[..56]) ^ checksum(rest).rotate_left(1)
}

/// The key of a block of a large object.
pub(crate) fn block_key(generation: u64, number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&generation.to_le_bytes());
    key[8..].copy_from_slice(&number.to_le_bytes());
    key
}

/// The body of the head of a large object.
pub(crate) fn head_body(generation: u64, length: u64, block: u64) -> Bytes {
    let mut body = BytesMut::with_capacity(24);
    for number in [generation, length, block] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    body.freeze()
}
