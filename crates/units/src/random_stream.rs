//! Random numbers of loads and generators: many independent streams from one seed, the same on
//! every machine.
//!
//! Xoshiro256++ (Blackman and Vigna, 2018). The streams of a seed are 2^192 numbers apart.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// Stream number `stream` of `seed`. Each stream costs one jump of the generator more than the
    /// one before it, so numbers should be small.
    pub fn new(seed: u64, stream: impl Into<u32>) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..stream.into() {
            generator.long_jump();
        }
        Self(generator)
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`, by multiplication; the bias is below `bound` / 2^64.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half is below `bound`
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `share`.
    #[inline]
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream: u32| {
            let mut random = RandomStream::new(seed, stream);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn below_is_uniform() {
        let mut random = RandomStream::new(7, 0_u32);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[usize::try_from(random.below(10)).unwrap()] += 1);
        // Standard deviation 95.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
