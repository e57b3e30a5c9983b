//! Division by an invariant divisor: a multiplication and a correction, which take a fraction of
//! the time of a division.

/// A divisor, prepared for fast division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u64,
    /// `(2^64 - 1) / by`, rounded down.
    inverse: u64,
}

impl Divisor {
    /// Prepares division by `by`, which must not be zero.
    pub fn new(by: u64) -> Self {
        Self { by, inverse: u64::MAX / by }
    }

    /// The divisor.
    #[inline(always)]
    pub fn get(self) -> u64 {
        self.by
    }

    /// The quotient `n / by` and the remainder `n % by`.
    #[inline(always)]
    pub fn divide(self, n: u64) -> (u64, u64) {
        // n x inverse / 2^64 is less than n / by, by at most n / 2^64: rounded down, it is the
        // quotient or one less.
        #[allow(clippy::cast_possible_truncation)]
        let about = ((u128::from(n) * u128::from(self.inverse)) >> 64) as u64;
        let rest = n - about * self.by;
        let more = rest >= self.by;
        (about + u64::from(more), if more { rest - self.by } else { rest })
    }

    /// `n / by`, rounded down.
    #[inline(always)]
    pub fn floor(self, n: u64) -> u64 {
        self.divide(n).0
    }

    /// `n / by`, rounded up.
    #[inline(always)]
    pub fn ceil(self, n: u64) -> u64 {
        let (quotient, rest) = self.divide(n);
        quotient + u64::from(rest > 0)
    }

    /// `n % by`.
    #[inline(always)]
    pub fn rest(self, n: u64) -> u64 {
        self.divide(n).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_right(n: u64, by: u64) {
        let divisor = Divisor::new(by);
        assert_eq!(divisor.divide(n), (n / by, n % by), "{n} / {by}");
        assert_eq!(divisor.ceil(n), n.div_ceil(by), "{n} / {by}");
    }

    #[test]
    fn at_the_ends_of_the_range() {
        let ends = [1, 2, 3, 7, 10, 1 << 31, (1 << 32) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
        for by in ends {
            for n in ends {
                for n in [n - 1, n, n.saturating_add(1)] {
                    is_right(n, by);
                }
                // The largest multiple and its predecessor.
                let most = u64::MAX / by * by;
                is_right(most - 1, by);
                is_right(most, by);
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_division(n: u64, by in 1u64.., shift in 0u32..64, other in 0u32..64) {
            is_right(n >> other, (by >> shift).max(1));
        }
    }
}
