//! What the generators of all kinds have in common: parts, and their random streams.

use crate::WorkloadError;
use gordon_units::{SplitMix64, splitmix64};

/// Bytes that a generator passes on at a time, at least.
pub const BLOCK: usize = 1 << 20;

/// A part of a corpus, which becomes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub number: u64,
    /// Bytes of the parts before it, if each is as long as possible.
    pub start: u64,
    /// Most bytes that it may have.
    pub bytes: u64,
}

impl Part {
    /// Parts of nearly equal length, at most `longest` bytes each; all boundaries are multiples of
    /// `unit`, which `longest` is not below.
    pub fn divide(size: u64, longest: u64, unit: u64) -> Vec<Self> {
        let units = size / unit;
        let parts = units.div_ceil(longest / unit);
        #[allow(clippy::cast_possible_truncation)] // at most `units`
        let start = |n: u64| (u128::from(units) * u128::from(n) / u128::from(parts)) as u64 * unit;
        let part = |number| Self {
            number,
            start: start(number),
            bytes: start(number + 1) - start(number),
        };
        (0..parts).map(part).collect()
    }

    /// The random numbers of this part.
    pub fn random(&self, seed: u64) -> SplitMix64 {
        SplitMix64(splitmix64(splitmix64(seed) ^ self.number))
    }
}

/// How records are separated in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// A record is a line; its line feed is not part of it.
    Lines,
    /// Records have this many bytes.
    Fixed(usize),
}

/// Receives whole records.
pub type Put<'a> = dyn FnMut(&[u8]) -> Result<(), WorkloadError> + 'a;

/// Generates the records of one kind of corpus.
pub trait Generator: Sync {
    /// Suffix of the names of files.
    fn suffix(&self) -> &'static str;

    /// How records are separated.
    fn separation(&self) -> Separation;

    /// Passes whole records of a part to `put`, about [`BLOCK`] bytes at a time, in total at most
    /// the bytes of the part. The records depend on the generator and the part alone.
    fn fill(&self, part: &Part, put: &mut Put) -> Result<(), WorkloadError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_nearly_equal_length() {
        let lengths = |size, longest, unit| {
            let parts = Part::divide(size, longest, unit);
            assert!(parts.windows(2).all(|pair| pair[0].start + pair[0].bytes == pair[1].start));
            parts.iter().map(|part| part.bytes).collect::<Vec<_>>()
        };
        assert_eq!(lengths(10, 4, 1), [3, 3, 4]);
        assert_eq!(lengths(8, 4, 1), [4, 4]);
        assert_eq!(lengths(1050, 450, 100), [300, 300, 400]);
        assert_eq!(lengths(3, 64, 1), [3]);
    }
}
