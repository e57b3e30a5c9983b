//! Statistics of a flash device.

use super::DieGroupStats;
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// Statistics since the creation of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct SsdStats {
    /// Counters of the translation layer: sub-requests, page reads and programs by cause, erases,
    /// hits.
    pub ftl: gordon_ftl::Stats,
    /// Number of simulated events.
    pub events: u64,
    /// Commands by kind, their waiting times, and busy times of buses and die groups.
    pub die_groups: DieGroupStats,
    /// Numbers of erases of the blocks.
    pub wear: Wear,
    /// Inputs of the estimated lifetime.
    pub lifetime: Lifetime,
    /// Memory of the translation layer's tables, in bytes.
    pub ftl_memory: Bytes,
    /// Total time during which blocks were collected by garbage collection or wear levelling.
    pub collecting: Ns,
}

impl SsdStats {
    /// Pages programmed per page of host data programmed, including garbage collection and summary
    /// pages. `None` before the first program.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.ftl.host_programs;
        (host > 0).then(|| ratio(self.ftl.programs(), host))
    }
}

impl SsdStats {
    /// Counters with the names that reports use.
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

/// Numbers of erases per super-block; factory-bad blocks do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Erases of the least worn block.
    pub min: u32,
    /// Erases of the most worn block.
    pub max: u32,
    /// Mean number of erases.
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

/// Inputs of the estimated lifetime. Most runs are too short to fill and erase the array once, so
/// wear is computed from pages programmed: each block's worth of pages eventually costs an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// Rated erases of a block.
    pub erase_budget: u64,
    /// Number of super-blocks, without factory-bad ones.
    pub blocks: u64,
    /// Super-pages in a super-block.
    pub pages_per_block: u64,
    /// Raw data capacity of a super-block, in bytes.
    pub block_bytes: Bytes,
    /// Super-pages programmed, for any cause.
    pub programs: u64,
}

impl Lifetime {
    /// Erases of super-blocks to which the programmed pages amount.
    pub fn erase_equivalents(&self) -> f64 {
        ratio(self.programs, self.pages_per_block)
    }

    /// The fraction of the rated endurance that is used up: [`gordon_nand::endurance_used`].
    pub fn used(&self) -> f64 {
        let raw = ratio(self.block_bytes.0, 1) * ratio(self.blocks, 1);
        let programmed = self.erase_equivalents() * ratio(self.block_bytes.0, 1);
        gordon_nand::endurance_used(programmed, raw, self.erase_budget)
    }

    /// Bytes that can be programmed until all erases are used up, with perfect wear levelling: 25.6
    /// PB in section 4.1 of the Gordon paper.
    pub fn writable(&self) -> Bytes {
        let all = u128::from(self.block_bytes.0) * u128::from(self.blocks);
        // The result saturates at 18 EB.
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
