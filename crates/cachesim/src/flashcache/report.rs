//! What a run of a FlashCache came to, as it is told.

use super::FlashCacheConfig;
use super::power::{Cost, DieArea, Power};
use super::simulated::HeadReport;
use super::wear::{RoadmapReport, WearReport};
use crate::{Answers, CacheTrace, WarmUpReport};
use gordon_blockio::LatencySummary;
use gordon_trace::formats::InputNote;
use serde::Serialize;

/// What was found, when, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashCacheReport {
    /// What kind of values these are.
    pub kind: &'static str,
    /// `flashcache`.
    pub policy: &'static str,
    /// What goes from the primary page cache.
    pub dram_policy: &'static str,
    /// All of the DRAM.
    pub dram_bytes: u64,
    /// The flash, but for what is set apart for swaps.
    pub flash_bytes: u64,
    /// What is asked for: `object`, `page` or `request`.
    pub unit: &'static str,
    /// What a miss fetches: a logical `block`, or the `page` or object asked for.
    pub fill: &'static str,
    /// The warm-up, which no count, time, power or wear has.
    pub warmup: Option<WarmUpReport>,
    /// What was there, in DRAM or flash.
    #[serde(flatten)]
    pub answers: Answers,
    /// By where it was found.
    pub levels: Levels,
    /// Requests of the trace, whose pages each count by themselves in all else.
    pub whole: WholeReport,
    /// The FlashCache hash table.
    pub table: TableReport,
    /// What the DRAM is used for.
    pub memory: MemoryReport,
    /// Until all was answered and written.
    pub simulated_s: f64,
    /// Bytes asked for, in 10^6 a second.
    pub bandwidth_mb_s: f64,
    /// Requests a second.
    pub requests_per_s: f64,
    /// From a request to its answer, of all.
    pub latency_us: LatencySummary,
    /// Requests that waited for room in the write buffer or the disk's queue.
    pub waited: u64,
    /// The flash.
    pub flash: Option<FlashReport>,
    /// What lies below.
    pub backend: BackendReport,
    /// Power with DRAM that is always ready.
    pub power_active: Power,
    /// Power with DRAM that an oracle powers down whenever it is idle.
    pub power_down: Power,
    /// Die area.
    pub area: DieArea,
    /// What the memories cost.
    pub cost: Cost,
    /// Wear and lifetime.
    pub wear: Option<WearReport>,
    /// Area and lifetime in the years of the projection.
    pub roadmap: Vec<RoadmapReport>,
    /// What the trace was read as.
    pub input: InputNote,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Requests by where they found what they asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// The primary page cache.
    pub dram: LevelReport,
    /// What waits to be written to flash.
    pub buffer: LevelReport,
    /// Flash.
    pub flash: LevelReport,
    /// Nowhere: it was fetched from below.
    pub backend: LevelReport,
    /// Nowhere, and it was written as a whole.
    pub written: LevelReport,
}

/// Requests of the trace, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WholeReport {
    /// All of them.
    pub requests: u64,
    /// Requests with a page that DRAM did not have.
    pub dram_misses: u64,
    /// Requests with a page that neither DRAM nor flash had.
    pub misses: u64,
}

/// Requests of one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelReport {
    /// How many.
    pub requests: u64,
    /// Of all.
    pub share: Option<f64>,
    /// Bytes that they asked for. A request counts in the slowest level that it needs; the bytes of
    /// an object larger than a logical block count where each piece was found.
    pub bytes: u64,
    /// Of all bytes.
    pub byte_share: Option<f64>,
    /// From request to answer.
    pub latency_us: LatencySummary,
}

/// Searches of the hash table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TableReport {
    /// How many.
    pub lookups: u64,
    /// Of these, for a page that was to be read.
    pub reads: u64,
    /// Of these, it was in flash or on its way there.
    pub hits: u64,
    /// The same for each.
    pub hit_ratio: Option<f64>,
    /// How long a search takes, in nanoseconds.
    pub lookup_ns: u64,
}

/// What the DRAM is used for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryReport {
    /// The primary page cache.
    pub primary_bytes: u64,
    /// What waits to be written to flash.
    pub write_buffer_bytes: u64,
    /// Hash table and wear-level status table.
    pub tables_bytes: u64,
    /// Pages' bytes in the primary page cache at the end.
    pub resident_bytes: u64,
    /// What its policy needs to know them: not charged.
    pub index_bytes: u64,
}

/// What flash did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashReport {
    /// Requests that were read from it, and units written to it, a second.
    pub accesses_per_s: f64,
    /// Flash pages read.
    pub pages_read: u64,
    /// Programmed.
    pub pages_programmed: u64,
    /// Blocks of the flash erased.
    pub erases: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes programmed.
    pub bytes_programmed: u64,
    /// Pages, objects, or pieces of one, that were admitted.
    pub fills: u64,
    /// Not admitted: the object is larger than all of the flash.
    pub too_large: u64,
    /// Not let in: the write buffer was full.
    pub crowded: u64,
    /// Not admitted: the set rule spared every block of their set.
    pub worn: u64,
    /// Stale because they were written to.
    pub dropped: u64,
    /// Part of the time that it was at work.
    pub busy: f64,
    /// Of this, reading.
    pub reading: f64,
    /// Programming.
    pub programming: f64,
    /// Erasing.
    pub erasing: f64,
}

/// What was asked of what lies below.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackendReport {
    /// `disk` or `origin`.
    pub kind: &'static str,
    /// Fetches.
    pub reads: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of these.
    pub bytes_written: u64,
    /// Accesses that went on where the one before ended.
    pub sequential: u64,
    /// Seconds that the disk, or the network, had one of these in hand.
    pub busy_s: f64,
    /// Part of the time.
    pub busy: f64,
    /// What the head of a simulated disk did.
    pub head: Option<HeadReport>,
}

/// Where a result comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Of the program.
    pub version: &'static str,
    /// What was asked for.
    pub config: FlashCacheConfig,
    /// What the two levels follow.
    pub follows: &'static str,
    /// What the policy of the primary page cache follows.
    pub dram_policy_follows: &'static str,
    /// The trace.
    pub trace: CacheTrace,
}
