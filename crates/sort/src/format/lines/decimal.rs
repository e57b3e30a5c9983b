//! Decimal numbers of any length, as `sort -n` reads them, and with unit suffixes, as `sort -h`
//! does.

use super::fields::skip_blanks;
use std::cmp::Ordering;

/// The number at the start of a text; zero if there is none.
#[derive(Clone, Copy, Debug)]
pub struct Decimal<'a> {
    is_negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'a [u8],
    /// Digits after the point, without trailing zeros.
    fraction: &'a [u8],
    /// The byte after the number.
    after: Option<u8>,
}

/// Powers of ten below 2^64.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Bits of a prefix that show whether it contains the whole number.
const MORE_BITS: u32 = 4;
const MORE: u128 = 1;

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

impl<'a> Decimal<'a> {
    /// Reads a number: blanks, a minus sign, digits, a point, digits; each may be missing.
    #[inline]
    pub fn read(text: &'a [u8]) -> Self {
        let text = skip_blanks(text);
        let (is_negative, text) = match text.strip_prefix(b"-") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (whole, mut rest) = digits(text);
        let mut fraction = &rest[..0];
        if let Some(behind) = rest.strip_prefix(b".") {
            (fraction, rest) = digits(behind);
        }
        let zeros = whole.iter().position(|&digit| digit != b'0').unwrap_or(whole.len());
        let last = fraction.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
        let (whole, fraction) = (&whole[zeros..], &fraction[..last]);
        // There is no negative zero.
        let is_negative = is_negative && !(whole.is_empty() && fraction.is_empty());
        Self { is_negative, whole, fraction, after: rest.first().copied() }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// Compares the numbers.
    pub fn compare(&self, other: &Self) -> Ordering {
        let size = |a: &Self, b: &Self| {
            let whole = a.whole.len().cmp(&b.whole.len()).then_with(|| a.whole.cmp(b.whole));
            whole.then_with(|| a.fraction.cmp(b.fraction))
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => size(self, other),
            (true, true) => size(other, self),
            (a, b) => b.cmp(&a),
        }
    }

    /// An order-preserving prefix of 1 + `exponent` + `bits` + 4 bits: the sign, the number of
    /// digits before the point, the first `first` digits in `bits` bits, and whether there are
    /// more.
    fn prefix(&self, exponent: u32, first: usize, bits: u32) -> u128 {
        let sign = 1u128 << (exponent + bits + MORE_BITS);
        if self.is_zero() {
            return sign;
        }
        let zeros = match self.whole {
            [] => self.fraction.iter().position(|&digit| digit != b'0').unwrap_or(0),
            _ => 0,
        };
        let fraction = &self.fraction[zeros..];
        let bias = 1i64 << (exponent - 1);
        let power = bias + self.whole.len() as i64 - zeros as i64;
        let most = 2 * bias - 1;
        let size = if (1..most).contains(&power) {
            let whole = &self.whole[..self.whole.len().min(first)];
            let behind = &fraction[..fraction.len().min(first - whole.len())];
            let taken = whole.len() + behind.len();
            let value = whole.iter().chain(behind);
            let value = value.fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
            let value = u128::from(value * POWERS[first - taken]);
            let more = u128::from(taken < self.whole.len() + fraction.len());
            (power as u128) << (bits + MORE_BITS) | value << MORE_BITS | more
        } else {
            (power.clamp(0, most) as u128) << (bits + MORE_BITS) | MORE
        };
        if self.is_negative { sign - 1 - size } else { sign | size }
    }

    /// A prefix of 80 bits with the first 18 digits.
    #[inline]
    pub fn plain(&self) -> u128 {
        self.prefix(15, 18, 60)
    }

    /// A prefix of 80 bits with the unit and the first 17 digits.
    #[inline]
    pub fn human(&self, unit: i8) -> u128 {
        // The unit is between -10 and 10.
        let unit = u128::from((unit + 10).unsigned_abs());
        unit << 74 | self.prefix(12, 17, 57)
    }

    /// Whether this prefix contains the whole number.
    pub fn is_all(prefix: u128) -> bool {
        // For a negative number all bits are inverted.
        matches!(prefix & ((1 << MORE_BITS) - 1), 0 | 0xF)
    }

    /// The power of 1,000 of the unit suffix, negative for negative numbers. As in GNU sort,
    /// suffixes are compared before values: 2000K is less than 1M.
    #[inline]
    pub fn unit(&self, fold: bool) -> i8 {
        if self.is_zero() {
            return 0;
        }
        let letter = self.after.map(|byte| if fold { byte.to_ascii_uppercase() } else { byte });
        let unit = match letter {
            Some(b'K' | b'k') => 1,
            Some(b'M') => 2,
            Some(b'G') => 3,
            Some(b'T') => 4,
            Some(b'P') => 5,
            Some(b'E') => 6,
            Some(b'Z') => 7,
            Some(b'Y') => 8,
            Some(b'R') => 9,
            Some(b'Q') => 10,
            _ => 0,
        };
        if self.is_negative { -unit } else { unit }
    }
}
