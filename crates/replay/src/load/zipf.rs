//! Zipf's law: of n places, the i-th most popular one has a frequency proportional to i^-s.
//!
//! Ranks are drawn by rejection from the inverse of the integral (Hörmann and Derflinger,
//! *Rejection-inversion to generate variates from monotone discrete distributions*, ACM TOMACS 6,
//! 1996), which needs no table for any n. Logarithms and powers come from `libm`, so that every
//! machine draws the same numbers. The i-th most popular place is at a * i + b modulo n, with a
//! coprime to n, so that places of similar popularity are not adjacent on the device.

use crate::random::Random;
use libm::{exp, expm1, log, log1p};

#[derive(Clone, Debug)]
pub(super) struct Zipf {
    places: u64,
    exponent: f64,
    /// Integral up to half a step beyond the last place, and up to the first place.
    total: f64,
    first: f64,
    /// Draws within this distance of a rank are accepted without an exact test.
    near: f64,
    stride: u64,
}

/// (e^x - 1) / x.
fn growth(x: f64) -> f64 {
    if x.abs() > 1e-8 { expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x.
fn shrinking(x: f64) -> f64 {
    if x.abs() > 1e-8 { log1p(x) / x } else { 1.0 - x / 2.0 }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Zipf {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn new(places: u64, exponent: f64) -> Self {
        // The golden ratio spreads best; the next larger number that is coprime to n is used.
        let mut stride = ((places as f64 * 0.618_033_988_749_895) as u64).max(1);
        while gcd(stride, places) != 1 {
            stride += 1;
        }
        let mut new = Self { places, exponent, total: 0.0, first: 0.0, near: 0.0, stride };
        new.first = new.integral(1.5) - 1.0;
        new.total = new.integral(places as f64 + 0.5);
        new.near = 2.0 - new.inverse(new.integral(2.5) - new.density(2.0));
        new
    }

    pub fn places(&self) -> u64 {
        self.places
    }

    fn density(&self, x: f64) -> f64 {
        exp(-self.exponent * log(x))
    }

    /// Integral of the density from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let ln = log(x);
        growth((1.0 - self.exponent) * ln) * ln
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        exp(shrinking(t) * area)
    }

    /// Draws a popularity rank; 1 is the most popular.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.total + random.unit() * (self.first - self.total);
            let x = self.inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, self.places);
            let at = rank as f64;
            if at - x <= self.near || area >= self.integral(at + 0.5) - self.density(at) {
                return rank;
            }
        }
    }

    /// Draws a place.
    #[allow(clippy::cast_possible_truncation)] // below `places`
    pub fn draw(&self, random: &mut Random) -> u64 {
        let spread = u128::from(self.rank(random) - 1) * u128::from(self.stride);
        (spread % u128::from(self.places)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Component;

    /// Each rank is as frequent as the law predicts, within five standard deviations.
    #[test]
    fn ranks_follow_the_law() {
        for exponent in [0.5, 0.99, 1.0, 1.5, 3.0] {
            let zipf = Zipf::new(50, exponent);
            let mut random = Random::new(11, Component::Address);
            let mut counts = [0u32; 51];
            let draws = 200_000;
            (0..draws).for_each(|_| counts[usize::try_from(zipf.rank(&mut random)).unwrap()] += 1);
            let weight = |i: u32| f64::from(i).powf(-exponent);
            let all: f64 = (1..=50).map(weight).sum();
            for i in 1..=50 {
                let expected = f64::from(draws) * weight(i) / all;
                let off = (f64::from(counts[i as usize]) - expected).abs();
                assert!(off < 5.0 * expected.sqrt().max(1.0), "s {exponent}, rank {i}: {off} off");
            }
        }
    }

    #[test]
    fn places_are_spread_and_complete() {
        for places in [1, 2, 10, 97, 1000] {
            let zipf = Zipf::new(places, 1.0);
            assert_eq!(gcd(zipf.stride, places), 1);
            let mut random = Random::new(5, Component::Address);
            assert!((0..1000).all(|_| zipf.draw(&mut random) < places));
        }
        // The two most popular places are not adjacent.
        assert!(Zipf::new(1000, 1.0).stride > 100);
    }
}
