//! Copies the tables of stages and tasks with pseudonyms.

use super::names::{NameKind, Names};
use crate::error::TraceError;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Key of the description of the table.
const ABOUT: &str = "gordon";
/// Columns of words that Spark defines.
const KEPT: [&str; 3] = ["locality", "reason", "status"];

/// Copies the table at `from`.
pub(super) fn copy(from: &Path, to: &Path, names: &mut Names) -> Result<(), TraceError> {
    let damaged = |error: parquet::errors::ParquetError| TraceError::damaged(from, error);
    let file =
        File::open(from).map_err(|source| TraceError::Read { path: from.to_owned(), source })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    let metadata = builder.metadata().file_metadata();
    let about = metadata
        .key_value_metadata()
        .and_then(|all| all.iter().find(|one| one.key == ABOUT))
        .and_then(|one| serde_json::from_str::<serde_json::Value>(one.value.as_deref()?).ok());
    let Some(mut about) = about else {
        return Err(TraceError::damaged(from, "it has no description of a table of Gordon"));
    };
    if let Some(application) = about["application"].as_str() {
        about["application"] = names.of(NameKind::Application, application).into();
    }
    let zstd = ZstdLevel::try_new(1).expect("zstd has a level 1");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_created_by(format!("gordon {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(ABOUT.to_owned(), about.to_string())]))
        .build();
    // Without its metadata, which repeats the description.
    let schema = Arc::new(Schema::new(builder.schema().fields().clone()));
    let failed = |error| TraceError::parquet_write(to, error);
    let file = File::create_new(to).map_err(|error| TraceError::write(to, error))?;
    let mut writer =
        ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(failed)?;
    for batch in builder.build().map_err(damaged)? {
        let batch = batch.map_err(|error| TraceError::damaged(from, error))?;
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| replaced(field.name(), column, names));
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect())
            .expect("columns keep their types");
        writer.write(&batch).map_err(failed)?;
    }
    let file = writer.into_inner().map_err(failed)?;
    file.sync_all().map_err(|error| TraceError::write(to, error))
}

/// The column with pseudonyms, if it has texts.
fn replaced(name: &str, column: &ArrayRef, names: &mut Names) -> ArrayRef {
    let mut replace = |text: &str| match KEPT.contains(&name) {
        true => text.to_owned(),
        false => pseudonym(name, text, names),
    };
    if let Some(texts) = column.as_string_opt::<i32>() {
        let texts = texts.iter().map(|text| text.map(&mut replace));
        return Arc::new(texts.collect::<StringArray>());
    }
    if let Some(array) = column.as_dictionary_opt::<UInt32Type>()
        && let Some(texts) = array.values().as_string_opt::<i32>()
    {
        // The dictionary is common to all columns of texts: only the values in use are of this one.
        let used: BTreeSet<u32> = array.keys().iter().flatten().collect();
        let values = texts.iter().zip(0..).map(|(text, key)| match used.contains(&key) {
            true => text.map(&mut replace),
            false => Some(String::new()),
        });
        let values: ArrayRef = Arc::new(values.collect::<StringArray>());
        let array = DictionaryArray::<UInt32Type>::try_new(array.keys().clone(), values);
        return Arc::new(array.expect("the keys are those of the same values"));
    }
    Arc::clone(column)
}

fn pseudonym(column: &str, text: &str, names: &mut Names) -> String {
    match column {
        "host" => names.of(NameKind::Host, text),
        // Executors have numbers, and `driver`.
        "executor" if text == "driver" || text.bytes().all(|b| b.is_ascii_digit()) => {
            text.to_owned()
        }
        "name" | "spark_name" => names.stage(text),
        _ => names.of(NameKind::Value, text),
    }
}
