//! A linear function of one variable.

use std::ops::{Add, Mul};

/// A linear function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pub intercept: f64,
    pub slope: f64,
}

impl Line {
    pub fn constant(intercept: f64) -> Self {
        Self { intercept, slope: 0.0 }
    }

    pub fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

impl Add for Line {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self { intercept: self.intercept + more.intercept, slope: self.slope + more.slope }
    }
}

impl Mul<f64> for Line {
    type Output = Self;
    fn mul(self, weight: f64) -> Self {
        Self { intercept: self.intercept * weight, slope: self.slope * weight }
    }
}
