//! Configuration of a drive with a segmented buffer.

use crate::disk::config::{DiskGeometryConfig, SchedulerConfig, SeekConfig, is_default};
use crate::disk::error::{DiskConfigError, at_least, at_most, wrong};
use crate::disk::{DiskGeometry, Mechanics, PowerConfig};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hard disk drive with a segmented buffer, which carries out one command at a time or has a
/// short queue.
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
    /// Queue of the drive. Default: one command.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: QueueConfig,
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
    /// Time from the arrival of a command until the drive begins to process it. Default: 0.
    #[serde(skip_serializing_if = "is_default")]
    pub command: Ns,
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
    /// Whether the drive holds the bus from the command to its end, which is not simulated with
    /// `immediate_report`. Default: false.
    pub held: bool,
    /// Whether the drive holds the bus from the first sector of a read to the last, even if it
    /// waits for the medium in between. Default: false.
    #[serde(skip_serializing_if = "is_default")]
    pub held_in_reads: bool,
    /// Whether the drive holds the bus from the first sector of a write to the last, even if it
    /// waits for room in the segment in between. Default: false.
    #[serde(skip_serializing_if = "is_default")]
    pub held_in_writes: bool,
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

/// Commands that the drive accepts at a time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Queue")]
pub struct QueueConfig {
    /// Maximum number of commands in the drive that are not completed, at least 1. A drive with
    /// `bus.held` has one at a time, whatever this is. Default: 1.
    pub length: u32,
    /// Order in which the arm serves them, and acknowledged writes. Default: `fcfs`.
    pub policy: QueuePolicy,
    /// Time that the positioning policies add to the positioning of a read. Default: 0.
    pub read_delay: Ns,
    /// Time that the positioning policies add to the positioning of a write. Default: 0.
    pub write_delay: Ns,
    /// Weight of the waiting time: in `aged-positioning`, the microseconds of positioning that a
    /// millisecond of waiting offsets; in `weighted-positioning`, the waiting time in milliseconds
    /// at which a command is served next. Default: 0.
    pub weight: u32,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let policy = QueuePolicy::default();
        Self { length: 1, policy, read_delay: Ns::ZERO, write_delay: Ns::ZERO, weight: 0 }
    }
}

/// Order in which a drive serves the commands in its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePolicy {
    /// First come, first served.
    #[default]
    Fcfs,
    /// The next higher sector; if there is none, the next lower one.
    Look,
    /// The next higher sector; if there is none, the lowest.
    CLook,
    /// The nearest sector.
    Sstf,
    /// As `look`, by cylinder.
    CylinderLook,
    /// As `c-look`, by cylinder.
    CylinderCLook,
    /// The nearest cylinder.
    CylinderSstf,
    /// The shortest positioning time.
    Positioning,
    /// As `positioning`, but data in the buffer come first.
    CachedPositioning,
    /// The shortest product of positioning time and the rest of the waiting time (`weight`).
    WeightedPositioning,
    /// As `weighted-positioning`, but data in the buffer come first.
    CachedWeightedPositioning,
    /// The shortest positioning time minus a share (`weight`) of the waiting time.
    AgedPositioning,
    /// As `aged-positioning`, but data in the buffer come first.
    CachedAgedPositioning,
    /// The shortest distance in cylinders from the end of the last command.
    Distance,
    /// The shortest distance in cylinders from the arm.
    ArmDistance,
}

impl QueuePolicy {
    /// Whether the order depends on positioning times.
    pub(crate) fn positions(self) -> bool {
        use QueuePolicy::{
            AgedPositioning, CachedAgedPositioning, CachedPositioning, CachedWeightedPositioning,
            Positioning, WeightedPositioning,
        };
        matches!(
            self,
            Positioning
                | CachedPositioning
                | WeightedPositioning
                | CachedWeightedPositioning
                | AgedPositioning
                | CachedAgedPositioning
        )
    }
}

/// When writes are acknowledged before they are on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteJoin {
    /// A write joins the segment of the write that it follows, whatever else waits.
    #[default]
    Always,
    /// A write joins only if no other command waits; it goes to the medium next.
    Alone,
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
    /// Maximum number of segments that hold data to be written; all if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_segments: Option<u32>,
    /// Whether segments keep data after the command that brought them. Default: true.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub keeps_data: bool,
    /// Whether reads can hit written data in the buffer.
    pub read_hits_written: bool,
    /// Whether writes are acknowledged as soon as their data are in the buffer.
    pub immediate_report: bool,
    /// Whether a write that directly follows the write in progress on the medium is appended to it.
    /// Requires `immediate_report`. Not simulated with `join` = `always` and a queue in the order
    /// of positioning times.
    pub join_writes: bool,
    /// Whether a write is appended if other commands wait. Default: `always`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub join: WriteJoin,
    /// Fraction of a read, from 0 to 1, that must be in the buffer before the drive reconnects to
    /// transfer it.
    pub read_mark: f64,
    /// Fraction of a write, from 0 to 1: a write larger than a segment: the drive reconnects for
    /// the rest when at most this waits for the medium. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_mark: f64,
    /// Whether the marks are fractions of a segment instead of the command. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks_of_segment: bool,
    /// Whether a read that begins with the sector that read-ahead reads at the time is a partial
    /// hit, and read-ahead continues. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hits_next_sector: bool,
    /// Whether a partial hit transfers its data at once, even if they are less than `read_mark`.
    /// Default: true.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub partial_hits_at_once: bool,
    /// How far the drive reads ahead after a read.
    pub read_ahead: ReadAhead,
    /// Whether read-ahead also starts after a read that the buffer serves completely.
    pub read_ahead_on_hit: bool,
    /// Number of sectors that are read ahead even if other commands wait. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub least_read_ahead: u64,
    /// Whether read-ahead ends when the data of the read and those read ahead fill a segment,
    /// whatever the number in `read_ahead`. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub read_ahead_keeps_read: bool,
    /// Whether a read drops its data from the buffer. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drops_read: bool,
    /// Whether a write to a segment that is being read ahead ends the read-ahead there.
    /// Default: true.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub writes_end_read_ahead: bool,
    /// Whether the head reads a sector even if the segment has no room for it yet, since it gets
    /// room only when it has been read. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sector_buffer: bool,
    /// Whether the head reads the sectors of a track that pass while it waits for room in the
    /// segment for a sector before them. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reads_on_arrival: bool,
    /// Whether the head writes the sectors of a track that pass while it waits for a sector before
    /// them, whose data came too late. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes_on_arrival: bool,
    /// Whether a command stops read-ahead immediately. Otherwise, read-ahead stops at the end of
    /// the current sector.
    pub stops_at_once: bool,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde requires
fn is_true(value: &bool) -> bool {
    *value
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
        at_least("queue.length", self.queue.length, 1)?;
        let marks =
            [("buffer.read_mark", buffer.read_mark), ("buffer.write_mark", buffer.write_mark)];
        for (key, mark) in marks {
            if !(0.0..=1.0).contains(&mark) {
                return Err(wrong(key, mark, "from 0 to 1".into()));
            }
        }
        if let Some(count) = buffer.write_segments
            && !(1..=buffer.segments).contains(&count)
        {
            let must = format!("from 1 to buffer.segments, {}", buffer.segments);
            return Err(wrong("buffer.write_segments", count, must));
        }
        if self.bus.held && buffer.immediate_report {
            return Err(wrong("bus.held", true, "false with buffer.immediate_report".into()));
        }
        let joins = buffer.join_writes && buffer.join == WriteJoin::Always;
        if joins && buffer.immediate_report && self.queue.policy.positions() {
            let must = "false or buffer.join = \"alone\" with a policy of positioning times";
            return Err(wrong("buffer.join_writes", true, must.into()));
        }
        at_most("buffer.least_read_ahead", buffer.least_read_ahead, buffer.segment_sectors)?;
        for (key, time) in [
            ("overheads.command", self.overheads.command),
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
