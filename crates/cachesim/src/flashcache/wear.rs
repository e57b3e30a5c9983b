//! How long the flash lasts: the paper's section 6.3 and Figure 7.

use super::machine::Machine;
use super::power::DieArea;
use super::{Design, FlashCacheConfig};
use gordon_nand::{endurance_used, lifetime_years};
use gordon_replay::results::ratio;
use gordon_units::{Bytes, Ns};
use serde::Serialize;
use std::collections::BTreeMap;

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// What a load does to the flash: the basis of all lifetimes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worn {
    /// Times that the flash was programmed over in the whole run, after the warm-up.
    pub whole: f64,
    /// The same since it had been written once over, the erases of the most erased block since, and
    /// the time since; none where it never was.
    pub steady: Option<(f64, u32, Ns)>,
}

impl Worn {
    /// Of what `machine` did until `time`.
    pub fn new(machine: &Machine, time: Ns) -> Self {
        let over = |programs: u64| ratio(programs, machine.flash_pages().max(1));
        let programs = machine.chip.did.programs;
        let whole = over(machine.did().programs);
        let steady = machine.full.as_ref().map(|full| {
            let erased = machine.cache.erases().iter().zip(&full.erases);
            let most = erased.map(|(now, before)| now - before).max().unwrap_or(0);
            (over(programs - full.programs), most, time.saturating_sub(full.at))
        });
        Self { whole, steady }
    }

    /// Years until blocks of this rating are worn out.
    fn years(&self, endurance: u64) -> Option<f64> {
        let (over, _, span) = self.steady?;
        lifetime_years(endurance_used(over, 1.0, endurance), span)
    }

    /// The same until the first of them is.
    fn first_block_years(&self, endurance: u64) -> Option<f64> {
        let (_, most, span) = self.steady?;
        lifetime_years(endurance_used(most.into(), 1.0, endurance), span)
    }
}

/// What the logical blocks went through. Mean, deviation, fewest and most leave out the blocks set
/// apart for swaps of sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearReport {
    /// Logical blocks evicted.
    pub evictions: u64,
    /// Of these, blocks filled again because a page of theirs had been written to.
    pub refills: u64,
    /// Times that a hot block was spared, and the least evicted of its set went.
    pub block_rule_fired: u64,
    /// Times that a hot set was swapped with a cold one.
    pub set_rule_fired: u64,
    /// Logical blocks erased for that.
    pub swap_erases: u64,
    /// Pages copied for that.
    pub swap_pages: u64,
    /// Erases of a logical block: their mean.
    pub mean: f64,
    /// Their standard deviation over all blocks: Figure 7 (b).
    pub standard_deviation: f64,
    /// The most erases of one block by swaps, which `max` can include.
    pub max_swap_erases: u32,
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// How many blocks were erased so often, those set apart included.
    pub erases: Vec<Erased>,
    /// Time since the flash was written once over, or since the warm-up if that was later: the span
    /// of the lifetimes; none if the flash was not written once over.
    pub lifetime_span_s: Option<f64>,
    /// The error-correcting code, if the design has one.
    pub ecc: Option<EccReport>,
    /// How long it lasts, for each endurance.
    pub lifetimes: Vec<Life>,
}

/// The error-correcting code of the flash and what it brings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EccReport {
    /// Wrong bits of a codeword that it corrects.
    pub correctable: u32,
    /// Those of the code that the endurance is rated with.
    pub rated_correctable: u32,
    /// Erases that a block endures for each that it is rated for.
    pub endurance_gain: f64,
    /// The raw bit error rate at which a block is worn out.
    pub worn_out_bit_error_rate: f64,
    /// Parity bits of a codeword.
    pub parity_bits: u32,
    /// Decoding of a flash page, which each read of one takes longer; the controller and the flash
    /// draw their active power for it.
    pub decode_us: f64,
    /// How the gain is computed.
    pub formula: &'static str,
}

/// The model of [`gordon_nand::Codewords`].
const FORMULA: &str = "binomial errors in each codeword, raw bit error rate growing with a power of \
                       the erases; a block is worn out at the survival of the rating";

/// Logical blocks that were erased equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// How often.
    pub erases: u32,
    /// How many.
    pub blocks: u64,
}

/// How long the flash lasts where its blocks endure so many erases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Life {
    /// Erases that a block endures, with the code in use.
    pub endurance: u64,
    /// Erases that it is rated for, with the code of the rating.
    pub rated: u64,
    /// The part of the rated endurance that the run used after the warm-up, the filling of the
    /// flash included if that was not in the warm-up.
    pub endurance_used: f64,
    /// Years until all blocks are worn out, if they go on to wear alike, as since the flash had
    /// been written once over: Figure 7 (a). None where it was not, or that was less than a minute
    /// ago.
    pub years: Option<f64>,
    /// Years until the first block is worn out, if it wears on at the rate since then.
    pub first_block_years: Option<f64>,
    /// If what lies below is asked without a pause, and each answer goes to flash: the paper's
    /// worst case.
    pub worst_case_years: f64,
    /// The same as fast as the flash itself can be erased and programmed.
    pub worst_case_of_flash_years: f64,
}

/// A year of the projection: what these memories would be then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoadmapReport {
    /// Which.
    pub year: u32,
    /// Their dies, with one bit in a cell of the flash.
    pub area: DieArea,
    /// The same with several bits in a cell.
    pub area_mlc: Option<DieArea>,
    /// Bits of NAND flash with one bit in a cell, on the area of a bit of DRAM.
    pub nand_slc_density: f64,
    /// Of NAND flash with several bits in a cell.
    pub nand_mlc_density: Option<f64>,
    /// Of NOR flash.
    pub nor_density: Option<f64>,
    /// Years for which flash keeps its data: the fewest.
    pub retention_years_min: Option<u32>,
    /// The most.
    pub retention_years_max: Option<u32>,
    /// Erases that a block endures.
    pub endurance: u64,
    /// Years that it lasts.
    pub years: Option<f64>,
}

/// What a fill takes.
pub(super) struct Fills {
    /// Fetches that fill a logical block, and the time between two of them.
    pub fetches: u64,
    pub fetch: Ns,
    /// To erase and fill one.
    pub refill: Ns,
}

/// None without flash.
pub(super) fn wear(
    design: &Design,
    machine: &Machine,
    worn: &Worn,
    fills: &Fills,
) -> Option<WearReport> {
    let (cache, counts, all) = (&machine.cache, machine.counts(), machine.erases());
    let erases = all.get(..cache.shape().blocks() as usize).filter(|erases| !erases.is_empty())?;
    let blocks = erases.len() as f64;
    let sum: u64 = erases.iter().map(|count| u64::from(*count)).sum();
    let mean = sum as f64 / blocks;
    let squares: f64 = erases.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
    let (min, max) = (erases.iter().min().copied()?, erases.iter().max().copied()?);
    let (endurance_gain, worn_out_rate) = design.endurance_gain();
    let lifetimes = design.wear.endurance.iter().map(|rated| {
        let endurance = (*rated as f64 * endurance_gain).round() as u64;
        let capacity = f64::from(cache.shape().blocks());
        let whole = |each: Ns| endurance as f64 * capacity * each.as_secs() / YEAR_S;
        Life {
            endurance,
            rated: *rated,
            endurance_used: endurance_used(worn.whole, 1.0, endurance),
            years: worn.years(endurance),
            // Blocks for swaps may be the first to wear out.
            first_block_years: worn.first_block_years(endurance),
            worst_case_years: whole(fills.fetch * fills.fetches),
            worst_case_of_flash_years: whole(fills.refill),
        }
    });
    let mut spread = BTreeMap::new();
    all.iter().for_each(|erases| *spread.entry(*erases).or_default() += 1);
    let spread = spread.into_iter().map(|(erases, blocks)| Erased { erases, blocks });
    Some(WearReport {
        evictions: counts.evictions,
        refills: counts.refills,
        block_rule_fired: counts.block_rule,
        set_rule_fired: counts.set_swaps,
        swap_erases: counts.swap_erases,
        swap_pages: counts.swap_pages,
        max_swap_erases: machine.swap_erases()[..erases.len()].iter().max().copied()?,
        mean,
        standard_deviation: (squares / blocks).sqrt(),
        min,
        max,
        erases: spread.collect(),
        lifetime_span_s: worn.steady.map(|(_, _, span)| span.as_secs()),
        ecc: design.ecc.as_ref().zip(worn_out_rate).map(|(ecc, rate)| EccReport {
            correctable: *ecc.correctable,
            rated_correctable: *ecc.rated_correctable,
            endurance_gain,
            worn_out_bit_error_rate: rate,
            parity_bits: ecc.parity_bits(),
            decode_us: ecc.decode().as_secs() * 1e6,
            formula: FORMULA,
        }),
        lifetimes: lifetimes.collect(),
    })
}

/// The same memories in the years of the projection; its first year is that of the design's areas.
pub(super) fn roadmap(config: &FlashCacheConfig, worn: &Worn) -> Vec<RoadmapReport> {
    let design = &config.design;
    let Some(first) = design.roadmap.first() else { return Vec::new() };
    let each = |year: &super::RoadmapYear| {
        let dram = *year.dram_um2 / *first.dram_um2;
        // The design's density is that of one bit in a cell in the first year.
        let area = |um2: f64| {
            DieArea::scaled(design, config.dram, config.flash, dram, um2 / *first.nand_um2)
        };
        let density = |um2: f64| *year.dram_um2 / um2;
        let (mlc, nor) = (year.nand_mlc_um2.as_deref(), year.nor_um2.as_deref());
        let retention = year.retention_years.as_deref();
        RoadmapReport {
            year: year.year,
            area: area(*year.nand_um2),
            area_mlc: mlc.copied().map(area),
            nand_slc_density: density(*year.nand_um2),
            nand_mlc_density: mlc.copied().map(density),
            nor_density: nor.copied().map(density),
            retention_years_min: retention.map(|years| years[0]),
            retention_years_max: retention.map(|years| years[1]),
            endurance: *year.endurance,
            years: worn.years(*year.endurance),
        }
    };
    design.roadmap.iter().map(each).collect()
}

/// So many a second, where there are seconds.
pub(super) fn each_second(count: u64, time: Ns) -> f64 {
    if time > Ns::ZERO { count as f64 / time.as_secs() } else { 0.0 }
}

/// The part of the time that something was busy.
pub(super) fn part(busy: Ns, time: Ns) -> f64 {
    if time > Ns::ZERO { ratio(busy.0, time.0) } else { 0.0 }
}

/// MB (10^6 bytes) a second.
pub(super) fn mb_s(bytes: Bytes, time: Ns) -> f64 {
    each_second(bytes.0, time) / 1e6
}
