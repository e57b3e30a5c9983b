//! Output files of a run, which are written completely or not at all. A file is written under a
//! temporary name and renamed when it is complete; an incomplete file is removed.

use crate::ReplayError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// An error message with a hint.
fn with_hint(why: &impl ToString) -> String {
    format!("{}\n  try: a place that can be written, with room", why.to_string())
}

/// An output file that is not complete yet.
pub(super) struct PendingFile {
    path: PathBuf,
    temporary: PathBuf,
}

impl PendingFile {
    /// Creates a file that will appear at `path`.
    pub fn create(path: &Path) -> Result<(Self, File), ReplayError> {
        let failed = |why: String| ReplayError::Output { path: path.into(), why };
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(failed("it is a folder\n  try: name a file in it".into()));
        };
        if path.exists() && !path.is_file() {
            return Err(failed("it is a device or a pipe\n  try: name a plain file".into()));
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".partial-{}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary).map_err(|e| failed(with_hint(&e)))?;
        Ok((Self { path: path.into(), temporary }, file))
    }

    /// Moves the complete file to its path.
    pub fn finish(self) -> Result<(), ReplayError> {
        fs::rename(&self.temporary, &self.path).map_err(|e| self.failed(&e))
    }

    pub fn failed(&self, why: &impl ToString) -> ReplayError {
        ReplayError::Output { path: self.path.clone(), why: with_hint(why) }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a rename there is no such file; a failure cannot be reported here.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// A Parquet file that is written completely or not at all.
pub(crate) struct ParquetFile {
    // Closed before the file is removed.
    writer: Option<ArrowWriter<File>>,
    pending: PendingFile,
}

impl ParquetFile {
    /// Creates a compressed file that will appear at `path`; a row group has at most `rows` rows.
    pub fn create(path: &Path, schema: SchemaRef, rows: usize) -> Result<Self, ReplayError> {
        let (pending, file) = PendingFile::create(path)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_max_row_group_row_count(Some(rows))
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties));
        Ok(Self { writer: Some(writer.map_err(|e| pending.failed(&e))?), pending })
    }

    /// Adds rows.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), ReplayError> {
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(rows));
        written.map_err(|e| self.pending.failed(&e))
    }

    /// Completes the file and moves it to its path.
    pub fn finish(mut self) -> Result<(), ReplayError> {
        if let Some(mut writer) = self.writer.take() {
            writer.finish().map_err(|e| self.pending.failed(&e))?;
        }
        self.pending.finish()
    }
}

/// Writes a table as a Parquet file. Its batches have one schema.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_parquet(batches: &[RecordBatch], path: &Path) -> Result<(), ReplayError> {
    let [first, ..] = batches else { return Ok(()) };
    let mut file = ParquetFile::create(path, first.schema(), 1 << 20)?;
    batches.iter().try_for_each(|batch| file.write(batch))?;
    file.finish()
}

/// A table as the bytes of a Parquet file, for [`from_bytes`].
///
/// # Errors
/// Returns an error if a column has a type that Parquet lacks.
pub fn to_bytes(batches: &[RecordBatch]) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    if let [first, ..] = batches {
        let mut writer = ArrowWriter::try_new(&mut bytes, first.schema(), None)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.close()?;
    }
    Ok(bytes)
}

/// The table that [`to_bytes`] has written, in at least one batch.
///
/// # Errors
/// Returns an error if the bytes are not those of a Parquet file.
pub fn from_bytes(bytes: Vec<u8>) -> Result<Vec<RecordBatch>, ParquetError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))?;
    let schema = reader.schema().clone();
    let batches = reader.with_batch_size(1 << 16).build()?.collect::<Result<Vec<_>, _>>()?;
    Ok(if batches.is_empty() { vec![RecordBatch::new_empty(schema)] } else { batches })
}

/// The columns of a table as JSON lists by name, for callers without Arrow.
pub fn columns(batches: &[RecordBatch]) -> Map<String, Value> {
    let mut found = Map::new();
    for batch in batches {
        let schema = batch.schema();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let list = found.entry(field.name()).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().expect("a list").extend(values(column));
        }
    }
    found
}

/// The values of a column.
fn values(column: &ArrayRef) -> Vec<Value> {
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        numbers.iter().map(Value::from).collect()
    } else if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
        numbers.iter().map(Value::from).collect()
    } else if let Some(texts) = column.as_string_opt::<i32>() {
        texts.iter().map(Value::from).collect()
    } else if let Some(facts) = column.as_boolean_opt() {
        facts.iter().map(Value::from).collect()
    } else {
        vec![Value::Null; column.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, Float64Array, StringArray, UInt64Array};
    use std::sync::Arc;

    fn batch(first: u64) -> RecordBatch {
        let columns: [(&str, ArrayRef, bool); 4] = [
            ("n", Arc::new(UInt64Array::from(vec![Some(first), None])), true),
            ("x", Arc::new(Float64Array::from(vec![0.5, 2.0])), true),
            ("is", Arc::new(BooleanArray::from(vec![true, false])), true),
            ("text", Arc::new(StringArray::from(vec![Some("a"), None])), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).expect("a table")
    }

    #[test]
    fn a_table_survives_as_bytes() {
        let table = [batch(1), batch(u64::MAX)];
        let read = from_bytes(to_bytes(&table).expect("bytes")).expect("a table");
        assert_eq!(columns(&read), columns(&table));
        assert_eq!(columns(&table)["n"], serde_json::json!([1, null, u64::MAX, null]));
        assert_eq!(columns(&table)["is"], serde_json::json!([true, false, true, false]));
        let empty = [batch(1).slice(0, 0)];
        let read = from_bytes(to_bytes(&empty).expect("bytes")).expect("a table");
        assert_eq!((read.len(), read[0].num_rows(), read[0].schema()), (1, 0, empty[0].schema()));
        assert!(from_bytes(vec![1, 2, 3]).is_err());
    }

    #[test]
    fn a_table_is_written_as_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.parquet");
        write_parquet(&[batch(1), batch(2)], &path).expect("written");
        let read = from_bytes(fs::read(&path).expect("there")).expect("a table");
        assert_eq!(columns(&read)["n"], serde_json::json!([1, null, 2, null]));
        assert!(write_parquet(&[batch(1)], folder.path()).is_err());
    }
}
