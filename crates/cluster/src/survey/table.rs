//! A Parquet file with a row for each design of a survey.

use crate::error::ClusterError;
use crate::survey::batches::in_batches;
use crate::survey::select::Chunk;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use gordon_units::Progress;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Key of the file's metadata under which the survey that made the table is stored as JSON.
pub const TABLE_KEY: &str = "gordon.survey";

/// A column: its name and values.
pub type NamedColumn = (String, ArrayRef);

/// Writes the rows of all chunks, which are made on all cores, in their order.
///
/// # Errors
/// Returns an error if the file cannot be written, or if a stop is requested.
pub(crate) fn write_table(
    path: &Path,
    survey: String,
    chunks: &[Chunk],
    progress: &Progress,
    rows: impl Fn(&Chunk) -> Vec<NamedColumn> + Sync,
) -> Result<(), ClusterError> {
    let mut table = TableWriter { path: path.into(), survey, open: None };
    let mut written = Ok(());
    let rows = |at: usize| (!progress.stopped()).then(|| rows(&chunks[at]));
    in_batches(chunks.len(), rows, |rows| {
        if let (Ok(()), Some(rows)) = (&written, rows) {
            written = table.write(rows);
        }
    });
    written?;
    progress.check()?;
    table.finish()
}

/// A table that is being written. The first rows create the file.
struct TableWriter {
    path: PathBuf,
    /// The survey that made the table, as JSON.
    survey: String,
    open: Option<(Arc<Schema>, ArrowWriter<File>)>,
}

impl TableWriter {
    /// Appends rows; all have the same columns.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    fn write(&mut self, columns: Vec<NamedColumn>) -> Result<(), ClusterError> {
        let (schema, writer) = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(create(&self.path, &columns, &self.survey)?),
        };
        let values = columns.into_iter().map(|(_, values)| values).collect();
        let written = RecordBatch::try_new(schema.clone(), values)
            .map_err(ParquetError::from)
            .and_then(|batch| writer.write(&batch));
        written.map_err(|e| of_parquet(&self.path, e))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    fn finish(self) -> Result<(), ClusterError> {
        let Some((_, writer)) = self.open else {
            return Ok(());
        };
        let file = writer.into_inner().map_err(|e| of_parquet(&self.path, e))?;
        file.sync_all().map_err(|e| error(&self.path, e))
    }
}

fn create(
    path: &Path,
    columns: &[NamedColumn],
    survey: &str,
) -> Result<(Arc<Schema>, ArrowWriter<File>), ClusterError> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, values)| Field::new(name, values.data_type().clone(), true))
        .collect();
    // Arrow readers show the metadata of the schema, other readers those of the file.
    let metadata = HashMap::from([(TABLE_KEY.to_owned(), survey.to_owned())]);
    let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
    let file = File::create(path).map_err(|e| error(path, e))?;
    let zstd = ZstdLevel::try_new(1).expect("zstd has a level 1");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_created_by(format!("gordon {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(TABLE_KEY.to_owned(), survey.to_owned())]))
        .build();
    let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
    Ok((schema, writer.map_err(|e| of_parquet(path, e))?))
}

fn error(path: &Path, why: std::io::Error) -> ClusterError {
    ClusterError::Table { path: path.into(), why }
}

fn of_parquet(path: &Path, why: ParquetError) -> ClusterError {
    error(path, std::io::Error::other(why))
}
