//! Write amplification, simulated by the translation layer itself, without a clock.
//!
//! An array of `blocks` closed blocks of `pages_per_block` pages holds `rho` times as many logical
//! pages; one block more is open and one free, and neither counts in rho. Every logical page is
//! written once, in order; then single pages are overwritten, at random, each when the one before
//! it is programmed.
//!
//! The steady state: writes are counted in windows of one array's worth. The run has converged
//! when the mean of the last four windows differs by less than [`CLOSE`] from that of the four
//! before; then eight windows are measured. Write amplification is pages programmed with data
//! (the host's and copies) for each of the host's.
//!
//! Theory is beside it where there is one for uniform writes ([`theory`]), never in its place.

mod array;
pub mod theory;

pub use array::{ArrayConfig, FullArray, WaPages};

use crate::ReplayError;
use crate::random::{Component, Random};
use crate::results::ratio;
use gordon_ftl::MOST_CHOICES;
use gordon_ssd::VictimPolicy;
use gordon_units::Progress;
use serde::{Deserialize, Serialize};

/// Part of the pages is hot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotCold {
    /// The part of the logical pages that is hot.
    pub space: f64,
    /// The part of the writes that go there.
    pub share: f64,
}

/// What to simulate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaConfig {
    /// The victim of garbage collection.
    #[serde(default)]
    pub policy: VictimPolicy,
    /// `d-choices`: how many; 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<u32>,
    /// Logical pages for each page of the closed blocks.
    pub rho: f64,
    /// Pages of a block.
    #[serde(default = "pages_per_block")]
    pub pages_per_block: u32,
    /// Closed blocks.
    #[serde(default = "blocks")]
    pub blocks: u32,
    /// Of the writes.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Copies of garbage collection have a write point of their own (and a block more is open).
    #[serde(default)]
    pub separate: bool,
    /// Hot and cold pages; without it all are written alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_cold: Option<HotCold>,
}

fn pages_per_block() -> u32 {
    64
}

fn blocks() -> u32 {
    2048
}

fn seed() -> u64 {
    1
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaReport {
    /// What kind of value it is.
    pub kind: &'static str,
    /// Pages programmed with data for each programmed with the host's.
    pub write_amplification: f64,
    /// What theory says for uniform writes; none where it says nothing.
    pub theory: Option<f64>,
    /// Of the writes.
    pub seed: u64,
    /// Pages programmed while it was measured.
    pub pages: WaPages,
    /// Logical pages.
    pub logical_pages: u32,
    /// Writes before it was measured.
    pub warm_up_writes: u64,
    /// The steady state was reached.
    pub converged: bool,
    /// Erases while it was measured.
    pub erases: u64,
    /// Of the program.
    pub version: &'static str,
    /// What was asked for.
    pub config: WaConfig,
}

/// How near two means of four windows are in the steady state.
pub const CLOSE: f64 = 0.001;

/// Windows of one mean.
const MEAN: usize = 4;

/// Windows measured.
const MEASURED: u32 = 8;

/// Windows after which the run has not converged.
const PATIENCE: usize = 200;

/// Writes between looks for a stop.
const SLICE: u64 = 1 << 14;

/// Simulates what `config` says.
///
/// # Errors
/// A value that cannot be, or a stop.
pub fn write_amplification(
    config: &WaConfig,
    progress: &Progress,
) -> Result<WaReport, ReplayError> {
    let mut array = SimulatedArray::new(config)?;
    let window = u64::from(config.blocks) * u64::from(config.pages_per_block);
    let mut windows = Vec::new();
    let converged = loop {
        let before = array.array.pages();
        array.write(window, progress)?;
        windows.push(array.array.pages().since(before).amplification());
        let mean = |windows: &[f64]| windows.iter().sum::<f64>() / ratio(MEAN as u64, 1);
        if let Some(start) = windows.len().checked_sub(2 * MEAN) {
            let (before, last) = windows[start..].split_at(MEAN);
            if (mean(last) / mean(before) - 1.0).abs() < CLOSE {
                break true;
            }
        }
        if windows.len() == PATIENCE {
            break false;
        }
    };
    let (before, erases) = (array.array.pages(), array.array.ftl().stats().erases);
    array.write(window * u64::from(MEASURED), progress)?;
    let pages = array.array.pages().since(before);
    let b = f64::from(config.pages_per_block);
    // What rho is, in whole pages.
    let rho = ratio(u64::from(array.logical), window);
    let theory = match config.policy {
        _ if config.hot_cold.is_some() => None,
        VictimPolicy::Greedy => Some(theory::greedy(rho, b)),
        VictimPolicy::Fifo => Some(theory::fifo(rho)),
        VictimPolicy::Random => Some(theory::random(rho)),
        VictimPolicy::DChoices => {
            let choices = config.choices.unwrap_or(2);
            Some(theory::d_choices(rho, config.pages_per_block, choices))
        }
        VictimPolicy::CostBenefit => None,
    };
    Ok(WaReport {
        kind: "modelled: the simulated translation layer programmed these pages",
        write_amplification: pages.amplification(),
        theory,
        seed: config.seed,
        pages,
        logical_pages: array.logical,
        warm_up_writes: window * windows.len() as u64,
        converged,
        erases: array.array.ftl().stats().erases - erases,
        version: env!("CARGO_PKG_VERSION"),
        config: config.clone(),
    })
}

/// An array, full, and the writes to it.
struct SimulatedArray {
    array: FullArray,
    logical: u32,
    /// Hot pages, and the share of the writes that go to them.
    hot: Option<(u32, f64)>,
    address: Random,
    choice: Random,
}

impl SimulatedArray {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn new(config: &WaConfig) -> Result<Self, ReplayError> {
        let wrong = |key: &str, why: String, hint: &str| ReplayError::impossible(key, why, hint);
        let WaConfig { rho, pages_per_block, blocks, .. } = *config;
        if !(rho > 0.0 && rho < 1.0) {
            let why = format!("{rho} is not between 0 and 1: stale pages need room");
            return Err(wrong("rho", why, "0.8"));
        }
        if config.choices.is_some() && config.policy != VictimPolicy::DChoices {
            let why = "only d-choices chooses".into();
            return Err(wrong("choices", why, "--policy d-choices"));
        }
        if let Some(choices) = config.choices.filter(|choices| *choices > MOST_CHOICES) {
            let why = format!("{choices} blocks looked at, more than {MOST_CHOICES}");
            return Err(wrong("choices", why, "--policy greedy, which sees all"));
        }
        if let Some(HotCold { space, share }) = config.hot_cold
            && !(0.0..=1.0).contains(&share) | !(space > 0.0 && space < 1.0)
        {
            let why = format!("{share} of the writes to {space} of the pages");
            return Err(wrong("hot_cold", why, "0.9 of the writes to 0.1 of the pages"));
        }
        let pages = u64::from(pages_per_block) * u64::from(blocks);
        if pages_per_block == 0 || blocks < 4 || pages > 1 << 31 {
            let why = format!("{blocks} blocks of {pages_per_block} pages");
            return Err(wrong("blocks", why, "4 blocks at least, and 2^31 pages at most"));
        }
        let logical = (rho * ratio(pages, 1)).round() as u32;
        let array = FullArray::new(&ArrayConfig {
            logical,
            pages_per_block,
            blocks,
            separate: config.separate,
            victim: config.policy.victim(config.choices.unwrap_or(2)),
            seed: config.seed,
        })?;
        let hot = config.hot_cold.map(|HotCold { space, share }| {
            let hot = (f64::from(logical) * space).round() as u32;
            (hot.clamp(1, logical - 1), share)
        });
        Ok(Self {
            array,
            logical,
            hot,
            address: Random::new(config.seed, Component::Amplification),
            choice: Random::new(config.seed, Component::Choice),
        })
    }

    fn write(&mut self, writes: u64, progress: &Progress) -> Result<(), ReplayError> {
        let mut left = writes;
        while left > 0 {
            progress.check()?;
            let slice = left.min(SLICE);
            (0..slice).for_each(|_| self.write_one());
            progress.step(slice);
            left -= slice;
        }
        Ok(())
    }

    fn write_one(&mut self) {
        let (from, count) = match self.hot {
            None => (0, self.logical),
            Some((hot, share)) if self.choice.chance(share) => (0, hot),
            Some((hot, _)) => (hot, self.logical - hot),
        };
        self.array.write(u64::from(from) + self.address.below(count.into()));
    }
}
