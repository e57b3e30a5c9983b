//! A log of timed probes: a Parquet file with one row per probe, in the order of their submission.
//! A description of the probed device is JSON in the file's metadata under [`KEY`].

use super::{Probe, TimedProbe};
use crate::ReplayError;
use crate::results::latency::OPS;
use crate::results::output::ParquetFile;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_array::{UInt8Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use gordon_units::{Bytes, Ns};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Key of the description in the metadata of the file.
pub const KEY: &str = "gordon.probes";

const NUMBERS: [&str; 5] =
    ["issued_ns", "completed_ns", "offset_bytes", "length_bytes", "think_ns"];

/// Writes a log.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, about: &str, rows: &[(Probe, TimedProbe)]) -> Result<(), ReplayError> {
    let names = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
    let mut fields: Vec<Field> =
        NUMBERS.iter().map(|name| Field::new(*name, DataType::UInt64, false)).collect();
    fields.push(Field::new("op", names, false));
    let about = HashMap::from([(KEY.to_owned(), about.to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, about));
    let numbers = |value: fn(&(Probe, TimedProbe)) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
    };
    let keys = UInt8Array::from_iter_values(rows.iter().map(|row| row.0.op as u8));
    let values: ArrayRef = Arc::new(StringArray::from(OPS.map(|(_, name)| name).to_vec()));
    let columns: Vec<ArrayRef> = vec![
        numbers(|row| row.1.issued.0),
        numbers(|row| row.1.completed.0),
        numbers(|row| row.0.offset.0),
        numbers(|row| row.0.len.0),
        numbers(|row| row.0.think.0),
        Arc::new(DictionaryArray::<UInt8Type>::new(keys, values)),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns);
    let mut file = ParquetFile::create(path, schema, 1 << 20)?;
    file.write(&batch.expect("columns of one length, of the schema's types"))?;
    file.finish()
}

/// Content of a log: the description of the device, and the rows.
pub type Log = (String, Vec<(Probe, TimedProbe)>);

/// Reads a log.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a log of probes.
pub fn read(path: &Path) -> Result<Log, ReplayError> {
    let not = |why: String| {
        let what = path.display().to_string();
        ReplayError::impossible(&what, why, "a log that `gordon disk probe` wrote")
    };
    let file = File::open(path).map_err(|e| not(e.to_string()))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file);
    let reader = reader.map_err(|e| not(format!("not a Parquet file: {e}")))?;
    let about = reader.schema().metadata().get(KEY).cloned();
    let about = about.ok_or_else(|| {
        not("not a log of probes: a fit reads the logs of `gordon disk probe` only".into())
    })?;
    let batches = reader.build().and_then(|rows| Ok(rows.collect::<Result<Vec<_>, _>>()?));
    let batches = batches.map_err(|e| not(format!("damaged: {e}")))?;
    let mut rows = Vec::new();
    for batch in &batches {
        let found = batch_rows(batch).ok_or_else(|| not("its columns are not a log's".into()))?;
        rows.extend(found);
    }
    Ok((about, rows))
}

fn batch_rows(batch: &RecordBatch) -> Option<Vec<(Probe, TimedProbe)>> {
    let number = |name| batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>();
    let [issued, completed, offset, len, think] = {
        let found: Vec<_> = NUMBERS.iter().map_while(|name| number(name)).collect();
        <[&UInt64Array; 5]>::try_from(found).ok()?
    };
    let ops = batch.column_by_name("op")?.as_dictionary_opt::<UInt8Type>()?;
    let names = ops.values().as_string_opt::<i32>()?;
    if [issued, completed, offset, len, think].iter().any(|column| column.null_count() > 0) {
        return None;
    }
    (0..batch.num_rows())
        .map(|row| {
            let name = names.value(ops.key(row)?);
            let op = OPS.iter().find(|(_, known)| *known == name)?.0;
            let probe = Probe {
                op,
                offset: Bytes(offset.value(row)),
                len: Bytes(len.value(row)),
                think: Ns(think.value(row)),
            };
            let timed =
                TimedProbe { issued: Ns(issued.value(row)), completed: Ns(completed.value(row)) };
            Some((probe, timed))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_blockio::IoOp;

    #[test]
    fn a_log_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("probes.parquet");
        let rows: Vec<_> = (0..5000u64)
            .map(|i| {
                let op = if i % 3 == 0 { IoOp::Write } else { IoOp::Read };
                let probe =
                    Probe { op, offset: Bytes(i << 30), len: Bytes(512 * i), think: Ns(i % 7) };
                (probe, TimedProbe { issued: Ns(i * 9), completed: Ns(i * 9 + 5) })
            })
            .collect();
        write(&path, r#"{"seed": 1}"#, &rows).unwrap();
        assert_eq!(read(&path).unwrap(), (r#"{"seed": 1}"#.to_owned(), rows));
    }

    #[test]
    fn a_file_that_is_not_a_log_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let text = |path: &Path| read(path).unwrap_err().to_string();
        assert!(text(&path).contains("No such file"), "{}", text(&path));
        std::fs::write(&path, "no Parquet").unwrap();
        assert!(text(&path).contains("not a Parquet file"), "{}", text(&path));
    }
}
