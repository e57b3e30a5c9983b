//! Physical quantities as types that support only meaningful arithmetic.
//!
//! Whole quantities ([`Ns`], [`Bytes`]) are exact integers; physical ones ([`Watts`], [`Joules`],
//! [`Hertz`], [`Volts`]) are floats. Each parses from text with a unit and prints as such text:
//! `64KiB`, `1.5GB`, `25us`, `2.4GHz`, `19W`. Decimal prefixes are powers of ten; `Ki`, `Mi`, ...
//! are powers of two, and so is a letter without a `B`: `64k`. [`Progress`] lets one thread watch
//! the work of another. [`SplitMix64`] and [`RandomStream`] are the random numbers of all crates,
//! and [`fieldwise`] is the arithmetic of structs of counters. The crate does no I/O and does not
//! allocate. `serde` is optional.
#![no_std]

#[cfg(feature = "serde")]
extern crate alloc;

#[cfg(feature = "serde")]
mod date;
mod divisor;
mod fieldwise;
mod float;
mod ids;
mod parse;
mod progress;
mod random;
mod random_stream;
#[cfg(feature = "serde")]
mod schema;
#[cfg(feature = "serde")]
mod sourced;
mod sums;
#[cfg(feature = "serde")]
mod text_serde;
mod whole;

#[cfg(feature = "serde")]
pub use date::Date;
pub use divisor::Divisor;
pub use float::{DataRate, Hertz, Joules, Volts, Watts};
pub use ids::{BlockId, Lpn, Ppn};
pub use parse::ParseError;
pub use progress::{Progress, Stopped};
pub use random::{SplitMix64, splitmix64};
pub use random_stream::RandomStream;
#[cfg(feature = "serde")]
pub use sourced::{Source, Sourced};
pub use whole::{Bytes, HumanSize, Ns};
