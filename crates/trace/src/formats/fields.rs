//! Parses the fields of a line of text in one pass, without copies, and without allocation except
//! for errors.

use super::entry_error::EntryError;
use gordon_units::Ns;

/// Fields separated by commas; blanks around a field are ignored.
pub(super) const COMMA: u8 = b',';
/// Fields separated by any number of blanks or tabs.
pub(super) const BLANK: u8 = b' ';
/// Fields separated by tabs.
pub(super) const TAB: u8 = b'\t';
/// Fields separated by semicolons.
pub(super) const SEMICOLON: u8 = b';';
/// Fields separated by vertical bars.
pub(super) const BAR: u8 = b'|';

/// A cursor over the fields of a line.
pub(super) struct Fields<'a, const SEP: u8> {
    line: &'a [u8],
    at: usize,
}

impl<'a, const SEP: u8> Fields<'a, SEP> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// Whether a byte is ignored at the ends of a field.
    #[inline]
    const fn blank(byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && SEP != TAB)
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.line.get(self.at).is_some_and(|&byte| Self::blank(byte)) {
            self.at += 1;
        }
    }

    /// Whether all fields have been read.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.at >= self.line.len()
    }

    /// The rest of the line, including separators.
    pub fn rest(&mut self) -> &'a [u8] {
        self.skip_blanks();
        &self.line[self.at.min(self.line.len())..]
    }

    /// The next field; empty if there is none.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let start = self.at;
        self.reach_separator();
        let mut end = self.at;
        self.separator();
        while SEP != BLANK && end > start && Self::blank(self.line[end - 1]) {
            end -= 1;
        }
        &self.line[start..end]
    }

    /// Skips a field.
    #[inline]
    pub fn skip(&mut self) {
        self.skip_blanks();
        if self.line.get(self.at) == Some(&b'"') {
            self.text();
            return;
        }
        self.reach_separator();
        self.separator();
    }

    /// The next field according to the rules of CSV: without the quotes around it, between which
    /// separators are part of the text. Inlined like [`digits`](Self::digits).
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn text(&mut self) -> &'a [u8] {
        self.skip_blanks();
        match self.line.get(self.at) {
            Some(b'"') => self.quoted(),
            _ => self.word(),
        }
    }

    /// A field in quotes. If the closing quote is not at the end of a field, the quotes are part of
    /// the text.
    #[cold]
    fn quoted(&mut self) -> &'a [u8] {
        let first = self.at + 1;
        let mut end = first;
        while let Some(&byte) = self.line.get(end) {
            match (byte, self.line.get(end + 1)) {
                // Two quotes stand for one.
                (b'"', Some(b'"')) => end += 2,
                (b'"', _) => break,
                _ => end += 1,
            }
        }
        let mut after = Self { line: self.line, at: end + 1 };
        if end < self.line.len() && after.ends() {
            self.at = after.at;
            return &self.line[first..end];
        }
        self.word()
    }

    /// Moves to the next separator, or to the end of the line.
    #[inline]
    fn reach_separator(&mut self) {
        let rest = &self.line[self.at.min(self.line.len())..];
        self.at += rest.iter().position(|&byte| Self::separates(byte)).unwrap_or(rest.len());
    }

    #[inline]
    const fn separates(byte: u8) -> bool {
        if SEP == BLANK { Self::blank(byte) } else { byte == SEP }
    }

    /// Moves past the separator.
    #[inline]
    fn separator(&mut self) {
        if SEP != BLANK && self.at < self.line.len() {
            self.at += 1;
        }
    }

    /// Returns whether the field ends here, and moves past the separator if so.
    #[inline]
    fn ends(&mut self) -> bool {
        if SEP != BLANK {
            self.skip_blanks();
        }
        let ends = self.at >= self.line.len() || Self::separates(self.line[self.at]);
        if ends {
            self.separator();
        }
        ends
    }

    /// Reads up to 19 digits, which always fit. Returns the value and the number of digits.
    ///
    /// Inlined into the reader of each separator: a call for each number costs text with described
    /// columns 5 to 10 % of its rate (`formats_rate`).
    #[allow(clippy::inline_always)]
    #[inline(always)]
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
    fn bad(&mut self, start: usize, field: &'static str, expected: &'static str) -> EntryError {
        self.at = start;
        EntryError::field(field, self.word(), expected)
    }

    /// Reads a whole number.
    #[inline]
    pub fn number(&mut self, field: &'static str) -> Result<u64, EntryError> {
        self.skip_blanks();
        let start = self.at;
        let (value, digits) = self.digits();
        if digits > 0 && self.ends() {
            return Ok(value);
        }
        self.unusual_number(start, field, Notation::Decimal)
    }

    /// Reads a whole number. With [`Notation::Any`] it may be hexadecimal (`0x`), or end with a
    /// point and zeros, as programs write it that have only floating-point numbers.
    #[inline]
    pub fn amount(&mut self, field: &'static str, notation: Notation) -> Result<u64, EntryError> {
        self.skip_blanks();
        let start = self.at;
        let (value, digits) = self.digits();
        if digits > 0 && self.ends() {
            return Ok(value);
        }
        self.unusual_number(start, field, notation)
    }

    /// Reads a number with 20 digits, which may be too large, in quotes, or in another notation.
    #[cold]
    fn unusual_number(
        &mut self,
        start: usize,
        field: &'static str,
        notation: Notation,
    ) -> Result<u64, EntryError> {
        self.at = start;
        let word = self.text();
        let value = str::from_utf8(word).ok().and_then(|text| match notation {
            Notation::Decimal => decimal(text),
            Notation::Any => decimal(text)
                .or_else(|| hexadecimal(text))
                .or_else(|| decimal(text.trim_end_matches('0').strip_suffix('.')?)),
        });
        value.ok_or_else(|| EntryError::field(field, word, "a whole number below 2^64"))
    }

    /// Reads a whole number that fits in 32 bits. Inlined like [`digits`](Self::digits).
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn small(&mut self, field: &'static str) -> Result<u32, EntryError> {
        self.skip_blanks();
        let start = self.at;
        match self.number(field).map(u32::try_from) {
            Ok(Ok(value)) => Ok(value),
            _ => Err(self.bad(start, field, "a whole number below 2^32")),
        }
    }

    /// Reads a number of sectors of 512 bytes, and returns bytes.
    #[inline]
    pub fn sectors(&mut self, field: &'static str) -> Result<u64, EntryError> {
        self.skip_blanks();
        let start = self.at;
        let number = self.number(field)?;
        match number.checked_mul(512) {
            Some(bytes) => Ok(bytes),
            None => Err(self.bad(start, field, "a number of sectors below 2^55")),
        }
    }

    /// Reads a time in units of `unit`, which is at most a second. Of its decimals, nine are used.
    #[inline]
    pub fn time(&mut self, field: &'static str, unit: Ns) -> Result<u64, EntryError> {
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
        self.unusual_time(start, field, unit)
    }

    /// Reads a time in quotes, with more than 19 digits, or with an exponent, as floating-point
    /// numbers are sometimes written.
    #[cold]
    fn unusual_time(
        &mut self,
        start: usize,
        field: &'static str,
        unit: Ns,
    ) -> Result<u64, EntryError> {
        self.at = start;
        let quoted = self.line.get(start) == Some(&b'"');
        let word = self.text();
        if quoted && !word.starts_with(b"\"") {
            return Fields::<SEP>::new(word).time(field, unit);
        }
        if let Some(units) = str::from_utf8(word).ok().and_then(decimal) {
            let time = units.checked_mul(unit.0);
            return time.ok_or_else(|| EntryError::field(field, word, "a time below 584 years"));
        }
        let value = str::from_utf8(word).ok().and_then(|t| t.parse::<f64>().ok());
        // Times from 2^63 ns on are rejected.
        #[allow(clippy::cast_precision_loss)]
        let ns = value.map(|v| v * unit.0 as f64).filter(|ns| (0.0..9.2e18).contains(ns));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        ns.map(|ns| ns as u64)
            .ok_or_else(|| EntryError::field(field, word, "a time, zero or later"))
    }
}

/// Notation of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Decimal,
    Any,
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

/// Parses a text that contains only decimal digits.
fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
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
    fn numbers_of_any_length_end_at_any_byte() {
        let digits = "1844674407370955161";
        for len in 1..=digits.len() {
            for end in ["", ",", ",7", ",7,8,9,10,11,12"] {
                let text = format!("{}{end}", &digits[..len]);
                let mut f = Fields::<COMMA>::new(text.as_bytes());
                assert_eq!(f.number("x").ok(), digits[..len].parse().ok(), "{text}");
                assert_eq!(f.rest(), end.trim_start_matches(',').as_bytes());
            }
        }
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
    fn quotes_hold_separators() {
        let mut f = Fields::<COMMA>::new(br#""a,b" , "7","x""y",""z","",12,"open,5"#);
        assert_eq!((f.text(), f.number("x")), (&b"a,b"[..], Ok(7)));
        assert_eq!((f.text(), f.text(), f.text()), (&b"x\"\"y"[..], &b"\"\"z\""[..], &b""[..]));
        assert_eq!((f.number("x"), f.text(), f.text()), (Ok(12), &b"\"open"[..], &b"5"[..]));
        let mut f = Fields::<BLANK>::new(br#""a b" 3 "4.5" "c d"#);
        f.skip();
        assert_eq!((f.number("x"), f.time("t", Ns(1000))), (Ok(3), Ok(4500)));
        assert_eq!((f.text(), f.text()), (&b"\"c"[..], &b"d"[..]));
    }

    #[test]
    fn amounts_may_be_hexadecimal_or_end_with_zeros() {
        for text in ["0x1F", "8.0"] {
            let mut f = Fields::<COMMA>::new(text.as_bytes());
            assert!(f.amount("x", Notation::Decimal).is_err());
        }
        let mut f = Fields::<COMMA>::new(b"0x1F,0XfF,4096.0,8.,0x,1.5,0x+5,.0,-1");
        let all: [u64; 4] =
            std::array::from_fn(|_| f.amount("x", Notation::Any).unwrap_or(u64::MAX));
        assert_eq!(all, [31, 255, 4096, 8]);
        for _ in 0..5 {
            assert!(f.amount("x", Notation::Any).is_err());
        }
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
        assert_eq!(time("00001577808144360767123", 1), Ok(1_577_808_144_360_767_123));
        assert_eq!(time("\"1577808144360767123\"", 1), Ok(1_577_808_144_360_767_123));
        for text in ["-1", "", ".", "1.2.3", "1x", "nan", "inf", "99999999999999999999"] {
            assert!(time(text, 1_000_000_000).is_err(), "{text}");
        }
    }
}
