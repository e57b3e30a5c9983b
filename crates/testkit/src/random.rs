//! Random numbers for tests: the same for a seed on every machine.

use gordon_units::SplitMix64;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// A stream with this seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A random number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        #[allow(clippy::cast_possible_truncation)] // below `limit`
        {
            self.0.below(limit as u64) as usize
        }
    }
}
