//! What a run is told: a device, a load, a host. JSON, built by a program from parsed files and
//! overrides.

use crate::ReplayError;
use crate::host::{HostPolicy, Pacing};
use crate::load::SyntheticConfig;
use gordon_blockio::SECTOR;
use gordon_ssd::SsdConfig;
use gordon_trace::formats::{self, Format};
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The flash device.
    pub device: SsdConfig,
    /// What it is asked for.
    pub load: LoadConfig,
    /// How.
    #[serde(default)]
    pub host: HostConfig,
    /// The part of the exported capacity that is mapped before the run, in the steady state of
    /// random overwrites; without it the device is new.
    #[serde(default)]
    pub precondition: Option<f64>,
    /// A device as it was at this checkpoint, instead of a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_checkpoint: Option<PathBuf>,
    /// Where to keep what the device has become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<PathBuf>,
    /// Every random number follows from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// A Parquet file for a row for each request.
    #[serde(default)]
    pub requests_out: Option<PathBuf>,
}

fn one<T: From<bool>>() -> T {
    T::from(true)
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadConfig {
    /// A trace.
    Trace(TraceLoad),
    /// A pattern.
    Bench(SyntheticConfig),
}

/// A trace to replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLoad {
    /// Where it is.
    pub path: PathBuf,
    /// Its format; without it, its content tells.
    #[serde(default, with = "name_of_format")]
    pub format: Option<Format>,
    /// Only requests to this device of it.
    #[serde(default)]
    pub device: Option<u32>,
    /// How many times over.
    #[serde(default = "one")]
    pub repeat: u32,
    /// Leave out what is malformed, and count it.
    #[serde(default)]
    pub skip_bad: bool,
    /// What is done where time goes backwards. Left out: an error where times are used, and
    /// nothing where they are not.
    #[serde(default)]
    pub order: Option<TimeOrder>,
    /// The unit of its time stamps, where it is not the format's.
    #[serde(default)]
    pub time_unit: Option<Ns>,
    /// Which event of a request counts, where the trace has several.
    #[serde(default)]
    pub event: Option<BlockEvent>,
    /// The columns of a text trace, in place of a format: `time=1:s,op=2,lba=3,size=4:B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// What is between the columns; left out, the first line decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// Lines before the first that is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_lines: Option<u64>,
    /// Words of the operation that are reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Words of the operation that are writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Words of the operation that are discards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trims: Vec<String>,
}

impl TraceLoad {
    /// Whether it is standard input or a pipe, which can be read once.
    pub fn is_stream(&self) -> bool {
        self.path.as_os_str() == "-"
            || std::fs::metadata(&self.path).is_ok_and(|file| {
                let kind = file.file_type();
                kind.is_fifo() || kind.is_char_device() || kind.is_socket()
            })
    }

    /// What the trace is read as; a trace that may be of blocks or of objects is one of `objects`,
    /// or not.
    ///
    /// # Errors
    /// Where it cannot be opened, or its format is not clear.
    pub fn note(&self, objects: bool) -> Result<formats::InputNote, ReplayError> {
        let options = self.options(formats::Order::Clamp)?;
        let order = formats::ReadOptions { order: formats::Order::Clamp, ..options };
        Ok(formats::note(&self.path, self.format, &order, objects)?)
    }

    /// How the trace is read; `order` where none is named.
    ///
    /// # Errors
    /// Where the columns are malformed, or described without columns.
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
            // Apache writes a request when its reply is sent, with the time at which it came.
            clamps_logs: self.order.is_none(),
            columns: formats::columns(columns, separator, skip_lines, &words)?,
        })
    }
}

/// A format by its name, as `--format` takes it.
mod name_of_format {
    use super::{Deserialize, Deserializer, Format, Serialize, Serializer};

    #[allow(clippy::ref_option)] // what serde hands in
    pub fn serialize<S: Serializer>(format: &Option<Format>, to: S) -> Result<S::Ok, S::Error> {
        format.map(Format::name).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Format>, D::Error> {
        let name: Option<String> = Option::deserialize(from)?;
        name.map(|name| name.parse()).transpose().map_err(serde::de::Error::custom)
    }
}

/// What is done with a request of a trace that is earlier than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOrder {
    /// It is an error.
    Strict,
    /// It gets the time of the one before it, and is counted.
    Clamp,
    /// Requests are put in order of time, within a window.
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

/// The event of a request that counts, in traces of the kernel's block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockEvent {
    /// It enters the block layer.
    Queue,
    /// It goes to the device.
    Issue,
    /// The device has done it.
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
    /// At the load's times.
    Arrival,
    /// A constant number outstanding.
    Closed,
    /// The load's gaps after completions.
    Gaps,
}

/// What becomes of addresses past the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// An error.
    #[default]
    Error,
    /// They are taken modulo the capacity.
    Wrap,
}

/// Which queue a request of a trace goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueBy {
    /// There is one.
    #[default]
    One,
    /// One for each device of the trace, in the order in which they come.
    Device,
    /// One for each process.
    Process,
}

/// The host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// How requests are paced. Left out: a trace with gaps by them, another trace and a pattern
    /// with `every` at their times, other patterns in a closed loop.
    pub pacing: Option<PacingKind>,
    /// Arrivals: 2 is twice as fast as the load's own times.
    pub speed: f64,
    /// The most requests at the device. Left out: 32 in a closed loop, 1 with gaps, no limit for
    /// arrivals.
    pub queue_depth: Option<u32>,
    /// The most bytes of one device request.
    pub split: Option<Bytes>,
    /// What becomes of addresses past the end.
    pub fit: Fit,
    /// Which queue a request of a trace goes to.
    pub queue_by: QueueBy,
    /// Requests that a queue issues in its turn, by queue; 1 for each that is not named.
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

/// Queues at most: more than any drive has for a host.
const QUEUES: usize = 1024;

impl HostConfig {
    /// The rules for a load of so many `queues`, paced by `default` if nothing else is said.
    ///
    /// # Errors
    /// A value that cannot be.
    pub fn resolve(&self, default: PacingKind, queues: usize) -> Result<HostPolicy, ReplayError> {
        let wrong = |key: &str, why: String, hint: &str| {
            Err(ReplayError::impossible(&format!("host.{key}"), why, hint))
        };
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
            let why = "times of the load are not used, so they cannot be scaled".into();
            return wrong("speed", why, "leave it out, or pace by arrival");
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

    /// What to say where weights are given and change nothing: `policy` is that of a load of so
    /// many `queues`.
    pub fn weightless(&self, policy: &HostPolicy, queues: usize) -> Option<String> {
        let weights = self.weights.len();
        let why = match policy.pacing {
            _ if weights == 0 => return None,
            Pacing::Gaps => "with gaps no request waits for its turn".to_owned(),
            _ if queues < 2 => format!(
                "{weights} of them, and the load has {queues} queue; --queue-by makes more of a trace, \
                 --queues of a pattern"
            ),
            Pacing::Arrival { .. } if policy.depth == u32::MAX => {
                "no request waits for its turn where --queue-depth sets no limit".to_owned()
            }
            _ => return None,
        };
        Some(format!("the weights change nothing: {why}"))
    }
}
