//! Configuration of a cache of objects in DRAM and flash.

use gordon_cache::tiered::{Admission, Budget, JournalSettings, JournalShape, Layout, TieredShape};
use gordon_replay::ReplayError;
use gordon_replay::config::TraceLoad;
use gordon_ssd as ssd;
use gordon_units::Bytes;
use serde::{Deserialize, Serialize};

/// Size of a page of the flash, the unit of writes, in bytes.
pub const PAGE: u64 = 4096;

/// Bytes of a page of the journal without records, and those of the record of a removal, as
/// docs/design/object-cache-format.md specifies them.
const JOURNAL_HEADER: u64 = 72;
const REMOVAL: u32 = 17;

/// Days per year.
const DAYS: f64 = 365.25;

/// Configuration of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TieredConfig {
    /// The trace to replay.
    pub trace: TraceLoad,
    /// DRAM for objects and for the index of those in flash.
    pub dram: Bytes,
    /// Flash capacity that the cache uses.
    pub flash: Bytes,
    /// Layout of objects in flash.
    pub layout: LayoutKind,
    /// Admission policy.
    #[serde(default)]
    pub admission: AdmissionConfig,
    /// Whether each request of a block trace is one object, of the size of the request.
    #[serde(default)]
    pub objects: bool,
    /// Size of a set in bytes [default: 4KiB].
    #[serde(default = "set")]
    pub set: Bytes,
    /// Size of a segment of the log in bytes [default: 256KiB].
    #[serde(default = "segment")]
    pub segment: Bytes,
    /// `log-sets`: fraction of the flash that is the log [default: 0.05].
    #[serde(default = "log_share")]
    pub log_share: f64,
    /// `log-sets`: minimum number of objects that are moved to a set together [default: 2].
    #[serde(default = "threshold")]
    pub threshold: u32,
    /// `log-sets`: size of the largest object that moves to a set [default: the size of a set].
    #[serde(default)]
    pub set_largest: Option<Bytes>,
    /// `log-sets`: bytes by which an object is smaller in a set than in the trace [default: 0].
    #[serde(default)]
    pub set_saving: Bytes,
    /// Whether objects that were hit in the log are dropped with their segment, not reinserted.
    #[serde(default)]
    pub no_reinsert: bool,
    /// Size of a half of the journal of removals of a cache with bytes [default: 0, no journal].
    #[serde(default)]
    pub journal: Bytes,
    /// Mean number of removals that are written to the journal together [default: 1].
    #[serde(default = "one_removal")]
    pub journal_batch: f64,
    /// The flash device.
    #[serde(default)]
    pub device: DeviceConfig,
    /// Random seed [default: 1].
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

fn one_removal() -> f64 {
    1.0
}

fn one() -> u64 {
    1
}

/// Layout of objects in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutKind {
    /// A log.
    Log,
    /// Sets.
    Sets,
    /// A log in front of sets.
    LogSets,
}

/// The most requests of an object in DRAM that are counted.
const MOST_HITS: u32 = 0xffff;

impl LayoutKind {
    /// Name of the layout.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Sets => "sets",
            Self::LogSets => "log-sets",
        }
    }
}

/// Admission policy of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdmissionConfig {
    /// Admit all objects.
    #[default]
    All,
    /// Admit this fraction at random.
    Random(f64),
    /// Admit objects accessed at least this many times in DRAM, including the first access.
    Hits(u32),
    /// Admit objects that were offered before, within the last offers of this total size.
    Ghost(Bytes),
    /// Admit at random, such that the flash lasts for this number of years.
    Years(f64),
}

/// The flash device: a full array with Gordon's translation layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceConfig {
    /// Fraction of the pages that is over-provisioning.
    pub spare: f64,
    /// Pages of 4 KiB in an erase block.
    pub pages_per_block: u32,
    /// Policy that selects the victim of garbage collection.
    pub policy: ssd::VictimPolicy,
    /// Rated erases of a block.
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
    /// The layout of the flash for the state machine.
    ///
    /// # Errors
    /// Returns an error if the sizes are inconsistent.
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
        let set = whole("set", self.set)?;
        let largest = self.set_largest.unwrap_or(self.set);
        if largest > self.set {
            let why = format!("{largest} is larger than a set of {}", self.set);
            return Err(wrong("set_largest", why, &self.set.to_string()));
        }
        let bytes = |size: Bytes| u32::try_from(size.0).unwrap_or(u32::MAX);
        let shape = TieredShape {
            flash: self.flash.0 / PAGE * PAGE,
            layout: match self.layout {
                LayoutKind::Log => Layout::Log,
                LayoutKind::Sets => Layout::Sets,
                LayoutKind::LogSets => Layout::LogSets,
            },
            set,
            segment: whole("segment", self.segment)?,
            log_share: self.log_share,
            threshold: self.threshold,
            set_largest: bytes(largest),
            set_saving: bytes(self.set_saving),
            reinsert: !self.no_reinsert,
            journal: self.journal()?,
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

    /// The journal of a cache on a file or block device, whose pages are written twice.
    fn journal(&self) -> Result<Option<JournalSettings>, ReplayError> {
        if !(self.journal_batch >= 1.0 && self.journal_batch.is_finite()) {
            let why = format!("{} removals in a write of the journal", self.journal_batch);
            return Err(wrong("journal_batch", why, "1 or more"));
        }
        if self.journal.0 == 0 {
            return Ok(None);
        }
        if self.layout == LayoutKind::Sets {
            let why = "a cache of sets alone has no journal".into();
            return Err(wrong("journal", why, "another layout, or no journal"));
        }
        let pages = u32::try_from(self.journal.0 / (2 * PAGE)).unwrap_or(0);
        if !(2..1 << 20).contains(&pages) {
            let why = format!("{} is not 2 to 2^20 pages of {}", self.journal, Bytes(2 * PAGE));
            return Err(wrong("journal", why, "journal_capacity of gordon cache stat"));
        }
        #[allow(clippy::cast_possible_truncation)] // bytes of a page
        let shape =
            JournalShape { pages, page: 2 * PAGE as u32, capacity: (PAGE - JOURNAL_HEADER) as u32 };
        Ok(Some(JournalSettings { shape, record: REMOVAL, batch: self.journal_batch }))
    }

    /// The admission policy.
    ///
    /// # Errors
    /// Returns an error if a number is invalid.
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
            AdmissionConfig::Hits(least) if least > MOST_HITS => {
                let why = format!("{least} requests of an object: at most {MOST_HITS} are counted");
                return Err(wrong("admission", why, "hits:2"));
            }
            AdmissionConfig::Hits(least) => Admission::Hits(least),
            AdmissionConfig::Ghost(bytes) => Admission::Ghost(bytes.0),
            AdmissionConfig::Years(years) if years > 0.0 && years.is_finite() => {
                let bytes = self.raw_bytes() * self.device.endurance as f64;
                let seconds = years * DAYS * 86_400.0;
                // The admission rate is adapted about a hundred times per fill of the flash.
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

    /// Raw capacity of the flash in bytes, including the journal and over-provisioning.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn raw_bytes(&self) -> f64 {
        (self.flash.0 + 2 * self.journal.0) as f64 / (1.0 - self.device.spare)
    }
}
