//! Configuration of a drive that carries out one command at a time.

use crate::disk::config::{DiskGeometryConfig, SchedulerConfig, SeekConfig, is_default};
use crate::disk::error::{DiskConfigError, at_least, at_most, wrong};
use crate::disk::{DiskGeometry, Mechanics, PowerConfig};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hard disk drive that carries out one command at a time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassicConfig {
    /// One-line description of the part.
    pub summary: String,
    /// Source of the parameters.
    pub source: String,
    /// Heads, cylinders, tracks and sectors.
    pub geometry: DiskGeometryConfig,
    /// Seek and head switch times.
    pub seek: SeekConfig,
    /// Controller overheads before, between and after transfers.
    pub overheads: Overheads,
    /// Bus to the host.
    pub bus: HostBus,
    /// On-board buffer memory.
    pub buffer: BufferConfig,
    /// Order in which commands that wait at the host are sent to the drive. Default: `sptf`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduler: SchedulerConfig,
    /// Power consumption. If it is left out, no power is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
}

/// A time that depends on whether the previous command was a read or a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "After")]
pub struct ReadWriteTimes {
    /// Time if the previous command was a read.
    pub read: Ns,
    /// Time if the previous command was a write.
    pub write: Ns,
}

impl ReadWriteTimes {
    pub(super) fn get(self, read: bool) -> Ns {
        if read { self.read } else { self.write }
    }
}

/// Overheads of the controller, without the transfer of data. Default of each: 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overheads {
    /// Overhead of a read whose first sector is in the buffer. Default: 0.
    pub read_hit: ReadWriteTimes,
    /// Overhead of a read whose first sector is not in the buffer. For any read, the arm does not
    /// start before this time has passed. Default: 0.
    pub read_miss: ReadWriteTimes,
    /// Overhead of a write. Default: 0.
    pub write: ReadWriteTimes,
    /// Time to disconnect from the bus while a read accesses the medium. Default: 0.
    pub read_disconnect: ReadWriteTimes,
    /// Time to disconnect from the bus in a write, after its data or while it waits for an earlier
    /// write to reach the medium. Default: 0.
    pub write_disconnect: Ns,
    /// Time to reconnect to the bus. Default: 0.
    pub reselect: Ns,
    /// Time to prepare a data transfer on the bus. Default: 0.
    pub prepare: Ns,
    /// Time to complete a read after its data transfer. Default: 0.
    pub read_completion: Ns,
    /// Time to complete a write after its data transfer. Default: 0.
    pub write_completion: Ns,
    /// Additional bus disconnection that some drives make in a write that follows a write at a
    /// different address. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraDisconnect>,
    /// Minimum seek time before a write. Default: 0.
    pub least_write_seek: Ns,
}

/// Additional bus disconnection in a write that follows a write at a different address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Extra")]
pub struct ExtraDisconnect {
    /// Overhead of such a write, in place of `overheads.write`. Default: 0.
    pub command: Ns,
    /// Time of the first disconnection from the bus. Default: 0.
    pub disconnect: Ns,
    /// Time between the first disconnection and the reconnection. Default: 0.
    pub pause: Ns,
    /// Time of the second disconnection, after the data transfer, in place of
    /// `overheads.write_disconnect`. Used only without `immediate_report`. Default: 0.
    pub second_disconnect: Ns,
    /// Time of the second reconnection, in place of `overheads.reselect`. Used only without
    /// `immediate_report`. Default: 0.
    pub second_reselect: Ns,
    /// Delay from the end of the `command` overhead to the start of the seek. Default: 0.
    pub seek_delta: Ns,
}

/// Time that transfers take on the bus to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bus")]
pub struct HostBus {
    /// Bus time of one sector of a read. Default: 0.
    pub read_sector: Ns,
    /// Bus time of one sector of a write. Default: 0.
    pub write_sector: Ns,
    /// Whether the drive holds the bus from the command to the end of a read. Default: false.
    pub held: bool,
}

/// Amount of read-ahead after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// No read-ahead.
    #[default]
    None,
    /// N sectors, but at most to the end of the track.
    Track(u64),
    /// N sectors, but at most to the end of the cylinder.
    Cylinder(u64),
    /// N sectors.
    Sectors(u64),
    /// To the end of the track that holds the next sector after the read; one track more if the
    /// segment begins before that track.
    Tracks,
}

/// On-board buffer memory, divided into segments. Each segment holds one run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// Number of segments, at least 1, or 2 with `write_segment`.
    pub segments: u32,
    /// Number of sectors in one segment, at least 1.
    pub segment_sectors: u64,
    /// Whether the first segment is reserved for writes.
    pub write_segment: bool,
    /// Whether reads can hit written data in the buffer.
    pub read_hits_written: bool,
    /// Whether writes are acknowledged as soon as their data are in the buffer.
    pub immediate_report: bool,
    /// Whether a write that directly follows the write in progress on the medium is appended to it.
    /// Requires `immediate_report`.
    pub join_writes: bool,
    /// Fraction of a read, from 0 to 1, that must be in the buffer before the drive reconnects to
    /// transfer it.
    pub read_mark: f64,
    /// How far the drive reads ahead after a read.
    pub read_ahead: ReadAhead,
    /// Whether read-ahead also starts after a read that the buffer serves completely.
    pub read_ahead_on_hit: bool,
    /// Whether a command stops read-ahead immediately. Otherwise, read-ahead stops at the end of
    /// the current sector.
    pub stops_at_once: bool,
}

impl ClassicConfig {
    /// Checks the config and computes the mechanics.
    ///
    /// # Errors
    /// Returns the first inconsistency found.
    pub(super) fn check(&self) -> Result<Mechanics, DiskConfigError> {
        let buffer = &self.buffer;
        at_least("buffer.segments", buffer.segments, 1 + u32::from(buffer.write_segment))?;
        at_least("buffer.segment_sectors", buffer.segment_sectors, 1)?;
        if !(0.0..=1.0).contains(&buffer.read_mark) {
            return Err(wrong("buffer.read_mark", buffer.read_mark, "from 0 to 1".into()));
        }
        for (key, time) in [
            ("overheads.read_miss", self.overheads.read_miss.read),
            ("overheads.write", self.overheads.write.read),
            ("bus.read_sector", self.bus.read_sector),
            ("bus.write_sector", self.bus.write_sector),
        ] {
            at_most(key, time, Ns::SECOND)?;
        }
        self.scheduler.check()?;
        self.power.as_ref().map_or(Ok(()), PowerConfig::check)?;
        Mechanics::of(DiskGeometry::of(&self.geometry)?, &self.seek)
    }
}
