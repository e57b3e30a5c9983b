//! Lifetime of the flash: section 6.3 and Figure 7 of the paper.

use super::machine::Machine;
use super::power::DieArea;
use super::{Design, FlashCacheConfig};
use gordon_nand::{endurance_used, lifetime_years};
use gordon_replay::results::ratio;
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Seconds in a year of 365.25 days.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// Wear that a load causes, the basis of all lifetimes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LoadWear {
    /// Number of times the whole flash was programmed after the warm-up.
    pub full_programs: f64,
    /// The same since the flash had been written once; the maximum number of erases of a block, and
    /// the time, since then. `None` if the flash was not written once.
    pub steady: Option<(f64, u32, Ns)>,
}

impl LoadWear {
    /// Computes the wear of a machine at `time`.
    pub fn new(machine: &Machine, time: Ns) -> Self {
        let over = |programs: u64| ratio(programs, machine.flash_pages().max(1));
        let programs = machine.chip.counters.programs;
        let full_programs = over(machine.chip_counters().programs);
        let steady = machine.first_fill.as_ref().map(|fill| {
            let erased = machine.cache.erases().iter().zip(&fill.erases);
            let most = erased.map(|(now, before)| now - before).max().unwrap_or(0);
            (over(programs - fill.programs), most, time.saturating_sub(fill.at))
        });
        Self { full_programs, steady }
    }

    /// Years until all blocks of this rating are worn out.
    fn years(&self, endurance: u64) -> Option<f64> {
        let (over, _, span) = self.steady?;
        lifetime_years(endurance_used(over, 1.0, endurance), span)
    }

    /// Years until the first block is worn out.
    fn first_block_years(&self, endurance: u64) -> Option<f64> {
        let (_, most, span) = self.steady?;
        lifetime_years(endurance_used(most.into(), 1.0, endurance), span)
    }
}

/// Wear of the logical blocks. Mean, deviation, minimum and maximum exclude the blocks for swaps of
/// sets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WearReport {
    /// Logical blocks evicted.
    pub evictions: u64,
    /// Evictions of blocks that were refilled because one of their pages had been written to.
    pub refills: u64,
    /// Times that the block rule spared a hot block and evicted the least erased one of its set.
    pub block_rule_fired: u64,
    /// Times that a hot set was swapped with a cold one.
    pub set_rule_fired: u64,
    /// Logical blocks erased by swaps.
    pub swap_erases: u64,
    /// Pages copied by swaps.
    pub swap_pages: u64,
    /// Mean number of erases of a logical block.
    pub mean: f64,
    /// Standard deviation of the number of erases over all blocks: Figure 7 (b).
    pub standard_deviation: f64,
    /// Maximum number of erases of one block by swaps; `max` can include them.
    pub max_swap_erases: u32,
    /// Minimum number of erases.
    pub min: u32,
    /// Maximum number of erases.
    pub max: u32,
    /// Number of blocks by number of erases, including the blocks for swaps.
    pub erases: Vec<EraseCount>,
    /// Time since the flash was written once, or since the end of the warm-up if that was later;
    /// lifetimes are based on it. `None` if the flash was not written once.
    pub lifetime_span_s: Option<f64>,
    /// The error-correcting code; `None` if the design has none.
    pub ecc: Option<EccReport>,
    /// Lifetimes for each endurance.
    pub lifetimes: Vec<LifetimeReport>,
}

/// The error-correcting code of the flash and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EccReport {
    /// Number of correctable bit errors per codeword.
    pub correctable: u32,
    /// Number of correctable bit errors of the code for which the endurance is rated.
    pub rated_correctable: u32,
    /// Erases that a block endures per rated erase.
    pub endurance_gain: f64,
    /// Raw bit error rate at which a block is worn out.
    pub worn_out_bit_error_rate: f64,
    /// Parity bits of a codeword.
    pub parity_bits: u32,
    /// Decoding time of a flash page, which each read includes; the controller and the flash draw
    /// active power during it.
    pub decode_us: f64,
    /// Method by which the gain is computed.
    pub formula: &'static str,
}

/// The model of [`gordon_nand::Codewords`].
const FORMULA: &str = "binomial errors in each codeword, raw bit error rate growing with a power \
                       of the erases; a block is worn out at the survival of the rating";

/// Number of logical blocks with the same number of erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EraseCount {
    /// Erases of each of the blocks.
    pub erases: u32,
    /// Number of logical blocks with that number of erases.
    pub blocks: u64,
}

/// Lifetime of the flash for an endurance of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LifetimeReport {
    /// Erases that a block endures with the code in use.
    pub endurance: u64,
    /// Erases that a block is rated for, with the code of the rating.
    pub rated: u64,
    /// Fraction of the rated endurance that the run used after the warm-up. It includes the first
    /// fill of the flash unless that was in the warm-up.
    pub endurance_used: f64,
    /// Years until all blocks are worn out, if wear continues evenly at the rate since the flash
    /// had been written once: Figure 7 (a). `None` if it was not written once, or less than a
    /// minute before the end.
    pub years: Option<f64>,
    /// Years until the first block is worn out at that rate.
    pub first_block_years: Option<f64>,
    /// Years if the backend is read without a pause and all data go to flash: the paper's worst
    /// case.
    pub worst_case_years: f64,
    /// Years if the flash is erased and programmed as fast as it can be.
    pub worst_case_of_flash_years: f64,
}

/// The memories in a year of the projection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoadmapReport {
    /// Year of the projection.
    pub year: u32,
    /// Die area, with single-level flash cells.
    pub area: DieArea,
    /// Die area with multi-level flash cells; `None` if not projected.
    pub area_mlc: Option<DieArea>,
    /// Bits of single-level NAND flash on the area of one bit of DRAM.
    pub nand_slc_density: f64,
    /// Bits of multi-level NAND flash on that area; `None` if not projected.
    pub nand_mlc_density: Option<f64>,
    /// Bits of NOR flash on that area; `None` if not projected.
    pub nor_density: Option<f64>,
    /// Minimum data retention in years.
    pub retention_years_min: Option<u32>,
    /// Maximum data retention in years.
    pub retention_years_max: Option<u32>,
    /// Erases that a block endures.
    pub endurance: u64,
    /// Lifetime in years; `None` if it is unknown.
    pub years: Option<f64>,
}

pub(super) struct FillCost {
    /// Number of fetches that fill a logical block, and the time between two of them.
    pub fetches: u64,
    pub fetch: Ns,
    /// Time to erase and fill a logical block.
    pub refill: Ns,
}

/// Wear of a machine; `None` without flash.
pub(super) fn wear(
    design: &Design,
    machine: &Machine,
    load_wear: &LoadWear,
    fill_cost: &FillCost,
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
        LifetimeReport {
            endurance,
            rated: *rated,
            endurance_used: endurance_used(load_wear.full_programs, 1.0, endurance),
            years: load_wear.years(endurance),
            // Blocks for swaps may be the first to wear out.
            first_block_years: load_wear.first_block_years(endurance),
            worst_case_years: whole(fill_cost.fetch * fill_cost.fetches),
            worst_case_of_flash_years: whole(fill_cost.refill),
        }
    });
    let mut spread = BTreeMap::new();
    all.iter().for_each(|erases| *spread.entry(*erases).or_default() += 1);
    let spread = spread.into_iter().map(|(erases, blocks)| EraseCount { erases, blocks });
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
        lifetime_span_s: load_wear.steady.map(|(_, _, span)| span.as_secs()),
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

/// The memories in the years of the projection; the design's areas are those of its first year.
pub(super) fn roadmap(config: &FlashCacheConfig, load_wear: &LoadWear) -> Vec<RoadmapReport> {
    let design = &config.design;
    let Some(first) = design.roadmap.first() else { return Vec::new() };
    let each = |year: &super::RoadmapYear| {
        let dram = *year.dram_um2 / *first.dram_um2;
        // The design's density is that of single-level cells in the first year.
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
            years: load_wear.years(*year.endurance),
        }
    };
    design.roadmap.iter().map(each).collect()
}

/// Events per second; 0 if no time passed.
pub(super) fn per_second(count: u64, time: Ns) -> f64 {
    if time > Ns::ZERO { count as f64 / time.as_secs() } else { 0.0 }
}

/// Busy fraction of the time; 0 if no time passed.
pub(super) fn busy_fraction(busy: Ns, time: Ns) -> f64 {
    if time > Ns::ZERO { ratio(busy.0, time.0) } else { 0.0 }
}

/// Bandwidth in 10^6 bytes per second.
pub(super) fn mb_s(bytes: Bytes, time: Ns) -> f64 {
    per_second(bytes.0, time) / 1e6
}
