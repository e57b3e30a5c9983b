//! How long the flash lasts: the paper's section 6.3 and Figure 7.

use super::power::DieArea;
use super::{Design, FlashCacheConfig};
use crate::results::ratio;
use gordon_cache::flashcache::FlashCache;
use gordon_units::{Bytes, Ns};
use serde::Serialize;
use std::collections::BTreeMap;

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// What the logical blocks went through. Mean, deviation, fewest and most leave out the blocks set
/// apart for swaps of sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearReport {
    /// Logical blocks evicted.
    pub evictions: u64,
    /// Of these, blocks filled anew because a page of theirs had been written to.
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
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// How many blocks were erased so often, those set apart included.
    pub erases: Vec<Erased>,
    /// How long it lasts, for each endurance.
    pub lifetimes: Vec<Life>,
}

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
    /// Erases that a block endures.
    pub endurance: u64,
    /// Years until all blocks are worn out, if they go on to wear alike: Figure 7 (a). None where
    /// nothing was erased.
    pub years: Option<f64>,
    /// Until the first block is, if it goes on to wear as it did.
    pub first_block_years: Option<f64>,
    /// If what lies below is asked without a pause, and each answer goes to flash: the paper's worst
    /// case.
    pub worst_case_years: f64,
    /// The same as fast as the flash itself can be erased and programmed.
    pub worst_case_of_flash_years: f64,
}

/// A year of the projection: what these memories would be then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoadmapReport {
    /// Which.
    pub year: u32,
    /// Their dies.
    pub area: DieArea,
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
    cache: &FlashCache,
    time: Ns,
    fills: &Fills,
) -> Option<WearReport> {
    let (counts, all) = (cache.counts(), cache.erases());
    let erases = all.get(..cache.shape().blocks() as usize).filter(|erases| !erases.is_empty())?;
    // Those for swaps may be the first to wear out.
    let most = all.iter().max().copied()?;
    let blocks = erases.len() as f64;
    let sum: u64 = erases.iter().map(|count| u64::from(*count)).sum();
    let mean = sum as f64 / blocks;
    let squares: f64 = erases.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
    let (min, max) = (erases.iter().min().copied()?, erases.iter().max().copied()?);
    let lifetimes = design.wear.endurance.iter().map(|endurance| {
        let spent = |each: f64| years(*endurance, each, time);
        let capacity = f64::from(cache.shape().blocks());
        let whole = |each: Ns| *endurance as f64 * capacity * each.as_secs() / YEAR_S;
        Life {
            endurance: *endurance,
            years: spent(mean),
            first_block_years: spent(most.into()),
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
        mean,
        standard_deviation: (squares / blocks).sqrt(),
        min,
        max,
        erases: spread.collect(),
        lifetimes: lifetimes.collect(),
    })
}

/// Years until so many erases, if there were so many in that time.
fn years(endurance: u64, erases: f64, time: Ns) -> Option<f64> {
    (erases > 0.0).then(|| endurance as f64 / erases * time.as_secs() / YEAR_S)
}

/// The same memories in the years of the projection; its first year is that of the design's areas.
pub(super) fn roadmap(
    config: &FlashCacheConfig,
    wear: Option<&WearReport>,
    time: Ns,
) -> Vec<RoadmapReport> {
    let design = &config.design;
    let Some(first) = design.roadmap.first() else { return Vec::new() };
    let each = |year: &super::RoadmapYear| {
        let (dram, flash) = (*year.dram_um2 / *first.dram_um2, *year.nand_um2 / *first.nand_um2);
        RoadmapReport {
            year: year.year,
            area: DieArea::scaled(design, config.dram, config.flash, dram, flash),
            endurance: *year.endurance,
            years: wear.and_then(|wear| years(*year.endurance, wear.mean, time)),
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
