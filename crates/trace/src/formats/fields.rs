//! Numbers out of a line of text, without copies: one pass, no allocation but in errors.

use super::error::Bad;
use gordon_units::Ns;

/// Fields apart by commas; blanks around them do not count.
pub(super) const COMMA: u8 = b',';
/// Fields apart by blanks or tabs, any number of them.
pub(super) const BLANK: u8 = b' ';
/// Fields apart by tabs.
pub(super) const TAB: u8 = b'\t';
/// Fields apart by semicolons.
pub(super) const SEMICOLON: u8 = b';';
/// Fields apart by vertical bars.
pub(super) const BAR: u8 = b'|';

/// Walks over the fields of a line.
pub(super) struct Fields<'a, const SEP: u8> {
    line: &'a [u8],
    at: usize,
}

impl<'a, const SEP: u8> Fields<'a, SEP> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// A byte that does not count at the ends of a field.
    #[inline]
    const fn blank(byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && SEP != TAB)
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.at < self.line.len() && Self::blank(self.line[self.at]) {
            self.at += 1;
        }
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.at >= self.line.len()
    }

    /// What is left, fields and separators.
    pub fn rest(&mut self) -> &'a [u8] {
        self.skip_blanks();
        &self.line[self.at.min(self.line.len())..]
    }

    /// The next field, empty where there is none.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let start = self.at;
        while self.at < self.line.len() && !self.separates(self.line[self.at]) {
            self.at += 1;
        }
        let mut end = self.at;
        self.separator();
        while SEP != BLANK && end > start && Self::blank(self.line[end - 1]) {
            end -= 1;
        }
        &self.line[start..end]
    }

    #[inline]
    const fn separates(&self, byte: u8) -> bool {
        if SEP == BLANK { Self::blank(byte) } else { byte == SEP }
    }

    /// Steps over the separator.
    #[inline]
    fn separator(&mut self) {
        if SEP != BLANK && self.at < self.line.len() {
            self.at += 1;
        }
    }

    /// After a number: whether the field ends here; steps over the separator if so.
    #[inline]
    fn ends(&mut self) -> bool {
        if SEP != BLANK {
            self.skip_blanks();
        }
        let ends = self.at >= self.line.len() || self.separates(self.line[self.at]);
        if ends {
            self.separator();
        }
        ends
    }

    /// Up to 19 digits, which always fit; the number of them.
    #[inline]
    fn digits(&mut self) -> (u64, usize) {
        let start = self.at;
        let mut value = 0_u64;
        while self.at < self.line.len() && self.at - start < 19 {
            let digit = self.line[self.at].wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        (value, self.at - start)
    }

    #[cold]
    fn bad(&mut self, start: usize, field: &'static str, expected: &'static str) -> Bad {
        self.at = start;
        Bad::field(field, self.word(), expected)
    }

    /// A whole number.
    #[inline]
    pub fn number(&mut self, field: &'static str) -> Result<u64, Bad> {
        self.skip_blanks();
        let start = self.at;
        let (value, digits) = self.digits();
        if digits > 0 && self.ends() {
            return Ok(value);
        }
        // 20 digits are rare, and may be too many.
        self.at = start;
        let word = self.word();
        let text = str::from_utf8(word).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
        text.and_then(|t| t.parse().ok())
            .ok_or_else(|| Bad::field(field, word, "a whole number below 2^64"))
    }

    /// A whole number that fits in 32 bits.
    #[inline]
    pub fn small(&mut self, field: &'static str) -> Result<u32, Bad> {
        self.skip_blanks();
        let start = self.at;
        match self.number(field).map(u32::try_from) {
            Ok(Ok(value)) => Ok(value),
            _ => Err(self.bad(start, field, "a whole number below 2^32")),
        }
    }

    /// A whole number of sectors of 512 bytes, in bytes.
    #[inline]
    pub fn sectors(&mut self, field: &'static str) -> Result<u64, Bad> {
        self.skip_blanks();
        let start = self.at;
        let number = self.number(field)?;
        match number.checked_mul(512) {
            Some(bytes) => Ok(bytes),
            None => Err(self.bad(start, field, "a number of sectors below 2^55")),
        }
    }

    /// A time of at most nine decimals (more are dropped) in units of `unit`, which is at most a
    /// second.
    #[inline]
    pub fn time(&mut self, field: &'static str, unit: Ns) -> Result<u64, Bad> {
        const SCALE: [u64; 10] =
            [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
        self.skip_blanks();
        let start = self.at;
        let (whole, digits) = self.digits();
        let (mut part, mut decimals) = (0, 0);
        if self.at < self.line.len() && self.line[self.at] == b'.' {
            self.at += 1;
            let first = self.at;
            (part, decimals) = self.digits();
            while decimals > 9 {
                part /= 10;
                decimals -= 1;
            }
            while self.at < self.line.len() && self.line[self.at].is_ascii_digit() {
                self.at += 1;
            }
            debug_assert!(first <= self.at);
        }
        if digits + decimals > 0 && self.ends() {
            let whole = whole.checked_mul(unit.0);
            // part < 10^9 and unit <= 10^9.
            if let Some(ns) = whole.and_then(|w| w.checked_add(part * unit.0 / SCALE[decimals])) {
                return Ok(ns);
            }
            return Err(self.bad(start, field, "a time below 584 years"));
        }
        self.scientific(start, field, unit)
    }

    /// A time with an exponent, as floating-point numbers are sometimes written.
    #[cold]
    fn scientific(&mut self, start: usize, field: &'static str, unit: Ns) -> Result<u64, Bad> {
        self.at = start;
        let word = self.word();
        let value = str::from_utf8(word).ok().and_then(|t| t.parse::<f64>().ok());
        // 2^63 ns; what is beyond is not a time.
        #[allow(clippy::cast_precision_loss)]
        let ns = value.map(|v| v * unit.0 as f64).filter(|ns| (0.0..9.2e18).contains(ns));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        ns.map(|ns| ns as u64).ok_or_else(|| Bad::field(field, word, "a time, zero or later"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut f = Fields::<BLANK>::new(b" 12\t0 18446744073709551615 18446744073709551616 1x");
        assert_eq!(f.number("a"), Ok(12));
        assert_eq!(f.number("a"), Ok(0));
        assert_eq!(f.number("a"), Ok(u64::MAX));
        let text = f.number("a").unwrap_err().to_string();
        assert_eq!(text, "a: expected a whole number below 2^64, found `18446744073709551616`");
        assert!(f.number("a").is_err());
        assert!(f.is_done());
        assert_eq!(
            f.number("b").unwrap_err().to_string(),
            "b: expected a whole number below 2^64, found nothing"
        );
    }

    #[test]
    fn commas() {
        let mut f = Fields::<COMMA>::new(b"1, 2 ,,a b , 4294967296");
        assert_eq!((f.number("x"), f.number("x")), (Ok(1), Ok(2)));
        assert!(f.number("x").is_err());
        assert_eq!(f.word(), b"a b");
        assert!(f.small("x").unwrap_err().to_string().contains("below 2^32"));
        assert_eq!(f.word(), b"");
    }

    #[test]
    fn times() {
        let time = |text: &str, unit| Fields::<BLANK>::new(text.as_bytes()).time("t", Ns(unit));
        assert_eq!(time("0.000039259", 1_000_000_000), Ok(39_259));
        assert_eq!(time("12", 1_000), Ok(12_000));
        assert_eq!(time("15362.00000", 1_000), Ok(15_362_000));
        assert_eq!(time(".5", 1_000_000_000), Ok(500_000_000));
        assert_eq!(time("7.", 1), Ok(7));
        assert_eq!(time("1.0000000009999999999999999999999", 1_000_000_000), Ok(1_000_000_000));
        assert_eq!(time("1.25e-05", 1_000_000_000), Ok(12_500));
        for text in ["-1", "", ".", "1.2.3", "1x", "nan", "inf", "99999999999999999999"] {
            assert!(time(text, 1_000_000_000).is_err(), "{text}");
        }
    }
}
