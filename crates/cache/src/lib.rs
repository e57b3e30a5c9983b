//! Caches as state machines: which objects are in memory, and which goes next.
//!
//! A cache holds whole objects, each known by a number of 64 bits and so many bytes large, within
//! so many bytes. [`PolicyKind`] names the replacement policies, [`PolicyKind::make`] makes a cache
//! of one, and [`Policy`] is what all of them do. Where libCacheSim 0.3.5 has a policy of the same
//! name the definition is the same, so that miss ratios are equal; each file of `policy` says what
//! it follows.
//!
//! [`Curve`] has what LRU caches of many sizes miss, in one pass, and [`NextAccessBuilder`] finds
//! when objects come again, for Belady's policy.
//!
//! An object takes 24 bytes and its share of a table ([`Policy::memory`] has the sum): at most 40.
//! [`flashcache`] has two levels, DRAM and flash. No data, no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod curve;
pub mod flashcache;
mod index;
mod next_access;
mod policy;
mod stack;
mod store;
pub mod tiered;

pub use curve::{Curve, CurvePoint, Sample};
pub use next_access::{NextAccess, NextAccessBuilder};
pub use policy::{
    Access, CacheCounts, HitCounts, NEVER, NOT_ADMITTED, Policy, PolicyKind, Request,
};
