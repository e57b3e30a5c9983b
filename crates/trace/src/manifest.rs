//! `manifest.json`: what a trace is, where it comes from, and what to believe of it.

use crate::columns::Column;
use crate::profile::Profile;
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

pub(crate) const MANIFEST_FILE: &str = "manifest.json";
pub(crate) const ACTIVITY_FILE: &str = "activity.parquet";
pub(crate) const DISKS_FILE: &str = "disks.parquet";
pub(crate) const BLOCK_FILE: &str = "block.parquet";

/// The name of the block log among what is unavailable.
pub const BLOCK_LOG: &str = "block log";

/// The `format` every manifest names.
pub const FORMAT: &str = "gordon-trace";
/// The version of the format written, and the one read.
pub const VERSION: u32 = 1;

/// What a trace is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// The version of Gordon that wrote it.
    pub gordon: String,
    /// The command traced, with its arguments.
    pub command: Vec<String>,
    /// Where it ran.
    pub cwd: String,
    /// When it started, nanoseconds since 1970 (UTC).
    pub start_unix_ns: u64,
    /// The time between samples that was asked for.
    pub interval: Ns,
    /// From the start to the end of the command.
    pub duration: Ns,
    /// How the command ended.
    pub end: CommandEnd,
    /// The limit set on the command's memory.
    pub memory_limit: Option<Bytes>,
    /// The machine it ran on.
    pub machine: MachineInfo,
    /// The rates that estimated columns used.
    pub profile: Profile,
    /// The files.
    pub parts: Vec<TracePart>,
    /// What could not be had, and why.
    pub unavailable: Vec<Unavailable>,
    /// What happened to the block log, where there is one.
    pub block: Option<BlockLog>,
    /// CPU time that capture itself used, within the machine's.
    pub capture_cpu: Ns,
    /// Where the requests come from, if they were not captured but converted: such a trace holds
    /// the block log alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportSource>,
}

/// Where converted requests come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportSource {
    /// The format.
    pub format: String,
    /// The file's name, without its folder.
    pub file: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl CommandEnd {
    /// As shells report it: the status, or 128 and the signal.
    pub const fn status(self) -> i32 {
        match self {
            Self::Exited(status) => status,
            Self::Signalled(signal) => 128 + signal,
        }
    }
}

/// The machine a trace comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// As the processor names itself.
    pub cpu_model: String,
    /// Cores that were on line.
    pub cores: u32,
    /// All of it.
    pub memory: Bytes,
    /// Its release.
    pub kernel: String,
    /// Block devices with a medium.
    pub disks: Vec<DiskInfo>,
    /// Network interfaces but the loop-back.
    pub interfaces: Vec<InterfaceInfo>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskInfo {
    /// Its name.
    pub name: String,
    /// Its number, `major << 20 | minor`, as the other parts give it.
    pub device: u32,
    /// Its first number.
    pub major: u32,
    /// Its second number.
    pub minor: u32,
    /// Its capacity.
    pub size: Bytes,
    /// Whether it spins.
    pub rotational: bool,
    /// Made of other devices or of memory: loop, device mapper, RAID, zram. What it does shows
    /// again in the devices below it.
    pub is_virtual: bool,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceInfo {
    /// Its name.
    pub name: String,
    /// Its speed, where it says so.
    pub megabits: Option<u32>,
    /// Whether its bytes are counted in the activity.
    pub counted: bool,
}

/// One file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracePart {
    /// Its name in the folder.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of its bytes.
    pub crc32: u32,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// Something capture could not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// What.
    pub what: String,
    /// Why, and what would help.
    pub why: String,
}

/// What happened to the block log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLog {
    /// Events the kernel handed over: issues, completions and requeues.
    pub events: u64,
    /// Events the kernel threw away before they were read.
    pub lost_events: u64,
    /// Requests whose completion was not seen; their latency is null.
    pub without_latency: u64,
    /// Requests of other kinds (zone management, drivers' own, write zeroes), not in the log.
    pub other_requests: u64,
}

impl Manifest {
    /// The manifest of a trace made from numbers; the writer fills in parts and duration.
    pub fn new(command: Vec<String>, interval: Ns, machine: MachineInfo) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            gordon: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            cwd: String::new(),
            start_unix_ns: 0,
            interval,
            duration: Ns::ZERO,
            end: CommandEnd::Exited(0),
            memory_limit: None,
            machine,
            profile: Profile::default(),
            parts: Vec::new(),
            unavailable: Vec::new(),
            block: None,
            capture_cpu: Ns::ZERO,
            imported: None,
        }
    }

    /// The part in `file`, if the trace has it.
    pub fn part(&self, file: &str) -> Option<&TracePart> {
        self.parts.iter().find(|p| p.file == file)
    }

    /// A column of the activity part.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.part(ACTIVITY_FILE)?.columns.iter().find(|c| c.name == name)
    }

    /// Block events lost.
    pub fn lost_events(&self) -> u64 {
        self.block.map_or(0, |b| b.lost_events)
    }
}
