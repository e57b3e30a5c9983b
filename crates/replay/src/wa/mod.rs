//! Measurement of write amplification in the translation layer itself, without a clock.
//!
//! An array with `blocks` closed blocks of `pages_per_block` pages holds `rho` times as many
//! logical pages. One more block is open and one is free; neither counts in rho. Every logical page
//! is written once, in order. Then random single pages are overwritten, one at a time.
//!
//! Writes are counted in windows of one array's worth. The run has reached the steady state when
//! the mean of the last four windows differs by less than [`TOLERANCE`] from that of the four
//! before; then eight windows are measured. Write amplification is the number of pages programmed
//! with data (the host's and copies) per page of host data.
//!
//! For uniform writes, the report also contains the theoretical value, if there is one
//! ([`theory`]).

mod array;
pub mod theory;

pub use array::{ArrayConfig, FullArray, WaPages};

use crate::ReplayError;
use crate::random::{Component, Random};
use crate::results::ratio;
use gordon_ftl::{MOST_CHOICES, VictimChooser, VictimPolicy};
use gordon_units::Progress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hot and cold pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotCold {
    /// Fraction of the logical pages that is hot.
    pub space: f64,
    /// Fraction of the writes that go to hot pages.
    pub share: f64,
}

/// Configuration of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaConfig {
    /// Policy that selects the victim of garbage collection.
    #[serde(default)]
    pub policy: VictimPolicy,
    /// `d-choices`: number of blocks to compare [default: 2].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<u32>,
    /// Logical pages per page of the closed blocks; between 0 and 1.
    pub rho: f64,
    /// Pages per block.
    #[serde(default = "pages_per_block")]
    pub pages_per_block: u32,
    /// Number of closed blocks.
    #[serde(default = "blocks")]
    pub blocks: u32,
    /// Random seed of the writes.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Whether copies of garbage collection have a write point of their own; one more block is then
    /// open.
    #[serde(default)]
    pub separate: bool,
    /// Hot and cold pages; `None` for uniform writes.
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

/// Result of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WaReport {
    /// Kind of the values: modelled.
    pub kind: &'static str,
    /// Pages programmed with data per page of host data.
    pub write_amplification: f64,
    /// Theoretical value for uniform writes; `None` if there is no theory.
    pub theory: Option<f64>,
    /// Random seed of the writes.
    pub seed: u64,
    /// Pages programmed during the measurement.
    pub pages: WaPages,
    /// Number of logical pages.
    pub logical_pages: u32,
    /// Writes before the measurement.
    pub warm_up_writes: u64,
    /// Whether the steady state was reached.
    pub converged: bool,
    /// Erases during the measurement.
    pub erases: u64,
    /// Version of the program.
    pub version: &'static str,
    /// Configuration of the measurement.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub config: WaConfig,
}

/// Maximum relative difference of two means of four windows in the steady state.
pub const TOLERANCE: f64 = 0.001;

/// Windows per mean.
const WINDOWS_PER_MEAN: usize = 4;

/// Number of windows in the measurement.
const MEASURED_WINDOWS: u32 = 8;

/// Number of windows after which the measurement starts even without a steady state.
const MAX_WINDOWS: usize = 200;

/// Writes between two checks of the stop flag.
const SLICE: u64 = 1 << 14;

/// Measures write amplification.
///
/// # Errors
/// Returns an error for an invalid value, or if `progress` stops the measurement.
pub fn write_amplification(
    config: &WaConfig,
    progress: &Progress,
) -> Result<WaReport, ReplayError> {
    measure(config, None, progress)
}

/// As [`write_amplification`], with a policy that the caller brings in place of the configured one.
/// There is no theory of it.
///
/// # Errors
/// As [`write_amplification`].
pub fn write_amplification_own(
    config: &WaConfig,
    chooser: Arc<dyn VictimChooser>,
    progress: &Progress,
) -> Result<WaReport, ReplayError> {
    measure(config, Some(chooser), progress)
}

fn measure(
    config: &WaConfig,
    chooser: Option<Arc<dyn VictimChooser>>,
    progress: &Progress,
) -> Result<WaReport, ReplayError> {
    let mut array = SimulatedArray::new(config)?;
    let is_own = chooser.is_some();
    if let Some(chooser) = chooser {
        array.array.choose_victims_by(chooser);
    }
    let window = u64::from(config.blocks) * u64::from(config.pages_per_block);
    let mut windows = Vec::new();
    let converged = loop {
        let before = array.array.pages();
        array.write(window, progress)?;
        windows.push((array.array.pages() - before).amplification());
        let mean =
            |windows: &[f64]| windows.iter().sum::<f64>() / ratio(WINDOWS_PER_MEAN as u64, 1);
        if let Some(start) = windows.len().checked_sub(2 * WINDOWS_PER_MEAN) {
            let (before, last) = windows[start..].split_at(WINDOWS_PER_MEAN);
            if (mean(last) / mean(before) - 1.0).abs() < TOLERANCE {
                break true;
            }
        }
        if windows.len() == MAX_WINDOWS {
            break false;
        }
    };
    let (before, erases) = (array.array.pages(), array.array.ftl().stats().erases);
    array.write(window * u64::from(MEASURED_WINDOWS), progress)?;
    let pages = array.array.pages() - before;
    // rho after rounding to whole pages.
    let rho = ratio(u64::from(array.logical), window);
    let theory = match config.hot_cold {
        Some(_) => None,
        None if is_own => None,
        None => theory::uniform(config.policy, config.choices, rho, config.pages_per_block),
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

/// A full array, and the state of the writes to it.
struct SimulatedArray {
    array: FullArray,
    logical: u32,
    /// Number of hot pages, and fraction of the writes that go to them.
    hot: Option<(u32, f64)>,
    address: Random,
    choice: Random,
}

impl SimulatedArray {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn new(config: &WaConfig) -> Result<Self, ReplayError> {
        let wrong = |key: &str, why: String, hint: &str| ReplayError::option(key, why, hint);
        let WaConfig { rho, pages_per_block, blocks, .. } = *config;
        if !(rho > 0.0 && rho < 1.0) {
            let why = format!("{rho} is not between 0 and 1: stale pages need room");
            return Err(wrong("rho", why, "0.8"));
        }
        if config.choices.is_some() && config.policy != VictimPolicy::DChoices {
            let why = "applies only to --policy d-choices".into();
            return Err(wrong("choices", why, "leave it out, or --policy d-choices"));
        }
        if let Some(choices) = config.choices.filter(|choices| *choices > MOST_CHOICES) {
            let why = format!("{choices} blocks looked at, more than {MOST_CHOICES}");
            return Err(wrong("choices", why, "--policy greedy, which sees all"));
        }
        if let Some(HotCold { space, share }) = config.hot_cold
            && !(0.0..=1.0).contains(&share) | !(space > 0.0 && space < 1.0)
        {
            let why = format!("{share} of the writes to {space} of the pages");
            return Err(wrong("hot_share", why, "0.9 of the writes to 0.1 of the pages"));
        }
        let pages = u64::from(pages_per_block) * u64::from(blocks);
        if pages_per_block == 0 || blocks < 4 || pages > 1 << 31 {
            let why = format!("{blocks} blocks of {pages_per_block} pages");
            return Err(wrong("blocks", why, "4 blocks at least, and 2^31 pages at most"));
        }
        let logical = (rho * ratio(pages, 1)).round() as u32;
        if config.hot_cold.is_some() && logical < 2 {
            let why = format!("{logical} logical pages cannot be hot and cold");
            return Err(wrong("rho", why, "0.8"));
        }
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
