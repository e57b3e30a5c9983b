//! What a flash device counts.

use super::DieGroupStats;
use gordon_units::{Bytes, Ns};

/// Counts since the device was made.
#[derive(Clone, Debug, PartialEq)]
pub struct SsdStats {
    /// Of the translation layer: sub-requests, pages read and programmed by cause, erases, hits.
    pub ftl: gordon_ftl::Stats,
    /// Events simulated.
    pub events: u64,
    /// Operations by kind, how they waited, how long buses and die groups were busy.
    pub die_groups: DieGroupStats,
    /// Erases of the blocks.
    pub wear: Wear,
    /// What the lifetime follows from.
    pub lifetime: Lifetime,
    /// Memory of the translation layer's tables.
    pub ftl_memory: Bytes,
    /// How long blocks were being emptied, by garbage collection or wear levelling.
    pub collecting: Ns,
}

impl SsdStats {
    /// Pages programmed for each page of host data programmed: what garbage collection and
    /// summaries add. `None` before the first.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.ftl.host_programs;
        (host > 0).then(|| ratio(self.ftl.programs(), host))
    }
}

impl SsdStats {
    /// The layer's counters with their names.
    pub fn counters(&self) -> [(&'static str, u64); 14] {
        let f = &self.ftl;
        [
            ("events", self.events),
            ("host_reads", f.host_reads),
            ("host_writes", f.host_writes),
            ("host_programs", f.host_programs),
            ("gc_programs", f.gc_programs),
            ("summary_programs", f.summary_programs),
            ("host_page_reads", f.host_page_reads),
            ("merge_page_reads", f.merge_page_reads),
            ("gc_page_reads", f.gc_page_reads),
            ("erases", f.erases),
            ("combined", f.combined),
            ("bypassed", f.bypassed),
            ("forwarded", f.forwarded),
            ("preloaded", f.preloaded),
        ]
    }
}

/// How often the blocks were erased; those that are bad from the start do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// The least worn block.
    pub min: u32,
    /// The most worn block.
    pub max: u32,
    /// The mean.
    pub mean: f64,
}

impl Wear {
    pub(super) fn of(erases: impl Iterator<Item = u32> + Clone) -> Self {
        let total: u64 = erases.clone().map(u64::from).sum();
        Self {
            min: erases.clone().min().unwrap_or(0),
            max: erases.clone().max().unwrap_or(0),
            mean: ratio(total, (erases.count() as u64).max(1)),
        }
    }
}

/// What the lifetime of the device follows from. A run is shorter than it takes to fill and erase
/// the array once, so wear is reckoned from pages programmed: a block's worth of them costs an
/// erase, sooner or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Erases that a block lasts for.
    pub erase_budget: u64,
    /// Super-blocks, but for those that are bad from the start.
    pub blocks: u64,
    /// Super-pages of one.
    pub pages_per_block: u64,
    /// Raw data bytes of one.
    pub block_bytes: Bytes,
    /// Super-pages programmed, for any cause.
    pub programs: u64,
}

impl Lifetime {
    /// Erases of super-blocks that the pages programmed cost.
    pub fn erase_equivalents(&self) -> f64 {
        ratio(self.programs, self.pages_per_block)
    }

    /// The part of the rated endurance that is used up: [`gordon_nand::endurance_used`].
    pub fn used(&self) -> f64 {
        let raw = ratio(self.block_bytes.0, 1) * ratio(self.blocks, 1);
        let programmed = self.erase_equivalents() * ratio(self.block_bytes.0, 1);
        gordon_nand::endurance_used(programmed, raw, self.erase_budget)
    }

    /// Bytes that can be programmed before all erases are used up, with perfect wear levelling:
    /// 25.6 PB in section 4.1 of the Gordon paper.
    pub fn writable(&self) -> Bytes {
        let all = u128::from(self.block_bytes.0) * u128::from(self.blocks);
        // Beyond 18 EB what is left is of no account.
        Bytes(u64::try_from(all.saturating_mul(self.erase_budget.into())).unwrap_or(u64::MAX))
    }

    /// Lifetime of the device if a load of this span repeats without end:
    /// [`gordon_nand::lifetime_years`].
    pub fn years(&self, span: Ns) -> Option<f64> {
        gordon_nand::lifetime_years(self.used(), span)
    }
}

/// A ratio for reports.
#[allow(clippy::cast_precision_loss)]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
