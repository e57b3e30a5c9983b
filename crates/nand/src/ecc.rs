//! How the strength of an error-correcting code changes the erases that a block lasts for.
//!
//! A code of `t` bits reads a codeword while at most `t` of its bits are wrong. Bits fail
//! independently, each with the raw bit error rate, which grows with a power of the erases
//! (`exponent`; 1: linearly, as Schroeder and others saw it in the field, FAST 2016). A block is
//! worn out when [`BLOCK_SURVIVAL`] is no longer the probability that all its codewords are
//! readable: at its rated erases with the code that the rating is for. A stronger code reaches that
//! probability at a higher error rate, thus after more erases.
//!
//! Not covered: errors by reads and by time, blocks that differ, codes that fail otherwise than by
//! count.

use crate::BLOCK_SURVIVAL;
use libm::{exp, expm1, log, log1p, pow};

/// A block's codewords.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codewords {
    /// Bits of data in each.
    pub data_bits: u32,
    /// Codewords of a block.
    pub in_block: u64,
    /// The raw bit error rate grows with this power of the erases.
    pub exponent: f64,
}

/// Parity bits of a binary BCH code that corrects so many bits of a codeword with so many of data:
/// `m` for each, in the smallest field of 2^m elements that numbers all bits.
pub fn parity_bits(data_bits: u32, correctable: u32) -> u32 {
    let fits = |m: &u32| u64::from(data_bits) + u64::from(m * correctable) < 1 << m;
    let m = (2..=24).find(fits).unwrap_or(24);
    m * correctable
}

impl Codewords {
    /// The raw bit error rate at which a block with a code of so many bits is worn out.
    pub fn worn_out_rate(&self, correctable: u32) -> f64 {
        let bits = self.data_bits + parity_bits(self.data_bits, correctable);
        // The chance of each codeword, where all of a block are readable with that of a block.
        let most = -expm1(log(BLOCK_SURVIVAL) / real(self.in_block));
        let (mut low, mut high) = (log(1e-18), log(0.5));
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if unreadable(bits, correctable, exp(middle)) < most {
                low = middle
            } else {
                high = middle
            }
        }
        exp(0.5 * (low + high))
    }

    /// Erases that a block lasts for with a code of `correctable` bits, for each erase with one of
    /// `rated_correctable`.
    pub fn endurance_gain(&self, rated_correctable: u32, correctable: u32) -> f64 {
        if rated_correctable == correctable {
            return 1.0;
        }
        let rate = |bits| self.worn_out_rate(bits);
        pow(rate(correctable) / rate(rated_correctable), 1.0 / self.exponent)
    }
}

/// The probability that more than `correctable` of `bits` are wrong, each with probability `rate`:
/// a binomial tail, summed from its largest term on for small rates.
fn unreadable(bits: u32, correctable: u32, rate: f64) -> f64 {
    let n = f64::from(bits);
    let odds = log(rate) - log1p(-rate);
    let mut term = n * log1p(-rate);
    let (mut sum, mut wrong) = (0.0, 0.0);
    while wrong < n {
        term += log((n - wrong) / (wrong + 1.0)) + odds;
        wrong += 1.0;
        if wrong > f64::from(correctable) {
            let part = exp(term);
            sum += part;
            if wrong > n * rate && part < sum * 1e-17 {
                break;
            }
        }
    }
    sum
}

#[allow(clippy::cast_precision_loss)]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 512 bytes each; 32 KiB of them in a block.
    const SLC: Codewords = Codewords { data_bits: 4096, in_block: 64, exponent: 1.0 };

    #[test]
    fn parity_is_that_of_a_bch_code() {
        // 4,096 bits and 13 for each corrected one are numbered by 2^13 - 1.
        assert_eq!([1, 4, 9].map(|bits| parity_bits(4096, bits)), [13, 52, 117]);
        // 4,083 and 12 are 4,095 bits: the most with 12.
        assert_eq!((parity_bits(4083, 1), parity_bits(4084, 1)), (12, 13));
    }

    #[test]
    fn the_tail_is_that_of_a_binomial() {
        // Two of three wrong, or all: 3 r^2 (1 - r) + r^3.
        let expected = 3.0 * 0.01 * 0.9 + 0.001;
        assert!((unreadable(3, 1, 0.1) / expected - 1.0).abs() < 1e-12);
        // Rare errors: n (n - 1) / 2 r^2.
        let expected = 4109.0 * 4108.0 / 2.0 * 1e-18;
        assert!((unreadable(4109, 1, 1e-9) / expected - 1.0).abs() < 1e-5);
        assert!((unreadable(100, 0, 0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_block_is_worn_out_where_its_survival_is_that_of_the_rating() {
        for correctable in [1, 4, 9] {
            let bits = 4096 + parity_bits(4096, correctable);
            let readable = 1.0 - unreadable(bits, correctable, SLC.worn_out_rate(correctable));
            let survival = pow(readable, 64.0);
            assert!((survival - BLOCK_SURVIVAL).abs() < 1e-9, "{correctable}: {survival}");
        }
    }

    /// FlashCache, CASES 2006, 2.1: more than 5,000,000 cycles with BCH codes, for flash of
    /// 100,000.
    #[test]
    fn four_bits_reach_the_erases_of_the_paper() {
        let gains = [1, 2, 4].map(|bits| SLC.endurance_gain(1, bits));
        assert_eq!(gains[0], 1.0);
        assert!((8.8..8.9).contains(&gains[1]), "{gains:?}");
        assert!((60.0..61.0).contains(&gains[2]) && gains[2] * 1e5 > 5e6, "{gains:?}");
        // Errors that grow with the square of the erases leave the root of it.
        let square = Codewords { exponent: 2.0, ..SLC };
        assert!((pow(square.endurance_gain(1, 4), 2.0) / gains[2] - 1.0).abs() < 1e-12);
    }
}
