//! Blocks that a program caches in memory (`persist`, `cache`), and what a task does whose block
//! was evicted.

/// Blocks of an RDD that a stage made, and that tasks of later stages read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CachedBlocks {
    /// Index of the stage that made them.
    pub made_by: usize,
    /// Index of the last stage that reads them.
    pub last_read_by: usize,
    /// Bytes of all of them in memory.
    pub bytes: f64,
    /// Tasks that read one of them.
    pub reads: usize,
    /// Those of them that had to compute it again.
    pub missed: usize,
    /// Whether blocks that do not fit in memory are on disk; otherwise they are computed again.
    pub moves_to_disk: bool,
}

/// Whether a task found the cached block that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    /// The task reads none.
    #[default]
    No,
    /// The task found its block.
    Found,
    /// The task computed its block again.
    Missed,
}

/// What a task does if its block was evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recompute {
    /// Core seconds on a core of speed 1.
    pub work: f64,
    /// Bytes read of storage.
    pub read: f64,
    /// Its block is evicted where this share of all blocks is missing, or more.
    pub from: f64,
}
