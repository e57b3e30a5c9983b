//! Results of a run on a flash device: operations, wear and energy.
//!
//! Energy follows section 5.2 of the Gordon paper, `idle x (1 - activity) + active x activity` for
//! each part: dies, the controller, its memory (Table 3), from the first arrival to the last
//! completion. The controller and its memory are active while any operation is in progress.
//!
//! Lifetime follows section 4.1: the bytes programmed in this run, divided by the raw capacity
//! times the rated erases, extrapolated over the span of the load
//! ([`gordon_nand::lifetime_years`]).

use super::recorder::Recorded;
use super::{counted, ratio, share};
use gordon_blockio::{Device, IoOp};
use gordon_nand::{LEAST_ERASES, lba_table, lifetime_years, smallest_super_page};
use gordon_ssd::{CommandKind, DieGroupStats, Ssd, SsdConfig, Wear};
use gordon_units::{Joules, Ns, Watts};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The flash part of a report. Pages are logical pages, the mapping units; a super-page has one or
/// more of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlashReport {
    /// Raw capacity in bytes.
    pub raw_capacity_bytes: u64,
    /// Exported capacity in bytes.
    pub exported_capacity_bytes: u64,
    /// Raw capacity minus exported capacity: over-provisioning.
    pub spare_capacity_bytes: u64,
    /// Pages programmed, for any cause, per page programmed with host data; `None` if there were
    /// none.
    pub write_amplification: Option<f64>,
    /// Write amplification by cause; the values sum to the total.
    pub write_amplification_by_cause: BTreeMap<&'static str, f64>,
    /// Bytes programmed, for any cause, per byte written by the host. Small writes program whole
    /// pages, and combined writes program fewer bytes than they write.
    pub write_amplification_bytes: Option<f64>,
    /// Number of super-blocks erased.
    pub erases: u64,
    /// Pages read and programmed, by cause.
    pub pages: PageCounts,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Operations of the array on super-pages and super-blocks.
    pub operations: OperationCounts,
    /// Blocks emptied by garbage collection.
    pub collections: u64,
    /// Blocks emptied by static wear levelling.
    pub levelled: u64,
    /// Blocks that have gone bad since the device was new.
    pub grown_bad: u64,
    /// Whether the device refuses writes because too few good blocks are left.
    pub worn_out: bool,
    /// Time of the first write that failed because of that; `None` if none did.
    pub worn_out_at_s: Option<f64>,
    /// Bytes that the host had written by then in this run.
    pub worn_out_after_bytes: Option<u64>,
    /// Sub-requests refused because of that.
    pub refused: u64,
    /// Writes acknowledged from the write buffer, counted as sub-requests.
    pub buffered: u64,
    /// Pages in the write buffer at the end of the run: acknowledged, but not programmed.
    pub buffered_at_end: u64,
    /// Sub-requests of writes that joined a pending write of the same page.
    pub combined: u64,
    /// Sub-requests of reads that joined a pending read, or found the last page read.
    pub bypassed: u64,
    /// Sub-requests of reads served from a page that waits to be programmed, or is being
    /// programmed.
    pub forwarded: u64,
    /// Sub-requests of reads of unmapped pages, which return zeros.
    pub unmapped_reads: u64,
    /// Logical pages trimmed.
    pub trims: u64,
    /// Pages that held data before the run.
    pub preloaded_pages: u64,
    /// Busy fraction of each part.
    pub utilisation: Utilisation,
    /// Total time during which blocks were collected by garbage collection or wear levelling.
    pub collecting_s: f64,
    /// Waiting times of operations on super-pages and super-blocks, by kind: `read`, `program`,
    /// `erase`.
    pub waiting: BTreeMap<&'static str, WaitReport>,
    /// Erases of the super-blocks since the device was new.
    pub wear: WearReport,
    /// Energy of all parts in joules.
    pub energy_j: f64,
    /// Energy by part in joules; the values sum to `energy_j`.
    pub energy_by_part_j: BTreeMap<&'static str, f64>,
    /// Fraction of the rated endurance that the run used: bytes programmed, divided by raw bytes
    /// times rated erases.
    pub endurance_used: f64,
    /// Duration of the load: the span of the trace, or the simulated time if that is longer.
    pub lifetime_span_s: f64,
    /// Years until the rated endurance is used up if the load continues at the same rate; `None` if
    /// the span is shorter than a minute, or if the run erased fewer than 100 super-blocks
    /// ([`LEAST_ERASES`]).
    pub lifetime_years: Option<f64>,
    /// Years until the block that the run erased most often reaches its rated erases; `None` if the
    /// run erased it less than 100 times.
    pub first_block_years: Option<f64>,
    /// Bytes that can be programmed until the erases of all blocks are used up.
    pub lifetime_writes_bytes: u64,
    /// Time from power on until the map is rebuilt, computed from the part's timing. The map is
    /// rebuilt from summary pages or, without them, from the out-of-band data of all pages.
    pub startup_s: Option<f64>,
    /// Memory of the tables of the simulated layer, in this program.
    pub map_memory_bytes: u64,
    /// Size of the LBA table of section 4.2.2 of the Gordon paper: 4 bytes for each page of the raw
    /// capacity.
    pub lba_table_bytes: u64,
    /// Number of simulated events.
    pub events: u64,
}

/// Operations of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationCounts {
    /// Reads of super-pages or parts of them.
    pub read: u64,
    /// Programs of super-pages.
    pub program: u64,
    /// Erases of super-blocks.
    pub erase: u64,
}

/// Pages read and programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageCounts {
    /// Pages read for the host.
    pub host_read: u64,
    /// Pages programmed with host data.
    pub host_program: u64,
    /// Pages read to be copied by garbage collection.
    pub gc_read: u64,
    /// Pages programmed with copies made by garbage collection.
    pub gc_program: u64,
    /// Pages read because a write covers only a part of them.
    pub merge_read: u64,
    /// Pages programmed with copies made by static wear levelling.
    pub wear_program: u64,
    /// Pages programmed with summaries of blocks.
    pub summary_program: u64,
    /// Pages programmed with records of trims.
    pub log_program: u64,
    /// Pages programmed without data, to fill a super-page.
    pub padding: u64,
}

/// Busy fraction of each part. An operation in progress at the end counts as a whole, but the sum
/// is at most the time of the run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Utilisation {
    /// Busy fraction of each group of buses.
    pub buses: Vec<Option<f64>>,
    /// Mean over the groups of buses.
    pub bus: Option<f64>,
    /// Fraction of die time spent reading.
    pub die_read: Option<f64>,
    /// Fraction of die time spent programming and erasing.
    pub die_write: Option<f64>,
    /// Fraction of die time spent in any operation.
    pub die: Option<f64>,
    /// Fraction of the run with any operation in progress.
    pub controller: Option<f64>,
    /// Fraction of the run during which blocks were collected.
    pub collecting: Option<f64>,
}

/// Waiting times of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaitReport {
    /// Number of operations.
    pub operations: u64,
    /// Operations that could not start at once because their dies were busy.
    pub queued: u64,
    /// Operations that waited behind garbage collection, wear levelling or an erase.
    pub behind_background: u64,
    /// Operations carried out together with another one on the same dies.
    pub joined: u64,
    /// Mean time from issue to start; `None` without operations.
    pub waited_mean_us: Option<f64>,
    /// Mean time from start to end, including waits for a bus, of completed operations.
    pub served_mean_us: Option<f64>,
}

/// Numbers of erases of super-blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WearReport {
    /// Erases of the least worn super-block.
    pub min_erases: u32,
    /// Erases of the most worn super-block.
    pub max_erases: u32,
    /// Mean number of erases.
    pub mean_erases: f64,
    /// Rated erases of a block.
    pub erase_budget: u64,
    /// Fraction of super-blocks that reach the rated number of erases, that is, whose blocks all do
    /// (section 4.2.2 of the paper: 98 % for super-pages of 64 KiB).
    pub super_block_survival: f64,
}

impl FlashReport {
    /// Report on `ssd`, built from `config`, after a run of `simulated` of a load of `span`.
    /// `before` contains the erases of its blocks before the run.
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
        let erased = || ssd.erases().zip(before).map(|(now, before)| now - before);
        let all: u64 = erased().map(u64::from).sum();
        let most = erased().max().unwrap_or(0);
        let of_first = f64::from(most) / ratio(lifetime.erase_budget, 1);
        let (raw, exported) = (ssd.raw_capacity(), ssd.capacity());
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
            pages: PageCounts {
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
            operations: OperationCounts {
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
            lifetime_years: lifetime.years(span).filter(|_| all >= LEAST_ERASES),
            first_block_years: lifetime_years(of_first, span)
                .filter(|_| u64::from(most) >= LEAST_ERASES),
            lifetime_writes_bytes: lifetime.writable().0,
            startup_s: config.startup().ok().map(Ns::as_secs),
            map_memory_bytes: stats.ftl_memory.0,
            lba_table_bytes: lba_table(raw, ssd.page_bytes()).0,
            events: stats.events,
        }
    }
}

/// Waiting times by kind of operation.
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

/// Energy in joules by part. Operations in progress at the end may add up to more than the time of
/// the run; the busy time is limited to it.
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

/// Super-blocks beyond those that the exported capacity needs.
fn spare_blocks(ssd: &Ssd) -> u64 {
    let data = ssd.capacity().0.div_ceil(ssd.ftl().layout().block_bytes().0);
    u64::from(ssd.ftl().good_blocks()).saturating_sub(data)
}

/// A warning if the free blocks at which collection starts are a large fraction of the spare
/// blocks, as on a small array: collection needs a few however small the array is.
pub fn spare_warning(ssd: &Ssd) -> Option<String> {
    let (kept, spare) = (u64::from(ssd.ftl().config().low_water), spare_blocks(ssd));
    (kept * 8 > spare).then(|| {
        format!(
            "collection starts when {kept} blocks are free, and the array has {spare} spare \
             blocks: expect a higher write amplification than on a larger array with the same \
             over-provisioning"
        )
    })
}

/// A warning if some die groups have no write point.
pub fn write_point_warning(ssd: &Ssd, config: &SsdConfig) -> Option<String> {
    let (points, groups) = (ssd.ftl().config().write_points, ssd.ftl().layout().die_groups());
    (points < groups).then(|| {
        let at_a_time = counted(points.into(), "group is", "groups are");
        if config.ftl.write_points.is_some() {
            format!(
                "ftl.write_points={points} is less than the {groups} die groups of the array: at \
                 most {at_a_time} written at a time; leave it out for one write point for each \
                 group"
            )
        } else {
            format!(
                "the array has only {} spare blocks for {groups} die groups, so at most \
                 {at_a_time} written at a time; a larger capacity writes faster, or set \
                 ftl.write_points",
                spare_blocks(ssd)
            )
        }
    })
}

/// A warning if a large fraction of the written data is still in the write buffer.
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

/// A warning if the mapping table needs all of the controller's memory, computed as in section
/// 4.2.2 of the Gordon paper for the whole array.
pub fn table_warning(ssd: &Ssd, config: &SsdConfig) -> Option<String> {
    let memory = **config.ftl.table_memory.as_ref()?;
    let (raw, page) = (ssd.raw_capacity(), ssd.page_bytes());
    let table = lba_table(raw, page);
    let least = smallest_super_page(raw, page, memory).filter(|_| table >= memory)?;
    Some(format!(
        "the mapping table (L2P) takes {} for {} in pages of {page}, and the controller has {}: \
         pages must be at least {least} (ftl.table_memory)",
        table.human(),
        raw.human(),
        memory.human()
    ))
}

/// Number of super-blocks by number of erases, without factory-bad blocks.
pub fn erase_histogram(ssd: &Ssd) -> BTreeMap<u32, u64> {
    let mut histogram = BTreeMap::new();
    for erases in ssd.erases() {
        *histogram.entry(erases).or_default() += 1;
    }
    histogram
}
