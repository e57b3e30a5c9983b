//! `manifest.json`: what a trace holds, where it comes from, and how reliable each column is.

use crate::columns::Column;
use crate::profile::Profile;
use crate::scope::Scope;
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const MANIFEST_FILE: &str = "manifest.json";
pub(crate) const ACTIVITY_FILE: &str = "activity.parquet";
pub(crate) const DISKS_FILE: &str = "disks.parquet";
pub(crate) const BLOCK_FILE: &str = "block.parquet";

/// Name of the block log in [`Manifest::unavailable`].
pub const BLOCK_LOG: &str = "block log";

/// Start of the names of samples that a conversion left out.
pub(crate) const SAMPLES: &str = "samples ";
pub(crate) const STEADY_CLOCK: &str = "steady clock";
pub(crate) const TIME_OF_RESTARTS: &str = "time of restarts";
pub(crate) const SOME_IO: &str = "I/O in some samples";
pub(crate) const SOME_MEMORY: &str = "memory in some samples";
pub(crate) const SOME_NETWORK: &str = "network in some samples";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const NETWORK: &str = "network";
/// CPU time that a conversion left out because it cannot be.
pub(crate) const IMPOSSIBLE_CPU: &str = "CPU time beyond what the cores can use";
/// Name in [`Manifest::unavailable`] of the work of processes that still ran when the command
/// ended.
pub const OUTLIVING_WORK: &str = "work of processes that outlive the command";
/// Names in [`Manifest::unavailable`] of the machine's time and activity.
const LOST: [&str; 9] = [
    STEADY_CLOCK,
    TIME_OF_RESTARTS,
    SOME_IO,
    SOME_MEMORY,
    SOME_NETWORK,
    MEMORY,
    NETWORK,
    IMPOSSIBLE_CPU,
    OUTLIVING_WORK,
];

/// The value of `format` in every manifest.
pub const FORMAT: &str = "gordon-trace";
/// The version of the format that is written.
pub const VERSION: u32 = 2;
/// The oldest version that is read. Version 1 has no scope: it is of a machine.
pub(crate) const OLDEST_VERSION: u32 = 1;

/// Description of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Version of the Gordon that wrote the trace.
    pub gordon: String,
    /// The traced command with its arguments.
    pub command: Vec<String>,
    /// Working directory of the command.
    pub cwd: String,
    /// Start of the trace in nanoseconds since 1970 (UTC).
    pub start_unix_ns: u64,
    /// The requested time between samples.
    pub interval: Ns,
    /// Time from the start to the end of the command.
    pub duration: Ns,
    /// Exit status of the command, or the signal that ended it.
    pub end: CommandEnd,
    /// Memory limit of the command; `None` if it had none.
    pub memory_limit: Option<Bytes>,
    /// What the trace covers: the machine, or a part of it.
    #[serde(default)]
    pub scope: Scope,
    /// The machine that ran the command.
    pub machine: MachineInfo,
    /// Rates that the estimated columns were calculated with.
    pub profile: Profile,
    /// The files of the trace.
    pub parts: Vec<TracePart>,
    /// Bytes that the command read; `None` in a converted or older trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<CommandReads>,
    /// What was not available during capture, and why.
    pub unavailable: Vec<Unavailable>,
    /// Counters of the block log; `None` if the trace has no block log.
    pub block: Option<BlockLog>,
    /// CPU time of capture itself. The CPU time of the machine includes it.
    pub capture_cpu: Ns,
    /// Origin of a converted trace, which holds only the block log, or only the activity. `None` if
    /// the trace was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportSource>,
}

/// Origin of a converted trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSource {
    /// Name of the format.
    pub format: String,
    /// Name of the file or files, without their folder.
    pub file: String,
}

/// Bytes that the processes of the command read: fetched from storage, and requested of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandReads {
    /// Bytes fetched from storage for the command, with read-ahead and page faults: `read_bytes` of
    /// `/proc/PID/io`.
    pub fetched: Bytes,
    /// Bytes that its read calls returned, also from the page cache, pipes, sockets and terminals:
    /// `rchar` of `/proc/PID/io`.
    pub returned: Bytes,
    /// Size of the distinct files that its processes had mapped, which page faults may have read.
    /// Looked up in the samples in which `fetched` exceeded the other two.
    pub mapped: Bytes,
    /// Whether a process had io_uring or Linux AIO set up, whose reads `returned` lacks.
    pub is_asynchronous: bool,
    /// Whether the counters or the mappings of some processes could not be read.
    pub is_partial: bool,
}

impl CommandReads {
    /// A lower bound of the bytes fetched for each byte requested. `None` if bytes were requested
    /// that are not counted, or none.
    ///
    /// Hits in the page cache and bytes that came from elsewhere than files make the true ratio
    /// larger, and so do mapped pages that were never touched.
    pub fn amplification(&self) -> Option<f64> {
        let requested = self.returned.0.saturating_add(self.mapped.0);
        let is_known = !self.is_asynchronous && !self.is_partial && requested > 0;
        #[allow(clippy::cast_precision_loss)]
        is_known.then(|| self.fetched.0 as f64 / requested as f64)
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// The command exited with this status.
    Exited(i32),
    /// This signal ended the command.
    Signalled(i32),
}

impl CommandEnd {
    /// The status as shells report it: the exit status, or 128 plus the signal.
    pub const fn status(self) -> i32 {
        match self {
            Self::Exited(status) => status,
            Self::Signalled(signal) => 128 + signal,
        }
    }
}

/// The machine that a trace comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineInfo {
    /// Name of the processor, as the processor reports it; on Arm, that of the first core.
    pub cpu_model: String,
    /// Number of cores that were online.
    pub cores: u32,
    /// Cores that share a physical core; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<u32>,
    /// Total memory.
    pub memory: Bytes,
    /// Kernel release.
    pub kernel: String,
    /// Block devices that have a medium.
    pub disks: Vec<DiskInfo>,
    /// Network interfaces except the loopback.
    pub interfaces: Vec<InterfaceInfo>,
    /// Names of the graphics processors and other accelerators that compute; empty if none was
    /// seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accelerators: Vec<String>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskInfo {
    /// Name without `/dev/`.
    pub name: String,
    /// Device number, `major << 20 | minor`, as in the other parts.
    pub device: u32,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// Its capacity.
    pub size: Bytes,
    /// Whether the device has rotating media.
    pub rotational: bool,
    /// Model of the drive, or name of the mapped volume; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most that the kernel reads ahead of a sequential reader; `None` in a converted or older
    /// trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<Bytes>,
    /// Scheduler of its requests, `none` included; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// The largest request that the kernel sends to the device; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_request: Option<Bytes>,
    /// Names of the devices that a volume is made of; empty for a drive and for a loop device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Whether the device is made of other devices or of memory: loop, device mapper, RAID, zram.
    /// Its requests appear a second time at the devices below it.
    pub is_virtual: bool,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceInfo {
    /// Name of the interface.
    pub name: String,
    /// Link speed; `None` if the interface does not report it.
    pub megabits: Option<u32>,
    /// Whether the network columns of the activity include this interface.
    pub counted: bool,
}

/// One file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracePart {
    /// Name in the folder of the trace.
    pub file: String,
    /// Number of rows.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// CRC-32 (IEEE) of the file.
    pub crc32: u32,
    /// The columns of the file.
    pub columns: Vec<Column>,
}

/// Something that capture could not record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// Its name.
    pub what: String,
    /// The reason, and what would help.
    pub why: String,
}

/// Counters of the block log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLog {
    /// Events received from the kernel: issues, completions and requeues.
    pub events: u64,
    /// Events that the kernel dropped before they were read.
    pub lost_events: u64,
    /// Requests without a completion; their latency is null.
    pub without_latency: u64,
    /// Requests that the log leaves out: zone management, write zeroes, commands of drivers.
    pub other_requests: u64,
}

impl Manifest {
    /// Whether time is missing between samples, so that later ones are earlier in the trace than
    /// they were.
    pub fn has_gaps(&self) -> bool {
        let is_gap = |what: &str| what.starts_with(SAMPLES) || what == TIME_OF_RESTARTS;
        self.unavailable.iter().any(|missing| is_gap(&missing.what))
    }

    /// What the trace lacks of the machine's time and activity, which no column of it shows.
    pub fn lost(&self) -> impl Iterator<Item = &Unavailable> {
        let is_lost = |what: &str| LOST.contains(&what) || what.starts_with(SAMPLES);
        self.unavailable.iter().filter(move |missing| is_lost(&missing.what))
    }

    /// A manifest for a trace that is written by a [`TraceWriter`](crate::TraceWriter), which adds
    /// the parts and the duration.
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
            scope: Scope::default(),
            machine,
            profile: Profile::default(),
            parts: Vec::new(),
            reads: None,
            unavailable: Vec::new(),
            block: None,
            capture_cpu: Ns::ZERO,
            imported: None,
        }
    }

    /// The part in `file`; `None` if the trace does not have it.
    pub fn part(&self, file: &str) -> Option<&TracePart> {
        self.parts.iter().find(|p| p.file == file)
    }

    /// A column of the activity part; `None` if the trace does not have it.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.part(ACTIVITY_FILE)?.columns.iter().find(|c| c.name == name)
    }

    /// Block events that the kernel dropped; 0 if the trace has no block log.
    pub fn lost_events(&self) -> u64 {
        self.block.map_or(0, |b| b.lost_events)
    }
}
