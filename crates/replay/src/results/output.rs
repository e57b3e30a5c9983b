//! Output files of a run, which are written completely or not at all. A file is written under a
//! temporary name and renamed when it is complete; an incomplete file is removed.

use crate::ReplayError;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
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

/// Writes each table as `NAME.parquet` in `folder`, which is created if it does not exist.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_parquet(tables: &[(&str, RecordBatch)], folder: &Path) -> Result<(), ReplayError> {
    let made = fs::create_dir_all(folder);
    made.map_err(|e| ReplayError::Output { path: folder.into(), why: with_hint(&e) })?;
    for (name, table) in tables {
        let path = folder.join(format!("{name}.parquet"));
        let mut file = ParquetFile::create(&path, table.schema(), 1 << 20)?;
        file.write(table)?;
        file.finish()?;
    }
    Ok(())
}

/// The columns of a table as JSON lists by name, for callers without Arrow.
pub fn columns(table: &RecordBatch) -> Map<String, Value> {
    let schema = table.schema();
    let lists = table.columns().iter().map(|column| {
        if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
            numbers.iter().map(Value::from).collect()
        } else if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
            numbers.iter().map(Value::from).collect()
        } else if let Some(texts) = column.as_string_opt::<i32>() {
            texts.iter().map(Value::from).collect()
        } else {
            Value::Null
        }
    });
    schema.fields().iter().map(|field| field.name().clone()).zip(lists).collect()
}
