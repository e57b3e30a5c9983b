//! Records of fixed length.

use super::{KeyOffset, PREFIX_BITS, PREFIX_BYTES, RecordFormat, Tiebreak};
use std::cmp::Ordering;
use std::ops::Range;

/// The records of the sort benchmark: 100 bytes, of which the first 10 are the key, compared as
/// bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Benchmark;

impl Benchmark {
    /// Bytes of a record.
    pub const RECORD: usize = 100;
    /// Bytes of the key, at the start of the record.
    pub const KEY: usize = 10;
}

impl RecordFormat for Benchmark {
    #[inline]
    fn end(&self, _: &[u8], start: usize) -> usize {
        start + Self::RECORD
    }

    fn complete_len(&self, bytes: &[u8]) -> usize {
        bytes.len() - bytes.len() % Self::RECORD
    }

    fn separator(&self) -> Option<u8> {
        None
    }

    #[inline]
    fn prefix(&self, record: &[u8]) -> u128 {
        let Some(start) = record.first_chunk::<16>() else { unreachable!("a whole record") };
        u128::from_be_bytes(*start) >> (128 - PREFIX_BITS)
    }

    fn prefix_is_full_key(&self) -> bool {
        true
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a[..Self::KEY].cmp(&b[..Self::KEY])
    }

    fn length(&self) -> Option<usize> {
        Some(Self::RECORD)
    }
}

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// Bytes, compared from the first on.
    Bytes,
    /// Bytes, with lower-case letters compared as upper-case ones.
    Ascii,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer.
    Signed,
    /// A floating-point number, in IEEE 754's total order: -NaN, numbers, NaN; -0 before 0.
    Float,
}

/// A key of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedKey {
    /// The bytes of the key; at most 8 for a number.
    pub bytes: Range<usize>,
    /// The type of the key.
    pub kind: KeyType,
    /// Whether a number is little-endian.
    pub little: bool,
    /// Whether the order is descending.
    pub reverse: bool,
}

impl FixedKey {
    /// The number as an unsigned integer of the same order.
    #[inline]
    fn number(&self, record: &[u8]) -> u64 {
        let mut wide = [0; 8];
        let bytes = &record[self.bytes.clone()];
        wide[8 - bytes.len()..].copy_from_slice(bytes);
        let value = u64::from_be_bytes(wide);
        let bits = 8 * bytes.len() as u32;
        // A swapped value has its bytes at the high end.
        let value = if self.little { value.swap_bytes() >> (64 - bits) } else { value };
        let sign = 1 << (bits - 1);
        let all = u64::MAX >> (64 - bits);
        match self.kind {
            KeyType::Signed => value ^ sign,
            KeyType::Float if value & sign != 0 => value ^ all,
            KeyType::Float => value ^ sign,
            _ => value,
        }
    }

    /// Appends up to `most` bytes of the key, from byte `from` on, to `prefix`, converted so that
    /// comparing them as bytes gives the order of the keys.
    #[inline]
    fn put(&self, record: &[u8], from: usize, most: usize, prefix: u128) -> u128 {
        let bytes = &record[self.bytes.start + from..self.bytes.end];
        let len = bytes.len().min(most);
        let bits = 8 * len as u32;
        let part = match self.kind {
            KeyType::Bytes | KeyType::Ascii => {
                let fold = |byte: u8| match self.kind {
                    KeyType::Ascii => byte.to_ascii_uppercase(),
                    _ => byte,
                };
                match bytes.first_chunk::<16>() {
                    Some(start) => u128::from_be_bytes(start.map(fold)) >> (u128::BITS - bits),
                    None => bytes[..len]
                        .iter()
                        .fold(0, |part, &byte| part << 8 | u128::from(fold(byte))),
                }
            }
            _ => u128::from(self.number(record)) >> (8 * (bytes.len() - len)),
        };
        let all = (1 << bits) - 1;
        prefix << bits | (if self.reverse { !part } else { part }) & all
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (x, y) = (&a[self.bytes.clone()], &b[self.bytes.clone()]);
        let order = match self.kind {
            KeyType::Bytes => x.cmp(y),
            KeyType::Ascii => {
                let fold = |byte: &u8| byte.to_ascii_uppercase();
                x.iter().map(fold).cmp(y.iter().map(fold))
            }
            _ => self.number(a).cmp(&self.number(b)),
        };
        if self.reverse { order.reverse() } else { order }
    }
}

/// Records of any fixed length, and their order.
#[derive(Clone, Debug)]
pub struct Fixed {
    record: usize,
    keys: Vec<FixedKey>,
    /// Total bytes of all keys.
    key_bytes: usize,
}

impl Fixed {
    /// Records of `record` bytes, ordered by these keys, the first one first. The keys must lie
    /// within the record.
    pub(super) fn new(record: usize, keys: Vec<FixedKey>) -> Self {
        let key_bytes = keys.iter().map(|key| key.bytes.len()).sum();
        Self { record, keys, key_bytes }
    }

    /// Whether this is the format [`Benchmark`].
    pub(super) fn is_benchmark(&self) -> bool {
        let key = FixedKey {
            bytes: 0..Benchmark::KEY,
            kind: KeyType::Bytes,
            little: false,
            reverse: false,
        };
        self.record == Benchmark::RECORD && self.keys == [key]
    }
}

impl RecordFormat for Fixed {
    #[inline]
    fn end(&self, _: &[u8], start: usize) -> usize {
        start + self.record
    }

    fn complete_len(&self, bytes: &[u8]) -> usize {
        bytes.len() - bytes.len() % self.record
    }

    fn separator(&self) -> Option<u8> {
        None
    }

    #[inline]
    fn prefix(&self, record: &[u8]) -> u128 {
        self.prefix_at(record, KeyOffset::default())
    }

    fn prefix_is_full_key(&self) -> bool {
        self.key_bytes <= PREFIX_BYTES
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let mut orders = self.keys.iter().map(|key| key.compare(a, b));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn length(&self) -> Option<usize> {
        Some(self.record)
    }

    /// The concatenation of all keys, from a byte on.
    #[inline]
    fn prefix_at(&self, record: &[u8], depth: KeyOffset) -> u128 {
        let (mut skip, mut left) = (depth.at as usize, PREFIX_BYTES);
        let mut prefix = 0;
        for key in &self.keys {
            let len = key.bytes.len();
            if skip >= len {
                skip -= len;
                continue;
            }
            prefix = key.put(record, skip, left, prefix);
            left -= left.min(len - skip);
            skip = 0;
            if left == 0 {
                break;
            }
        }
        prefix << (8 * left)
    }

    fn tiebreak(&self, _: u128, depth: KeyOffset) -> Tiebreak {
        let at = depth.at + PREFIX_BYTES as u32;
        if (at as usize) < self.key_bytes {
            Tiebreak::At(KeyOffset { at, ..depth })
        } else {
            Tiebreak::Nothing
        }
    }
}
