//! The random streams of the generators, and the distributions that they draw from.
//!
//! Each drawn quantity has a stream of its own. Logarithms and powers come from `libm`, so that the
//! numbers are the same on every machine.

use gordon_units::RandomStream;
use libm::{cos, exp, log, pow, sqrt};

/// The random quantity that a stream belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Sizes of files.
    Sizes,
    /// Assignment of popularity ranks to files.
    Match,
    /// The requested file.
    Choice,
    /// Times between requests.
    Times,
    /// Number of references of a page.
    References,
    /// Kinds of requests.
    Kinds,
}

impl From<Stream> for u32 {
    fn from(stream: Stream) -> Self {
        stream as Self
    }
}

/// Draws from a stream by a continuous distribution.
pub(crate) trait Distributions {
    /// Pareto: at least `k`; above x with probability (k/x)^a.
    fn pareto(&mut self, k: f64, a: f64) -> f64;
    /// Weibull: above x with probability exp(-(x/scale)^shape).
    fn weibull(&mut self, scale: f64, shape: f64) -> f64;
    /// Log-normal, by the method of Box and Muller (1958): the logarithm is normal with this mean
    /// and standard deviation.
    fn lognormal(&mut self, mean: f64, deviation: f64) -> f64;
}

impl Distributions for RandomStream {
    #[inline]
    fn pareto(&mut self, k: f64, a: f64) -> f64 {
        k * pow(1.0 - self.unit(), -1.0 / a)
    }

    #[inline]
    fn weibull(&mut self, scale: f64, shape: f64) -> f64 {
        scale * pow(-log(1.0 - self.unit()), 1.0 / shape)
    }

    fn lognormal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = sqrt(-2.0 * log(1.0 - self.unit()));
        let normal = radius * cos(std::f64::consts::TAU * self.unit());
        exp(mean + deviation * normal)
    }
}

/// A discrete distribution, as a table of cumulative probabilities.
#[derive(Clone, Debug)]
pub(crate) struct WeightedChoice(Vec<f64>);

impl WeightedChoice {
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

    /// Zipf's law with exponent 1: element i of n has a weight of 1/i.
    #[allow(clippy::cast_precision_loss)]
    pub fn zipf(n: usize) -> Self {
        Self::new((1..=n).map(|i| 1.0 / i as f64))
    }

    /// Draws the index of an element, from 0.
    #[inline]
    pub fn draw(&self, random: &mut RandomStream) -> usize {
        let at = random.unit();
        self.0.partition_point(|until| *until <= at).min(self.0.len() - 1)
    }

    /// Probability of the first `n` elements together.
    pub fn cumulative(&self, n: usize) -> f64 {
        if n == 0 { 0.0 } else { self.0[n.min(self.0.len()) - 1] }
    }
}
