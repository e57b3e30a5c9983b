//! Seeded random numbers and the laws they are drawn from, the same on every machine.
//!
//! Xoshiro256++ (Blackman and Vigna, 2018); the streams of one seed are 2^192 numbers apart, one
//! for each thing that is drawn. Logarithms and powers come from `libm`.

use libm::{cos, exp, log, pow, sqrt};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Sizes of files.
    Sizes,
    /// Which file is how popular.
    Match,
    /// Which file is asked for.
    Choice,
    /// When.
    Times,
    /// How many references a page has.
    References,
    /// What a request is.
    Kinds,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64, stream: Stream) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..stream as u32).for_each(|_| generator.long_jump());
        Self(generator)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Pareto: at least `k`, more than x with probability (k/x)^a.
    #[inline]
    pub fn pareto(&mut self, k: f64, a: f64) -> f64 {
        k * pow(1.0 - self.unit(), -1.0 / a)
    }

    /// Weibull: more than x with probability exp(-(x/scale)^shape).
    #[inline]
    pub fn weibull(&mut self, scale: f64, shape: f64) -> f64 {
        scale * pow(-log(1.0 - self.unit()), 1.0 / shape)
    }

    /// Log-normal: its logarithm is normal (Box and Muller, 1958).
    pub fn lognormal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = sqrt(-2.0 * log(1.0 - self.unit()));
        let normal = radius * cos(std::f64::consts::TAU * self.unit());
        exp(mean + deviation * normal)
    }
}

/// A choice among things that are not equally likely, by a table of cumulated weights.
#[derive(Clone, Debug)]
pub(crate) struct Weighted(Vec<f64>);

impl Weighted {
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut table: Vec<f64> = weights
            .into_iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        table.iter_mut().for_each(|until| *until /= sum);
        Self(table)
    }

    /// Zipf's law: the i-th of n comes in proportion to 1/i.
    #[allow(clippy::cast_precision_loss)]
    pub fn zipf(n: usize) -> Self {
        Self::new((1..=n).map(|i| 1.0 / i as f64))
    }

    /// The number of one of them, from 0.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        let at = random.unit();
        self.0.partition_point(|until| *until <= at).min(self.0.len() - 1)
    }

    /// How likely the first `n` are together.
    pub fn until(&self, n: usize) -> f64 {
        if n == 0 { 0.0 } else { self.0[n.min(self.0.len()) - 1] }
    }
}
