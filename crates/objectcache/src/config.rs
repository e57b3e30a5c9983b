//! Configuration of a cache.

use std::path::PathBuf;

/// Configuration of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// DRAM in bytes for objects and for the index of those in flash.
    pub dram: u64,
    /// The flash; `None` for a cache in DRAM only.
    pub flash: Option<Flash>,
    /// Size of a block in bytes. The body of a larger object is cached as blocks.
    pub block: u32,
    /// Seed of the random draws of admission, and of the hash of keys when the cache is created.
    pub seed: u64,
    /// File for a trace of the requests, which `gordon cache tiered` and `replay` read
    /// (`oracleGeneral`).
    pub trace: Option<PathBuf>,
}

impl Config {
    /// A cache of `dram` bytes in DRAM only, with blocks of 256 KiB.
    #[must_use]
    pub fn new(dram: u64) -> Self {
        Self { dram, flash: None, block: 256 << 10, seed: 1, trace: None }
    }
}

/// The flash of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// A file, a folder in which the file `cache.flash` is used, or a block device.
    pub path: PathBuf,
    /// Size in bytes. The cache never takes more.
    pub size: u64,
    /// Size of a segment in bytes: the unit of writes and of eviction, one or several erase
    /// blocks.
    pub segment: u32,
    /// Admission of objects that DRAM evicts.
    pub admission: Admission,
    /// How long the flash must last. Admission keeps the bytes written within the budget; it
    /// cannot be combined with an admission other than [`Admission::All`].
    pub lifetime: Option<Lifetime>,
    /// Whether objects that were requested since they were written are written again when their
    /// segment is evicted.
    pub reinsert: bool,
}

impl Flash {
    /// A log of segments of 1 MiB, which admits all objects.
    #[must_use]
    pub fn new(path: PathBuf, size: u64) -> Self {
        let (segment, admission) = (1 << 20, Admission::All);
        Self { path, size, segment, admission, lifetime: None, reinsert: false }
    }
}

/// Admission to flash of the objects that DRAM evicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// All objects.
    All,
    /// Each object with this probability.
    Random(f64),
    /// Objects with at least this number of requests in DRAM, including the one that stored them.
    Hits(u32),
    /// Objects that were offered before, within the last this many bytes of offers.
    Ghost(u64),
}

/// A promise of how long the flash lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// Years.
    pub years: f64,
    /// Rated erases of a block.
    pub endurance: u64,
}
