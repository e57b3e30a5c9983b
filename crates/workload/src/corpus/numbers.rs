//! Lines of decimal numbers, uniform below 2^63, so that each is a signed integer of 64 bits.

use super::generator::{BLOCK, Generator, Part, Put, Separation};
use crate::WorkloadError;

/// Digits of the largest number.
const DIGITS: usize = 19;

/// Generates lines of numbers.
#[derive(Clone, Copy, Debug)]
pub struct NumberGenerator {
    /// Random seed.
    pub seed: u64,
}

impl Generator for NumberGenerator {
    fn suffix(&self) -> &'static str {
        "txt"
    }

    fn separation(&self) -> Separation {
        Separation::Lines
    }

    fn fill(&self, part: &Part, put: &mut Put) -> Result<(), WorkloadError> {
        let mut random = part.random(self.seed);
        let mut out = Vec::with_capacity(BLOCK + DIGITS + 1);
        let mut left = part.bytes;
        loop {
            let mut digits = [0; DIGITS];
            let start = decimal(random.next_u64() >> 1, &mut digits);
            let line = &digits[start..];
            let bytes = line.len() as u64 + 1;
            if bytes > left {
                return put(&out);
            }
            left -= bytes;
            out.extend_from_slice(line);
            out.push(b'\n');
            if out.len() >= BLOCK {
                put(&out)?;
                out.clear();
            }
        }
    }
}

/// Writes the digits of a number below 2^63 at the end of `digits`; returns the index of the first.
#[allow(clippy::cast_possible_truncation)] // a remainder by 10
fn decimal(mut number: u64, digits: &mut [u8; DIGITS]) -> usize {
    let mut at = DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros() {
        for number in [0, 7, 10, 99, 1 << 40, i64::MAX as u64] {
            let mut digits = [0; DIGITS];
            let start = decimal(number, &mut digits);
            assert_eq!(std::str::from_utf8(&digits[start..]).unwrap(), number.to_string());
        }
    }
}
