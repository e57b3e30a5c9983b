//! A log of all requests of a run, in the order of completion, streamed to a Parquet file.

use super::latency::{CAUSES, OPS};
use super::output::ParquetFile;
use crate::ReplayError;
use crate::host::CompletedRequest;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray, UInt8Array};
use arrow_array::{UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::path::Path;
use std::sync::Arc;

/// Rows per batch, which is kept in memory until it is compressed.
const ROWS: usize = 1 << 16;

/// Writer of a request log.
pub struct RequestLog {
    file: ParquetFile,
    schema: SchemaRef,
    rows: Vec<CompletedRequest>,
}

impl std::fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestLog").finish_non_exhaustive()
    }
}

fn names() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8))
}

fn schema() -> SchemaRef {
    let field = |name: &str, of: DataType| Field::new(name, of, false);
    Arc::new(Schema::new(vec![
        field("request", DataType::UInt64),
        field("arrived_ns", DataType::UInt64),
        field("issued_ns", DataType::UInt64),
        field("completed_ns", DataType::UInt64),
        field("op", names()),
        field("offset_bytes", DataType::UInt64),
        field("length_bytes", DataType::UInt64),
        field("queue", DataType::UInt32),
        field("cause", names()),
        field("failed", DataType::Boolean),
    ]))
}

impl RequestLog {
    /// Creates a log, which appears at `path` when it is finished.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, ReplayError> {
        let schema = schema();
        let file = ParquetFile::create(path, schema.clone(), 16 * ROWS)?;
        Ok(Self { file, schema, rows: Vec::with_capacity(ROWS) })
    }

    /// Adds a request.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    #[inline]
    pub fn add(&mut self, done: &CompletedRequest) -> Result<(), ReplayError> {
        self.rows.push(*done);
        if self.rows.len() == ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ReplayError> {
        let u64s = |value: fn(&CompletedRequest) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(self.rows.iter().map(value)))
        };
        let named = |key: fn(&CompletedRequest) -> u8, of: [&'static str; 4]| -> ArrayRef {
            let keys = UInt8Array::from_iter_values(self.rows.iter().map(key));
            let values: ArrayRef = Arc::new(StringArray::from(of.to_vec()));
            Arc::new(DictionaryArray::<UInt8Type>::new(keys, values))
        };
        let columns = vec![
            u64s(|d| d.number),
            u64s(|d| d.arrived.0),
            u64s(|d| d.issued.0),
            u64s(|d| d.completed.0),
            named(|d| d.op as u8, OPS.map(|(_, name)| name)),
            u64s(|d| d.offset),
            u64s(|d| d.len),
            Arc::new(UInt32Array::from_iter_values(self.rows.iter().map(|d| d.queue))),
            named(|d| d.cause as u8, CAUSES.map(|(_, name)| name)),
            Arc::new(self.rows.iter().map(|d| Some(d.failed)).collect::<BooleanArray>()),
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.expect("columns of one length, of the schema's types");
        self.rows.clear();
        self.file.write(&batch)
    }

    /// Writes the remaining rows and closes the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn finish(mut self) -> Result<(), ReplayError> {
        self.flush()?;
        self.file.finish()
    }
}
