//! Record formats: the end of a record, and the order of records.

mod fixed;
mod lines;
mod spec;

pub use fixed::{Benchmark, Fixed};
pub use lines::Lines;
pub use spec::{FixedConfig, FormatVisitor, LinesConfig, RecordConfig};

use std::cmp::Ordering;

/// Bits of a key in a sort entry; the rest of its 128 bits is the position of the record.
pub const PREFIX_BITS: u32 = 80;
/// The same number in bytes.
const PREFIX_BYTES: usize = PREFIX_BITS as usize / 8;
/// A mask of these bits.
const PREFIX_MASK: u128 = (1 << PREFIX_BITS) - 1;

/// A position in the keys of records that are equal up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOffset {
    /// Index of the key.
    key: u32,
    /// Offset in the key, in bytes.
    at: u32,
}

impl KeyOffset {
    /// Approximate offset of the position in the record.
    pub(crate) fn bytes(self) -> usize {
        self.at as usize
    }
}

/// How to order records with equal prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiebreak {
    /// Their keys are equal.
    Nothing,
    /// Compare [`RecordFormat::prefix_at`] at the next position.
    At(KeyOffset),
    /// Compare with [`RecordFormat::compare`].
    Compare,
}

/// A format of records, and their order.
pub trait RecordFormat: Clone + Sync {
    /// The end of the record that starts at `start`, including its separator. The record must be
    /// complete.
    fn end(&self, bytes: &[u8], start: usize) -> usize;

    /// The length of the complete records in `bytes`, which start with a record.
    fn complete_len(&self, bytes: &[u8]) -> usize;

    /// The byte that ends each record, if any; it is added to a file that does not end with it.
    fn separator(&self) -> Option<u8>;

    /// The prefix of the key, below 2^80. If the prefixes of two records differ, their keys have
    /// the same order as the prefixes.
    fn prefix(&self, record: &[u8]) -> u128;

    /// Whether equal prefixes mean equal keys.
    fn prefix_is_full_key(&self) -> bool;

    /// Compares the whole keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// The length of a record, if it is fixed.
    fn length(&self) -> Option<usize>;

    /// A variant of the format for records that mostly resemble this sample: its prefixes skip the
    /// bytes that the sample shares. Depths and prefixes of the two variants must not be mixed; the
    /// order of records is the same.
    #[must_use]
    fn specialized(&self, _sample: &[&[u8]]) -> Self {
        self.clone()
    }

    /// As [`RecordFormat::prefix`], for records that are equal up to `depth` in their keys.
    /// [`KeyOffset::default`] is the start.
    fn prefix_at(&self, record: &[u8], depth: KeyOffset) -> u128 {
        assert_eq!(depth, KeyOffset::default(), "nothing is deeper");
        self.prefix(record)
    }

    /// As `prefix_at`, for the record that starts at `start`; only the bytes needed are read.
    #[inline]
    fn prefix_from(&self, bytes: &[u8], start: usize, depth: KeyOffset) -> u128 {
        self.prefix_at(&bytes[start..self.end(bytes, start)], depth)
    }

    /// How to order records that have this prefix at this depth.
    fn tiebreak(&self, _prefix: u128, _depth: KeyOffset) -> Tiebreak {
        if self.prefix_is_full_key() { Tiebreak::Nothing } else { Tiebreak::Compare }
    }
}
