//! What a hard disk is made of, as a person writes it down: every number with its source.
//!
//! [`DiskConfig`] is what was typed; [`Disk::new`](super::Disk::new) works out what will run
//! (zones, seek curves) and says what contradicts itself.

use super::{Mechanics, PowerConfig, Tracks};
use gordon_units::{Bytes, Ns, Sourced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hard disk.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Config")]
pub struct DiskConfig {
    /// One line about the part.
    pub summary: String,
    /// Discs, heads, tracks, sectors.
    pub geometry: DiskGeometryConfig,
    /// How long the arm takes.
    pub seek: SeekConfig,
    /// The way to the host.
    pub interface: InterfaceConfig,
    /// The memory on board.
    pub cache: CacheConfig,
    /// How the next mechanical operation is chosen.
    pub scheduler: SchedulerConfig,
    /// What it draws. The simulated disk counts time at work; power is applied by its users.
    pub power: PowerConfig,
}

/// Discs, heads, tracks, sectors.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GeometryConfig")]
pub struct DiskGeometryConfig {
    /// Sectors of 512 bytes it exports.
    pub sectors: Sourced<u64>,
    /// Recording surfaces.
    pub heads: Sourced<u32>,
    /// Revolutions a minute.
    pub rpm: Sourced<u32>,
    /// How long after a track's last sector the first of the next track of its cylinder comes by,
    /// where a zone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_skew: Option<Sourced<Ns>>,
    /// The same from a cylinder's last track to the next cylinder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cylinder_skew: Option<Sourced<Ns>>,
    /// Which cylinders are numbered from the last surface to the first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serpentine: Serpentine,
    /// What shares spare sectors. They lie at its end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spare_region: Region,
    /// So many cylinders share them, where it is cylinders.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub spare_cylinders: u32,
    /// Sectors a track, from the outside in.
    pub zones: Zones,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // what serde asks for
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// What nobody has given is not written either.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Bands of cylinders with the same number of sectors a track.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Zones {
    /// As measured or published, outermost first.
    Table(Vec<ZoneConfig>),
    /// Worked out: zones of equally many cylinders whose sectors a track fall linearly.
    Linear(LinearZones),
    /// Listed run by run, from a DiskSim layout.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    Listed(Tracks),
}

/// One zone of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneConfig {
    /// Cylinders in it.
    pub cylinders: u32,
    /// Sectors on each of its tracks.
    pub sectors_per_track: u32,
    /// Cylinders before it that hold nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gap: u32,
    /// Sectors from a track's end to the start of the next of its cylinder, if not as everywhere.
    #[serde(default, skip_serializing_if = "is_default")]
    pub track_skew: Option<u32>,
    /// The same from a cylinder's last track to the next cylinder.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cylinder_skew: Option<u32>,
    /// Sectors from the disk's index to its first; without it, it follows from the skew before it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_angle: Option<u32>,
    /// Sectors at its front that hold nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empty: u64,
    /// Spares of each region: sectors, or tracks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spares: u32,
    /// Sectors, or tracks, of the zone that are passed over, in the order in which that was found.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slips: Vec<u64>,
    /// Sectors, or tracks, of the zone, and where their data are instead.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remapped: Vec<(u64, u64)>,
}

/// Which cylinders are numbered from the last surface to the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Serpentine {
    /// None.
    #[default]
    Never,
    /// Every second of each zone.
    Zone,
    /// Every second of the disk.
    Disk,
}

/// What shares spare sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// A zone; whole tracks are spare, slipped and remapped.
    Tracks,
    /// A track.
    Track,
    /// One cylinder or several.
    Cylinders,
    /// A zone.
    #[default]
    Zone,
}

/// Zones from the rates of the outermost and the innermost track.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearZones {
    /// Number of zones.
    pub count: Sourced<u32>,
    /// Sustained transfer rate of the outermost zone in bytes a second, track and cylinder
    /// switches included.
    pub outer_rate_per_s: Sourced<Bytes>,
    /// Sectors on an innermost track for each on an outermost.
    pub inner_to_outer: Sourced<f64>,
}

/// How long the arm takes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekConfig {
    /// From one surface to another of the same cylinder, until it can be read.
    pub head_switch: Sourced<Ns>,
    /// Until the new track can be read.
    pub read: SeekTimes,
    /// Until it can be written: the head must settle closer to the track's middle. A head switch
    /// before a write takes as much longer as the write's track-to-track seek.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<SeekTimes>,
    /// In place of `write`: milliseconds that anything but a wait takes longer before a write;
    /// below zero where a drive is faster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_settle_ms: Option<Sourced<f64>>,
}

/// How long the arm takes over a distance, in one of the forms in which that is published: three
/// times, a table, two pieces, Lee's three parameters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekTimes {
    /// To the neighbouring cylinder. The three times that data sheets print go together: the curve
    /// is a + b sqrt(d) + c d through them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_to_track: Option<Sourced<Ns>>,
    /// Mean over all pairs of different cylinders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Sourced<Ns>>,
    /// From the first cylinder to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_stroke: Option<Sourced<Ns>>,
    /// Measured: cylinders, rising, and times; straight between them and beyond the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<(u32, Ns)>,
    /// Hewlett-Packard's two pieces (Ruemmler and Wilkes, IEEE Computer 27(3), 1994).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<SeekPieces>,
    /// a, b, c in milliseconds of a sqrt(d - 1) + b (d - 1) + c (Lee and Katz, SIGMETRICS 1993).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lee_ms: Option<Sourced<[f64; 3]>>,
}

/// a + b sqrt(d) below a distance, c + e d from there on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekPieces {
    /// The first distance of the straight piece, in cylinders.
    pub split: u32,
    /// a, b, c, e in milliseconds.
    pub values_ms: [f64; 4],
    /// The times over 1, 2, ... cylinders, where they are known one by one.
    #[serde(default)]
    pub first: Vec<Ns>,
}

/// The way to the host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceConfig {
    /// Bytes a second.
    pub rate_per_s: Sourced<Bytes>,
    /// The controller's work on each command, one at a time.
    pub overhead: Sourced<Ns>,
    /// Commands the drive holds at once; more wait at the host.
    pub queue_depth: Sourced<u32>,
}

/// The memory on board.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// All of it.
    pub size: Sourced<Bytes>,
    /// The part that may hold written data not yet on the medium. The rest is for reads.
    pub write_limit: Sourced<Bytes>,
    /// Writes are acknowledged when they are on the medium, not when they are in memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_through: bool,
    /// A read of the part of a track on which the head lands begins there, not at its first sector.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zero_latency: bool,
    /// Separate pieces of such data it can keep track of.
    pub write_extents: Sourced<u32>,
    /// Segments that the part for reads is divided into.
    pub segments: Sourced<u32>,
    /// How far beyond a read the head goes on reading.
    pub read_ahead: Sourced<Bytes>,
    /// The most that is written to the medium in one operation.
    pub destage: Sourced<Bytes>,
}

/// How the next mechanical operation is chosen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerConfig {
    /// By what.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: SchedulingPolicy,
    /// SPTF: positioning time that a second of waiting makes up for, in seconds. Zero: none, and an
    /// operation far from the others may wait for ever.
    #[serde(default = "never")]
    pub ageing: Sourced<f64>,
    /// V-SCAN: the part of the stroke that turning round counts as. 0 is SSTF, 1 is LOOK.
    #[serde(default = "fifth", skip_serializing_if = "is_fifth")]
    pub turn: f64,
}

impl SchedulerConfig {
    pub(super) fn check(&self) -> Result<(), DiskConfigError> {
        if !(*self.ageing >= 0.0 && *self.ageing <= 1000.0) {
            return Err(wrong("scheduler.ageing", *self.ageing, "from 0 to 1000".into()));
        }
        if !(0.0..=1.0).contains(&self.turn) {
            return Err(wrong("scheduler.turn", self.turn, "from 0 to 1".into()));
        }
        Ok(())
    }
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self { policy: SchedulingPolicy::Sptf, ageing: never(), turn: fifth() }
    }
}

fn never() -> Sourced<f64> {
    0.0.into()
}

/// Geist and Daniel's own choice.
fn fifth() -> f64 {
    0.2
}

#[allow(clippy::trivially_copy_pass_by_ref)] // what serde asks for
fn is_fifth(turn: &f64) -> bool {
    *turn == fifth()
}

/// Which operation comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Policy")]
pub enum SchedulingPolicy {
    /// The oldest.
    Fcfs,
    /// That on the nearest cylinder.
    Sstf,
    /// The nearest ahead of the arm; it turns where there is none.
    Look,
    /// The nearest ahead of the arm, inwards; else the outermost.
    CLook,
    /// The nearest, where turning round counts as some cylinders more.
    VScan,
    /// That which the head reaches soonest.
    #[default]
    Sptf,
}

/// A config that no disk can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskConfigError {
    /// Not TOML, an unknown key, a value of the wrong kind.
    #[error("disk config: {0}")]
    Parse(String),
    /// A listed layout that leaves out a sector, or has one twice.
    #[error("the layout does not have sector {0} exactly once\n  try: list each sector once")]
    Layout(u64),
    /// A value that cannot be.
    #[error("disk config: {key} is {value}\n  try: {must}")]
    Value {
        /// The key, dotted.
        key: &'static str,
        /// The value found.
        value: String,
        /// What it must be.
        must: String,
    },
    /// The zones do not add up to the capacity.
    #[error(
        "disk config: geometry.zones hold {held} sectors, geometry.sectors is {stated}\n  \
         try: zones that hold as many, and less than a cylinder more"
    )]
    Capacity {
        /// Sectors in the zones.
        held: u64,
        /// Sectors it should export.
        stated: u64,
    },
    /// A longer seek would be faster.
    #[error(
        "disk config: the curve through the three times of {key} falls over {from} to {to} \
         cylinders\n  try: move the average towards {hint}"
    )]
    SeekFalls {
        /// The table of the three times.
        key: &'static str,
        /// Where the fall begins.
        from: u32,
        /// The longest seek, or the distance at which the curve rises again.
        to: u32,
        /// An average that fits the other two times.
        hint: Ns,
    },
}

impl DiskConfig {
    /// Reads a config from TOML and checks it.
    ///
    /// # Errors
    /// Where the text is no such config, or no disk can be built from it.
    pub fn from_toml(text: &str) -> Result<Self, DiskConfigError> {
        let config: Self = toml::from_str(text)
            .map_err(|e| DiskConfigError::Parse(e.to_string().trim().into()))?;
        config.validate()?;
        Ok(config)
    }

    /// Whether a disk can be built from it.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate(&self) -> Result<(), DiskConfigError> {
        self.check().map(drop)
    }

    /// Checks it, which takes working out its mechanics.
    pub(super) fn check(&self) -> Result<Mechanics, DiskConfigError> {
        let mechanics = Mechanics::new(self)?;
        let (link, cache, power) = (&self.interface, &self.cache, &self.power);
        let sector = crate::SECTOR;

        at_least("interface.rate_per_s", *link.rate_per_s, Bytes(1))?;
        at_least("interface.queue_depth", *link.queue_depth, 1)?;
        at_least("cache.write_limit", *cache.write_limit, sector)?;
        at_least("cache.write_extents", *cache.write_extents, 1)?;
        at_least("cache.segments", *cache.segments, 1)?;
        at_least("cache.destage", *cache.destage, sector)?;
        let segment = cache.size.saturating_sub(*cache.write_limit) / u64::from(*cache.segments);
        at_least("what cache.size leaves for each segment", segment, sector)?;
        at_most("cache.read_ahead", *cache.read_ahead, segment)?;
        power.check()?;
        self.scheduler.check()?;
        Ok(mechanics)
    }
}

/// An error about one value.
pub(super) fn wrong(
    key: &'static str,
    value: impl std::fmt::Display,
    must: String,
) -> DiskConfigError {
    DiskConfigError::Value { key, value: value.to_string(), must }
}

/// Refuses a value below `least`.
pub(super) fn at_least<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    least: T,
) -> Result<(), DiskConfigError> {
    if value < least { Err(wrong(key, value, format!("at least {least}"))) } else { Ok(()) }
}

/// Refuses a value above `most`.
pub(super) fn at_most<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    most: T,
) -> Result<(), DiskConfigError> {
    if value > most { Err(wrong(key, value, format!("at most {most}"))) } else { Ok(()) }
}
