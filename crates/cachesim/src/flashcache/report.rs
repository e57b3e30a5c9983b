//! The report of a run of a FlashCache.

use super::FlashCacheConfig;
use super::power::{Cost, DieArea, Power};
use super::simulated::HeadReport;
use super::wear::{RoadmapReport, WearReport};
use crate::{CacheTrace, HitReport, WarmUpReport};
use gordon_blockio::LatencySummary;
use gordon_trace::formats::InputNote;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlashCacheReport {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// `flashcache`.
    pub policy: &'static str,
    /// Replacement policy of the primary page cache.
    pub dram_policy: &'static str,
    /// Total size of the DRAM in bytes.
    pub dram_bytes: u64,
    /// Size of the flash in bytes, without the blocks for swaps.
    pub flash_bytes: u64,
    /// Unit of accesses: `object`, `page` or `request`.
    pub unit: &'static str,
    /// Unit that a miss fetches: a logical `block`, or a `page` or object.
    pub fill: &'static str,
    /// The warm-up, which no counter, time, power or wear includes.
    pub warmup: Option<WarmUpReport>,
    /// Hits, in DRAM or flash, and misses.
    #[serde(flatten)]
    pub hit_report: HitReport,
    /// Accesses by source of the data.
    pub levels: Levels,
    /// Requests of the trace; all other counters count each page of a request.
    pub whole: RequestReport,
    /// Searches of the FlashCache hash table.
    pub table: TableReport,
    /// Use of the DRAM.
    pub memory: MemoryReport,
    /// Time until all requests were answered and all data written, in seconds.
    pub simulated_s: f64,
    /// Requested bytes per time, in 10^6 bytes per second.
    pub bandwidth_mb_s: f64,
    /// Accesses per second.
    pub requests_per_s: f64,
    /// Latency of all accesses.
    pub latency_us: LatencySummary,
    /// Accesses that waited for space in the write buffer or in the disk's queue.
    pub waited: u64,
    /// Activity of the flash; `None` without flash.
    pub flash: Option<FlashReport>,
    /// Activity of the backend.
    pub backend: BackendReport,
    /// Power with DRAM that is always ready.
    pub power_active: Power,
    /// Power with DRAM that an oracle powers down whenever it is idle.
    pub power_down: Power,
    /// Die area of the memories.
    pub area: DieArea,
    /// Price of the memories.
    pub cost: Cost,
    /// Wear and lifetime; `None` without flash.
    pub wear: Option<WearReport>,
    /// Area and lifetime in the years of the projection.
    pub roadmap: Vec<RoadmapReport>,
    /// How the trace was read.
    pub input: InputNote,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Inputs from which the result was computed.
    pub provenance: Provenance,
}

/// Accesses by source of the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Levels {
    /// Data in the primary page cache.
    pub dram: LevelReport,
    /// Data in the write buffer of the flash.
    pub buffer: LevelReport,
    /// Data in flash.
    pub flash: LevelReport,
    /// Data fetched from the backend.
    pub backend: LevelReport,
    /// Data that were not cached, and were written as a whole.
    pub written: LevelReport,
}

/// Requests of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestReport {
    /// Number of requests.
    pub requests: u64,
    /// Requests with a page that was not in DRAM.
    pub dram_misses: u64,
    /// Requests with a page that was neither in DRAM nor in flash.
    pub misses: u64,
}

/// Accesses of one source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelReport {
    /// Accesses whose data came from the source.
    pub requests: u64,
    /// Fraction of all accesses, 0 to 1; `None` without accesses.
    pub share: Option<f64>,
    /// Bytes requested. An access counts at the slowest source that it needs; the bytes of an
    /// object larger than a logical block count at the source of each piece.
    pub bytes: u64,
    /// Fraction of all bytes requested; `None` without accesses.
    pub byte_share: Option<f64>,
    /// Latency from request to response.
    pub latency_us: LatencySummary,
}

/// Searches of the hash table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableReport {
    /// Number of searches.
    pub lookups: u64,
    /// Searches for a page to be read.
    pub reads: u64,
    /// Searches for a page to be read that was in flash or in the write buffer.
    pub hits: u64,
    /// Hits per search for a page to be read; `None` without such searches.
    pub hit_ratio: Option<f64>,
    /// Time of a search in nanoseconds.
    pub lookup_ns: u64,
}

/// Use of the DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// Size of the primary page cache.
    pub primary_bytes: u64,
    /// Size of the write buffer of the flash.
    pub write_buffer_bytes: u64,
    /// Size of the hash table and the wear-level status table.
    pub tables_bytes: u64,
    /// Bytes of pages in the primary page cache at the end.
    pub resident_bytes: u64,
    /// Memory of the replacement policy, which is not charged to the DRAM.
    pub index_bytes: u64,
}

/// Activity of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlashReport {
    /// Requests read from flash, and units written to it, per second.
    pub accesses_per_s: f64,
    /// Flash pages read.
    pub pages_read: u64,
    /// Flash pages programmed.
    pub pages_programmed: u64,
    /// Erase blocks erased.
    pub erases: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes programmed.
    pub bytes_programmed: u64,
    /// Pages, objects, or pieces of objects, that were admitted.
    pub fills: u64,
    /// Not admitted: the object is larger than the whole flash.
    pub too_large: u64,
    /// Not admitted: the write buffer was full.
    pub crowded: u64,
    /// Not admitted: the set rule spared every block of the set.
    pub worn: u64,
    /// Entries invalidated by writes.
    pub dropped: u64,
    /// Fraction of the simulated time in which the flash was busy, 0 to 1.
    pub busy: f64,
    /// Fraction of the simulated time spent reading, 0 to 1.
    pub reading: f64,
    /// Fraction of the simulated time spent programming, 0 to 1.
    pub programming: f64,
    /// Fraction of the simulated time spent erasing, 0 to 1.
    pub erasing: f64,
}

/// Activity of the backend.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BackendReport {
    /// `disk` or `origin`.
    pub kind: &'static str,
    /// Number of fetches.
    pub reads: u64,
    /// Bytes fetched.
    pub bytes_read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Accesses that continued where the previous one ended.
    pub sequential: u64,
    /// Time during which the disk was busy, or the network transferred data, in seconds.
    pub busy_s: f64,
    /// `busy_s` as a fraction of the simulated time.
    pub busy: f64,
    /// Activity of the head of a simulated disk; `None` for other backends.
    pub head: Option<HeadReport>,
}

/// Inputs of a result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Provenance {
    /// Version of the program.
    pub version: &'static str,
    /// Configuration of the run.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub config: FlashCacheConfig,
    /// Publication of the two-level cache.
    pub follows: &'static str,
    /// Publication of the policy of the primary page cache.
    pub dram_policy_follows: &'static str,
    /// The replayed trace: its format, counters and checksum.
    pub trace: CacheTrace,
}
