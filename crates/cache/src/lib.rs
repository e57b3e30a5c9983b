//! Caches as state machines: which objects are in memory, and which goes next.
//!
//! A cache holds whole objects, each known by a number of 64 bits and so many bytes large, within
//! so many bytes. [`Kind`] names the replacement policies, [`Kind::make`] makes a cache of one, and
//! [`Policy`] is what all of them do. Where libCacheSim 0.3.5 has a policy of the same name the
//! definition is the same, so that miss ratios are equal; each file of `policy` says what it
//! follows.
//!
//! [`Curve`] has what LRU caches of many sizes miss, in one pass, and [`Ahead`] finds when objects
//! come again, for Belady's policy.
//!
//! An object takes 24 bytes and its share of a table ([`Policy::memory`] has the sum): at most 40.
//! [`flashcache`] has two levels, DRAM and flash. No data, no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod ahead;
mod curve;
pub mod flashcache;
mod index;
mod policy;
mod stack;
mod store;
pub mod tiered;

pub use ahead::{Ahead, Nexts};
pub use curve::{Curve, Point, Sample};
pub use policy::{Access, Counts, Kind, NEVER, NOWHERE, Policy, Request, Tally};
