//! Parses text with a unit; whole quantities are parsed exactly.

use core::fmt;

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text does not start with a decimal number.
    Number,
    /// The text after the number is not a known unit; holds the list of known units.
    Unit(&'static str),
    /// The value is not a whole number of the base unit, such as half a byte; holds the unit's
    /// name.
    Fraction(&'static str),
    /// The value does not fit.
    Range,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("expected a number and a unit, such as 64KiB, 25us or 19W"),
            Self::Unit(known) => write!(f, "unknown unit; use one of {known}"),
            Self::Fraction(base) => write!(f, "not a whole number of {base}"),
            Self::Range => f.write_str("too large"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Splits `12.5 GB` into its number and its unit.
fn split(text: &str) -> Result<(&str, &str), ParseError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || number.len() - digits > 1 {
        return Err(ParseError::Number);
    }
    Ok((number, unit.trim_start()))
}

/// Parses `text` as a whole number of base units; `units` are (name, number of base units).
pub(crate) fn whole(
    text: &str,
    units: &[(&str, u64)],
    known: &'static str,
    base: &'static str,
) -> Result<u64, ParseError> {
    let (number, unit) = split(text)?;
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or(ParseError::Unit(known))?.1;
    // number = mantissa / divisor, so base units = mantissa * scale / divisor.
    let (mut mantissa, mut divisor, mut seen_point) = (0u128, 1u128, false);
    for c in number.bytes() {
        if c == b'.' {
            seen_point = true;
            continue;
        }
        mantissa = mantissa
            .checked_mul(10)
            .and_then(|m| m.checked_add(u128::from(c - b'0')))
            .ok_or(ParseError::Range)?;
        if seen_point {
            divisor = divisor.checked_mul(10).ok_or(ParseError::Range)?;
        }
    }
    let product = mantissa.checked_mul(u128::from(scale)).ok_or(ParseError::Range)?;
    if product % divisor != 0 {
        return Err(ParseError::Fraction(base));
    }
    u64::try_from(product / divisor).map_err(|_| ParseError::Range)
}

/// Parses `text` as a float in base units; `units` are (name, number of base units).
pub(crate) fn float(
    text: &str,
    units: &[(&str, f64)],
    known: &'static str,
) -> Result<f64, ParseError> {
    let (number, unit) = split(text)?;
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or(ParseError::Unit(known))?.1;
    let value: f64 = number.parse().map_err(|_| ParseError::Number)?;
    // Dividing by a whole power of ten is exact; multiplying by its inverse is not.
    Ok(if scale < 1.0 { value / whole_inverse(scale) } else { value * scale })
}

/// The whole power of ten whose inverse is `scale` (1e-3, 1e-6, ...).
fn whole_inverse(scale: f64) -> f64 {
    let inverse = 1.0 / scale;
    // Rounds to the nearest integer; the inverses used here are at most 1e9.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    {
        (inverse + 0.5) as u64 as f64
    }
}
