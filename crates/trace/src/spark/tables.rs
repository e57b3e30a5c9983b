//! The tables of an event log: a Parquet file with a row for each attempt of a stage, and one with
//! a row for each attempt of a task. `docs/FORMATS.md` describes their columns.

use super::log::EventLog;
use super::model::{FIGURES, Stage, Task, TaskFigures, TaskStatus};
use crate::error::TraceError;
use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array, types::UInt32Type,
};
use arrow_schema::{DataType, Field, Schema};
use gordon_units::Ns;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Name of the table of stages.
pub const STAGES_FILE: &str = "stages.parquet";
/// Name of the table of tasks.
pub const TASKS_FILE: &str = "tasks.parquet";
/// Metadata key of the JSON description of a table.
pub(super) const ABOUT: &str = "gordon";
/// Version of the tables.
const VERSION: u32 = 1;
/// Rows of a row group of tasks, which is also the number of rows in memory.
const ROWS: usize = 1 << 16;

/// A column of a table under construction.
type Named = (&'static str, ArrayRef);

impl EventLog {
    /// Writes both tables into `folder`, which must not have them.
    ///
    /// # Errors
    /// When they exist or cannot be written.
    pub fn write_tables(&self, folder: &Path) -> Result<(), TraceError> {
        let stages = [self.stage_columns(&self.stages)];
        self.write(&folder.join(STAGES_FILE), "stages", stages.into_iter())?;
        let empty: &[Task] = &[];
        let groups = match self.tasks.len() {
            0 => vec![empty],
            _ => self.tasks.chunks(ROWS).collect(),
        };
        let groups = groups.into_iter().map(|tasks| self.task_columns(tasks));
        self.write(&folder.join(TASKS_FILE), "tasks", groups)
    }

    fn write(
        &self,
        path: &Path,
        table: &str,
        groups: impl Iterator<Item = Vec<Named>>,
    ) -> Result<(), TraceError> {
        let file = File::create_new(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => TraceError::Exists(path.to_owned()),
            _ => TraceError::write(path, error),
        })?;
        let about = serde_json::json!({
            "format": format!("gordon-spark-{table}"),
            "version": VERSION,
            "spark": self.version,
            "application": self.name,
            "start_unix_ns": self.start.0,
            "end_unix_ns": (self.start + self.duration()).0,
        });
        let zstd = ZstdLevel::try_new(1).expect("zstd has a level 1");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_created_by(format!("gordon {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new(ABOUT.to_owned(), about.to_string())]))
            .build();
        let failed = |error| TraceError::parquet_write(path, error);
        let mut file = Some(file);
        let mut writer: Option<ArrowWriter<File>> = None;
        for columns in groups {
            let fields = columns
                .iter()
                .map(|(name, array)| {
                    Field::new(*name, array.data_type().clone(), is_nullable(name))
                })
                .collect::<Vec<_>>();
            let schema = Arc::new(Schema::new(fields));
            let arrays = columns.into_iter().map(|(_, array)| array).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
                .expect("arrays are made after the schema");
            if let Some(file) = file.take() {
                let made = ArrowWriter::try_new(file, schema, Some(properties.clone()));
                writer = Some(made.map_err(failed)?);
            }
            let writer = writer.as_mut().expect("the first group makes the writer");
            writer.write(&batch).and_then(|()| writer.flush()).map_err(failed)?;
        }
        let writer = writer.expect("a table has at least one group");
        let file = writer.into_inner().map_err(failed)?;
        file.sync_all().map_err(|error| TraceError::write(path, error))
    }

    /// Seconds after the start of the application; negative before it.
    #[allow(clippy::cast_precision_loss)]
    fn seconds(&self, at: Ns) -> f64 {
        match at.0.checked_sub(self.start.0) {
            Some(after) => after as f64 / 1e9,
            None => -((self.start.0 - at.0) as f64) / 1e9,
        }
    }

    fn stage_columns(&self, stages: &[Stage]) -> Vec<Named> {
        let u32s = |of: fn(&Stage) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(stages.iter().map(of)))
        };
        let times = |of: fn(&Stage) -> Option<Ns>| -> ArrayRef {
            Arc::new(UInt64Array::from_iter(stages.iter().map(|s| of(s).map(|at| at.0))))
        };
        let seconds = |of: fn(&Stage) -> Option<Ns>| -> ArrayRef {
            let at = |stage: &Stage| of(stage).map(|at| self.seconds(at));
            Arc::new(Float64Array::from_iter(stages.iter().map(at)))
        };
        let lists = |of: fn(&Stage) -> &Vec<u32>| -> ArrayRef {
            let item = Field::new("item", DataType::UInt32, false);
            let mut builder = ListBuilder::new(UInt32Builder::new()).with_field(item);
            for stage in stages {
                builder.values().append_slice(of(stage));
                builder.append(true);
            }
            Arc::new(builder.finish())
        };
        let texts = |of: fn(&Stage) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(stages.iter().map(of)))
        };
        let mut columns: Vec<Named> = vec![
            ("stage", u32s(|s| s.id)),
            ("attempt", u32s(|s| s.attempt)),
            ("name", texts(|s| &s.name)),
            ("spark_name", texts(|s| &s.spark_name)),
            ("status", texts(|s| s.status.name())),
            ("submitted_unix_ns", times(|s| s.submitted)),
            ("started_unix_ns", times(|s| s.started)),
            ("ended_unix_ns", times(|s| s.ended)),
            ("submitted_s", seconds(|s| s.submitted)),
            ("started_s", seconds(|s| s.started)),
            ("ended_s", seconds(|s| s.ended)),
            ("jobs", lists(|s| &s.jobs)),
            ("parents", lists(|s| &s.parents)),
            ("partitions", u32s(|s| s.partitions)),
            ("tasks", u32s(|s| s.totals.tasks)),
            ("failed_tasks", u32s(|s| s.totals.failed)),
            ("killed_tasks", u32s(|s| s.totals.killed)),
        ];
        columns.extend(figures(stages.iter().map(|stage| Some(&stage.totals.figures)).collect()));
        columns
    }

    fn task_columns(&self, tasks: &[Task]) -> Vec<Named> {
        let u32s = |of: fn(&Task) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(tasks.iter().map(of)))
        };
        let values = Arc::new(StringArray::from_iter_values(&self.names));
        let texts = |of: fn(&Task) -> u32| -> ArrayRef {
            let keys = UInt32Array::from_iter_values(tasks.iter().map(of));
            let values: ArrayRef = Arc::clone(&values) as ArrayRef;
            let array = DictionaryArray::<UInt32Type>::try_new(keys, values);
            Arc::new(array.expect("indices were handed out with the names"))
        };
        let times = |of: fn(&Task) -> Option<Ns>| -> ArrayRef {
            Arc::new(UInt64Array::from_iter(tasks.iter().map(|t| of(t).map(|at| at.0))))
        };
        let seconds = |of: fn(&Task) -> Option<Ns>| -> ArrayRef {
            let at = |task: &Task| of(task).map(|at| self.seconds(at));
            Arc::new(Float64Array::from_iter(tasks.iter().map(at)))
        };
        let speculative = tasks.iter().map(|task| Some(task.is_speculative));
        let statuses = tasks.iter().map(|task| match task.status {
            TaskStatus::Success => "success",
            TaskStatus::Failed => "failed",
            TaskStatus::Killed => "killed",
            TaskStatus::Unfinished => "unfinished",
        });
        let mut columns: Vec<Named> = vec![
            ("task", Arc::new(UInt64Array::from_iter_values(tasks.iter().map(|t| t.id)))),
            ("stage", u32s(|t| t.stage)),
            ("stage_attempt", u32s(|t| t.stage_attempt)),
            ("partition", u32s(|t| t.partition)),
            ("attempt", u32s(|t| t.attempt)),
            ("executor", texts(|t| t.executor)),
            ("host", texts(|t| t.host)),
            ("locality", texts(|t| t.locality)),
            ("status", Arc::new(StringArray::from_iter_values(statuses))),
            ("reason", texts(|t| t.reason)),
            ("speculative", Arc::new(BooleanArray::from_iter(speculative))),
            ("started_unix_ns", times(|t| Some(t.started))),
            ("ended_unix_ns", times(|t| t.ended)),
            ("started_s", seconds(|t| Some(t.started))),
            ("ended_s", seconds(|t| t.ended)),
        ];
        columns.extend(figures(tasks.iter().map(|task| task.figures.as_ref()).collect()));
        columns
    }
}

/// Times of stages and tasks and the figures of tasks may be unknown.
fn is_nullable(name: &str) -> bool {
    let is_time = ["submitted", "started", "ended"].iter().any(|start| name.starts_with(start));
    is_time || FIGURES.iter().any(|(figure, _)| *figure == name)
}

fn figures(rows: Vec<Option<&TaskFigures>>) -> impl Iterator<Item = Named> {
    FIGURES.into_iter().map(move |(name, of)| {
        let values = rows.iter().map(|row| row.map(of));
        (name, Arc::new(UInt64Array::from_iter(values)) as ArrayRef)
    })
}
