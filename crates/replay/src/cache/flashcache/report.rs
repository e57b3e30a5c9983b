//! What a run of a FlashCache came to.

use super::chip::Steps;
use super::pace::Spread;
use super::power::{Cost, DieArea, Power, Use, power};
use super::simulated::HeadReport;
use super::wear::{Fills, RoadmapReport, WearReport, each_second, mb_s, part, roadmap, wear};
use super::{BackendKind, FlashCacheConfig, Machine, SOURCES, Source, Tally};
use crate::cache::CacheTrace;
use crate::results::latency::{Latency, LatencySummary};
use crate::results::share;
use gordon_cache::Kind;
use gordon_cache::flashcache::Fill;
use gordon_units::{Bytes, Ns};
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
    /// Times that one of these was asked for.
    pub requests: u64,
    /// Of these, it was in DRAM or flash.
    pub hits: u64,
    /// It was in neither.
    pub misses: u64,
    /// Misses for each request.
    pub miss_ratio: Option<f64>,
    /// Bytes missed for each byte asked for.
    pub byte_miss_ratio: Option<f64>,
    /// Bytes asked for.
    pub bytes: u64,
    /// Of these, bytes that were in neither.
    pub miss_bytes: u64,
    /// By where it was found.
    pub levels: Levels,
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

/// Requests of one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelReport {
    /// How many.
    pub requests: u64,
    /// Of all.
    pub share: Option<f64>,
    /// Bytes that they asked for.
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
    /// Pages, or parts of an object's, that were let in.
    pub fills: u64,
    /// Not let in: larger than a logical block.
    pub too_large: u64,
    /// Not let in: the write buffer was full.
    pub crowded: u64,
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

fn level(machine: &Machine, source: Source, all: Tally) -> LevelReport {
    let Tally { requests, bytes } = machine.tallies[source as usize];
    LevelReport {
        requests,
        share: share(requests, all.requests),
        bytes,
        byte_share: share(bytes, all.bytes),
        latency_us: machine.latencies[source as usize].summary(),
    }
}

pub(super) fn made(
    config: &FlashCacheConfig,
    kind: Kind,
    machine: &Machine,
    time: Ns,
    tables: u64,
    source: &Spread,
) -> FlashCacheReport {
    let design = &config.design;
    let (cache, chip) = (&machine.cache, machine.chip.did);
    let (counts, shape) = (cache.counts(), cache.shape());
    let all = machine.tallies.iter().fold(Tally::default(), |sum, one| Tally {
        requests: sum.requests + one.requests,
        bytes: sum.bytes + one.bytes,
    });
    let mut latency = Latency::default();
    machine.latencies.iter().for_each(|one| latency.add(one));
    let of = |source| level(machine, source, all);
    let levels = Levels {
        dram: of(Source::Dram),
        buffer: of(Source::Buffer),
        flash: of(Source::Flash),
        backend: of(Source::Backend),
        written: of(Source::Written),
    };
    debug_assert_eq!(SOURCES, 5);
    let misses = levels.backend.requests + levels.written.requests;
    let miss_bytes = levels.backend.bytes + levels.written.bytes;
    let what = Use {
        dram: config.dram,
        flash: config.flash,
        reading: machine.dram.reading,
        writing: machine.dram.writing,
        chip,
        time,
        requests: all.requests,
    };
    let fetches = if shape.fill == Fill::Block { 1 } else { u64::from(shape.pages) };
    let fetched = Bytes(design.cache.logical_block.0 / fetches);
    let fills = Fills {
        fetches,
        fetch: machine.backend.each(fetched),
        refill: Steps::new(design).refill(shape.pages.into()),
    };
    let wear = wear(design, cache, time, &fills);
    let has_flash = shape.sets > 0;
    let buffer = if has_flash { design.cache.write_buffer.0 } else { 0 };
    let flash_page = design.flash.page.0;
    let asked = machine.backend.asked;
    FlashCacheReport {
        kind: "modelled: simulated while the trace was replayed",
        policy: "flashcache",
        dram_policy: kind.name(),
        dram_bytes: config.dram.0,
        flash_bytes: config.flash.0,
        unit: source.load.unit(),
        fill: if shape.fill == Fill::Block { "block" } else { "page" },
        requests: all.requests,
        hits: all.requests - misses,
        misses,
        miss_ratio: share(misses, all.requests),
        byte_miss_ratio: share(miss_bytes, all.bytes),
        bytes: all.bytes,
        miss_bytes,
        levels,
        table: TableReport {
            lookups: counts.lookups,
            reads: counts.reads,
            hits: counts.flash_hits + counts.buffer_hits,
            hit_ratio: share(counts.flash_hits + counts.buffer_hits, counts.reads),
            lookup_ns: machine.lookup.0,
        },
        memory: MemoryReport {
            primary_bytes: config.dram.0 - buffer - tables,
            write_buffer_bytes: buffer,
            tables_bytes: tables,
            resident_bytes: cache.dram().counts().bytes,
            index_bytes: cache.dram().memory() as u64,
        },
        simulated_s: time.as_secs(),
        bandwidth_mb_s: mb_s(Bytes(all.bytes), time),
        requests_per_s: each_second(all.requests, time),
        latency_us: latency.summary(),
        waited: machine.waited,
        flash: has_flash.then(|| FlashReport {
            accesses_per_s: each_second(counts.flash_hits + counts.fills, time),
            pages_read: chip.reads,
            pages_programmed: chip.programs,
            erases: chip.erases,
            bytes_read: chip.reads * flash_page,
            bytes_programmed: chip.programs * flash_page,
            fills: counts.fills,
            too_large: counts.too_large,
            crowded: counts.crowded,
            dropped: counts.dropped,
            busy: part(chip.busy(), time),
            reading: part(chip.reading, time),
            programming: part(chip.programming, time),
            erasing: part(chip.erasing, time),
        }),
        backend: BackendReport {
            kind: match &config.backend {
                BackendKind::Disk | BackendKind::Simulated(_) => "disk",
                BackendKind::Origin => "origin",
            },
            reads: asked.reads,
            bytes_read: asked.read.0,
            writes: asked.writes,
            bytes_written: asked.written.0,
            sequential: asked.sequential,
            busy_s: asked.busy.as_secs(),
            busy: part(asked.busy, time),
            head: machine.backend.simulated().map(|disk| disk.report(time)),
        },
        power_active: power(design, &what, *design.dram.idle_per_gbit),
        power_down: power(design, &what, *design.dram.power_down_per_gbit),
        area: DieArea::new(design, config.dram, config.flash),
        cost: Cost::new(design, config.dram, config.flash),
        roadmap: roadmap(config, wear.as_ref(), time),
        wear,
        warnings: warnings(config, machine, time, source),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION"),
            config: config.clone(),
            follows: "Kgil and Mudge, FlashCache, CASES 2006",
            dram_policy_follows: kind.source(),
            trace: source.load.told(),
        },
    }
}

/// Below this part of the time, what lies below keeps up.
const NEARLY_ALL: f64 = 0.99;

fn warnings(
    config: &FlashCacheConfig,
    machine: &Machine,
    time: Ns,
    source: &Spread,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let (counts, load) = (machine.cache.counts(), &source.load);
    let refused = machine.cache.dram().counts().refused;
    if refused > 0 {
        warnings
            .push(format!("{refused} misses were not let into the primary page cache: too large"));
    }
    if counts.too_large > 0 {
        let (many, block) = (counts.too_large, *config.design.cache.logical_block);
        warnings.push(format!("{many} misses were not let into flash: larger than {block}"));
    }
    if config.flash > Bytes::ZERO && counts.evictions == 0 {
        warnings
            .push("nothing was evicted from flash: how long it lasts cannot be told".to_owned());
    } else if counts.evictions < machine.cache.shape().blocks().into() {
        warnings.push(
            "flash was being filled for much of the run: it will not last as long as is told"
                .to_owned(),
        );
    }
    let by_trace = config.pace.outstanding.is_none();
    let busy = [
        ("the flash chip", machine.chip.did.busy()),
        ("what lies below", machine.backend.asked.busy),
    ];
    for (what, busy) in busy {
        if by_trace && part(busy, time) > NEARLY_ALL {
            warnings.push(format!(
                "{what} is at work all the time: requests come faster than it can serve them"
            ));
        }
    }
    if source.crowded > 0 {
        let many = source.crowded;
        warnings
            .push(format!("a second of the trace has a million requests, {many} times: --rate"));
    }
    if load.devices() > 1 {
        let devices = load.devices();
        warnings.push(format!("the trace has {devices} devices; all share the cache"));
    }
    if let Some(first) = load.first_skipped() {
        warnings.push(format!("malformed requests were left out, the first: {first}"));
    }
    warnings
}
