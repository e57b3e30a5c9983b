//! What the bytes of a file are: where a record ends, and which goes before which.

mod fixed;
mod lines;
mod spec;

pub use fixed::{Benchmark, Fixed};
pub use lines::Lines;
pub use spec::{FixedConfig, FormatVisitor, LinesConfig, RecordConfig};

use std::cmp::Ordering;

/// The bits of a key that an entry of the sort carries: the rest of its 128 is where the record is.
pub const PREFIX_BITS: u32 = 80;
/// They in bytes.
const PREFIX_BYTES: usize = PREFIX_BITS as usize / 8;
/// All of them.
const PREFIX_MASK: u128 = (1 << PREFIX_BITS) - 1;

/// A place in the keys of records that are equal up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOffset {
    /// Which key of several.
    key: u32,
    /// From which of its bytes on.
    at: u32,
}

impl KeyOffset {
    /// About where in a record it is.
    pub(crate) fn bytes(self) -> usize {
        self.at as usize
    }
}

/// What equal prefixes leave of the order of their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiebreak {
    /// Nothing: the keys are equal.
    Nothing,
    /// What [`RecordFormat::prefix_at`] says of the next place.
    At(KeyOffset),
    /// What [`RecordFormat::compare`] says.
    Compare,
}

/// Records of one kind, and their order.
pub trait RecordFormat: Clone + Sync {
    /// Where the record that starts at `start` of `bytes` ends, its separator included. Records are
    /// whole here.
    fn end(&self, bytes: &[u8], start: usize) -> usize;

    /// How many of `bytes`, which start with a record, are whole records.
    fn complete_len(&self, bytes: &[u8]) -> usize;

    /// What ends each record, and is added where a file does not end with it.
    fn separator(&self) -> Option<u8>;

    /// The start of the key, as a number below 2^80: where two differ, so do the keys, the
    /// same way.
    fn prefix(&self, record: &[u8]) -> u128;

    /// Whether equal prefixes mean equal keys.
    fn prefix_is_full_key(&self) -> bool;

    /// The order of the whole keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// The length of every record, where all have one.
    fn length(&self) -> Option<usize>;

    /// The same format for records of which most are like these: prefixes start behind what those
    /// share. Depths and prefixes of one are not those of the other; the order of records is.
    #[must_use]
    fn specialized(&self, _sample: &[&[u8]]) -> Self {
        self.clone()
    }

    /// The same as [`RecordFormat::prefix`], further into the key: of records that are equal up to
    /// `depth`. The start is [`KeyOffset::default`].
    fn prefix_at(&self, record: &[u8], depth: KeyOffset) -> u128 {
        assert_eq!(depth, KeyOffset::default(), "nothing is deeper");
        self.prefix(record)
    }

    /// The same of the record that starts at `start` of `bytes`: only what it needs is looked at.
    #[inline]
    fn prefix_from(&self, bytes: &[u8], start: usize, depth: KeyOffset) -> u128 {
        self.prefix_at(&bytes[start..self.end(bytes, start)], depth)
    }

    /// What is left of the order of records that all have this prefix at this depth.
    fn tiebreak(&self, _prefix: u128, _depth: KeyOffset) -> Tiebreak {
        if self.prefix_is_full_key() { Tiebreak::Nothing } else { Tiebreak::Compare }
    }
}
