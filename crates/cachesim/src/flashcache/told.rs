//! Computes the report of a run from the state of the machine at its end.

use super::chip::Steps;
use super::machine::{Machine, SOURCES, Source, Tally};
use super::pace::Spread;
use super::power::{Cost, DieArea, Use, power};
use super::report::{
    BackendReport, FlashCacheReport, FlashReport, LevelReport, Levels, MemoryReport, Provenance,
    TableReport, WholeReport,
};
use super::wear::{Fills, Worn, each_second, mb_s, part, roadmap, wear};
use super::{BackendKind, FlashCacheConfig, Run};
use crate::Answers;
use gordon_blockio::LatencyHistogram;
use gordon_cache::flashcache::Fill;
use gordon_replay::results::share;
use gordon_units::{Bytes, Ns};

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

pub(super) fn made(run: &Run<'_>, end: Ns, source: &Spread) -> FlashCacheReport {
    let Run { config, kind, machine, tables, whole, warmed, .. } = run;
    let design = &config.design;
    let time = end - machine.before.at;
    let (cache, chip, asked) = (&machine.cache, machine.did(), machine.asked());
    let (counts, shape) = (machine.counts(), cache.shape());
    let [reading, writing] = machine.dram_busy();
    let all = machine.tallies.iter().fold(Tally::default(), |sum, one| Tally {
        requests: sum.requests + one.requests,
        bytes: sum.bytes + one.bytes,
    });
    let mut latency = LatencyHistogram::default();
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
        reading,
        writing,
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
    let worn = Worn::new(machine, end);
    let wear = wear(design, machine, &worn, &fills);
    let has_flash = shape.sets > 0;
    let buffer = if has_flash { design.cache.write_buffer.0 } else { 0 };
    let flash_page = design.flash.page.0;
    FlashCacheReport {
        kind: "modelled: simulated while the trace was replayed",
        policy: "flashcache",
        dram_policy: kind.name(),
        dram_bytes: config.dram.0,
        flash_bytes: config.flash.0,
        unit: source.load.unit(),
        fill: if shape.fill == Fill::Block { "block" } else { "page" },
        warmup: *warmed,
        answers: Answers::new(&gordon_cache::HitCounts {
            requests: all.requests,
            hits: all.requests - misses,
            bytes: all.bytes,
            hit_bytes: all.bytes - miss_bytes,
        }),
        levels,
        whole: WholeReport {
            requests: whole.requests,
            dram_misses: whole.missed_dram,
            misses: whole.missed,
        },
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
            tables_bytes: *tables,
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
            worn: counts.worn,
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
            head: machine.head(end),
        },
        power_active: power(design, &what, *design.dram.idle_per_gbit),
        power_down: power(design, &what, *design.dram.power_down_per_gbit),
        area: DieArea::new(design, config.dram, config.flash),
        cost: Cost::new(design, config.dram, config.flash),
        roadmap: roadmap(config, &worn),
        wear,
        input: source.load.note().clone(),
        warnings: warnings(config, machine, time, source),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION"),
            config: (*config).clone(),
            follows: "Kgil and Mudge, FlashCache, CASES 2006",
            dram_policy_follows: kind.source(),
            trace: source.load.told(),
        },
    }
}

/// Busy fraction above which a part is reported as the bottleneck.
const NEARLY_ALL: f64 = 0.99;

fn warnings(
    config: &FlashCacheConfig,
    machine: &Machine,
    time: Ns,
    source: &Spread,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let (counts, load) = (machine.counts(), &source.load);
    let refused = machine.refused();
    if refused > 0 {
        warnings.push(format!(
            "{refused} misses were not admitted to the primary page cache: the object is larger"
        ));
    }
    if counts.too_large > 0 {
        let (many, flash) = (counts.too_large, config.flash);
        warnings.push(format!(
            "{many} misses were not admitted to flash: the object is larger than all {flash} of it"
        ));
    }
    if counts.worn > 0 {
        let many = counts.worn;
        warnings.push(format!("{many} misses were not admitted to flash: their set was too worn"));
    }
    if config.flash > Bytes::ZERO && machine.full.is_none() {
        let why = "the flash was not filled once, so its lifetime is not known; replay a longer \
                   trace, or use a smaller --flash";
        warnings.push(why.to_owned());
    }
    let by_trace = config.pace.outstanding.is_none();
    let busy = [("the flash chip", machine.did().busy()), ("the backend", machine.asked().busy)];
    for (what, busy) in busy {
        if by_trace && part(busy, time) > NEARLY_ALL {
            warnings.push(format!(
                "{what} is busy all the time: requests arrive faster than it can serve them"
            ));
        }
    }
    if source.crowded > 0 {
        let many = source.crowded;
        warnings.push(format!(
            "{many} times a second of the trace had a million requests, which were spread over \
             it in parts; --rate sets another pace"
        ));
    }
    if load.devices() > 1 {
        let devices = load.devices();
        warnings.push(format!("the trace has {devices} devices; all share the cache"));
    }
    warnings.extend(load.note().doubts.iter().map(|doubt| format!("implausible: {doubt}")));
    warnings.extend(load.notes());
    warnings
}
