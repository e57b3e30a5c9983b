//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a small random number generator that gives the
//! same numbers for a seed on every machine.
//!
//! The generator serves state machines without an operating system, fault injection and tests.
//! Workloads use [`RandomStream`](crate::RandomStream) instead, which has independent streams.

/// Added to the state at each step: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers. The field is the state; initially it is the seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        finalize(self.0)
    }

    /// A random number below `limit`, from the high 32 bits of the next output.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half of the product is below `limit`
    pub fn below_u32(&mut self, limit: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A random number below `limit`, from all 64 bits of the next output.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half of the product is below `limit`
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }
}

/// The next output of a stream whose state is `bits`, which is a 64-bit hash of `bits`.
#[inline]
pub fn splitmix64(bits: u64) -> u64 {
    finalize(bits.wrapping_add(STEP))
}

#[inline]
fn finalize(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation (Vigna, splitmix64.c) with seed 0.
    #[test]
    fn the_stream_matches_the_reference() {
        let mut random = SplitMix64(0);
        let first = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(first, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
        assert_eq!(splitmix64(0), first[0]);
    }

    #[test]
    fn numbers_are_below_the_limit() {
        let mut random = SplitMix64(1);
        assert!((0..1000).all(|_| random.below(7) < 7 && random.below_u32(3) < 3));
        assert_eq!((random.below(1), random.below_u32(1)), (0, 0));
    }
}
