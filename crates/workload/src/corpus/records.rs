//! Records of the sort benchmark, as `gordon sort generate` makes them.
//!
//! The benchmark has one sequence of 2^128 records and no seed. Seed s has the records from number
//! (s - 1) 2^64 on, so that seed 1 has those of gensort without options, and the records of
//! different seeds differ.

use super::generator::{BLOCK, Generator, Part, Put, Separation};
use crate::WorkloadError;
use gordon_sort::Records;

/// Bytes of a record.
pub const RECORD: usize = 100;

/// Generates records.
#[derive(Debug)]
pub struct RecordGenerator {
    records: Records,
    start: u128,
}

impl RecordGenerator {
    /// The records of a seed.
    pub fn new(seed: u64) -> Self {
        Self { records: Records::new(false, false), start: first_record(seed) }
    }
}

/// Number of the first record of a seed, which `gordon sort generate --start` accepts.
pub fn first_record(seed: u64) -> u128 {
    u128::from(seed.wrapping_sub(1)) << 64
}

impl Generator for RecordGenerator {
    fn suffix(&self) -> &'static str {
        "dat"
    }

    fn separation(&self) -> Separation {
        Separation::Fixed(RECORD)
    }

    fn fill(&self, part: &Part, put: &mut Put) -> Result<(), WorkloadError> {
        let mut out = vec![0; BLOCK.next_multiple_of(RECORD)];
        let mut first = self.start + u128::from(part.start / RECORD as u64);
        let mut left = part.bytes;
        while left > 0 {
            #[allow(clippy::cast_possible_truncation)] // at most the length of `out`
            let len = left.min(out.len() as u64) as usize;
            self.records.fill(first, &mut out[..len]);
            put(&out[..len])?;
            first += (len / RECORD) as u128;
            left -= len as u64;
        }
        Ok(())
    }
}
