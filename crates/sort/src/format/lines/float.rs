//! Floating-point numbers as `sort -g` reads them with C's `strtold`, which on x86-64 has 64 bits
//! of precision and 15 bits of exponent. They are rounded as there, so that the same texts are
//! equal.

use std::cmp::Ordering;

/// Bits of precision.
const PRECISION: u32 = 64;
/// Biased exponent of numbers from 1 to below 2.
const BIAS: i64 = 16383;
/// Biased exponent of infinity.
const INFINITE: i64 = 32767;
/// Sign bit of non-negative numbers, which orders them above negative ones.
const SIGN: u128 = 1 << 79;
/// Number of digits that are read exactly. A number halfway between two floats has fewer digits, so
/// that of further digits it matters only whether there are any.
const DIGITS: usize = 12_000;
/// Powers of five below 2^64.
const FIVES: [u64; 28] = {
    let mut powers = [1; 28];
    let mut at = 1;
    while at < 28 {
        powers[at] = powers[at - 1] * 5;
        at += 1;
    }
    powers
};

/// The number at the start of a text, as 80 bits that preserve the order: 0 if there is no number,
/// then two kinds of NaN, then numbers from minus infinity on.
pub fn order(text: &[u8]) -> u128 {
    let blanks = text.iter().position(|byte| !matches!(byte, b' ' | 9..=13)).unwrap_or(text.len());
    let text = &text[blanks..];
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let starts = |word: &[u8]| text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let size = match text {
        [b'0', b'x' | b'X', rest @ ..] => hexadecimal(rest),
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => decimal(text),
        _ if starts(b"inf") => pack(INFINITE, 1 << 63),
        _ if starts(b"nan") => return if is_negative { 1 } else { 2 },
        _ => return 0,
    };
    match is_negative {
        true if size > 0 => SIGN - 1 - size,
        _ => SIGN | size,
    }
}

fn pack(exponent: i64, digits: u64) -> u128 {
    // At most INFINITE.
    u128::from(exponent.unsigned_abs()) << PRECISION | u128::from(digits)
}

/// The float nearest to `value` x 2^`power`, or to slightly more if `more`; ties go to even.
fn round(value: u128, power: i64, more: bool) -> u128 {
    if value == 0 {
        return 0;
    }
    let zeros = value.leading_zeros();
    let value = value << zeros;
    let exponent = power.saturating_add(127 - i64::from(zeros) + BIAS);
    if exponent >= INFINITE {
        return pack(INFINITE, 1 << 63);
    }
    // Subnormal numbers have fewer bits.
    let drop = i64::from(PRECISION) + (1 - exponent).max(0);
    if drop > 128 {
        return 0;
    }
    let (kept, rest) = match drop {
        128 => (0, value),
        _ => (value >> drop, value << (128 - drop)),
    };
    let half = 1 << 127;
    let up = match rest.cmp(&half) {
        Ordering::Greater => true,
        Ordering::Equal => more || kept & 1 == 1,
        Ordering::Less => false,
    };
    // The sum is below 2^64 + 1.
    let kept = kept + u128::from(up);
    if kept >> PRECISION != 0 {
        let exponent = exponent.max(1) + 1;
        return if exponent >= INFINITE {
            pack(INFINITE, 1 << 63)
        } else {
            pack(exponent, 1 << 63)
        };
    }
    let is_full = kept >> (PRECISION - 1) != 0;
    pack(if is_full { exponent.max(1) } else { 0 }, kept as u64)
}

/// The exponent after `e` or `p`, 0 if there is none.
fn power(text: &[u8], letter: u8) -> i64 {
    let [first, rest @ ..] = text else { return 0 };
    if !first.eq_ignore_ascii_case(&letter) {
        return 0;
    }
    let (is_negative, digits) = match rest {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, rest),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    // The limit exceeds any exponent that the digits of a line could compensate.
    let value = value.min(1 << 60);
    if is_negative { -value } else { value }
}

/// A hexadecimal number, after its `0x`.
fn hexadecimal(text: &[u8]) -> u128 {
    let (mut value, mut scale, mut more) = (0u128, 0i64, false);
    let (mut point, mut any) = (false, false);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        match char::from(*byte).to_digit(16) {
            Some(digit) if value >> 124 == 0 => {
                value = value << 4 | u128::from(digit);
                scale -= if point { 4 } else { 0 };
                any = true;
            }
            Some(digit) => {
                more |= digit != 0;
                scale += if point { 0 } else { 4 };
            }
            None if *byte == b'.' && !point => point = true,
            None => break,
        }
        rest = after;
    }
    // Without digits, the number is the zero before the `x`.
    if any { round(value, scale + power(rest, b'p'), more) } else { 0 }
}

fn decimal(text: &[u8]) -> u128 {
    let end =
        |text: &[u8]| text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end(text));
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => rest.split_at(end(rest)),
        _ => (&rest[..0], rest),
    };
    let zeros = |digits: &[u8]| digits.iter().take_while(|&&digit| digit == b'0').count();
    let whole = &whole[zeros(whole)..];
    let last = fraction.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    let fraction = &fraction[..last];
    // The number is `digits` x 10^`scale`.
    let scale = power(rest, b'e') - fraction.len() as i64;
    let fraction = if whole.is_empty() { &fraction[zeros(fraction)..] } else { fraction };
    let digits = || whole.iter().chain(fraction).map(|digit| u32::from(digit - b'0'));
    let count = whole.len() + fraction.len();
    if count <= 19 && scale.unsigned_abs() < FIVES.len() as u64 {
        let value = digits().fold(0, |value, digit| value * 10 + u64::from(digit));
        let five = u128::from(FIVES[scale.unsigned_abs() as usize]);
        if scale >= 0 {
            return round(u128::from(value) * five, scale, false);
        }
        // The quotient has at least 64 bits, and the remainder shows whether the exact value is
        // larger.
        let zeros = u128::from(value).leading_zeros().min(127);
        let value = u128::from(value) << zeros;
        return round(value / five, scale - i64::from(zeros), value % five != 0);
    }
    big(digits(), count, scale)
}

/// The decimal number for any number of digits.
fn big(mut digits: impl Iterator<Item = u32>, count: usize, mut scale: i64) -> u128 {
    // The largest number is 1.2 x 10^4932, the smallest 3.6 x 10^-4951.
    let size = scale.saturating_add(count as i64);
    if count == 0 || size < -4960 {
        return 0;
    }
    if size > 4940 {
        return pack(INFINITE, 1 << 63);
    }
    let mut value = Big::default();
    for digit in digits.by_ref().take(DIGITS) {
        value.multiply(10, digit);
    }
    if count > DIGITS {
        value.multiply(10, u32::from(digits.any(|digit| digit != 0)));
        scale += (count - DIGITS - 1) as i64;
    }
    if scale >= 0 {
        value.power_of_ten(scale);
        let (top, power, more) = value.top();
        return round(top, power, more);
    }
    let mut divisor = Big(vec![1]);
    divisor.power_of_ten(-scale);
    // A quotient of 66 or 67 bits; the last bit represents all further ones.
    let shift = divisor.bits() as i64 + 66 - value.bits() as i64;
    if shift > 0 {
        value.shift(shift as usize)
    } else {
        divisor.shift(-shift as usize)
    }
    divisor.shift(67);
    let mut quotient = 0u128;
    for _ in 0..=67 {
        quotient <<= 1;
        if value.compare(&divisor).is_ge() {
            value.subtract(&divisor);
            quotient |= 1;
        }
        divisor.halve();
    }
    round(quotient, -shift, !value.is_zero())
}

/// An integer of any length, its lowest 32 bits first.
#[derive(Default)]
struct Big(Vec<u32>);

impl Big {
    fn multiply(&mut self, by: u32, add: u32) {
        let mut carry = u64::from(add);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(by);
            // The low half.
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn power_of_ten(&mut self, mut power: i64) {
        while power > 0 {
            let some = power.min(9);
            self.multiply(10u32.pow(some as u32), 0);
            power -= some;
        }
    }

    fn bits(&self) -> usize {
        self.0.last().map_or(0, |top| self.0.len() * 32 - top.leading_zeros() as usize)
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn shift(&mut self, bits: usize) {
        self.multiply(1 << (bits % 32), 0);
        self.0.splice(0..0, std::iter::repeat_n(0, bits / 32));
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for word in self.0.iter_mut().rev() {
            (*word, carry) = (*word >> 1 | carry << 31, *word & 1);
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Subtracts `other`, which must not be larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (once, less) = word.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (twice, lesser) = once.overflowing_sub(u32::from(borrow));
            (*word, borrow) = (twice, less || lesser);
        }
        self.trim();
    }

    /// The top 128 bits, the power of two with which to multiply them, and whether there are lower
    /// bits.
    fn top(&self) -> (u128, i64, bool) {
        let low = self.0.len().saturating_sub(4);
        let top = self.0[low..].iter().rev().fold(0, |top, &word| top << 32 | u128::from(word));
        (top, low as i64 * 32, self.0[..low].iter().any(|&word| word != 0))
    }
}
