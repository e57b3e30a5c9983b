//! The columns of each part of a trace: names, units and types, and how their values were obtained.

use arrow_schema::{DataType, Field, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the values of a column were obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Counted.
    Measured,
    /// Counted during a part of the time and scaled to the whole.
    Scaled,
    /// Calculated from another column with a stated rate.
    Estimated,
    /// Unknown: null in the file, or zero or an empty name if the column cannot be null.
    Missing,
}

/// Description of one column of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Its name in the file.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Whether they are measured, estimated or missing.
    pub kind: ColumnKind,
    /// Source of the values, rates used, or the reason why they are missing.
    pub how: String,
}

/// The columns of the three parts of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Of `activity.parquet`.
    pub activity: Vec<Column>,
    /// Of `disks.parquet`.
    pub disks: Vec<Column>,
    /// Of `block.parquet`.
    pub block: Vec<Column>,
}

/// Name, unit and type of a column.
pub(crate) type ColumnSpec = (&'static str, &'static str, ColumnType);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    U8,
    U32,
    U64,
    /// Null if unknown.
    MaybeU32,
    /// Null if unknown.
    MaybeU64,
    /// A list with one number per core; the whole list is null if unknown.
    PerCore32,
    /// A list with one number per core.
    PerCore64,
    Name,
}

use ColumnType::{MaybeU32, MaybeU64, Name, PerCore32, PerCore64, U8, U32, U64};

pub(crate) const IOWAIT: &str = "iowait_ns";
pub(crate) const PSI_IO_FULL: &str = "psi_io_full_ns";
pub(crate) const PSI_CPU_SOME: &str = "psi_cpu_some_ns";
pub(crate) const STEAL: &str = "steal_ns";
pub(crate) const THROTTLED: &str = "throttled_ns";
pub(crate) const ANONYMOUS: &str = "anonymous_bytes";
pub(crate) const CACHE: &str = "cache_bytes";
pub(crate) const COMMAND_ANONYMOUS: &str = "command_anonymous_bytes";
pub(crate) const COMMAND_PSI_IO_FULL: &str = "command_psi_io_full_ns";
pub(crate) const COMMAND_PSI_CPU_SOME: &str = "command_psi_cpu_some_ns";
/// Columns that traces of earlier versions lack; they are read as if they were missing.
pub(crate) const LATER: [&str; 10] = [
    IOWAIT,
    PSI_IO_FULL,
    PSI_CPU_SOME,
    STEAL,
    THROTTLED,
    ANONYMOUS,
    CACHE,
    COMMAND_ANONYMOUS,
    COMMAND_PSI_IO_FULL,
    COMMAND_PSI_CPU_SOME,
];

pub(crate) const ACTIVITY: &[ColumnSpec] = &[
    ("t_ns", "ns", U64),
    ("cpu_ns", "ns", PerCore64),
    ("mhz", "MHz", PerCore32),
    ("instructions", "instructions", MaybeU64),
    ("llc_misses", "misses", MaybeU64),
    ("memory_bytes", "bytes", MaybeU64),
    ("rx_bytes", "bytes", MaybeU64),
    ("rx_packets", "packets", MaybeU64),
    ("tx_bytes", "bytes", MaybeU64),
    ("tx_packets", "packets", MaybeU64),
    ("command_cpu_ns", "ns", MaybeU64),
    ("command_instructions", "instructions", MaybeU64),
    ("command_llc_misses", "misses", MaybeU64),
    ("command_memory_bytes", "bytes", MaybeU64),
    ("command_read_bytes", "bytes", MaybeU64),
    ("command_write_bytes", "bytes", MaybeU64),
    ("command_processes", "processes", MaybeU32),
    (IOWAIT, "ns", MaybeU64),
    (PSI_IO_FULL, "ns", MaybeU64),
    (PSI_CPU_SOME, "ns", MaybeU64),
    (STEAL, "ns", MaybeU64),
    (THROTTLED, "ns", MaybeU64),
    (ANONYMOUS, "bytes", MaybeU64),
    (CACHE, "bytes", MaybeU64),
    (COMMAND_ANONYMOUS, "bytes", MaybeU64),
    (COMMAND_PSI_IO_FULL, "ns", MaybeU64),
    (COMMAND_PSI_CPU_SOME, "ns", MaybeU64),
];

pub(crate) const DISKS: &[ColumnSpec] = &[
    ("t_ns", "ns", U64),
    ("device", "major << 20 | minor", U32),
    ("reads", "requests", U64),
    ("read_bytes", "bytes", U64),
    ("writes", "requests", U64),
    ("write_bytes", "bytes", U64),
    ("discards", "requests", U64),
    ("discard_bytes", "bytes", U64),
    ("flushes", "requests", U64),
    ("busy_ns", "ns", U64),
];

pub(crate) const BLOCK: &[ColumnSpec] = &[
    ("time_ns", "ns", U64),
    ("device", "major << 20 | minor", U32),
    ("sector", "512 bytes", U64),
    ("sectors", "512 bytes", U32),
    ("op", "name", Name),
    ("flags", "1 sync, 2 fua, 4 meta, 8 readahead, 16 preflush", U8),
    ("pid", "process number", U32),
    ("process", "name", Name),
    ("latency_ns", "ns", MaybeU64),
];

impl Columns {
    /// All columns with the same kind and source.
    pub fn all(kind: ColumnKind, how: &str) -> Self {
        let part = |specs: &[ColumnSpec]| {
            specs
                .iter()
                .map(|(name, unit, _)| Column {
                    name: (*name).to_owned(),
                    unit: (*unit).to_owned(),
                    kind,
                    how: how.to_owned(),
                })
                .collect()
        };
        Self { activity: part(ACTIVITY), disks: part(DISKS), block: part(BLOCK) }
    }

    /// The columns of the block log of a converted trace.
    pub(crate) fn converted(from: &str, has_latency: bool) -> Vec<Column> {
        let mut columns = Self::all(ColumnKind::Measured, &format!("converted from {from}")).block;
        for column in &mut columns {
            let missing = match column.name.as_str() {
                "flags" | "pid" | "process" => true,
                "latency_ns" => !has_latency,
                _ => false,
            };
            if missing {
                column.kind = ColumnKind::Missing;
                column.how = format!("not taken from {from}");
            }
        }
        columns
    }

    /// Sets how `names` of the activity part were obtained.
    ///
    /// # Panics
    /// Where the activity part has no such column.
    pub fn set(&mut self, names: &[&str], kind: ColumnKind, how: &str) {
        for name in names {
            let column = self.activity.iter_mut().find(|c| c.name == *name);
            let column = column.expect("a column of the activity part");
            column.kind = kind;
            how.clone_into(&mut column.how);
        }
    }
}

impl ColumnType {
    fn arrow(self) -> (DataType, bool) {
        let list = |item| DataType::List(Arc::new(Field::new("item", item, false)));
        match self {
            U8 => (DataType::UInt8, false),
            U32 => (DataType::UInt32, false),
            U64 => (DataType::UInt64, false),
            MaybeU32 => (DataType::UInt32, true),
            MaybeU64 => (DataType::UInt64, true),
            PerCore32 => (list(DataType::UInt32), true),
            PerCore64 => (list(DataType::UInt64), true),
            Name => {
                (DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)), false)
            }
        }
    }
}

/// The Arrow schema of a part.
pub(crate) fn schema(specs: &[ColumnSpec]) -> Arc<Schema> {
    Arc::new(Schema::new(
        specs
            .iter()
            .map(|(name, _, ty)| {
                let (ty, nullable) = ty.arrow();
                Field::new(*name, ty, nullable)
            })
            .collect::<Vec<_>>(),
    ))
}
