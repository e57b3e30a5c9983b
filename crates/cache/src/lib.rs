//! Caches as state machines: which objects are in a cache, and which object is evicted next. They
//! hold no data, do no I/O and read no clock.
//!
//! A cache holds whole objects within a capacity in bytes; an object has a key of 64 bits and a
//! size. [`PolicyKind`] names the replacement policies, [`PolicyKind::make`] makes a cache with one
//! of them, and [`Policy`] is their interface. If libCacheSim 0.3.5 has a policy of the same name,
//! the definition is the same, so that miss ratios are equal; each file of `policy` names its
//! source.
//!
//! - [`Curve`]: the misses of LRU caches of many sizes, from one pass.
//! - [`NextAccessBuilder`]: the next-access times of a trace, for Belady's policy.
//! - [`flashcache`]: a page cache in DRAM with a second level in flash.
//! - [`tiered`]: a cache of small objects in DRAM and flash.
//!
//! An object takes 24 bytes and its share of an index, at most 40 bytes ([`Policy::memory`] is the
//! sum).
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
    Access, CacheCounts, Chooser, HitCounts, NEVER, NOT_ADMITTED, OwnPolicy, Policy, PolicyKind,
    Request,
};
