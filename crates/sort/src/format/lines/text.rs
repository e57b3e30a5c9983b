//! Text keys: bytes that may be ignored or translated when they are compared.

use super::fields::is_blank;
use std::cmp::Ordering;

/// The bytes that are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignore {
    /// None.
    #[default]
    Nothing,
    /// All except letters, digits and blanks.
    Punctuation,
    /// All non-printing bytes.
    Control,
}

/// The translation of a text before it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// The bytes that are ignored.
    pub ignore: Ignore,
    /// Whether lower-case letters are compared as upper-case ones.
    pub fold: bool,
}

/// Number of bytes of a text in a prefix; their actual count, or [`MORE`], follows them.
pub const PART: usize = super::PREFIX_BYTES - 1;
/// Bits of that count.
const COUNT_BITS: u32 = 4;
/// The count of a prefix after which more bytes follow.
const MORE: u128 = PART as u128 + 1;

impl Translation {
    /// Whether texts stay unchanged.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The bytes of a text as they are compared.
    #[inline]
    pub fn of(self, text: &[u8]) -> impl Iterator<Item = u8> {
        let keeps = move |byte: u8| match self.ignore {
            Ignore::Nothing => true,
            Ignore::Punctuation => is_blank(byte) || byte.is_ascii_alphanumeric(),
            Ignore::Control => matches!(byte, 0x20..=0x7e),
        };
        let folds = move |byte: u8| if self.fold { byte.to_ascii_uppercase() } else { byte };
        text.iter().copied().filter(move |&byte| keeps(byte)).map(folds)
    }

    /// Compares two texts.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.is_none() { a.cmp(b) } else { self.of(a).cmp(self.of(b)) }
    }

    /// The prefix of a text from byte `from` on: some bytes, and their count.
    #[inline]
    pub fn prefix(self, text: &[u8], from: usize) -> u128 {
        if self.ignore == Ignore::Nothing {
            let part = pack(text.get(from..).unwrap_or_default());
            return if self.fold { fold(part) } else { part };
        }
        let mut bytes = [0; PART + 1];
        let mut len = 0;
        for (place, byte) in bytes.iter_mut().zip(self.of(text).skip(from)) {
            *place = byte;
            len += 1;
        }
        pack(&bytes[..len])
    }

    /// The prefix of the first `len` of these bytes; none of them are ignored. It may read bytes
    /// after them, which is faster.
    #[inline]
    pub fn prefix_of(self, bytes: &[u8], len: usize) -> u128 {
        let Some(start) = bytes.first_chunk::<16>() else { return self.prefix(&bytes[..len], 0) };
        let spare = 8 * (PART - len.min(PART)) as u32;
        let kept = u128::from_be_bytes(*start) >> (128 - 8 * PART as u32) >> spare << spare;
        let part = kept << 8 | if len > PART { MORE } else { len as u128 };
        if self.fold { fold(part) } else { part }
    }

    /// The prefix of a text that starts with `bytes` and ends before the first byte `end`.
    #[inline]
    pub fn prefix_until(self, bytes: &[u8], end: u8) -> u128 {
        let bytes = &bytes[..bytes.len().min(16)];
        // At most one byte after the prefix is examined.
        let some = &bytes[..bytes.len().min(PART + 1)];
        let len = some.iter().position(|&byte| byte == end).unwrap_or(bytes.len());
        self.prefix(&bytes[..len], 0)
    }

    /// The prefix of a text if most texts start with `shared`. Its first part is whether the text
    /// is less than all of those, one of them, or greater; then follow bytes (after `shared` if the
    /// text starts with it, else from its start) and their count.
    #[inline]
    pub fn focused(self, text: &[u8], shared: &[u8]) -> u128 {
        let start = &text[..text.len().min(shared.len())];
        let order = if self.is_none() {
            start.cmp(shared)
        } else {
            self.of(text).take(shared.len()).cmp(shared.iter().copied())
        };
        let (side, from) = match order {
            Ordering::Less => (0, 0),
            Ordering::Equal => (Self::SHARED, shared.len()),
            Ordering::Greater => (2, 0),
        };
        let plain = self.prefix(text, from);
        // Two bits for the comparison replace two of the eight bits of the count.
        side << (super::PREFIX_BITS - 2) | plain >> 8 << 6 | plain & ((1 << COUNT_BITS) - 1)
    }

    const SHARED: u128 = 1;

    /// Whether the text with this focused prefix starts with the shared bytes.
    pub fn is_shared(prefix: u128) -> bool {
        prefix >> (super::PREFIX_BITS - 2) == Self::SHARED
    }

    /// The bytes with which most of these texts start.
    pub fn shared(self, texts: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
        let mut texts: Vec<Vec<u8>> = texts.map(|text| self.of(text.as_ref()).collect()).collect();
        texts.sort_unstable();
        // In sorted order, the bytes that two texts share are shared by all between them: nine in
        // ten.
        let [low, high] = [texts.len() / 20, texts.len() - texts.len().div_ceil(20)];
        let (Some(low), Some(high)) = (texts.get(low), texts.get(high)) else { return vec![] };
        low.iter().zip(high).take_while(|(a, b)| a == b).map(|(byte, _)| *byte).collect()
    }

    /// Whether this prefix contains the whole text.
    pub fn is_all(prefix: u128) -> bool {
        prefix & ((1 << COUNT_BITS) - 1) != MORE
    }
}

/// The first bytes of a text, and their count.
#[inline]
fn pack(text: &[u8]) -> u128 {
    if let Some(start) = text.first_chunk::<16>() {
        return u128::from_be_bytes(*start) >> (128 - 8 * PART as u32) << 8 | MORE;
    }
    let mut bytes = [0; 16];
    let len = text.len().min(PART);
    bytes[..len].copy_from_slice(&text[..len]);
    let count = if text.len() > PART { MORE } else { len as u128 };
    u128::from_be_bytes(bytes) >> (128 - 8 * PART as u32) << 8 | count
}

/// Converts lower-case letters to upper case in all bytes except the lowest, which is the count and
/// never a letter.
#[inline]
fn fold(packed: u128) -> u128 {
    let mut bytes = packed.to_be_bytes();
    bytes.make_ascii_uppercase();
    u128::from_be_bytes(bytes)
}
