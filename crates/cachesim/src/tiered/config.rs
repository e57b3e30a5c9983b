//! What a cache of objects in DRAM and flash is made of, as it is asked for.

use gordon_cache::tiered::{Admission, Budget, Layout, TieredShape};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_ssd as ssd;
use gordon_units::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes of a page of the flash beneath: what is written there at once.
pub const PAGE: u64 = 4096;

/// Days of a year.
const DAYS: f64 = 365.25;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TieredConfig {
    /// What it is asked for.
    pub trace: TraceLoad,
    /// DRAM, for objects and for knowing where those in flash are.
    pub dram: Bytes,
    /// Flash, as the cache sees it.
    pub flash: Bytes,
    /// Where objects lie in flash.
    pub layout: LayoutKind,
    /// What is let in.
    #[serde(default)]
    pub admission: AdmissionConfig,
    /// Requests of a block trace are objects, each as long as it is.
    #[serde(default)]
    pub objects: bool,
    /// Bytes of a set.
    #[serde(default = "set")]
    pub set: Bytes,
    /// Bytes of a segment of a log.
    #[serde(default = "segment")]
    pub segment: Bytes,
    /// Of a log before sets, the part of the flash.
    #[serde(default = "log_share")]
    pub log_share: f64,
    /// Of the same, objects that go to a set at once, at least.
    #[serde(default = "threshold")]
    pub threshold: u32,
    /// What was asked for in the log is not written again when its segment goes.
    #[serde(default)]
    pub no_reinsert: bool,
    /// The flash beneath.
    #[serde(default)]
    pub device: DeviceConfig,
    /// Every random draw follows from it.
    #[serde(default = "one")]
    pub seed: u64,
}

fn set() -> Bytes {
    Bytes(PAGE)
}

fn segment() -> Bytes {
    Bytes(256 << 10)
}

fn log_share() -> f64 {
    0.05
}

fn threshold() -> u32 {
    2
}

fn one() -> u64 {
    1
}

/// Where objects lie in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutKind {
    /// One log.
    Log,
    /// Sets.
    Sets,
    /// A log before sets.
    LogSets,
}

impl LayoutKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Sets => "sets",
            Self::LogSets => "log-sets",
        }
    }
}

/// What is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdmissionConfig {
    /// All.
    #[default]
    All,
    /// This part, by lot.
    Random(f64),
    /// What was asked for so often in DRAM, the first time counted.
    Hits(u32),
    /// What was offered before, among the last so many bytes of offers.
    Ghost(Bytes),
    /// By lot, so that the flash lasts so many years.
    Years(f64),
}

/// The flash beneath: a full array of erase blocks and Gordon's translation layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceConfig {
    /// The part of its pages that the cache does not see.
    pub spare: f64,
    /// Pages of 4 KiB in an erase block.
    pub pages_per_block: u32,
    /// What is collected.
    pub policy: ssd::VictimPolicy,
    /// Erases that a block stands.
    pub endurance: u64,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        let policy = ssd::VictimPolicy::default();
        Self { spare: 0.07, pages_per_block: 256, policy, endurance: 3000 }
    }
}

fn wrong(key: &str, why: String, hint: &str) -> ReplayError {
    ReplayError::impossible(key, why, hint)
}

impl TieredConfig {
    /// The parts of the cache.
    ///
    /// # Errors
    /// Where they do not fit each other.
    pub(super) fn shape(&self) -> Result<TieredShape, ReplayError> {
        let whole = |key, bytes: Bytes| match u32::try_from(bytes.0) {
            Ok(size) if size > 0 && u64::from(size).is_multiple_of(PAGE) => Ok(size),
            _ => {
                let why = format!("{bytes} is not whole pages of {}", Bytes(PAGE));
                Err(wrong(key, why, "4KiB"))
            }
        };
        if !(self.log_share > 0.0 && self.log_share < 1.0) {
            let why = format!("{} is not a part of the flash above 0 and below 1", self.log_share);
            return Err(wrong("log_share", why, "0.05"));
        }
        if self.threshold == 0 {
            return Err(wrong(
                "threshold",
                "a set is written for at least one object".into(),
                "1 or more",
            ));
        }
        let shape = TieredShape {
            flash: self.flash.0 / PAGE * PAGE,
            layout: match self.layout {
                LayoutKind::Log => Layout::Log,
                LayoutKind::Sets => Layout::Sets,
                LayoutKind::LogSets => Layout::LogSets,
            },
            set: whole("set", self.set)?,
            segment: whole("segment", self.segment)?,
            log_share: self.log_share,
            threshold: self.threshold,
            reinsert: !self.no_reinsert,
        };
        let segments = shape.log() / u64::from(shape.segment);
        if self.layout != LayoutKind::Sets && !(2..1 << 30).contains(&segments) {
            let why = format!(
                "a log of {} has {segments} segments of {}; one is filled as another is emptied",
                Bytes(shape.log()),
                self.segment
            );
            return Err(wrong("segment", why, "a smaller segment, or more flash"));
        }
        if self.layout != LayoutKind::Log && !(1..1 << 31).contains(&shape.sets()) {
            let why = format!("the flash has {} sets of {}", shape.sets(), self.set);
            return Err(wrong("set", why, "from 1 to 2^31 of them"));
        }
        let filters = Bytes(shape.filters());
        if self.dram <= filters {
            let why = format!("{}: the filters of {} sets take {filters}", self.dram, shape.sets());
            return Err(wrong("dram", why, "more DRAM"));
        }
        Ok(shape)
    }

    /// What is let in.
    ///
    /// # Errors
    /// Where a number cannot be.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn admission(&self) -> Result<Admission, ReplayError> {
        Ok(match self.admission {
            AdmissionConfig::All => Admission::All,
            AdmissionConfig::Random(part) if (0.0..=1.0).contains(&part) => Admission::Random(part),
            AdmissionConfig::Random(part) => {
                return Err(wrong(
                    "admission",
                    format!("{part} is not a probability"),
                    "random:0.5",
                ));
            }
            AdmissionConfig::Hits(least) => Admission::Hits(least),
            AdmissionConfig::Ghost(bytes) => Admission::Ghost(bytes.0),
            AdmissionConfig::Years(years) if years > 0.0 && years.is_finite() => {
                let bytes = self.raw_bytes() * self.device.endurance as f64;
                let seconds = years * DAYS * 86_400.0;
                // Some hundred times for each time that flash could be filled.
                let every = self.flash.0 / 128;
                Admission::Budget(Budget { bytes_per_s: bytes / seconds, every })
            }
            AdmissionConfig::Years(years) => {
                return Err(wrong(
                    "admission",
                    format!("{years} years is not a lifetime"),
                    "years:5",
                ));
            }
        })
    }

    /// Raw bytes of the flash, spare ones included.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn raw_bytes(&self) -> f64 {
        self.flash.0 as f64 / (1.0 - self.device.spare)
    }
}
