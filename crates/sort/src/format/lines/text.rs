//! Texts as keys: bytes, some of which may be passed over or stand for others.

use super::fields::is_blank;
use std::cmp::Ordering;

/// Bytes that are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignore {
    /// None.
    #[default]
    Nothing,
    /// All but letters, digits and blanks.
    Punctuation,
    /// All that do not print.
    Control,
}

/// What is made of a text before it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// What is passed over.
    pub ignore: Ignore,
    /// Whether small letters stand for capital ones.
    pub fold: bool,
}

/// Bytes of a text in a prefix; then comes how many there are, or [`MORE`].
pub const PART: usize = super::PREFIX_BYTES - 1;
/// Bits of [`MORE`] and less.
const COUNT_BITS: u32 = 4;
/// More bytes follow.
const MORE: u128 = PART as u128 + 1;

impl Translation {
    /// Whether texts stay as they are.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// A text's bytes as they are compared.
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

    /// The order of two texts.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.is_none() { a.cmp(b) } else { self.of(a).cmp(self.of(b)) }
    }

    /// A text in order from byte `from` on: some bytes, and how many they are.
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

    /// The same of the first `len` of these bytes, of which none is passed over; what follows them
    /// is read where that is quicker.
    #[inline]
    pub fn prefix_of(self, bytes: &[u8], len: usize) -> u128 {
        let Some(start) = bytes.first_chunk::<16>() else { return self.prefix(&bytes[..len], 0) };
        let spare = 8 * (PART - len.min(PART)) as u32;
        let kept = u128::from_be_bytes(*start) >> (128 - 8 * PART as u32) >> spare << spare;
        let part = kept << 8 | if len > PART { MORE } else { len as u128 };
        if self.fold { fold(part) } else { part }
    }

    /// The same of a text that ends before `end`, from the byte on with which `bytes` starts.
    #[inline]
    pub fn prefix_until(self, bytes: &[u8], end: u8) -> u128 {
        let bytes = &bytes[..bytes.len().min(16)];
        // No more than one byte behind the part is looked at.
        let some = &bytes[..bytes.len().min(PART + 1)];
        let len = some.iter().position(|&byte| byte == end).unwrap_or(bytes.len());
        self.prefix(&bytes[..len], 0)
    }

    /// The same of texts most of which start with `shared`: whether this one goes before all of
    /// those, is of them or goes behind; then bytes behind what they share, or from the start; and
    /// how many.
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
        // Two bits for the side, in the place of two of the eight that count.
        side << (super::PREFIX_BITS - 2) | plain >> 8 << 6 | plain & ((1 << COUNT_BITS) - 1)
    }

    const SHARED: u128 = 1;

    /// Whether a text with this focused prefix is one of most.
    pub fn is_shared(prefix: u128) -> bool {
        prefix >> (super::PREFIX_BITS - 2) == Self::SHARED
    }

    /// What of these texts most start with.
    pub fn shared(self, texts: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
        let mut texts: Vec<Vec<u8>> = texts.map(|text| self.of(text.as_ref()).collect()).collect();
        texts.sort_unstable();
        // What two of them share is shared by all between them: nine in ten.
        let [low, high] = [texts.len() / 20, texts.len() - texts.len().div_ceil(20)];
        let (Some(low), Some(high)) = (texts.get(low), texts.get(high)) else { return vec![] };
        low.iter().zip(high).take_while(|(a, b)| a == b).map(|(byte, _)| *byte).collect()
    }

    /// Whether a text has no more than this prefix of it.
    pub fn is_all(prefix: u128) -> bool {
        prefix & ((1 << COUNT_BITS) - 1) != MORE
    }
}

/// The first bytes, and how many they are.
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

/// Makes small letters in all bytes but the lowest capital: no count is a letter.
#[inline]
fn fold(packed: u128) -> u128 {
    let mut bytes = packed.to_be_bytes();
    bytes.make_ascii_uppercase();
    u128::from_be_bytes(bytes)
}
