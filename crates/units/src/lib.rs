//! Quantities as types, with only the arithmetic that means something.
//!
//! Whole quantities ([`Ns`], [`Bytes`]) are integers and exact; physical ones ([`Watts`],
//! [`Joules`], [`Hertz`], [`Volts`]) are floats. Each parses from and prints as text that carries
//! its unit: `64KiB`, `1.5GB`, `25us`, `2.4GHz`, `19W`. Decimal prefixes are powers of ten, `Ki`,
//! `Mi`, ... powers of two. [`Progress`] lets one thread see how far another is. No I/O, no
//! allocation, no dependency (`serde` is optional).
#![no_std]

#[cfg(feature = "serde")]
extern crate alloc;

mod divisor;
mod float;
mod ids;
mod parse;
mod progress;
mod random;
#[cfg(feature = "serde")]
mod schema;
#[cfg(feature = "serde")]
mod sourced;
#[cfg(feature = "serde")]
mod text_serde;
mod whole;

pub use divisor::Divisor;
pub use float::{Hertz, Joules, Volts, Watts};
pub use ids::{BlockId, Lpn, Ppn};
pub use parse::ParseError;
pub use progress::{Progress, Stopped};
pub use random::{SplitMix64, splitmix64};
#[cfg(feature = "serde")]
pub use sourced::{Source, Sourced};
pub use whole::{Bytes, HumanSize, Ns};
