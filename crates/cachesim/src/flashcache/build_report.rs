//! Computes the report of a run from the state of the machine at its end.

use super::chip::StepTimes;
use super::machine::{DataSource, Machine, SOURCES, SourceTally};
use super::pace::SpreadLoad;
use super::power::{Cost, DieArea, PowerInput, power};
use super::report::{
    BackendReport, FlashCacheReport, FlashReport, LevelReport, Levels, MemoryReport, Provenance,
    RequestReport, TableReport,
};
use super::wear::{FillCost, LoadWear, busy_fraction, mb_s, per_second, roadmap, wear};
use super::{BackendKind, FlashCacheConfig, Run};
use crate::HitReport;
use gordon_blockio::LatencyHistogram;
use gordon_cache::flashcache::Fill;
use gordon_replay::results::share;
use gordon_units::{Bytes, Ns};

fn level(machine: &Machine, source: DataSource, all: SourceTally) -> LevelReport {
    let SourceTally { requests, bytes } = machine.tallies[source as usize];
    LevelReport {
        requests,
        share: share(requests, all.requests),
        bytes,
        byte_share: share(bytes, all.bytes),
        latency_us: machine.latencies[source as usize].summary(),
    }
}

pub(super) fn build(run: &Run<'_>, end: Ns, source: &SpreadLoad) -> FlashCacheReport {
    let Run { config, kind, machine, tables, whole, warm_up_report, .. } = run;
    let design = &config.design;
    let time = end - machine.warm_up.at;
    let (cache, chip, backend) =
        (&machine.cache, machine.chip_counters(), machine.backend_counters());
    let (counts, shape) = (machine.counts(), cache.shape());
    let [reading, writing] = machine.dram_busy();
    let all = machine.tallies.iter().fold(SourceTally::default(), |sum, one| SourceTally {
        requests: sum.requests + one.requests,
        bytes: sum.bytes + one.bytes,
    });
    let mut latency = LatencyHistogram::default();
    machine.latencies.iter().for_each(|one| latency.add(one));
    let of = |source| level(machine, source, all);
    let levels = Levels {
        dram: of(DataSource::Dram),
        buffer: of(DataSource::Buffer),
        flash: of(DataSource::Flash),
        backend: of(DataSource::Backend),
        written: of(DataSource::Written),
    };
    debug_assert_eq!(SOURCES, 5);
    let misses = levels.backend.requests + levels.written.requests;
    let miss_bytes = levels.backend.bytes + levels.written.bytes;
    let input = PowerInput {
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
    let fill_cost = FillCost {
        fetches,
        fetch: machine.backend.fetch_interval(fetched),
        refill: StepTimes::new(design).refill(shape.pages.into()),
    };
    let load_wear = LoadWear::new(machine, end);
    let wear = wear(design, machine, &load_wear, &fill_cost);
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
        warmup: *warm_up_report,
        hit_report: HitReport::new(&gordon_cache::HitCounts {
            requests: all.requests,
            hits: all.requests - misses,
            bytes: all.bytes,
            hit_bytes: all.bytes - miss_bytes,
        }),
        levels,
        whole: RequestReport {
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
        requests_per_s: per_second(all.requests, time),
        latency_us: latency.summary(),
        waited: machine.waited,
        flash: has_flash.then(|| FlashReport {
            accesses_per_s: per_second(counts.flash_hits + counts.fills, time),
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
            busy: busy_fraction(chip.busy(), time),
            reading: busy_fraction(chip.reading, time),
            programming: busy_fraction(chip.programming, time),
            erasing: busy_fraction(chip.erasing, time),
        }),
        backend: BackendReport {
            kind: match &config.backend {
                BackendKind::Disk | BackendKind::Simulated(_) => "disk",
                BackendKind::Origin => "origin",
            },
            reads: backend.reads,
            bytes_read: backend.read.0,
            writes: backend.writes,
            bytes_written: backend.written.0,
            sequential: backend.sequential,
            busy_s: backend.busy.as_secs(),
            busy: busy_fraction(backend.busy, time),
            head: machine.head(end),
        },
        power_active: power(design, &input, *design.dram.idle_per_gbit),
        power_down: power(design, &input, *design.dram.power_down_per_gbit),
        area: DieArea::new(design, config.dram, config.flash),
        cost: Cost::new(design, config.dram, config.flash),
        roadmap: roadmap(config, &load_wear),
        wear,
        input: source.load.note().clone(),
        warnings: warnings(config, machine, time, source),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION"),
            config: (*config).clone(),
            follows: "Kgil and Mudge, FlashCache, CASES 2006",
            dram_policy_follows: kind.source(),
            trace: source.load.provenance(),
        },
    }
}

/// Busy fraction above which a part is reported as the bottleneck.
const NEARLY_ALL: f64 = 0.99;

fn warnings(
    config: &FlashCacheConfig,
    machine: &Machine,
    time: Ns,
    source: &SpreadLoad,
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
    if config.flash > Bytes::ZERO && machine.first_fill.is_none() {
        let why = "the flash was not filled once, so its lifetime is not known; replay a longer \
                   trace, or use a smaller --flash";
        warnings.push(why.to_owned());
    }
    let by_trace = config.pace.outstanding.is_none();
    let busy = [
        ("the flash chip", machine.chip_counters().busy()),
        ("the backend", machine.backend_counters().busy),
    ];
    for (what, busy) in busy {
        if by_trace && busy_fraction(busy, time) > NEARLY_ALL {
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
