//! The status of a flash image.

use crate::payload::NbdPayload;
use gordon_nand::{Timing, endurance_used, lifetime_years};
use gordon_store::{BlockHealth, DieGroupCounters, Engine, Payload, Telemetry};
use gordon_units::{BlockId, Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;

/// The part of a status that only flash images have.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlashStatus {
    /// UUID of the image.
    pub uuid: String,
    /// The failed assertion that has stopped the device: a defect of the program.
    pub stopped: Option<String>,
    /// Size of a mapping unit in bytes.
    pub unit: u64,
    /// Size of the data of a super-block in bytes, without its summary.
    pub super_block: u64,
    /// Number of super-blocks that writes of hosts use in turn.
    pub write_points: u32,
    /// Bytes programmed for each byte that hosts wrote. Data in the write buffer are not programmed
    /// yet.
    pub write_amplification: Option<f64>,
    /// Logical pages programmed, by cause.
    pub programmed: Programmed,
    /// Fraction of the rated endurance that was used since the start: bytes programmed, divided by
    /// raw capacity times rated erases; `None` if blocks never wear out.
    pub endurance_used: Option<f64>,
    /// Years until the rated endurance is used up if writes continue as since the start; `None` if
    /// nothing was programmed, or the start was less than a minute ago.
    pub lifetime_years: Option<f64>,
    /// Super-blocks erased.
    pub erases: u64,
    /// Super-blocks emptied by garbage collection.
    pub collections: u64,
    /// Super-blocks emptied by wear levelling.
    pub levelled: u64,
    /// Logical pages read in order to copy them.
    pub gc_page_reads: u64,
    /// Writes that were combined with another write in one program operation.
    pub combined: u64,
    /// Reads that shared a read in flight, or found the last page read.
    pub bypassed: u64,
    /// Reads served from data that are not programmed yet.
    pub forwarded: u64,
    /// Writes acknowledged from the write buffer.
    pub buffered: u64,
    /// Logical pages whose data are on the array now. Data in the write buffer are not there yet.
    pub mapped_pages: u64,
    /// Logical pages of the device.
    pub exported_pages: u32,
    /// Erased super-blocks that are not at a write point.
    pub free_blocks: u32,
    /// Super-blocks in service.
    pub good_blocks: u32,
    /// Erases of super-blocks over their life.
    pub wear: Wear,
    /// Bit errors that were corrected.
    pub bits_corrected: u64,
    /// Codewords with more bit errors than can be corrected.
    pub codewords_lost: u64,
    /// Mapping units whose checksum did not match.
    pub checksum_errors: u64,
    /// Programs and erases that failed.
    pub flash_failures: u64,
    /// Operations by die group.
    #[serde(rename = "lanes")]
    pub die_groups: Vec<DieGroupCounters>,
    /// Busy times; `None` if the times of the part are unknown.
    pub busy_ns: Option<Busy>,
    /// Utilisation; `None` if the times of the part are unknown.
    pub utilisation: Option<Utilisation>,
}

/// Logical pages programmed, by cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Programmed {
    /// Written by hosts.
    pub host: u64,
    /// Copied by garbage collection.
    pub gc: u64,
    /// Copied by wear levelling.
    pub wear: u64,
    /// Summaries of super-blocks.
    pub summary: u64,
    /// Records of the trim journal.
    pub trims: u64,
    /// Padding of super-pages that were not full.
    pub padding: u64,
}

/// Erases of super-blocks over their life.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "WearSummary")]
pub struct Wear {
    /// Erases of the least erased super-block.
    pub least: u32,
    /// Mean of all super-blocks in service.
    pub mean: f64,
    /// Erases of the most erased super-block.
    pub most: u32,
}

/// How long the flash was busy since the start, in ns, modelled. The values are totals, so that the
/// difference of two queries is the busy time between them. In simulated time they are the busy
/// times of the simulated die groups; at full speed they are the counted operations times the times
/// of the part, as if they ran sequentially.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Busy {
    /// By group of buses.
    pub buses: Vec<u64>,
    /// Dies, by die group.
    pub dies: Vec<u64>,
}

/// Busy times divided by the time since the start. At full speed a value above 1 means that the
/// flash could not have done the work in this time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Utilisation {
    /// By group of buses.
    pub buses: Vec<f64>,
    /// Dies, by die group.
    pub dies: Vec<f64>,
}

impl FlashStatus {
    pub(super) fn of(
        engine: &Engine<NbdPayload>,
        telemetry: &Telemetry,
        busy: Option<Busy>,
        now: Ns,
    ) -> Self {
        let (image, counters, ftl) = (engine.image(), &telemetry.counters, telemetry.ftl);
        let unit = image.device().unit.0;
        let config = engine.ftl().config();
        let layout = engine.ftl().layout();
        let data_pages = config.data_pages(layout);
        // Bytes far below 2^53.
        #[allow(clippy::cast_precision_loss)]
        let [programmed, raw] =
            [ftl.programs() * unit, layout.geometry().capacity().0].map(|bytes| bytes as f64);
        let rated = Some(image.device().faults.erase_budget).filter(|rated| *rated > 0);
        let endurance_used = rated.map(|rated| endurance_used(programmed, raw, rated));
        Self {
            uuid: image.uuid(),
            stopped: engine.stopped().map(str::to_owned),
            unit,
            super_block: u64::from(data_pages) * u64::from(config.slots) * unit,
            write_points: config.write_points,
            write_amplification: telemetry.write_amplification(unit),
            programmed: Programmed {
                host: ftl.host_programs,
                gc: ftl.gc_programs,
                wear: ftl.wear_programs,
                summary: ftl.summary_programs,
                trims: ftl.journal_programs,
                padding: ftl.padded,
            },
            endurance_used,
            lifetime_years: endurance_used.and_then(|used| lifetime_years(used, now)),
            erases: ftl.erases,
            collections: ftl.collections,
            levelled: ftl.levelled,
            gc_page_reads: ftl.gc_page_reads,
            combined: ftl.combined,
            bypassed: ftl.bypassed,
            forwarded: ftl.forwarded,
            buffered: ftl.buffered,
            mapped_pages: engine.ftl().mapped(),
            exported_pages: config.exported,
            free_blocks: telemetry.free_blocks,
            good_blocks: telemetry.good_blocks,
            wear: wear(engine),
            bits_corrected: counters.bits_corrected,
            codewords_lost: counters.codewords_lost,
            checksum_errors: counters.checksum_errors,
            flash_failures: counters.flash_failures,
            utilisation: busy.as_ref().map(|busy| busy.over(now)),
            busy_ns: busy,
            die_groups: counters.die_groups.clone(),
        }
    }
}

fn wear(engine: &Engine<NbdPayload>) -> Wear {
    let blocks = engine.ftl().layout().blocks();
    let good =
        (0..blocks).map(BlockId).filter(|&b| engine.image().record(b).health == BlockHealth::Good);
    let (mut least, mut most, mut sum, mut count) = (u32::MAX, 0, 0u64, 0u32);
    for erases in good.map(|block| engine.ftl().erases(block)) {
        (least, most) = (least.min(erases), most.max(erases));
        (sum, count) = (sum + u64::from(erases), count + 1);
    }
    // Far below 2^52.
    #[allow(clippy::cast_precision_loss)]
    let mean = if count == 0 { 0.0 } else { sum as f64 / f64::from(count) };
    Wear { least: least.min(most), mean, most }
}

impl Busy {
    /// The busy times of the counted operations, with the times that the simulated die groups use.
    /// A read of a part of a super-page occupies the bus for that part of the time of a whole one.
    pub(crate) fn of<P: Payload>(engine: &Engine<P>, timing: &Timing) -> Self {
        let layout = engine.ftl().layout();
        let (geometry, shape) = (layout.geometry(), layout.shape());
        let page = Bytes(u64::from(geometry.page_bytes) + u64::from(geometry.oob_bytes));
        let dies = u64::from(shape.dies_per_bus) * u64::from(shape.planes);
        let (transfer, command) = (timing.transfer(page).0 * dies, timing.command.0 * dies);
        let slots = u64::from(engine.ftl().config().slots);
        let mean = |times: &[Ns]| times.iter().map(|t| t.0).sum::<u64>() / times.len() as u64;
        let (read, program) = (mean(timing.read.types()), mean(timing.program.types()));
        // A read transfers only the requested mapping units.
        let transfers = |die_group: &DieGroupCounters| {
            die_group.units_read * transfer / slots + die_group.programs * transfer
        };
        let on_dies = |die_group: &DieGroupCounters| {
            die_group.reads * read
                + die_group.programs * program
                + die_group.erases * timing.erase.0
        };
        let telemetry = engine.telemetry();
        let die_groups = &telemetry.counters.die_groups;
        let mut buses = vec![0; layout.bus_groups() as usize];
        for (at, die_group) in (0..).zip(die_groups) {
            buses[layout.bus_group(gordon_nand::DieGroupId(at))] +=
                transfers(die_group) + die_group.erases * command;
        }
        Self {
            buses,
            dies: die_groups
                .iter()
                .map(|die_group| on_dies(die_group) + transfers(die_group))
                .collect(),
        }
    }

    fn over(&self, now: Ns) -> Utilisation {
        // Sums of nanoseconds: below 2^53 for months.
        #[allow(clippy::cast_precision_loss)]
        let part = |busy: &u64| *busy as f64 / now.0.max(1) as f64;
        let all = |times: &[u64]| times.iter().map(part).collect();
        Utilisation { buses: all(&self.buses), dies: all(&self.dies) }
    }
}
