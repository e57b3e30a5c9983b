//! A set of small objects: a page.

use super::object::{Kind, Stored};
use super::{Fields, PAGE, checksum};
use bytes::Bytes;

const MAGIC: u64 = u64::from_le_bytes(*b"GObjSet1");
const HEADER: usize = 40;
/// Length of an entry in bytes, without key, metadata and body.
const ENTRY: usize = 16;
/// Bytes of a set for objects.
pub(crate) const CAPACITY: usize = PAGE - HEADER;

/// An object in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetObject {
    pub hash: u64,
    /// Re-reference prediction value.
    pub rrpv: u8,
    /// The object, of kind [`Kind::Whole`].
    pub object: Stored,
}

/// The content of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetContent {
    /// Sequence number of its write: all its objects are older, and were not purged by then.
    pub sequence: u64,
    pub objects: Vec<SetObject>,
}

/// A page that is neither a set nor empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedSet {
    /// Whether it was a set of this cache.
    pub is_ours: bool,
}

/// Bytes of an object in a set.
pub(crate) fn set_size(object: &Stored) -> usize {
    ENTRY + object.key.len() + object.meta.len() + object.body.len()
}

/// The page of a set with this content, which fits.
pub(crate) fn set_page(cache: u64, number: u32, content: &SetContent) -> Vec<u8> {
    let SetContent { sequence, objects } = content;
    let mut bytes = Vec::with_capacity(PAGE);
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&cache.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    let count = u32::try_from(objects.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes.resize(HEADER, 0);
    for SetObject { hash, rrpv, object } in objects {
        bytes.extend_from_slice(&hash.to_le_bytes());
        for part in [&object.key, &object.meta, &object.body] {
            let len = u16::try_from(part.len()).unwrap_or(u16::MAX);
            bytes.extend_from_slice(&len.to_le_bytes());
        }
        bytes.extend_from_slice(&[*rrpv, 0]);
        for part in [&object.key, &object.meta, &object.body] {
            bytes.extend_from_slice(part);
        }
    }
    assert!(bytes.len() <= PAGE, "the objects fit into a set");
    bytes.resize(PAGE, 0);
    let sum = sum(&bytes);
    bytes[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The checksum of a page: of all its bytes but the checksum.
fn sum(page: &[u8]) -> u64 {
    checksum(&page[..HEADER - 8]) ^ checksum(&page[HEADER..]).rotate_left(1)
}

/// The content of a set, whose objects share the memory of its page.
pub(crate) fn parse_set(page: &Bytes, cache: u64, number: u32) -> Result<SetContent, DamagedSet> {
    if page.iter().all(|byte| *byte == 0) {
        return Ok(SetContent::default());
    }
    let mut fields = Fields(page);
    // A flipped bit cannot change both.
    let is_ours = fields.u64() == Some(MAGIC) || fields.u64() == Some(cache);
    content(page, cache, number).ok_or(DamagedSet { is_ours })
}

fn content(page: &Bytes, cache: u64, number: u32) -> Option<SetContent> {
    let mut fields = Fields(page);
    if fields.u64()? != MAGIC || fields.u64()? != cache || fields.u32()? != number {
        return None;
    }
    let (count, sequence) = (fields.u32()?, fields.u64()?);
    if page.len() != PAGE || fields.u64()? != sum(page) {
        return None;
    }
    let mut objects = Vec::new();
    for _ in 0..count {
        let hash = fields.u64()?;
        let lens = [fields.u16()?, fields.u16()?, fields.u16()?];
        let rrpv = fields.bytes(2)?[0];
        let mut part = |len: u16| fields.bytes(len.into()).map(|part| page.slice_ref(part));
        let [key, meta, body] = [part(lens[0])?, part(lens[1])?, part(lens[2])?];
        // A larger value would overflow when the set ages.
        let rrpv = Some(rrpv).filter(|rrpv| *rrpv < 8)?;
        let object = Stored { kind: Kind::Whole, key, meta, body };
        objects.push(SetObject { hash, rrpv, object });
    }
    Some(SetContent { sequence, objects })
}
