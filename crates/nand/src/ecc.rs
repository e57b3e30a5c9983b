//! The effect of the strength of an error-correcting code on the endurance of a block.
//!
//! A code that corrects `t` bits reads a codeword if at most `t` of its bits are wrong. Bits fail
//! independently at the raw bit error rate, which grows with a power of the number of erases
//! (`exponent`; 1 is linear growth, as Schroeder and others observed in the field, FAST 2016). A
//! block is worn out when the probability that all its codewords are readable falls to
//! [`BLOCK_SURVIVAL`]; with the code that the rating assumes, that happens at the rated number of
//! erases. A stronger code reaches that probability at a higher error rate, and thus after more
//! erases.
//!
//! Not covered: read disturb and retention errors, differences between blocks, and codes whose
//! failures do not depend on the number of wrong bits alone.

use crate::BLOCK_SURVIVAL;
use libm::{exp, expm1, log, log1p, pow};

/// The codewords of a block and the growth of their error rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codewords {
    /// Data bits of a codeword.
    pub data_bits: u32,
    /// Codewords in a block.
    pub in_block: u64,
    /// Exponent of the growth of the raw bit error rate with the number of erases.
    pub exponent: f64,
}

/// Parity bits of a binary BCH code that corrects `correctable` bits of a codeword with `data_bits`
/// of data: `m` for each corrected bit, in the smallest field of 2^m elements that numbers all bits
/// of the codeword.
pub fn parity_bits(data_bits: u32, correctable: u32) -> u32 {
    let fits = |m: &u32| u64::from(data_bits) + u64::from(m * correctable) < 1 << m;
    let m = (2..=24).find(fits).unwrap_or(24);
    m * correctable
}

impl Codewords {
    /// The raw bit error rate at which a block with a code of `correctable` bits is worn out.
    pub fn worn_out_rate(&self, correctable: u32) -> f64 {
        let bits = self.data_bits + parity_bits(self.data_bits, correctable);
        // The largest tolerable probability that one codeword is unreadable.
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

    /// Ratio of a block's endurance with a code of `correctable` bits to that with a code of
    /// `rated_correctable` bits.
    pub fn endurance_gain(&self, rated_correctable: u32, correctable: u32) -> f64 {
        if rated_correctable == correctable {
            return 1.0;
        }
        let rate = |bits| self.worn_out_rate(bits);
        pow(rate(correctable) / rate(rated_correctable), 1.0 / self.exponent)
    }
}

/// The probability that more than `correctable` of `bits` are wrong, if each is wrong with
/// probability `rate`. This is a binomial tail; for small rates the sum starts at its largest term.
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

    /// Codewords of 512 bytes, in a block of 32 KiB.
    const SLC: Codewords = Codewords { data_bits: 4096, in_block: 64, exponent: 1.0 };

    #[test]
    fn parity_matches_bch_codes() {
        // A field of 2^13 elements numbers 4,096 data bits and 13 parity bits for each corrected
        // bit.
        assert_eq!([1, 4, 9].map(|bits| parity_bits(4096, bits)), [13, 52, 117]);
        // 4,083 data bits and 12 parity bits are 4,095, the limit of a field of 2^12 elements.
        assert_eq!((parity_bits(4083, 1), parity_bits(4084, 1)), (12, 13));
    }

    #[test]
    fn the_tail_matches_the_binomial_distribution() {
        // Two or three of three bits are wrong: 3 r^2 (1 - r) + r^3.
        let expected = 3.0 * 0.01 * 0.9 + 0.001;
        assert!((unreadable(3, 1, 0.1) / expected - 1.0).abs() < 1e-12);
        // For rare errors the probability is n (n - 1) / 2 r^2.
        let expected = 4109.0 * 4108.0 / 2.0 * 1e-18;
        assert!((unreadable(4109, 1, 1e-9) / expected - 1.0).abs() < 1e-5);
        assert!((unreadable(100, 0, 0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_worn_out_rate_gives_the_survival_of_the_rating() {
        for correctable in [1, 4, 9] {
            let bits = 4096 + parity_bits(4096, correctable);
            let readable = 1.0 - unreadable(bits, correctable, SLC.worn_out_rate(correctable));
            let survival = pow(readable, 64.0);
            assert!((survival - BLOCK_SURVIVAL).abs() < 1e-9, "{correctable}: {survival}");
        }
    }

    /// FlashCache, CASES 2006, section 2.1: BCH codes extend flash rated for 100,000 cycles to more
    /// than 5,000,000.
    #[test]
    fn four_correctable_bits_reach_the_published_endurance() {
        let gains = [1, 2, 4].map(|bits| SLC.endurance_gain(1, bits));
        assert_eq!(gains[0], 1.0);
        assert!((8.8..8.9).contains(&gains[1]), "{gains:?}");
        assert!((60.0..61.0).contains(&gains[2]) && gains[2] * 1e5 > 5e6, "{gains:?}");
        // If errors grow with the square of the erases, the gain is the square root.
        let square = Codewords { exponent: 2.0, ..SLC };
        assert!((pow(square.endurance_gain(1, 4), 2.0) / gains[2] - 1.0).abs() < 1e-12);
    }
}
