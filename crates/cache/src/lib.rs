#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! A cache holds whole objects within a capacity in bytes. [`PolicyKind`] names the replacement
//! policies, [`PolicyKind::make`] makes a cache with one of them, and [`Policy`] is their
//! interface. [`PolicyKind::source`] names the paper or the implementation that a policy follows.
//!
//! - [`Curve`]: the misses of LRU caches of many sizes, from one pass.
//! - [`NextAccessBuilder`]: the next-access times of a trace, for Belady's policy.
//! - [`OwnPolicy`]: a cache whose policy is a [`Chooser`] of yours.
//! - [`flashcache`]: a page cache in DRAM with a second level in flash.
//! - [`tiered`]: a cache of small objects in DRAM and flash.
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
