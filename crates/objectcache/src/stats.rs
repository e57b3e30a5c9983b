//! Results and counters.

use schemars::JsonSchema;
use serde::Serialize;

/// The tier in which an object was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// DRAM.
    Dram,
    /// Flash.
    Flash,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is in the cache.
    Stored,
    /// It is larger than the cache takes.
    TooLarge,
    /// The cache has no space for it at this moment.
    NotAdmitted,
}

/// What was found when a cache was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ObjectCacheRecovery")]
pub struct Recovery {
    /// Whether the cache was created.
    pub created: bool,
    /// Whether the cache was closed before.
    pub clean: bool,
    /// Objects found in flash, except those in sets.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments with objects.
    pub segments: u64,
    /// Segments whose directory was damaged, or not completely written.
    pub damaged_segments: u64,
    /// Whether the journal of removals was damaged, so that all objects were dropped.
    pub damaged_journal: bool,
    /// Objects that had been deleted or replaced.
    pub removed: u64,
    /// Duration of the scan in seconds.
    pub seconds: f64,
}

/// Result of a verification of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ObjectCacheChecked")]
pub struct Checked {
    /// Objects verified. After a restart, one may be in the log and in its set, and counts twice.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Damaged objects, which were removed.
    pub damaged: u64,
}

/// Events since the cache was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Events {
    /// Requests: calls of `get`, and blocks of large objects.
    pub requests: u64,
    /// Requests found in DRAM.
    pub dram_hits: u64,
    /// Requests found in flash.
    pub flash_hits: u64,
    /// Requests not found.
    pub misses: u64,
    /// Bytes of the bodies found in DRAM.
    pub dram_hit_bytes: u64,
    /// Bytes of the bodies found in flash.
    pub flash_hit_bytes: u64,
    /// Objects stored.
    pub puts: u64,
    /// Objects deleted by key.
    pub deletes: u64,
    /// Objects in memory that were deleted by prefix.
    pub purged: u64,
    /// Bytes read from flash.
    pub read_bytes: u64,
    /// Objects evicted from DRAM.
    pub dram_evictions: u64,
    /// Objects that were damaged in flash, and removed.
    pub damaged: u64,
    /// Failed reads and writes of flash.
    pub io_errors: u64,
}

/// The measured wear of a NAND image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ObjectCacheNandStats")]
pub struct NandStats {
    /// Bytes programmed since the cache was opened.
    pub programmed_bytes: u64,
    /// Bytes programmed for each byte that the cache has written since it was opened; `None` before
    /// the first one.
    pub write_amplification: Option<f64>,
    /// Erases of all blocks in service since the image was created.
    pub block_erases: u64,
    /// The smallest number of erases of a block in service since the image was created.
    pub least_erases: u32,
    /// The largest number of erases of a block in service since the image was created.
    pub most_erases: u32,
    /// Erase blocks in service.
    pub good_blocks: u32,
    /// Erase blocks out of service, those bad from the factory included.
    pub bad_blocks: u32,
    /// Programs and erases that failed since the cache was opened.
    pub failures: u64,
    /// Bits corrected since the cache was opened.
    pub bits_corrected: u64,
}

/// Counters since the cache was opened, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ObjectCacheStats")]
pub struct Stats {
    /// Events since the cache was opened.
    #[serde(flatten)]
    pub events: Events,
    /// Objects in DRAM.
    pub dram_objects: u64,
    /// Bytes of the objects in DRAM, with their keys, metadata and entries.
    pub dram_bytes: u64,
    /// DRAM for objects and for the index of the flash, in bytes.
    pub dram_capacity: u64,
    /// Memory of the index of the flash, in bytes.
    pub index_bytes: u64,
    /// Memory of the index for each object in flash, in bytes; `None` if there is none.
    pub index_bytes_per_object: Option<f64>,
    /// Memory of segments that are being filled, written or read, in bytes.
    pub buffer_bytes: u64,
    /// Objects in flash, except those in sets.
    pub flash_objects: u64,
    /// Bytes of the objects in flash, except those in sets.
    pub flash_bytes: u64,
    /// Size of the flash in bytes.
    pub flash_capacity: u64,
    /// Size of the flash in bytes, except the sets.
    pub log_capacity: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of sets.
    pub sets: u64,
    /// Objects in sets that were read or written since the cache was opened.
    pub set_objects: u64,
    /// Reads of sets that did not have the requested object.
    pub set_false_positives: u64,
    /// Bytes that DRAM evicted and offered to flash.
    pub offered_bytes: u64,
    /// Bytes that flash admitted.
    pub admitted_bytes: u64,
    /// Admitted bytes that were dropped because no segment could be opened without waiting.
    pub refused_bytes: u64,
    /// Bytes written to flash since the cache was created.
    pub total_written_bytes: u64,
    /// Bytes written to flash.
    pub written_bytes: u64,
    /// Bytes written to flash for each byte that flash admitted; `None` before the first one.
    pub write_amplification: Option<f64>,
    /// Objects evicted from flash.
    pub flash_evictions: u64,
    /// Objects written to flash again.
    pub reinsertions: u64,
    /// Objects that were too large for flash, or too few for their set.
    pub dropped: u64,
    /// Mean number of times that a block has been erased since the cache was created: measured on a
    /// NAND image, elsewhere from the bytes written, because segments are whole erase blocks
    /// (`assumed`). With sets, what the flash copies comes on top.
    pub erases: f64,
    /// Measured wear; `None` unless the flash is a NAND image.
    pub nand: Option<NandStats>,
    /// Probability with which an offered object is admitted now.
    pub admission_rate: f64,
    /// Seconds since the cache was created.
    pub age_s: f64,
    /// Bytes a day that keep the lifetime.
    pub budget_bytes_per_day: Option<f64>,
    /// Bytes written in the current day of the cache, which starts at the time of day of its
    /// creation.
    pub written_today_bytes: u64,
    /// Years from the creation until the rated erases are used up at the mean rate so far; `None`
    /// with sets.
    pub expected_life_years: Option<f64>,
    /// Records of deletions in the journal.
    pub journal_records: u64,
    /// Size of a half of the journal in bytes.
    pub journal_capacity: u64,
    /// Bytes written to the journal, which are part of the bytes written to flash.
    pub journal_written_bytes: u64,
    /// Writes of the journal: deletions by several clients at the same time share one.
    pub journal_writes: u64,
    /// Records of deletions that were written to the journal.
    pub journal_recorded: u64,
    /// How the flash is accessed, with the reason if not by `O_DIRECT` and io_uring.
    pub access: String,
}
