//! What a drive of the 1990s is made of.

use crate::disk::config::{
    DiskConfigError, DiskGeometryConfig, SchedulerConfig, SeekConfig, at_least, at_most,
    is_default, wrong,
};
use crate::disk::{DiskGeometry, Mechanics, PowerConfig};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive that carries out one command at a time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassicConfig {
    /// One line about the part.
    pub summary: String,
    /// Where its numbers come from.
    pub source: String,
    /// Discs, heads, tracks, sectors.
    pub geometry: DiskGeometryConfig,
    /// How long the arm takes.
    pub seek: SeekConfig,
    /// What it does before, between and after transfers.
    pub overheads: Overheads,
    /// The way to the host.
    pub bus: HostBus,
    /// The memory on board.
    pub buffer: BufferConfig,
    /// Which of the commands that wait at the host comes next.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scheduler: SchedulerConfig,
    /// What it draws, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
}

/// Twice a time: after a command that read, and after one that wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "After")]
pub struct ReadWriteTimes {
    /// After a read.
    pub read: Ns,
    /// After a write.
    pub write: Ns,
}

impl ReadWriteTimes {
    pub(super) fn get(self, read: bool) -> Ns {
        if read { self.read } else { self.write }
    }
}

/// What the controller takes, all beside the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overheads {
    /// Of a read whose first sector is in memory.
    pub read_hit: ReadWriteTimes,
    /// Of another read. The arm never starts sooner.
    pub read_miss: ReadWriteTimes,
    /// Of a write.
    pub write: ReadWriteTimes,
    /// To leave the bus while the medium is read.
    pub read_disconnect: ReadWriteTimes,
    /// To leave it after the data of a write.
    pub write_disconnect: Ns,
    /// To come back to it.
    pub reselect: Ns,
    /// Before data go over the bus.
    pub prepare: Ns,
    /// At the end of a read.
    pub read_completion: Ns,
    /// At the end of a write.
    pub write_completion: Ns,
    /// Some drives leave the bus once more in a write that follows another elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraDisconnect>,
    /// What the arm takes at least before a write.
    pub least_write_seek: Ns,
}

/// Once more off the bus, in a write that follows a write elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Extra")]
pub struct ExtraDisconnect {
    /// In place of the overhead of a write.
    pub command: Ns,
    /// To leave the bus for the first time.
    pub disconnect: Ns,
    /// Until it comes back.
    pub pause: Ns,
    /// To leave the bus after the data.
    pub second_disconnect: Ns,
    /// To come back to it after that.
    pub second_reselect: Ns,
    /// The arm starts so much after `command`.
    pub seek_delta: Ns,
}

/// The way to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bus")]
pub struct HostBus {
    /// A sector of a read.
    pub read_sector: Ns,
    /// A sector of a write.
    pub write_sector: Ns,
    /// It is held from the command to the end of a read.
    pub held: bool,
}

/// How far a drive reads on behind what was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// It does not.
    #[default]
    None,
    /// So many sectors, to the end of the track at most.
    Track(u64),
    /// So many sectors, to the end of the cylinder at most.
    Cylinder(u64),
    /// So many sectors.
    Sectors(u64),
    /// To the end of the track that comes next, and of one more where the segment began before it.
    Tracks,
}

/// The memory on board: segments, each of which holds one run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// How many.
    pub segments: u32,
    /// Sectors that one holds.
    pub segment_sectors: u64,
    /// The first is for writes alone.
    pub write_segment: bool,
    /// Reads may hit what was written.
    pub read_hits_written: bool,
    /// Writes are acknowledged when they are in memory.
    pub immediate_report: bool,
    /// A write that goes on where the one being written to the medium ends joins it.
    pub join_writes: bool,
    /// The part of a read that is in memory before it goes over the bus, from 0 to 1.
    pub read_mark: f64,
    /// How far it reads on.
    pub read_ahead: ReadAhead,
    /// It reads on, too, after a read that was in memory.
    pub read_ahead_on_hit: bool,
    /// Reading ahead stops at once for a command, and not at the end of a sector.
    pub stops_at_once: bool,
}

impl ClassicConfig {
    /// Works out its mechanics.
    ///
    /// # Errors
    /// The first contradiction found.
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
