//! Replay of a trace on a cache of objects in DRAM and flash, and its results.
//!
//! The state machine is [`gordon_cache::tiered`]. Its writes go to a full flash array with Gordon's
//! translation layer ([`FullArray`]), page by page and without a clock, so that both write
//! amplifications are measured: bytes that the cache writes per byte admitted, and pages that the
//! flash programs per page written. Requests have the times of the trace, which only the lifetime
//! depends on.

mod config;

pub use config::{AdmissionConfig, DeviceConfig, LayoutKind, PAGE, TieredConfig};

use super::load::Load;
use super::{CacheTrace, HitReport};
use gordon_cache::HitCounts;
use gordon_cache::tiered::{TierLookup, Tiered};
use gordon_nand::{endurance_used, lifetime_years};
use gordon_replay::ReplayError;
use gordon_replay::results::{ratio, share};
use gordon_replay::wa::{ArrayConfig, FullArray};
use gordon_trace::formats::InputNote;
use gordon_units::{Ns, Progress};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TieredReport {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// Name of the layout.
    pub layout: &'static str,
    /// Total size of the DRAM in bytes.
    pub dram_bytes: u64,
    /// Flash capacity that the cache uses, in bytes.
    pub flash_bytes: u64,
    /// Cached unit: `object`, `page` or `request`.
    pub unit: &'static str,
    /// Hits and misses.
    #[serde(flatten)]
    pub hit_report: HitReport,
    /// Hits in DRAM and in flash, and the content of both at the end.
    pub levels: [LevelCount; 2],
    /// Bytes evicted from DRAM, which are offered to the flash.
    pub offered_bytes: u64,
    /// Bytes admitted to flash.
    pub admitted_bytes: u64,
    /// Admission probability at the end.
    pub admits: f64,
    /// Bytes that the cache wrote to flash.
    pub written_bytes: u64,
    /// Those of them that it wrote to its journal of removals.
    pub journal_bytes: u64,
    /// Bytes that the cache read from flash, for requests and to rewrite sets.
    pub read_bytes: u64,
    /// Reads of sets for objects that were not in them.
    pub vain_reads: u64,
    /// Bytes written to flash per byte admitted.
    pub application_write_amplification: Option<f64>,
    /// Pages programmed per page written.
    pub device_write_amplification: Option<f64>,
    /// Product of the two write amplifications.
    pub write_amplification: Option<f64>,
    /// Erases of the flash.
    pub erases: u64,
    /// Objects evicted from flash.
    pub evictions: u64,
    /// Objects that were reinserted into the log.
    pub reinsertions: u64,
    /// Objects dropped because they were too few for their set, or too large.
    pub dropped: u64,
    /// Part of the DRAM that the index of the flash took at the end, in bytes.
    pub index_bytes: u64,
    /// Time from the first to the last request of the trace.
    pub simulated_s: f64,
    /// Fraction of the rated endurance that the run used: bytes programmed, divided by raw bytes
    /// times rated erases.
    pub endurance_used: f64,
    /// Time since the flash had been written once, on which the lifetime is based; `None` if it was
    /// not written once.
    pub lifetime_span_s: Option<f64>,
    /// Years until the rated endurance is used up if the load continues as in that time; `None` if
    /// nothing was programmed in it, or it is shorter than a minute.
    pub lifetime_years: Option<f64>,
    /// How the trace was read.
    pub input: InputNote,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Inputs from which the result was computed.
    pub provenance: TieredProvenance,
}

/// Hits and content of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LevelCount {
    /// Name of the level.
    pub level: &'static str,
    /// Accesses that the level served.
    pub hits: u64,
    /// Bytes requested by the hits.
    pub hit_bytes: u64,
    /// Objects in the level at the end.
    pub resident_objects: u64,
    /// Bytes in the level at the end.
    pub resident_bytes: u64,
}

/// Inputs of a result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TieredProvenance {
    /// Version of the program.
    pub version: &'static str,
    /// Configuration of the run.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub config: TieredConfig,
    /// The replayed trace: its format, counters and checksum.
    pub trace: CacheTrace,
}

/// The flash device.
struct Flash {
    array: FullArray,
    bytes: f64,
}

impl Flash {
    fn new(config: &TieredConfig, flash: u64) -> Result<Self, ReplayError> {
        let device = &config.device;
        let wrong = |key: &str, why: String, hint| ReplayError::impossible(key, why, hint);
        if !(device.spare > 0.0 && device.spare < 1.0) {
            let why = format!("a spare part of {} is not above 0 and below 1", device.spare);
            return Err(wrong("device.spare", why, "0.07"));
        }
        let logical = flash / PAGE;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // pages far below 2^53
        let pages = (logical as f64 / (1.0 - device.spare)).ceil() as u64;
        let blocks = pages.div_ceil(u64::from(device.pages_per_block.max(1)));
        let (Ok(logical), Ok(blocks)) = (u32::try_from(logical), u32::try_from(blocks)) else {
            let why = format!("{} has more than 2^32 pages of 4 KiB", config.flash);
            return Err(wrong("flash", why, "less"));
        };
        if device.pages_per_block == 0 || blocks < 4 || pages > 1 << 31 {
            let why = format!("{blocks} erase blocks of {} pages", device.pages_per_block);
            return Err(wrong("device", why, "4 blocks at least, and 2^31 pages at most"));
        }
        let array = FullArray::new(&ArrayConfig {
            logical,
            pages_per_block: device.pages_per_block,
            blocks,
            separate: false,
            victim: device.policy.victim(2),
            seed: config.seed,
        })?;
        Ok(Self { array, bytes: ratio(PAGE, 1) })
    }

    fn write(&mut self, offset: u64, bytes: u32) {
        let first = offset / PAGE;
        (first..first + u64::from(bytes) / PAGE).for_each(|page| self.array.write(page));
    }

    /// Pages programmed per page written; `None` before the first write.
    fn amplification(&self) -> Option<f64> {
        let pages = self.array.pages();
        (pages.host_program > 0).then(|| pages.amplification())
    }

    /// Bytes programmed by the host and by garbage collection.
    fn programmed(&self) -> f64 {
        let pages = self.array.pages();
        ratio(pages.host_program + pages.gc_program, 1) * self.bytes
    }
}

/// Runs `config`; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if sizes are inconsistent, the trace cannot be read, or the run is stopped.
pub fn run(config: &TieredConfig, progress: &Progress) -> Result<TieredReport, ReplayError> {
    let (shape, admission) = (config.shape()?, config.admission()?);
    let mut flash = Flash::new(config, shape.flash + 2 * config.journal.0)?;
    let mut load = Load::open(&config.trace, config.objects)?;
    load.stamps = Some(Vec::new());
    let mut cache = Tiered::new(config.dram.0, &shape, admission, config.seed);
    let mut levels = [
        LevelCount { level: "dram", ..LevelCount::default() },
        LevelCount { level: "flash", ..LevelCount::default() },
    ];
    let (mut requests, mut bytes, mut refused) = (0, 0, 0_u64);
    let (mut first, mut last) = (None, Ns::ZERO);
    // Time when the flash had been written once, and the bytes programmed until then.
    let mut full = None;
    let mut batch = Vec::new();
    while load.next_batch(&mut batch)? {
        progress.check()?;
        let stamps = load.stamps.as_deref().unwrap_or_default();
        for (request, stamp) in batch.iter().zip(stamps) {
            first.get_or_insert(stamp.at);
            last = last.max(stamp.at);
            requests += 1;
            bytes += request.asked;
            let at = match cache.access(stamp.at, request.key, request.size) {
                TierLookup::Dram => Some(0),
                TierLookup::Flash => Some(1),
                TierLookup::Miss => None,
            };
            match at {
                Some(at) => {
                    levels[at].hits += 1;
                    levels[at].hit_bytes += request.asked;
                }
                None => refused += u64::from(request.size > config.dram.0),
            }
            for io in cache.io().filter(|io| io.write) {
                flash.write(io.offset, io.bytes);
            }
            if full.is_none() && flash.programmed() >= config.raw_bytes() {
                full = Some((stamp.at, flash.programmed()));
            }
        }
        cache.set_write_amplification(flash.amplification().unwrap_or(1.0));
        progress.step(batch.len() as u64);
    }
    cache.residents(&mut |level, _, size| {
        let level = &mut levels[usize::from(level == TierLookup::Flash)];
        level.resident_objects += 1;
        level.resident_bytes += size;
    });
    let done = cache.counts();
    let hits = levels[0].hits + levels[1].hits;
    let hit_bytes = levels[0].hit_bytes + levels[1].hit_bytes;
    let simulated = last.saturating_sub(first.unwrap_or(last));
    let used = |programmed| endurance_used(programmed, config.raw_bytes(), config.device.endurance);
    let steady = full.map(|(at, until)| (flash.programmed() - until, last.saturating_sub(at)));
    let application = share(done.written, done.admitted);
    let device = flash.amplification();
    let mut warnings = Vec::new();
    if refused > 0 {
        warnings.push(format!("{refused} misses were not admitted: larger than the DRAM"));
    }
    if load.devices() > 1 {
        let devices = load.devices();
        warnings.push(format!("the trace has {devices} devices; all share the cache"));
    }
    warnings.extend(load.note().doubts.iter().map(|doubt| format!("implausible: {doubt}")));
    warnings.extend(load.notes());
    if levels[0].resident_objects == 0 && requests > 0 {
        let index = gordon_units::Bytes(cache.index_bytes());
        warnings.push(format!(
            "the index of the flash takes {index} of the {} of DRAM: further objects are not \
             admitted",
            config.dram
        ));
    }
    if done.written < 2 * shape.flash {
        warnings.push("flash was not written twice over: write amplification may rise yet".into());
    }
    Ok(TieredReport {
        kind: "modelled: counted while the trace was replayed",
        layout: config.layout.name(),
        dram_bytes: config.dram.0,
        flash_bytes: shape.flash,
        unit: load.unit(),
        hit_report: HitReport::new(&HitCounts { requests, hits, bytes, hit_bytes }),
        levels,
        offered_bytes: done.offered,
        admitted_bytes: done.admitted,
        admits: cache.admission_rate(),
        written_bytes: done.written,
        journal_bytes: done.journal,
        read_bytes: done.read,
        vain_reads: done.false_positives,
        application_write_amplification: application,
        device_write_amplification: device,
        write_amplification: application.zip(device).map(|(a, d)| a * d),
        erases: flash.array.ftl().stats().erases,
        evictions: done.evicted,
        reinsertions: done.reinserted,
        dropped: done.dropped,
        index_bytes: cache.index_bytes(),
        simulated_s: simulated.as_secs(),
        endurance_used: used(flash.programmed()),
        lifetime_span_s: steady.map(|(_, span)| span.as_secs()),
        lifetime_years: steady
            .and_then(|(programmed, span)| lifetime_years(used(programmed), span)),
        input: load.note().clone(),
        warnings,
        provenance: TieredProvenance {
            version: env!("CARGO_PKG_VERSION"),
            config: config.clone(),
            trace: load.provenance(),
        },
    })
}
