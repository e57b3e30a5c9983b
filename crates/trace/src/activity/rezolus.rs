//! Reads the Parquet files that rezolus records: a row per time, a column per counter. The metadata
//! of a column has its metric and labels (docs/metrics.md and docs/parquet_metadata.md of rezolus).
//!
//! The counters become the series that Prometheus has of node_exporter, from which the samples are
//! made. rezolus has no idle time: it is what is left of the time between two rows. Its disks and
//! interfaces are one of each, and its counted instructions are not taken.

use super::error::ActivityError;
use super::host::{Recorded, SeriesKey};
use super::prometheus::{
    CPU, DISCARD_SECTORS, DISCARDS, FLUSHES, LATEST, MEMORY_AVAILABLE, MEMORY_TOTAL, READ_BYTES,
    READS, RX_BYTES, RX_PACKETS, TX_BYTES, TX_PACKETS, WRITE_BYTES, WRITES,
};
use crate::formats::FormatError;
use crate::write::SEAL;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use gordon_units::{Ns, Progress};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How to make an input.
pub(super) const HINT: &str = "rezolus record http://HOST:4241 FILE.parquet";

/// Start of every Parquet file.
const MAGIC: &[u8] = b"PAR1";
const TIME: &str = "timestamp";
/// The name of all disks, and of all interfaces.
const ALL: &str = "all";
const TCP_RX_BYTES: &str = "tcp_bytes: receive";
const TCP_TX_BYTES: &str = "tcp_bytes: transmit";
const TCP_RX_PACKETS: &str = "tcp_packets: receive";
const TCP_TX_PACKETS: &str = "tcp_packets: transmit";
/// The TCP counters and the network counters that they replace.
const TCP: [(&str, &str); 4] = [
    (TCP_RX_BYTES, RX_BYTES),
    (TCP_TX_BYTES, TX_BYTES),
    (TCP_RX_PACKETS, RX_PACKETS),
    (TCP_TX_PACKETS, TX_PACKETS),
];
/// Bytes of the network for each byte of TCP above which its packets were counted several times:
/// headers and other protocols are far less.
const SEVERAL_TIMES: f64 = 1.5;
const NS: f64 = 1e-9;
const SECTOR: f64 = 512.0;

/// A column that is read.
struct Column {
    /// Index in the file.
    index: usize,
    host: String,
    key: SeriesKey,
    /// The unit of the series in that of the column.
    scale: f64,
}

/// The time of a core since the first row, or since its counters started again.
struct CoreTime {
    start: Ns,
    /// Time in all states at `start`.
    at_start: f64,
    last: f64,
}

/// Whether a file that starts with `head` is Parquet, and not a block log of ours.
pub(super) fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(MAGIC) && !head.starts_with(SEAL)
}

/// Whether a Parquet file has a counter that is read.
pub(super) fn has_counters(path: &Path) -> bool {
    let opened = File::open(path).map(ParquetRecordBatchReaderBuilder::try_new);
    opened.is_ok_and(|file| file.is_ok_and(|file| !columns(file.schema().fields()).is_empty()))
}

/// Adds the series of the file at `path`.
pub(super) fn read(
    path: &Path,
    progress: &Progress,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    // The Parquet reader may panic on damaged files.
    catch_unwind(AssertUnwindSafe(|| read_file(path, progress, recorded)))
        .unwrap_or_else(|_| Err(content(path, "it is damaged".to_owned())))
}

fn content(path: &Path, why: String) -> ActivityError {
    ActivityError::Content { path: path.to_owned(), why, hint: HINT }
}

fn read_file(
    path: &Path,
    progress: &Progress,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    let file =
        File::open(path).map_err(|source| FormatError::Open { path: path.to_owned(), source })?;
    let damaged = |why: String| {
        let why = why.trim_start_matches("Parquet error: ");
        content(path, format!("it is not Parquet, or damaged: {why}"))
    };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(e.to_string()))?;
    let fields = builder.schema().fields().clone();
    let columns = columns(&fields);
    for field in &fields {
        let label = |name: &str| field.metadata().get(name).map_or("", String::as_str);
        if label("metric").starts_with("gpu_") {
            let of_host = recorded.accelerators.entry(host(field)).or_default();
            of_host.entry(label("id").to_owned()).or_insert_with(|| "GPU".to_owned());
        }
    }
    let Some(time) = fields.iter().position(|f| f.name() == TIME && is_number(f)) else {
        return Err(content(path, format!("it has no column {TIME}")));
    };
    let indices: Vec<usize> =
        std::iter::once(time).chain(columns.iter().map(|c| c.index)).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), indices.iter().copied());
    // A projection keeps the order of the file.
    let place = |index: usize| indices.iter().filter(|other| **other < index).count();
    let batches = builder.with_projection(mask).build().map_err(|e| damaged(e.to_string()))?;
    let mut cores: BTreeMap<(String, String), CoreTime> = BTreeMap::new();
    for batch in batches {
        if progress.stopped() {
            return Err(FormatError::Stopped.into());
        }
        let batch = batch.map_err(|e| damaged(e.to_string()))?;
        for row in 0..batch.num_rows() {
            let at = value(&batch, place(time), row).unwrap_or(f64::INFINITY) * NS;
            if !(0.0..LATEST).contains(&at) {
                return Err(content(path, format!("row {row} has no valid time")));
            }
            let at = Ns::from_secs(at);
            let mut busy: BTreeMap<(&str, &str), f64> = BTreeMap::new();
            for column in &columns {
                let Some(value) = value(&batch, place(column.index), row) else { continue };
                let value = value * column.scale;
                let (metric, part, _) = &column.key;
                if *metric == CPU {
                    *busy.entry((&column.host, part)).or_default() += value;
                }
                let series = recorded.series.entry(column.host.clone()).or_default();
                series.entry(column.key.clone()).or_default().entry(at).or_insert(value);
            }
            for ((host, core), time) in busy {
                let known = cores.entry((host.to_owned(), core.to_owned()));
                let known = known.or_insert(CoreTime { start: at, at_start: time, last: time });
                if time < known.last {
                    *known = CoreTime { start: at, at_start: time, last: time };
                }
                known.last = time;
                let passed = at.saturating_sub(known.start).as_secs();
                let idle = f64::max(passed - (time - known.at_start), 0.0);
                let series = recorded.series.entry(host.to_owned()).or_default();
                let key = (CPU, core.to_owned(), "idle".to_owned());
                series.entry(key).or_default().entry(at).or_insert(idle);
            }
        }
    }
    Ok(())
}

/// Decides from which columns the bytes of the network are. `network_bytes` counts a packet at
/// every interface that it passes, bridges and loopback included; `tcp_bytes` counts it once.
pub(super) fn count_once(recorded: &mut Recorded) {
    for (host, series) in &mut recorded.series {
        let key = |metric| (metric, ALL.to_owned(), String::new());
        let moved = |metric| -> f64 {
            let points: Option<&BTreeMap<Ns, f64>> = series.get(&key(metric));
            let ends = points.and_then(|of| Some((of.values().next()?, of.values().next_back()?)));
            ends.map_or(0.0, |(first, last)| f64::max(last - first, 0.0))
        };
        let (tcp, network) =
            (moved(TCP_RX_BYTES) + moved(TCP_TX_BYTES), moved(RX_BYTES) + moved(TX_BYTES));
        let is_several = tcp > 0.0 && network > SEVERAL_TIMES * tcp;
        for (of_tcp, of_network) in TCP {
            let points = series.remove(&key(of_tcp));
            if let Some(points) = points.filter(|_| is_several || network <= 0.0) {
                series.insert(key(of_network), points);
            }
        }
        if is_several {
            recorded.skipped.notes.push(format!(
                "interfaces: {host}: network_bytes has {:.1} times the bytes of tcp_bytes, as it \
                 counts a packet at each interface that it passes; tcp_bytes is taken, without \
                 other protocols",
                network / tcp
            ));
        }
    }
}

/// The columns of a file that are read.
fn columns(fields: &arrow_schema::Fields) -> Vec<Column> {
    fields.iter().enumerate().filter_map(|(index, field)| column(index, field)).collect()
}

fn column(index: usize, field: &Field) -> Option<Column> {
    let label = |name: &str| field.metadata().get(name).map_or("", String::as_str);
    let all = |metric| (metric, ALL.to_owned(), String::new());
    let gauge = |metric| (metric, String::new(), String::new());
    let (key, scale) = match (label("metric"), label("op"), label("direction"), label("state")) {
        // The time of guests is in that of users.
        ("cpu_usage", .., state @ ("user" | "nice" | "system" | "softirq" | "irq" | "steal")) => {
            ((CPU, label("id").to_owned(), state.to_owned()), NS)
        }
        ("memory_total", ..) => (gauge(MEMORY_TOTAL), 1.0),
        ("memory_available", ..) => (gauge(MEMORY_AVAILABLE), 1.0),
        ("blockio_operations", "read", ..) => (all(READS), 1.0),
        ("blockio_operations", "write", ..) => (all(WRITES), 1.0),
        ("blockio_operations", "discard", ..) => (all(DISCARDS), 1.0),
        ("blockio_operations", "flush", ..) => (all(FLUSHES), 1.0),
        ("blockio_bytes", "read", ..) => (all(READ_BYTES), 1.0),
        ("blockio_bytes", "write", ..) => (all(WRITE_BYTES), 1.0),
        ("blockio_bytes", "discard", ..) => (all(DISCARD_SECTORS), 1.0 / SECTOR),
        ("network_bytes", _, "receive", _) => (all(RX_BYTES), 1.0),
        ("network_bytes", _, "transmit", _) => (all(TX_BYTES), 1.0),
        ("network_packets", _, "receive", _) => (all(RX_PACKETS), 1.0),
        ("network_packets", _, "transmit", _) => (all(TX_PACKETS), 1.0),
        ("tcp_bytes", _, "receive", _) => (all(TCP_RX_BYTES), 1.0),
        ("tcp_bytes", _, "transmit", _) => (all(TCP_TX_BYTES), 1.0),
        ("tcp_packets", _, "receive", _) => (all(TCP_RX_PACKETS), 1.0),
        ("tcp_packets", _, "transmit", _) => (all(TCP_TX_PACKETS), 1.0),
        _ => return None,
    };
    is_number(field).then(|| Column { index, host: host(field), key, scale })
}

/// The name of the host of a column.
fn host(field: &Field) -> String {
    let label = |name: &str| field.metadata().get(name).filter(|text| !text.is_empty());
    label("node").or_else(|| label("instance")).cloned().unwrap_or_else(|| "host".to_owned())
}

fn is_number(field: &Field) -> bool {
    matches!(field.data_type(), DataType::UInt64 | DataType::Int64)
}

/// A number; `None` for null.
fn value(batch: &RecordBatch, column: usize, row: usize) -> Option<f64> {
    let column = batch.column(column);
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().value(row) as f64),
        DataType::Int64 => Some(column.as_primitive::<Int64Type>().value(row) as f64),
        _ => None,
    }
}
