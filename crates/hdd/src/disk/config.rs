//! Configuration of a hard disk, with a source for each number.
//!
//! [`DiskConfig`] mirrors the TOML; [`Disk::new`](super::Disk::new) computes zones and seek curves
//! from it and reports inconsistencies ([`super::check`]).

use super::error::{DiskConfigError, wrong};
use super::power::PowerConfig;
use super::tracks::Tracks;
use gordon_units::{Bytes, Ns, Sourced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hard disk.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Config")]
pub struct DiskConfig {
    /// One-line description of the part.
    pub summary: String,
    /// Price of the disk: in US dollars in the shipped catalogue, in the currency of the space in a
    /// part of a space. The simulation does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Sourced<f64>>,
    /// Embodied carbon: kg of CO2-equivalent of manufacturing the disk. The simulation does not use
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embodied_kg: Option<Sourced<f64>>,
    /// Years of service that the manufacturer states or warrants. The simulation does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rated_life_years: Option<Sourced<f64>>,
    /// Heads, cylinders, tracks and sectors.
    pub geometry: DiskGeometryConfig,
    /// Seek and head switch times.
    pub seek: SeekConfig,
    /// Host interface.
    pub interface: InterfaceConfig,
    /// On-board cache memory.
    pub cache: CacheConfig,
    /// Order of mechanical operations.
    pub scheduler: SchedulerConfig,
    /// Power consumption. The simulated disk only counts busy times; energy is computed from them.
    pub power: PowerConfig,
}

/// Heads, cylinders, tracks and sectors.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GeometryConfig")]
pub struct DiskGeometryConfig {
    /// Number of sectors of 512 bytes that the disk exports.
    pub sectors: Sourced<u64>,
    /// Number of recording surfaces.
    pub heads: Sourced<u32>,
    /// Spindle speed in revolutions per minute.
    pub rpm: Sourced<u32>,
    /// Track skew: time from the end of a track's last sector to the start of the first sector of
    /// the next track of the same cylinder. Required unless each zone gives its own skew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_skew: Option<Sourced<Ns>>,
    /// Cylinder skew: time from the end of the last sector of a cylinder to the start of the first
    /// sector of the next cylinder. Required unless each zone gives its own skew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cylinder_skew: Option<Sourced<Ns>>,
    /// Cylinders whose tracks are numbered from the last surface to the first. Default: `never`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serpentine: Serpentine,
    /// Region that shares a set of spare sectors. The spare sectors are at the end of the region.
    /// Default: `zone`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spare_region: Region,
    /// Number of cylinders that share spare sectors, if `spare_region` is `cylinders`. Default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub spare_cylinders: u32,
    /// Zones, from the outermost to the innermost, with their sectors per track.
    pub zones: Zones,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Default values are not serialised.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Groups of cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Zones {
    /// Zones as measured or published, outermost first.
    Table(Vec<ZoneConfig>),
    /// Computed zones: each has the same number of cylinders, and sectors per track decrease
    /// linearly from the outermost zone to the innermost.
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
    /// Number of cylinders in the zone.
    pub cylinders: u32,
    /// Number of sectors per track.
    pub sectors_per_track: u32,
    /// Number of unused cylinders before the zone. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gap: u32,
    /// Track skew of the zone, in sectors. Default: `geometry.track_skew`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub track_skew: Option<u32>,
    /// Cylinder skew of the zone, in sectors. Default: `geometry.cylinder_skew`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cylinder_skew: Option<u32>,
    /// Angle from the disk's index mark to the first sector of the zone, in sectors. If it is left
    /// out, it follows from the skew of the zone before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_angle: Option<u32>,
    /// Number of unused sectors at the start of the zone. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empty: u64,
    /// Number of spare sectors in each spare region, or of spare tracks if `spare_region` is
    /// `tracks`. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spares: u32,
    /// Slipped sectors of the zone, or tracks if `spare_region` is `tracks`, in the order in which
    /// the defects were found. Data skip a slipped sector or track. Default: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slips: Vec<u64>,
    /// Remapped sectors of the zone, or tracks if `spare_region` is `tracks`, as pairs: the
    /// original number and the number where the data are. Default: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remapped: Vec<(u64, u64)>,
}

/// Cylinders whose tracks are numbered from the last surface to the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Serpentine {
    /// No cylinders.
    #[default]
    Never,
    /// Every second cylinder, counted within each zone.
    Zone,
    /// Every second cylinder, counted over the whole disk.
    Disk,
}

/// Region that shares a set of spare sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// A zone, with whole tracks as spares: defects slip or remap a whole track.
    Tracks,
    /// One track.
    Track,
    /// One cylinder, or several (`spare_cylinders`).
    Cylinders,
    /// A zone.
    #[default]
    Zone,
}

/// Zones computed from the transfer rates of the outermost and the innermost zone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearZones {
    /// Number of zones.
    pub count: Sourced<u32>,
    /// Sustained transfer rate of the outermost zone in bytes per second, including track and
    /// cylinder switches.
    pub outer_rate_per_s: Sourced<Bytes>,
    /// Ratio of sectors per track in the innermost zone to those in the outermost zone; above 0 and
    /// at most 1.
    pub inner_to_outer: Sourced<f64>,
}

/// Seek and head switch times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekConfig {
    /// Time to switch between two surfaces of the same cylinder, until the new track can be read.
    pub head_switch: Sourced<Ns>,
    /// Seek times until the new track can be read.
    pub read: SeekTimes,
    /// Seek times until the new track can be written, for which the head must settle more
    /// precisely. A head switch before a write takes longer than one before a read by the same
    /// amount as a track-to-track seek. Give either this table or `write_settle_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<SeekTimes>,
    /// Additional time of a seek or a head switch before a write, in milliseconds; negative if
    /// writes settle faster than reads. Alternative to `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_settle_ms: Option<Sourced<f64>>,
}

/// Seek times by distance, in one of the forms in which they are published: three times, a table,
/// two pieces, or the three parameters of Lee and Katz.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekTimes {
    /// Seek time to the next cylinder. Give `track_to_track`, `average` and `full_stroke` together,
    /// as data sheets print them: the seek curve is a + b sqrt(d) + c d through them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track_to_track: Option<Sourced<Ns>>,
    /// Mean seek time over all pairs of different cylinders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<Sourced<Ns>>,
    /// Seek time from the first cylinder to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_stroke: Option<Sourced<Ns>>,
    /// Measured seek times: pairs of a distance in cylinders and a time, by increasing distance.
    /// Times are linear between these points and beyond the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<(u32, Ns)>,
    /// Seek curve of two pieces, as published by Hewlett-Packard (Ruemmler and Wilkes, IEEE
    /// Computer 27(3), 1994).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<SeekPieces>,
    /// Parameters a, b and c, in milliseconds, of the seek curve a sqrt(d - 1) + b (d - 1) + c (Lee
    /// and Katz, SIGMETRICS 1993).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lee_ms: Option<Sourced<[f64; 3]>>,
}

/// Seek time a + b sqrt(d) below a distance, and c + e d from that distance.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeekPieces {
    /// First distance of the linear piece, in cylinders.
    pub split: u32,
    /// Parameters a, b, c and e, in milliseconds: a + b sqrt(d) below `split`, c + e d from
    /// `split`.
    pub values_ms: [f64; 4],
    /// Seek times over 1, 2, ... cylinders, in place of the curve, if they are known individually.
    /// Default: none.
    #[serde(default)]
    pub first: Vec<Ns>,
}

/// Host interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceConfig {
    /// Transfer rate in bytes per second.
    pub rate_per_s: Sourced<Bytes>,
    /// Processing time of the controller for each command. Commands are processed sequentially.
    pub overhead: Sourced<Ns>,
    /// Number of commands that the drive can queue. Further commands wait at the host.
    pub queue_depth: Sourced<u32>,
}

/// On-board cache memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Total size of the cache.
    pub size: Sourced<Bytes>,
    /// Maximum amount of written data in the cache that is not on the medium yet. The rest of the
    /// cache is for reads.
    pub write_limit: Sourced<Bytes>,
    /// Whether writes are acknowledged only when they are on the medium (write-through), not when
    /// they are in the cache (write-back). Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_through: bool,
    /// Zero-latency access: whether a read begins at the requested sector that the head reaches
    /// first, not at the first sector of the request. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zero_latency: bool,
    /// Maximum number of separate extents of written data in the cache.
    pub write_extents: Sourced<u32>,
    /// Number of segments into which the read part of the cache is divided.
    pub segments: Sourced<u32>,
    /// Amount of read-ahead after a read; at most one segment. 0 turns read-ahead off.
    pub read_ahead: Sourced<Bytes>,
    /// Maximum amount of data written to the medium in one operation.
    pub destage: Sourced<Bytes>,
}

/// Order of mechanical operations.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerConfig {
    /// Scheduling policy. Default: `sptf`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: SchedulingPolicy,
    /// With `sptf`: seconds of positioning time that each second of waiting offsets. Default: 0 (no
    /// ageing), with which a distant operation can starve.
    #[serde(default = "never")]
    pub ageing: Sourced<f64>,
    /// With `v-scan`: fraction of the full stroke that a change of direction counts as; 0 is SSTF,
    /// 1 is LOOK. Default: 0.2.
    #[serde(default = "fifth", skip_serializing_if = "is_fifth")]
    pub turn: f64,
}

impl SchedulerConfig {
    pub(crate) fn check(&self) -> Result<(), DiskConfigError> {
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

/// The value that Geist and Daniel use.
fn fifth() -> f64 {
    0.2
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_fifth(turn: &f64) -> bool {
    *turn == fifth()
}

/// Scheduling policy of mechanical operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Policy")]
pub enum SchedulingPolicy {
    /// The oldest operation.
    Fcfs,
    /// The operation on the nearest cylinder.
    Sstf,
    /// The nearest operation in the direction of arm movement. The arm reverses if there is none.
    Look,
    /// The nearest operation towards the innermost cylinder; if there is none, the outermost
    /// operation.
    CLook,
    /// The operation on the nearest cylinder, with a penalty of `turn` for a change of direction.
    VScan,
    /// The operation with the shortest positioning time.
    #[default]
    Sptf,
}
