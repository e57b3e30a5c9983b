//! Exact quantities: bytes and nanoseconds.

use crate::parse::{self, ParseError};
use crate::sums::sums;
use core::fmt;
use core::ops::{Div, Mul, SubAssign};
use core::str::FromStr;

macro_rules! whole {
    ($(#[$doc:meta])* $name:ident, $base:literal, $units:ident, $known:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The quantity zero.
            pub const ZERO: Self = Self(0);
            /// The largest quantity that the type can represent.
            pub const MAX: Self = Self(u64::MAX);

            /// The difference, or zero if `other` is larger.
            #[inline]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        sums!($name);

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }

        impl Div<u64> for $name {
            type Output = Self;
            #[inline]
            fn div(self, parts: u64) -> Self {
                Self(self.0 / parts)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse::whole(text, $units, $known, $base).map(Self)
            }
        }

        impl fmt::Display for $name {
            /// The shortest text that parses back to the same value.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                shortest(self.0, $units).fmt(f)
            }
        }
    };
}

const BYTES: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("kB", 1_000),
    ("", 1),
    // A letter alone is a power of two, as for fio, dd and qemu-img.
    ("k", 1 << 10),
    ("K", 1 << 10),
    ("m", 1 << 20),
    ("M", 1 << 20),
    ("g", 1 << 30),
    ("G", 1 << 30),
    ("t", 1 << 40),
    ("T", 1 << 40),
    ("p", 1 << 50),
    ("P", 1 << 50),
];

const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

whole!(
    /// A number of bytes. `64KiB` and `64k` are 65,536 bytes, `64KB` and `64kB` are 64,000; a
    /// number without a unit counts bytes.
    Bytes,
    "bytes",
    BYTES,
    "KiB, MiB, GiB, TiB, PiB, or for short k, M, G, T, P; B, kB, MB, GB, TB, PB"
);

whole!(
    /// A duration or a point in time, in whole nanoseconds; the range is 584 years.
    Ns, "nanoseconds", TIMES, "ns, us, ms, s, min, h, d"
);

/// The units with binary prefixes.
const BINARY_BYTES: &[(&str, u64)] = BYTES.split_at(6).0;

/// A quantity rounded for a message. It is printed exactly if that takes at most four digits, else
/// with three significant digits in the largest unit in which the value is at least one. The text
/// does not parse back to the same value.
#[derive(Clone, Copy, Debug)]
pub struct HumanSize {
    value: u64,
    exact: Shortest,
    units: &'static [(&'static str, u64)],
}

impl Bytes {
    /// The quantity rounded for a message.
    pub fn human(self) -> HumanSize {
        HumanSize { value: self.0, exact: shortest(self.0, BYTES), units: BINARY_BYTES }
    }
}

impl Ns {
    /// The duration rounded for a message.
    pub fn human(self) -> HumanSize {
        HumanSize { value: self.0, exact: shortest(self.0, TIMES), units: TIMES }
    }
}

impl fmt::Display for HumanSize {
    #[allow(clippy::cast_precision_loss)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.exact.len() - u32::from(self.exact.thousandths > 0);
        if figures <= 4 {
            return self.exact.fmt(f);
        }
        let largest = self.units.iter().rev().find(|(_, scale)| *scale <= self.value);
        let (unit, scale) = largest.copied().unwrap_or(self.units[0]);
        let shown = self.value as f64 / scale as f64;
        let decimals = if shown < 9.995 {
            2
        } else if shown < 99.95 {
            1
        } else {
            0
        };
        write!(f, "{shown:.decimals$}{unit}")
    }
}

impl Ns {
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);

    /// The duration in seconds, for ratios and reports.
    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The nearest whole nanosecond to `secs` seconds. Negative values and NaN give zero.
    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_secs(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }
}

impl Bytes {
    /// The time that a transfer of these bytes takes at `rate` bytes a second, rounded up to a
    /// nanosecond.
    ///
    /// # Panics
    /// Panics if `rate` is zero or the time does not fit.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn time_at(self, rate: Bytes) -> Ns {
        if let Some(scaled) = self.0.checked_mul(1_000_000_000) {
            return Ns(scaled.div_ceil(rate.0));
        }
        let ns = (u128::from(self.0) * 1_000_000_000).div_ceil(u128::from(rate.0));
        assert!(ns <= u128::from(u64::MAX), "{self} at {rate}/s does not fit in 584 years");
        Ns(ns as u64)
    }
}

/// A value as a whole number of thousandths of a unit.
#[derive(Clone, Copy, Debug)]
struct Shortest {
    whole: u64,
    thousandths: u64,
    unit: &'static str,
}

/// Picks the unit with the fewest digits among those that show `value` exactly with at most three
/// decimals; the base unit always does. Ties go to the unit listed first.
fn shortest(value: u64, units: &'static [(&'static str, u64)]) -> Shortest {
    let mut best = Shortest { whole: value, thousandths: 0, unit: units[0].0 };
    let mut best_len = best.len();
    for &(unit, scale) in &units[1..] {
        let scaled = u128::from(value) * 1000;
        if unit.is_empty() || scale > value || !scaled.is_multiple_of(u128::from(scale)) {
            continue;
        }
        let t = scaled / u128::from(scale);
        // `t / 1000 <= value`, so the cast cannot truncate.
        #[allow(clippy::cast_possible_truncation)]
        let shown = Shortest { whole: (t / 1000) as u64, thousandths: (t % 1000) as u64, unit };
        if shown.len() < best_len {
            best_len = shown.len();
            best = shown;
        }
    }
    best
}

impl Shortest {
    /// Number of digits that `fmt` prints, including the decimal point, without the unit.
    fn len(&self) -> u32 {
        let decimals = match self.thousandths {
            0 => 0,
            t if t % 100 == 0 => 2,
            t if t % 10 == 0 => 3,
            _ => 4,
        };
        self.whole.checked_ilog10().unwrap_or(0) + 1 + decimals
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, unit) = (self.whole, self.unit);
        match self.thousandths {
            0 => write!(f, "{whole}{unit}"),
            t if t % 100 == 0 => write!(f, "{whole}.{}{unit}", t / 100),
            t if t % 10 == 0 => write!(f, "{whole}.{:02}{unit}", t / 10),
            t => write!(f, "{whole}.{t:03}{unit}"),
        }
    }
}
