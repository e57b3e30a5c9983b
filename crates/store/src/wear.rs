//! The wear of an image.

use crate::format::table::BlockHealth;
use crate::image::Image;
use gordon_units::BlockId;
use schemars::JsonSchema;
use serde::Serialize;

/// The wear of one super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockWear {
    /// Number of the super-block.
    pub block: u32,
    /// Number of erases.
    pub erases: u32,
    /// Erase budget; `None` if wear is not modelled.
    pub budget: Option<u32>,
    /// Whether the block is in service and, if not, why.
    pub state: &'static str,
}

/// The wear of all super-blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wear {
    /// By block.
    pub blocks: Vec<BlockWear>,
    /// Total number of erases.
    pub erases: u64,
    /// Smallest number of erases of a block in service.
    pub least: u32,
    /// Largest number of erases of a block in service.
    pub most: u32,
    /// Number of blocks in service.
    pub good: u32,
    /// Number of blocks bad from the factory.
    pub factory_bad: u32,
    /// Number of blocks that have gone bad since.
    pub grown_bad: u32,
    /// The fraction of the rated endurance that is used: erases of all blocks except factory bad
    /// ones, divided by their rated erases; `None` if blocks never wear out.
    pub endurance_used: Option<f64>,
    /// The fraction of the erase budgets of the blocks in service that is left; `None` if wear is
    /// not modelled.
    pub budget_left: Option<f64>,
}

/// Computes the wear of an image.
#[must_use]
pub fn wear(image: &Image) -> Wear {
    let records = image.records();
    let injector = image.fault_injector();
    let blocks: Vec<_> = (0..)
        .zip(&records)
        .map(|(block, record)| BlockWear {
            block,
            erases: record.erases,
            budget: injector.budget(BlockId(block)),
            state: record.health.words(),
        })
        .collect();
    let health = |health| records.iter().filter(|r| r.health == health).count();
    let good = || {
        let pairs = blocks.iter().zip(&records);
        pairs.filter(|(_, record)| record.health == BlockHealth::Good).map(|(block, _)| block)
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let budget: u64 = good().filter_map(|block| block.budget).map(u64::from).sum();
    let spent: u64 =
        good().map(|block| u64::from(block.erases.min(block.budget.unwrap_or(0)))).sum();
    // A rounded fraction suffices.
    #[allow(clippy::cast_precision_loss)]
    let left = (budget > 0).then(|| (budget - spent) as f64 / budget as f64);
    let served: Vec<_> = records.iter().filter(|r| r.health != BlockHealth::Factory).collect();
    let rated = image.device().faults.erase_budget;
    #[allow(clippy::cast_precision_loss)]
    let used = (rated > 0 && !served.is_empty()).then(|| {
        let erases: u64 = served.iter().map(|record| u64::from(record.erases)).sum();
        gordon_nand::endurance_used(erases as f64, served.len() as f64, rated)
    });
    Wear {
        endurance_used: used,
        erases: records.iter().map(|record| u64::from(record.erases)).sum(),
        least: good().map(|block| block.erases).min().unwrap_or(0),
        most: good().map(|block| block.erases).max().unwrap_or(0),
        good: count(good().count()),
        factory_bad: count(health(BlockHealth::Factory)),
        grown_bad: count(records.len() - good().count() - health(BlockHealth::Factory)),
        budget_left: left,
        blocks,
    }
}
