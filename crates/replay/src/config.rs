//! Configuration of a run: a device, a load, a host. It is JSON that a program builds from parsed
//! files and overrides.

use crate::ReplayError;
use crate::host::{HostPolicy, Pacing};
use crate::load::SyntheticConfig;
use gordon_blockio::SECTOR;
use gordon_ssd::SsdConfig;
use gordon_trace::formats::{self, Format};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fs::FileType;
use std::path::PathBuf;

/// Configuration of a run on a flash device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The flash device.
    pub device: SsdConfig,
    /// The load.
    pub load: LoadConfig,
    /// How the host issues the load.
    #[serde(default)]
    pub host: HostConfig,
    /// Fraction of the exported capacity that is mapped before the run, in the steady state of
    /// random overwrites. `None`: the device is new.
    #[serde(default)]
    pub precondition: Option<f64>,
    /// Checkpoint of the device to start with; `None` for a new device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_checkpoint: Option<PathBuf>,
    /// File for a checkpoint of the device after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<PathBuf>,
    /// Random seed of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Parquet file with one row per request.
    #[serde(default)]
    pub requests_out: Option<PathBuf>,
}

fn one<T: From<bool>>() -> T {
    T::from(true)
}

/// Source of the requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadConfig {
    /// Replay of a trace.
    Trace(TraceLoad),
    /// A synthetic load.
    Bench(SyntheticConfig),
}

/// A trace to replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLoad {
    /// Path of the trace; `-` is standard input.
    pub path: PathBuf,
    /// Format of the trace; `None` to detect it.
    #[serde(default, with = "name_of_format")]
    pub format: Option<Format>,
    /// Number of the trace's device whose requests are replayed; `None` for all.
    #[serde(default)]
    pub device: Option<u32>,
    /// Number of repetitions.
    #[serde(default = "one")]
    pub repeat: u32,
    /// Whether malformed records are skipped and counted, instead of being an error.
    #[serde(default)]
    pub skip_bad: bool,
    /// Treatment of times that go backwards. `None`: an error if times are used, and clamped
    /// otherwise.
    #[serde(default)]
    pub order: Option<TimeOrder>,
    /// Unit of the time stamps; `None` for that of the format.
    #[serde(default)]
    pub time_unit: Option<Ns>,
    /// Event of a request that counts, if the trace records several.
    #[serde(default)]
    pub event: Option<BlockEvent>,
    /// Columns of a text trace, in place of a format: `time=1:s,op=2,lba=3,size=4:B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Separator of the columns; `None` to detect it in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// Number of lines to skip at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_lines: Option<u64>,
    /// Words in the operation column that mean a read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Words in the operation column that mean a write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Words in the operation column that mean a discard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trims: Vec<String>,
}

/// Whether a file can be read only once.
#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_fifo() || kind.is_char_device() || kind.is_socket()
}

/// Whether a file can be read only once.
#[cfg(not(unix))]
fn is_pipe(kind: FileType) -> bool {
    !kind.is_file() && !kind.is_dir()
}

impl TraceLoad {
    /// Whether the path is standard input or a pipe, which can be read only once.
    pub fn is_stream(&self) -> bool {
        self.path.as_os_str() == "-"
            || std::fs::metadata(&self.path).is_ok_and(|file| is_pipe(file.file_type()))
    }

    /// Describes how the trace is read: its format, and how that was determined. `objects` selects
    /// the kind of a trace that could be of blocks or of objects.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be opened or its format cannot be determined.
    pub fn note(&self, objects: bool) -> Result<formats::InputNote, ReplayError> {
        let options = self.options(formats::Order::Clamp)?;
        let order = formats::ReadOptions { order: formats::Order::Clamp, ..options };
        Ok(formats::note(&self.path, self.format, &order, objects)?)
    }

    /// Reader options; `order` is the default treatment of backward times.
    ///
    /// # Errors
    /// Returns an error if the columns are malformed, or if their options are given without
    /// columns.
    pub fn options(&self, order: formats::Order) -> Result<formats::ReadOptions, ReplayError> {
        let words = formats::OpWords {
            reads: self.reads.clone(),
            writes: self.writes.clone(),
            trims: self.trims.clone(),
        };
        let columns = self.columns.as_deref();
        let (separator, skip_lines) = (self.separator.as_deref(), self.skip_lines);
        Ok(formats::ReadOptions {
            skip_bad: self.skip_bad,
            device: self.device,
            order: self.order.map_or(order, Into::into),
            time_unit: self.time_unit,
            event: self.event.map(Into::into),
            exact: false,
            // Apache logs a request when its reply is sent, with the time of its arrival.
            clamps_logs: self.order.is_none(),
            columns: formats::columns(columns, separator, skip_lines, &words)?,
        })
    }
}

/// Serialisation of a format by its name, as `--format` accepts it.
mod name_of_format {
    use super::{Deserialize, Deserializer, Format, Serialize, Serializer};

    #[allow(clippy::ref_option)] // serde passes `&Option`
    pub fn serialize<S: Serializer>(format: &Option<Format>, to: S) -> Result<S::Ok, S::Error> {
        format.map(Format::name).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Format>, D::Error> {
        let name: Option<String> = Option::deserialize(from)?;
        name.map(|name| name.parse()).transpose().map_err(serde::de::Error::custom)
    }
}

/// Treatment of a request that is earlier than its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOrder {
    /// Report an error.
    Strict,
    /// Set its time to that of its predecessor, and count it.
    Clamp,
    /// Sort requests by time, within a window.
    Sort,
}

impl From<TimeOrder> for formats::Order {
    fn from(order: TimeOrder) -> Self {
        match order {
            TimeOrder::Strict => Self::Strict,
            TimeOrder::Clamp => Self::Clamp,
            TimeOrder::Sort => Self::Sort,
        }
    }
}

/// Event of a request that counts, in traces of the kernel's block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockEvent {
    /// The request enters the block layer.
    Queue,
    /// The request is sent to the device.
    Issue,
    /// The device has completed the request.
    Complete,
}

impl From<BlockEvent> for formats::RequestEvent {
    fn from(event: BlockEvent) -> Self {
        match event {
            BlockEvent::Queue => Self::Queue,
            BlockEvent::Issue => Self::Issue,
            BlockEvent::Complete => Self::Complete,
        }
    }
}

/// How the host paces requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacingKind {
    /// At the times in the load.
    Arrival,
    /// With a constant number outstanding.
    Closed,
    /// With the gaps of the load after completions.
    Gaps,
}

/// Treatment of addresses beyond the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Report an error.
    #[default]
    Error,
    /// Take them modulo the capacity.
    Wrap,
}

/// Queue to which a request of a trace is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueBy {
    /// All requests use one queue.
    #[default]
    One,
    /// One queue per device of the trace, in the order of their first requests.
    Device,
    /// One queue per process.
    Process,
}

/// How the host issues a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Pacing. `None`: gaps for a trace with gaps, times for other traces and for a synthetic load
    /// with `every`, and a closed loop for other loads.
    pub pacing: Option<PacingKind>,
    /// Scale of arrival times; 2 is twice as fast as the load.
    pub speed: f64,
    /// Maximum number of requests at the device. `None`: 32 in a closed loop, 1 with gaps, no limit
    /// for arrivals.
    pub queue_depth: Option<u32>,
    /// Maximum size of a device request in bytes; larger requests are split.
    pub split: Option<Bytes>,
    /// Treatment of addresses beyond the capacity.
    pub fit: Fit,
    /// Queue to which a request of a trace is sent.
    pub queue_by: QueueBy,
    /// Number of requests that each queue issues per turn; 1 for queues without an entry.
    pub weights: Vec<u32>,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            pacing: None,
            speed: 1.0,
            queue_depth: None,
            split: None,
            fit: Fit::Error,
            queue_by: QueueBy::One,
            weights: Vec::new(),
        }
    }
}

/// Maximum number of queues, more than any drive offers to a host.
const QUEUES: usize = 1024;

impl HostConfig {
    /// The policy for a load with this many `queues`; `default` applies if no pacing is configured.
    ///
    /// # Errors
    /// Returns an error for an invalid value.
    pub fn resolve(&self, default: PacingKind, queues: usize) -> Result<HostPolicy, ReplayError> {
        let wrong = |key: &str, why: String, hint: &str| Err(ReplayError::option(key, why, hint));
        if !(self.speed.is_finite() && self.speed > 0.0) {
            return wrong("speed", format!("{} is not above 0", self.speed), "1, or 2 for twice");
        }
        if self.queue_depth == Some(0) {
            return wrong("queue_depth", "0 lets no request out".into(), "at least 1");
        }
        if let Some(split) = self.split
            && (split == Bytes::ZERO || !split.0.is_multiple_of(SECTOR.0))
        {
            let why = format!("{split} is not a positive multiple of {SECTOR}");
            return wrong("split", why, "128KiB");
        }
        if self.weights.contains(&0) {
            return wrong("weights", "a queue of weight 0 never issues".into(), "at least 1");
        }
        let queues = queues.max(self.weights.len()).max(1);
        if queues > QUEUES {
            let why = format!("{queues} queues, more than {QUEUES}");
            return wrong("queue_by", why, "`one`");
        }
        let (pacing, depth) = match self.pacing.unwrap_or(default) {
            PacingKind::Arrival => (Pacing::Arrival { speed: self.speed }, u32::MAX),
            PacingKind::Closed => (Pacing::Closed, 32),
            PacingKind::Gaps => (Pacing::Gaps, 1),
        };
        if self.speed != 1.0 && !matches!(pacing, Pacing::Arrival { .. }) {
            let (with, hint) = match self.pacing {
                Some(PacingKind::Closed) => ("with --closed-loop", "leave one of them out"),
                Some(PacingKind::Gaps) => ("with --gaps", "leave one of them out"),
                _ => ("on a load without times", "leave it out; --every gives times to a pattern"),
            };
            return wrong("speed", format!("has no effect {with}"), hint);
        }
        let mut weights = self.weights.clone();
        weights.resize(queues, 1);
        Ok(HostPolicy {
            pacing,
            depth: self.queue_depth.unwrap_or(depth),
            split: self.split,
            wrap: self.fit == Fit::Wrap,
            weights,
        })
    }

    /// A warning if weights are configured but have no effect on a load with this many `queues`.
    pub fn unused_weights_warning(&self, policy: &HostPolicy, queues: usize) -> Option<String> {
        let weights = self.weights.len();
        let why = match policy.pacing {
            _ if weights == 0 => return None,
            Pacing::Gaps => "with gaps no request waits for its turn".to_owned(),
            _ if queues < 2 => format!(
                "{weights} of them, and the load has {queues} queue; --queue-by makes more of a \
                 trace, --queues of a pattern"
            ),
            Pacing::Arrival { .. } if policy.depth == u32::MAX => {
                "no request waits for its turn where --queue-depth sets no limit".to_owned()
            }
            _ => return None,
        };
        Some(format!("the weights change nothing: {why}"))
    }
}
