//! Physical quantities: power, energy, frequency, voltage, data rate.

use crate::parse::{self, ParseError};
use crate::sums::sums;
use crate::whole::Ns;
use core::fmt;
use core::ops::{Div, Mul};
use core::str::FromStr;

macro_rules! float {
    ($(#[$doc:meta])* $name:ident, $units:expr, $known:literal) => {
        float!($(#[$doc])* $name, $units, $known, $units);
    };
    ($(#[$doc:meta])* $name:ident, $units:expr, $known:literal, $shown:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        #[repr(transparent)]
        pub struct $name(pub f64);

        sums!($name);

        impl Mul<f64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, times: f64) -> Self {
                Self(self.0 * times)
            }
        }

        /// The ratio of two quantities of the same type is a plain number.
        impl Div for $name {
            type Output = f64;
            #[inline]
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse::float(text, $units, $known).map(Self)
            }
        }

        impl fmt::Display for $name {
            /// Prints in the unit with the largest prefix for which the value is at least one.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                prefixed(self.0, $shown, f)
            }
        }
    };
}

/// Prints `value` in the largest of `units` (sorted in ascending order) that does not exceed it. A
/// given precision is kept: `{:.1}` of 2.4e9 Hz is `2.4GHz`.
fn prefixed(value: f64, units: &[(&str, f64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Rounding errors leave values such as 0.999999999999 W; the slack prints 1 W, not 1000 mW.
    let fits = |scale: f64| value >= scale * (1.0 - 1e-9);
    let base = units.iter().position(|u| u.1 >= 1.0).unwrap_or(0);
    let at = match units.iter().rposition(|u| fits(u.1)) {
        Some(at) => at,
        None if value > 0.0 => 0,
        None => base,
    };
    let (unit, scale) = units[at];
    let shown = if scale < 1.0 { value * (1.0 / scale) } else { value / scale };
    match f.precision() {
        Some(digits) => write!(f, "{shown:.digits$}{unit}"),
        None => write!(f, "{shown}{unit}"),
    }
}

float!(
    /// Power.
    Watts,
    &[
        ("nW", 1e-9),
        ("uW", 1e-6),
        ("mW", 1e-3),
        ("W", 1.0),
        ("kW", 1e3),
        ("MW", 1e6),
        ("GW", 1e9),
    ],
    "nW, uW, mW, W, kW, MW, GW",
    &[("uW", 1e-6), ("mW", 1e-3), ("W", 1.0), ("kW", 1e3), ("MW", 1e6)]
);
float!(
    /// Energy.
    Joules,
    &[("uJ", 1e-6), ("mJ", 1e-3), ("J", 1.0), ("kJ", 1e3), ("MJ", 1e6)],
    "uJ, mJ, J, kJ, MJ"
);
float!(
    /// Frequency. For a bus, transfers a second on each of its lines.
    Hertz,
    &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
    "Hz, kHz, MHz, GHz"
);
float!(
    /// Voltage.
    Volts,
    &[("mV", 1e-3), ("V", 1.0)],
    "mV, V"
);
float!(
    /// Data rate in bytes a second. Links are sold in bits a second, written with a small b: `10Gb`
    /// and `1.25GB` are equal.
    DataRate,
    &[
        ("kb", 1e3 / 8.0),
        ("Mb", 1e6 / 8.0),
        ("Gb", 1e9 / 8.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    "bits a second (kb, Mb, Gb) or bytes a second (B, kB, KiB, MB, MiB, GB, GiB)",
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)]
);

impl Mul<Ns> for Watts {
    type Output = Joules;
    #[inline]
    fn mul(self, time: Ns) -> Joules {
        Joules(self.0 * time.as_secs())
    }
}

impl Mul<Watts> for Ns {
    type Output = Joules;
    #[inline]
    fn mul(self, power: Watts) -> Joules {
        power * self
    }
}

impl Div<Ns> for Joules {
    type Output = Watts;
    /// Average power.
    #[inline]
    fn div(self, time: Ns) -> Watts {
        Watts(self.0 / time.as_secs())
    }
}

impl Joules {
    /// Energy of `power` drawn for `secs` seconds.
    #[inline]
    pub fn of(power: Watts, secs: f64) -> Self {
        Self(power.0 * secs)
    }
}
