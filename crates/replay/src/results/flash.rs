//! What a flash device did in a run, and what it used.
//!
//! Energy is that of section 5.2 of the Gordon paper, `idle x (1 - activity) + active x activity`
//! for each part: dies, the controller, its memory (Table 3), from the first arrival to the last
//! completion. The controller and its memory are at work while any operation is under way.
//!
//! Lifetime is that of section 4.1: the bytes programmed in this run, over the raw capacity times
//! the rated erases, extrapolated over the span of the load ([`gordon_nand::lifetime_years`]).

use super::recorder::Recorded;
use super::{counted, ratio, share};
use gordon_blockio::{Device, IoOp};
use gordon_nand::{lba_table, lifetime_years, smallest_super_page};
use gordon_ssd::{CommandKind, DieGroupStats, Ssd, SsdConfig, Wear};
use gordon_units::{Joules, Ns, Watts};
use serde::Serialize;
use std::collections::BTreeMap;

/// The flash part of a report. Pages are logical pages, the units of the map; a super-page has one
/// or more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashReport {
    /// Data bytes of all pages of the array.
    pub raw_capacity_bytes: u64,
    /// Bytes that the host can address.
    pub exported_capacity_bytes: u64,
    /// Raw capacity less exported capacity: over-provisioning.
    pub spare_capacity_bytes: u64,
    /// Pages programmed, for any cause, for each programmed with host data; none where nothing
    /// was programmed.
    pub write_amplification: Option<f64>,
    /// Its parts.
    pub write_amplification_by_cause: BTreeMap<&'static str, f64>,
    /// Bytes programmed, for any cause, for each written by the host: small writes program whole
    /// pages, combined ones less than they write.
    pub write_amplification_bytes: Option<f64>,
    /// Super-blocks erased.
    pub erases: u64,
    /// Pages read and programmed, by cause.
    pub pages: Pages,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Super-pages read and programmed: operations of the array.
    pub operations: Operations,
    /// Blocks emptied by garbage collection.
    pub collections: u64,
    /// Blocks emptied by static wear levelling.
    pub levelled: u64,
    /// Blocks that have gone bad.
    pub grown_bad: u64,
    /// So many that the device takes no more writes.
    pub worn_out: bool,
    /// When the first write failed of that; none where none did.
    pub worn_out_at_s: Option<f64>,
    /// Bytes that the host had written then, in this run.
    pub worn_out_after_bytes: Option<u64>,
    /// Pieces of requests refused because of that.
    pub refused: u64,
    /// Written pieces acknowledged from the write buffer.
    pub buffered: u64,
    /// Pages still in the write buffer when the run ended: acknowledged, and counted in no program.
    pub buffered_at_end: u64,
    /// Pieces of writes that went into the program of another.
    pub combined: u64,
    /// Pieces of reads that shared a pending read or found the last page read.
    pub bypassed: u64,
    /// Pieces of reads served from a page that waits to be, or is being, programmed.
    pub forwarded: u64,
    /// Pieces of reads of pages that are not mapped: zeros.
    pub unmapped_reads: u64,
    /// Logical pages trimmed.
    pub trims: u64,
    /// Pages that held data before the run.
    pub preloaded_pages: u64,
    /// How busy it was.
    pub utilisation: Utilisation,
    /// How long blocks were being emptied, by garbage collection or wear levelling.
    pub collecting_s: f64,
    /// How operations on super-pages and super-blocks waited for their dies, by kind: `read`,
    /// `program`, `erase`.
    pub waiting: BTreeMap<&'static str, WaitReport>,
    /// Erases of the super-blocks since the device was new.
    pub wear: WearReport,
    /// Joules of all parts.
    pub energy_j: f64,
    /// Joules by part; they sum to `energy_j`.
    pub energy_by_part_j: BTreeMap<&'static str, f64>,
    /// The part of the rated endurance that the run used: bytes programmed, over raw bytes times
    /// rated erases.
    pub endurance_used: f64,
    /// How long the load took: the trace's whole span, or the simulated time where that is longer.
    pub lifetime_span_s: f64,
    /// Years until the rated endurance is used up if the load continues as it did over its span;
    /// none where nothing was programmed, or the span is shorter than a minute.
    pub lifetime_years: Option<f64>,
    /// The same until the block that the run erased most often reaches its rated erases; none where
    /// no block was erased, either.
    pub first_block_years: Option<f64>,
    /// Bytes that can be programmed before every block's erases are used up.
    pub lifetime_writes_bytes: u64,
    /// Time from power on until the map is rebuilt from summary pages, or without them from the
    /// out-of-band data of all pages, by the part's own timing.
    pub startup_s: Option<f64>,
    /// Memory of the simulated layer's tables, in this program.
    pub map_memory_bytes: u64,
    /// The LBA table of section 4.2.2 of the Gordon paper: 4 bytes for each page of the raw
    /// capacity.
    pub lba_table_bytes: u64,
    /// Events simulated.
    pub events: u64,
}

/// Operations of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Super-pages read, or parts of one.
    pub read: u64,
    /// Super-pages programmed.
    pub program: u64,
    /// Super-blocks erased.
    pub erase: u64,
}

/// Pages read and programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pages {
    /// Read for the host.
    pub host_read: u64,
    /// Programmed with host data.
    pub host_program: u64,
    /// Read to be copied by garbage collection.
    pub gc_read: u64,
    /// Programmed with these copies.
    pub gc_program: u64,
    /// Read because a write covers only part of them.
    pub merge_read: u64,
    /// Programmed with copies made by static wear levelling.
    pub wear_program: u64,
    /// Programmed with summaries of blocks.
    pub summary_program: u64,
    /// Programmed with records of trims.
    pub log_program: u64,
    /// Programmed with nothing, because a super-page was not full.
    pub padding: u64,
}

/// The part of the run that things were busy for. Operations under way at its end count whole, as
/// far as there is room.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utilisation {
    /// Groups of buses that work as one, each.
    pub buses: Vec<Option<f64>>,
    /// Their mean.
    pub bus: Option<f64>,
    /// Dies: reading.
    pub die_read: Option<f64>,
    /// Dies: programming and erasing.
    pub die_write: Option<f64>,
    /// Dies: both.
    pub die: Option<f64>,
    /// Some operation was under way.
    pub controller: Option<f64>,
    /// Blocks were being emptied.
    pub collecting: Option<f64>,
}

/// How operations of one kind waited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WaitReport {
    /// How many there were.
    pub operations: u64,
    /// Those that could not start at once: their dies were at work.
    pub queued: u64,
    /// Those that waited behind garbage collection, wear levelling or an erase.
    pub behind_background: u64,
    /// Those carried out together with another one on the same dies.
    pub joined: u64,
    /// From issue to start, the mean of all; none where there were none.
    pub waited_mean_us: Option<f64>,
    /// From start to end, waiting for a bus included, the mean of those done.
    pub served_mean_us: Option<f64>,
}

/// Erases of the super-blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WearReport {
    /// The least worn.
    pub min_erases: u32,
    /// The most worn.
    pub max_erases: u32,
    /// The mean.
    pub mean_erases: f64,
    /// Erases that each lasts for.
    pub erase_budget: u64,
    /// The part of super-blocks that last for so many: as long as all their blocks do (section
    /// 4.2.2 of the paper: 98 % for super-pages of 64 KiB).
    pub super_block_survival: f64,
}

impl FlashReport {
    /// What `ssd`, made of `config`, did in a run of `simulated`, of a load of `span`. `before` are
    /// the erases of its blocks before the run.
    pub fn of(
        ssd: &Ssd,
        config: &SsdConfig,
        (simulated, span): (Ns, Ns),
        before: &[u32],
        recorded: &Recorded,
    ) -> Self {
        let written = recorded.bytes[IoOp::Write as usize];
        let (stats, usage) = (ssd.stats(), ssd.usage());
        let (ftl, lifetime) = (&stats.ftl, &stats.lifetime);
        let host = ftl.host_programs;
        let page_bytes = ssd.page_bytes().0;
        let by_cause = [
            ("host", host),
            ("gc", ftl.gc_programs),
            ("wear_levelling", ftl.wear_programs),
            ("summary", ftl.summary_programs),
            ("trim_log", ftl.journal_programs),
            ("padding", ftl.padded),
        ];
        let dies = u64::from(config.dies());
        let busy = |time: Ns, parts: u64| {
            let all = simulated.0.saturating_mul(parts);
            share(time.0.min(all), all)
        };
        let buses: Vec<_> = stats.die_groups.bus_busy.iter().map(|time| busy(*time, 1)).collect();
        let energy = energy(config, simulated, usage.read + usage.write, usage.controller);
        let Wear { min, max, mean } = stats.wear;
        let erased = ssd.erases().zip(before).map(|(now, before)| now - before);
        let most = f64::from(erased.max().unwrap_or(0));
        let (raw, exported) = (ssd.ftl().layout().geometry().capacity(), ssd.capacity());
        Self {
            raw_capacity_bytes: raw.0,
            exported_capacity_bytes: exported.0,
            spare_capacity_bytes: raw.0.saturating_sub(exported.0),
            write_amplification: share(ftl.programs(), host),
            write_amplification_by_cause: by_cause
                .iter()
                .filter_map(|&(cause, pages)| Some((cause, share(pages, host)?)))
                .collect(),
            write_amplification_bytes: share(ftl.programs() * page_bytes, written),
            erases: ftl.erases,
            pages: Pages {
                host_read: ftl.host_page_reads,
                host_program: host,
                gc_read: ftl.gc_page_reads,
                gc_program: ftl.gc_programs,
                merge_read: ftl.merge_page_reads,
                wear_program: ftl.wear_programs,
                summary_program: ftl.summary_programs,
                log_program: ftl.journal_programs,
                padding: ftl.padded,
            },
            page_bytes,
            operations: Operations {
                read: ftl.read_operations,
                program: ftl.program_operations,
                erase: ftl.erases,
            },
            collections: ftl.collections,
            levelled: ftl.levelled,
            grown_bad: ftl.grown_bad,
            worn_out: ssd.ftl().is_worn_out(),
            worn_out_at_s: recorded.worn_out.map(|(at, _)| at.as_secs()),
            worn_out_after_bytes: recorded.worn_out.map(|(_, bytes)| bytes),
            refused: ftl.refused,
            buffered: ftl.buffered,
            buffered_at_end: ssd.ftl().buffered().into(),
            combined: ftl.combined,
            bypassed: ftl.bypassed,
            forwarded: ftl.forwarded,
            unmapped_reads: ftl.unmapped_reads,
            trims: ftl.trims,
            preloaded_pages: ftl.preloaded,
            utilisation: Utilisation {
                bus: busy(
                    stats.die_groups.bus_busy.iter().copied().sum(),
                    stats.die_groups.bus_busy.len() as u64,
                ),
                buses,
                die_read: busy(usage.read, dies),
                die_write: busy(usage.write, dies),
                die: busy(usage.read + usage.write, dies),
                controller: busy(usage.controller, 1),
                collecting: busy(stats.collecting, 1),
            },
            collecting_s: stats.collecting.as_secs(),
            waiting: waiting(&stats.die_groups),
            wear: WearReport {
                min_erases: min,
                max_erases: max,
                mean_erases: mean,
                erase_budget: lifetime.erase_budget,
                super_block_survival: ssd.survival(),
            },
            energy_j: energy.values().sum(),
            energy_by_part_j: energy,
            endurance_used: lifetime.used(),
            lifetime_span_s: span.as_secs(),
            lifetime_years: lifetime.years(span),
            first_block_years: lifetime_years(most / ratio(lifetime.erase_budget, 1), span),
            lifetime_writes_bytes: lifetime.writable().0,
            startup_s: config.startup().ok().map(Ns::as_secs),
            map_memory_bytes: stats.ftl_memory.0,
            lba_table_bytes: lba_table(raw, ssd.page_bytes()).0,
            events: stats.events,
        }
    }
}

/// Waiting by kind.
fn waiting(die_groups: &DieGroupStats) -> BTreeMap<&'static str, WaitReport> {
    let us = |time: Ns, works: u64| share(time.0, works).map(|ns| ns / 1e3);
    let one = |kind: CommandKind| {
        let k = &die_groups.kinds[kind.index()];
        WaitReport {
            operations: k.issued,
            queued: k.queued,
            behind_background: k.behind_background,
            joined: k.joined,
            waited_mean_us: us(k.waited, k.issued),
            served_mean_us: us(k.served, k.done),
        }
    };
    let names = [
        ("read", CommandKind::Read),
        ("program", CommandKind::Program),
        ("erase", CommandKind::Erase),
    ];
    names.into_iter().map(|(name, kind)| (name, one(kind))).collect()
}

/// Joules by part. Where operations under way at the end make dies busy for longer than there is
/// time, they are busy all the time.
fn energy(
    config: &SsdConfig,
    simulated: Ns,
    dies_busy: Ns,
    controller: Ns,
) -> BTreeMap<&'static str, f64> {
    let power = &config.power;
    let dies = u64::from(config.dies());
    let die_time = Ns(simulated.0.saturating_mul(dies));
    let part = |idle: Watts, active: Watts| -> Joules {
        idle * simulated + (active - idle) * controller.min(simulated)
    };
    BTreeMap::from([
        ("dies_idle", (*power.die_idle * simulated).0 * f64::from(config.dies())),
        ("dies_active", ((*power.die_active - *power.die_idle) * dies_busy.min(die_time)).0),
        ("controller", part(*power.controller_idle, *power.controller_active).0),
        ("dram", part(*power.dram_idle, *power.dram_active).0),
    ])
}

/// A warning where the free blocks at which collection starts are a good part of the spare blocks,
/// as on a small array: they do not shrink with it.
pub fn spare_warning(ssd: &Ssd) -> Option<String> {
    let (ftl, layout) = (ssd.ftl(), ssd.ftl().layout());
    let block = layout.page_bytes() * u64::from(layout.pages_per_block());
    let spare = u64::from(ftl.good_blocks()).saturating_sub(ssd.capacity().0.div_ceil(block.0));
    let kept = u64::from(ftl.config().low_water);
    (kept * 8 > spare).then(|| {
        format!(
            "collection starts when {kept} blocks are free, and the array has {spare} spare blocks: \
             expect a higher write amplification than on a larger array with the same \
             over-provisioning"
        )
    })
}

/// A warning where some die groups have no write point.
pub fn write_point_warning(ssd: &Ssd) -> Option<String> {
    let (points, groups) = (ssd.ftl().config().write_points, ssd.ftl().layout().die_groups());
    (points < groups).then(|| {
        format!(
            "ftl.write_points={points} is less than the {groups} die groups of the array: at most \
             {} written at a time; leave it out for one write point for each group",
            counted(points.into(), "group is", "groups are")
        )
    })
}

/// Where a good part of what was written is still in the write buffer.
pub fn buffer_warning(ssd: &Ssd, left: u64) -> Option<String> {
    let programmed = ssd.stats().ftl.host_programs;
    (left * 20 > programmed).then(|| {
        format!(
            "{} still in the write buffer when the last request was answered, compared with \
             {programmed} programmed: programs, energy and lifetime leave them out; give the run \
             more writes, or the device a smaller ftl.write_buffer",
            counted(left, "page was", "pages were")
        )
    })
}

/// What to say where the LBA table leaves nothing of the controller's memory: as section 4.2.2 of
/// the Gordon paper reckons, for the whole array.
pub fn table_warning(ssd: &Ssd, config: &SsdConfig) -> Option<String> {
    let memory = **config.ftl.table_memory.as_ref()?;
    let (raw, page) = (ssd.ftl().layout().geometry().capacity(), ssd.page_bytes());
    let table = lba_table(raw, page);
    let least = smallest_super_page(raw, page, memory).filter(|_| table >= memory)?;
    Some(format!(
        "the LBA table takes {} for {} in pages of {page}, and the controller has {}: pages must be \
         at least {least} (ftl.table_memory)",
        table.human(),
        raw.human(),
        memory.human()
    ))
}

/// How many super-blocks were erased so many times: erases, blocks. Without those that are bad from
/// the start.
pub fn erase_histogram(ssd: &Ssd) -> BTreeMap<u32, u64> {
    let mut histogram = BTreeMap::new();
    for erases in ssd.erases() {
        *histogram.entry(erases).or_default() += 1;
    }
    histogram
}
