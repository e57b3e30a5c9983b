//! What the bytes of a file are: where a record ends, and which goes before which.

mod fixed;

pub use fixed::Benchmark;

use std::cmp::Ordering;

/// The bits of a key that an entry of the sort carries: the rest of its 128 is where the record is.
pub const PREFIX_BITS: u32 = 80;

/// Records of one kind, and their order.
pub trait Shape: Sync {
    /// Where the record that starts at `start` of `bytes` ends, its separator included. Records are
    /// whole here.
    fn end(&self, bytes: &[u8], start: usize) -> usize;

    /// How many of `bytes`, which start with a record, are whole records.
    fn whole(&self, bytes: &[u8]) -> usize;

    /// What ends each record, and is added where a file does not end with it.
    fn separator(&self) -> Option<u8>;

    /// The start of the key, as a number below 2^[`PREFIX_BITS`]: where two differ, so do the keys, the
    /// same way.
    fn prefix(&self, record: &[u8]) -> u128;

    /// Whether equal prefixes mean equal keys.
    fn is_whole(&self) -> bool;

    /// The order of the whole keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// The length of every record, where all have one.
    fn length(&self) -> Option<usize>;
}
