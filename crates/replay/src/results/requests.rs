//! The requests of a trace as a table.

use crate::ReplayError;
use crate::config::TraceLoad;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use gordon_trace::formats::{
    FormatError, NEVER, ObjectRequest, OpenedTrace, Order, TraceRequest, open_any,
};
use gordon_units::Progress;
use std::sync::Arc;

/// Rows of a batch.
const ROWS: usize = 1 << 16;

/// Reads the requests of a trace, of blocks or of objects, in its order. There is at least one
/// batch.
///
/// # Errors
/// Returns an error if the trace cannot be read, or if `progress` is cancelled.
pub fn requests(load: &TraceLoad, progress: &Progress) -> Result<Vec<RecordBatch>, ReplayError> {
    let options = load.options(Order::Strict)?;
    match open_any(&load.path, load.format, &options, false)? {
        OpenedTrace::Blocks(mut reader) => tables(|to| reader.fill(to), of_blocks, progress),
        OpenedTrace::Objects(mut reader) => tables(|to| reader.fill(to), of_objects, progress),
    }
}

/// Reads all batches that `fill` gives, and joins them to tables of about [`ROWS`] rows.
fn tables<T>(
    mut fill: impl FnMut(&mut Vec<T>) -> Result<bool, FormatError>,
    table: fn(&[T]) -> RecordBatch,
    progress: &Progress,
) -> Result<Vec<RecordBatch>, ReplayError> {
    let (mut batch, mut rows, mut made) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        progress.check()?;
        let more = fill(&mut batch)?;
        progress.step(batch.len() as u64);
        rows.append(&mut batch);
        if rows.len() >= ROWS || !more && (made.is_empty() || !rows.is_empty()) {
            made.push(table(&rows));
            rows.clear();
        }
        if !more {
            return Ok(made);
        }
    }
}

fn of_blocks(rows: &[TraceRequest]) -> RecordBatch {
    let mut ops = StringBuilder::new();
    rows.iter().for_each(|io| ops.append_value(io.op.name()));
    table(vec![
        ("at_ns", numbers(rows, |io| Some(io.at.0))),
        ("op", Arc::new(ops.finish())),
        ("device", numbers(rows, |io| Some(u64::from(io.device)))),
        ("offset_bytes", numbers(rows, |io| Some(io.offset.0))),
        ("bytes", numbers(rows, |io| Some(io.len.0))),
        ("latency_ns", numbers(rows, |io| io.latency.map(|latency| latency.0))),
    ])
}

fn of_objects(rows: &[ObjectRequest]) -> RecordBatch {
    let writes: BooleanArray = rows.iter().map(|io| Some(io.write)).collect();
    table(vec![
        ("at_ns", numbers(rows, |io| Some(io.at.0))),
        ("key", numbers(rows, |io| Some(io.key))),
        ("bytes", numbers(rows, |io| Some(io.size))),
        ("write", Arc::new(writes)),
        ("next", numbers(rows, |io| (io.next != NEVER).then_some(io.next))),
    ])
}

fn numbers<T>(rows: &[T], value: impl Fn(&T) -> Option<u64>) -> ArrayRef {
    Arc::new(rows.iter().map(value).collect::<UInt64Array>())
}

/// Columns may have no value, so that all batches of a trace have one schema.
fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use std::fmt::Write;

    fn read(name: &str, text: &str) -> Result<Vec<RecordBatch>, ReplayError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        let load = format!(r#"{{"path": "{}"}}"#, path.display());
        requests(&serde_json::from_str(&load).expect("a load"), &Progress::default())
    }

    #[test]
    fn a_trace_of_blocks_has_a_row_for_each_request() {
        let mut text = String::new();
        let count = ROWS + 1000;
        for at in 0..count {
            writeln!(text, "{at}000 0 {} 8 {}", at * 8, at % 2).expect("text");
        }
        let made = read("a.mqsim", &text).expect("a trace");
        assert!(made.len() >= 2, "{} batches", made.len());
        assert_eq!(made.iter().map(RecordBatch::num_rows).sum::<usize>(), count);
        let first = &made[0];
        assert_eq!(first.column(1).as_string::<i32>().value(0), "write");
        assert_eq!(first.column(3).as_primitive::<UInt64Type>().value(2), 8192);
        assert_eq!(first.column(4).as_primitive::<UInt64Type>().value(0), 4096);
        assert!(first.column(5).is_null(0), "mqsim has no latency");
        assert_eq!(first.schema(), made.last().expect("a batch").schema());
    }

    #[test]
    fn a_trace_of_objects_has_keys() {
        let line = "h - - [01/Jan/2026:00:00:01 +0000] \"GET /a HTTP/1.1\" 200 100\n";
        let made = read("access.log", &line.repeat(3)).expect("a trace");
        let schema = made[0].schema();
        let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["at_ns", "key", "bytes", "write", "next"]);
        let keys: Vec<_> = made[0].column(1).as_primitive::<UInt64Type>().values().to_vec();
        assert_eq!(keys, [keys[0]; 3]);
        assert!(made[0].column(4).is_null(0));
    }

    #[test]
    fn a_file_without_requests_is_an_error() {
        assert!(read("empty", "").is_err());
    }
}
