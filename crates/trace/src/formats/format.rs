//! The formats of traces: their names, their content, and where they are documented.

use super::delimited::{ColumnRole, DelimitedFormat, DescribedFormat, DetectMode};
use super::error::FormatError;
use super::options::ReadOptions;
use crate::activity_format::ActivityFormat;
use gordon_units::Ns;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A format of block or object traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// Our own format: the folder of a trace, or a single-file block log.
    Gordon,
    /// Text output of blkparse in its default format.
    Blkparse,
    /// Binary events of the kernel's block tracer, as blktrace stores them.
    Blktrace,
    /// Text of the kernel's block tracepoints, as tracefs, trace-cmd and perf print them.
    Ftrace,
    /// fio's I/O log, versions 2 and 3.
    Fio,
    /// DiskSim's traces for the validation of its disk models, in closed loop.
    DisksimValidate,
    /// libCacheSim's binary records of 24 bytes.
    OracleGeneral,
    /// Binary records of VMware's vscsiStats, as published by CloudPhysics.
    Vscsi,
    /// Logs of web servers in the common or combined log format: objects, not blocks.
    Clf,
    /// Text with columns, described by a built-in file.
    Described(DescribedFormat),
    /// Text with columns, described by the user in [`ReadOptions::columns`].
    Columns,
}

impl Format {
    /// CSV of the MSR Cambridge traces.
    pub const MSR: Self = Self::Described(DescribedFormat::named("msr"));
    /// Text that MQSim reads.
    pub const MQSIM: Self = Self::Described(DescribedFormat::named("mqsim"));
    /// Text that DiskSim reads by default.
    pub const DISKSIM: Self = Self::Described(DescribedFormat::named("disksim"));
    /// CSV of the Storage Performance Council.
    pub const SPC: Self = Self::Described(DescribedFormat::named("spc"));
    /// CSV of Alibaba's block traces.
    pub const ALIBABA: Self = Self::Described(DescribedFormat::named("alibaba"));
    /// CSV of Tencent's block traces.
    pub const TENCENT: Self = Self::Described(DescribedFormat::named("tencent"));

    /// The formats with a reader of their own.
    pub const ALL: [Self; 9] = [
        Self::Gordon,
        Self::Blkparse,
        Self::Blktrace,
        Self::Ftrace,
        Self::Fio,
        Self::DisksimValidate,
        Self::OracleGeneral,
        Self::Vscsi,
        Self::Clf,
    ];

    /// The formats with a reader of their own, and those with a built-in description.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(DescribedFormat::all().map(Self::Described))
    }

    /// Its name, as in `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gordon => "gordon",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Ftrace => "ftrace",
            Self::Fio => "fio",
            Self::DisksimValidate => "disksim-validate",
            Self::OracleGeneral => "oracleGeneral",
            Self::Vscsi => "vscsi",
            Self::Clf => "clf",
            Self::Described(described) => described.name(),
            Self::Columns => "columns",
        }
    }

    /// A description in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Gordon => {
                "trace of `gordon trace`, or made by `gordon trace convert`: a folder; or by \
                 `gordon cache generate`: a file"
            }
            Self::Blkparse => "text of blkparse, its default format",
            Self::Blktrace => {
                "binary events of blktrace: NAME.blktrace.N of all CPUs, or one stream"
            }
            Self::Ftrace => {
                "text of block tracepoints: tracefs trace, trace-cmd report or perf script"
            }
            Self::Fio => "I/O log of fio --write_iolog, versions 2 and 3",
            Self::DisksimValidate => {
                "text: R|W, Hit|Miss, sector, sectors, response us, gap us; closed loop"
            }
            Self::OracleGeneral => {
                "binary, 24 bytes: seconds, block of 512 bytes (or object), bytes, next access; \
                 all reads"
            }
            Self::Vscsi => "binary, 32 or 40 bytes: SCSI reads and writes of a virtual machine",
            Self::Clf => {
                "log of a web server, common or combined log format: objects, for gordon cache \
                 alone"
            }
            Self::Described(described) => described.about(),
            Self::Columns => "text whose columns --columns describes",
        }
    }

    /// Where the format is documented.
    pub fn source(self) -> &'static str {
        match self {
            Self::Gordon => "docs/FORMATS.md",
            Self::Blkparse | Self::Blktrace => "blktrace's blkparse(1) and blktrace_api.h",
            Self::Ftrace => "the kernel's include/trace/events/block.h",
            Self::Fio => "fio's HOWTO, \"Trace file format\"",
            Self::DisksimValidate => "DiskSim 4.0, disksim_iotrace.c",
            Self::OracleGeneral => "github.com/1a1a11a/libCacheSim, oracleGeneral.h",
            Self::Vscsi => {
                "github.com/1a1a11a/libCacheSim, vscsi.h (Waldspurger et al., FAST 2015)"
            }
            Self::Clf => "Apache's manual, mod_log_config",
            Self::Described(described) => described.source(),
            Self::Columns => "--columns",
        }
    }

    /// Its columns in the syntax of [`ColumnMap::parse`](super::ColumnMap::parse), if it has a
    /// built-in description.
    pub fn columns(self) -> Option<String> {
        match self {
            Self::Described(described) => Some(described.delimited().columns.to_string()),
            _ => None,
        }
    }

    /// What its reader has been tested with; `docs/FORMATS.md` has figures.
    pub fn tested_on(self) -> &'static str {
        match self {
            Self::Gordon => "its own traces",
            Self::Blkparse | Self::Blktrace | Self::Fio => "its own tool",
            Self::Ftrace => "lines typed after the kernel's definition",
            Self::Clf => "logs of nginx and Apache, made for it",
            Self::Vscsi => "real files (32 bytes)",
            Self::Described(described) => described.tested_on(),
            Self::Columns => "lines of many kinds",
            Self::DisksimValidate | Self::OracleGeneral => "real files",
        }
    }

    /// Whether its reader has been tested with a real file, or with output of the format's own
    /// tool. Other formats can be read all the same.
    pub fn support(self) -> &'static str {
        match self {
            Self::Described(described) if !described.is_proven() => {
                "unsupported (read all the same)"
            }
            Self::Vscsi => "yes; 40 bytes: unsupported",
            _ => "yes",
        }
    }

    /// The unit of its timestamps.
    pub(crate) fn unit(self) -> Ns {
        match self {
            Self::Gordon | Self::Blktrace => Ns(1),
            Self::Fio | Self::DisksimValidate | Self::Vscsi => Ns(1_000),
            Self::Blkparse | Self::Ftrace | Self::OracleGeneral | Self::Clf => Ns::SECOND,
            Self::Described(described) => {
                described.delimited().columns.unit(ColumnRole::Time).map_or(Ns::SECOND, Ns)
            }
            // The unit is in the options.
            Self::Columns => Ns::SECOND,
        }
    }

    /// Whether its requests have a latency.
    pub(crate) fn has_latency(self) -> bool {
        match self {
            Self::Gordon | Self::DisksimValidate | Self::Vscsi => true,
            Self::Described(described) => {
                described.delimited().columns.unit(ColumnRole::Latency).is_some()
            }
            _ => false,
        }
    }

    /// Whether [`ObjectReader`](super::ObjectReader) reads it.
    pub fn is_objects(self) -> bool {
        match self {
            Self::OracleGeneral | Self::Clf => true,
            Self::Described(described) => described.delimited().columns.is_objects(),
            _ => false,
        }
    }

    /// Whether it can only be read as objects.
    pub(crate) fn reads_objects(self) -> bool {
        self.is_objects() && self != Self::OracleGeneral
    }

    /// Its description as text with columns; `None` for other formats.
    pub(crate) fn delimited(self, options: &ReadOptions) -> Option<Arc<DelimitedFormat>> {
        match self {
            Self::Described(described) => Some(Arc::clone(described.delimited())),
            Self::Columns => options.columns.clone(),
            _ => None,
        }
    }

    /// Whether its lines are only numbers, which fit other formats as well.
    pub(super) fn is_numbers(self) -> bool {
        matches!(self, Self::Described(described) if described.detect() != DetectMode::Distinct)
    }

    /// Whether it can be detected automatically.
    pub(super) fn is_detected(self) -> bool {
        !matches!(self, Self::Described(described) if described.detect() == DetectMode::Never)
    }

    /// The units of addresses and of sizes, in bytes.
    pub(crate) fn units(self) -> (u64, u64) {
        match self {
            Self::Fio | Self::Clf => (1, 1),
            Self::Blktrace | Self::Vscsi | Self::OracleGeneral => (512, 1),
            _ => (512, 512),
        }
    }

    /// The names of all formats, those of activity traces at the end.
    pub(super) fn names() -> String {
        let requests = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
        let activity = ActivityFormat::ALL.map(ActivityFormat::name).join(", ");
        format!("{requests}; for gordon trace convert also {activity}")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        if let Some(activity) = ActivityFormat::named(text) {
            return Err(FormatError::Activity { name: activity.name() });
        }
        let found = Self::all().find(|f| f.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| FormatError::Name { name: text.to_owned(), known: Self::names() })
    }
}
