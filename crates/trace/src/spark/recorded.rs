//! Reads the tables of an event log back: its stages with the times of their tasks, and the time in
//! which no stage ran.

use super::model::NamedStage;
use super::tables::{ABOUT, STAGES_FILE, TASKS_FILE};
use crate::error::TraceError;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use gordon_units::Ns;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The columns of the stages that are read.
const STAGES: [&str; 14] = [
    "stage",
    "attempt",
    "name",
    "status",
    "submitted_unix_ns",
    "started_unix_ns",
    "ended_unix_ns",
    "tasks",
    "failed_tasks",
    "killed_tasks",
    "cpu_ns",
    "gc_ns",
    "fetch_wait_ns",
    "spill_disk_bytes",
];
/// The columns of the tasks that are read.
const TASKS: [&str; 5] = ["stage", "stage_attempt", "status", "started_unix_ns", "ended_unix_ns"];
const COMPLETE: &str = "complete";
const SUCCESS: &str = "success";

/// What the metadata of a table say of its application. The end is that of the log if the
/// application has none, and unknown in tables of earlier versions.
#[derive(Deserialize)]
struct About {
    application: String,
    spark: String,
    start_unix_ns: u64,
    end_unix_ns: Option<u64>,
}

/// The stages that the tables of an event log have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordedStages {
    /// Name of the application.
    pub application: String,
    /// Version of Spark; empty if the log did not have it.
    pub spark: String,
    /// When the application started, since 1970.
    pub start_unix_ns: u64,
    /// Time from the start of the application to its end, or to the last event of its log.
    pub span_s: f64,
    /// Time of the application in which no stage was submitted and unfinished: that of the driver.
    pub outside_s: f64,
    /// All attempts of stages that started, by submission.
    pub stages: Vec<RecordedStage>,
    /// Stages that were skipped or never started.
    pub not_started: u64,
}

/// One attempt of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordedStage {
    /// Its number, name and attempt, and its times after the start of the application.
    #[serde(flatten)]
    pub named: NamedStage,
    /// Whether all of its tasks succeeded.
    pub is_complete: bool,
    /// Tasks that started.
    pub tasks: u32,
    /// Tasks that failed.
    pub failed_tasks: u32,
    /// Tasks that were stopped because another one was first or their stage had ended.
    pub killed_tasks: u32,
    /// Median time of the tasks that succeeded; `None` if none did.
    pub task_median_s: Option<f64>,
    /// Longest time of a task that succeeded.
    pub task_longest_s: Option<f64>,
    /// Sum of the times of all tasks that ended.
    pub tasks_s: f64,
    /// CPU time of its tasks.
    pub cpu_s: f64,
    /// Time in which the JVM collected garbage during its tasks.
    pub gc_s: f64,
    /// Time in which its tasks waited for shuffle blocks.
    pub fetch_wait_s: f64,
    /// Bytes that its tasks spilled to disk.
    pub spill_disk_bytes: u64,
}

/// Times of the tasks of a stage.
#[derive(Default)]
struct TaskTimes {
    succeeded: Vec<f64>,
    total_s: f64,
}

impl TaskTimes {
    fn median(&mut self) -> Option<f64> {
        let times = &mut self.succeeded;
        times.sort_by(f64::total_cmp);
        let half = times.len() / 2;
        match times.len() {
            0 => None,
            len if len % 2 == 1 => Some(times[half]),
            _ => Some(f64::midpoint(times[half - 1], times[half])),
        }
    }
}

/// The stages that the tables in `folder` have; `None` if there are no tables.
///
/// # Errors
/// When the tables are damaged or cannot be read.
pub fn recorded_stages(folder: &Path) -> Result<Option<RecordedStages>, TraceError> {
    let (stages, tasks) = (folder.join(STAGES_FILE), folder.join(TASKS_FILE));
    if !stages.is_file() {
        return Ok(None);
    }
    // The Parquet reader may panic on damaged files, and the tables have no checksum.
    catch_unwind(AssertUnwindSafe(|| read(&stages, &tasks)))
        .unwrap_or_else(|_| Err(TraceError::damaged(&stages, "it or its tasks cannot be decoded")))
        .map(Some)
}

fn read(stages: &Path, tasks: &Path) -> Result<RecordedStages, TraceError> {
    let mut times: BTreeMap<(u32, u32), TaskTimes> = BTreeMap::new();
    rows(tasks, &TASKS, |columns, row| {
        let key = (columns.u32("stage", row), columns.u32("stage_attempt", row));
        let times = times.entry(key).or_default();
        let (Some(from), Some(to)) =
            (columns.u64("started_unix_ns", row), columns.u64("ended_unix_ns", row))
        else {
            return;
        };
        let seconds = Ns(to.saturating_sub(from)).as_secs();
        times.total_s += seconds;
        if columns.text("status", row) == SUCCESS {
            times.succeeded.push(seconds);
        }
    })?;
    let mut found: Vec<(Ns, Ns, RecordedStage)> = Vec::new();
    let mut not_started = 0;
    let mut last = Ns::ZERO;
    let about = rows(stages, &STAGES, |columns, row| {
        let at = |name| columns.u64(name, row).map(Ns);
        let submitted = at("submitted_unix_ns").or(at("started_unix_ns"));
        let (Some(from), true) = (submitted, columns.u32("tasks", row) > 0) else {
            not_started += 1;
            return;
        };
        // An unfinished stage ends with the log.
        let to = at("ended_unix_ns").unwrap_or(Ns(u64::MAX));
        last = last.max(if to == Ns(u64::MAX) { from } else { to });
        let (stage, attempt) = (columns.u32("stage", row), columns.u32("attempt", row));
        let mut times = times.remove(&(stage, attempt)).unwrap_or_default();
        let seconds = |name| Ns(columns.u64(name, row).unwrap_or(0)).as_secs();
        let recorded = RecordedStage {
            named: NamedStage::of(stage, columns.text("name", row), attempt),
            is_complete: columns.text("status", row) == COMPLETE,
            tasks: columns.u32("tasks", row),
            failed_tasks: columns.u32("failed_tasks", row),
            killed_tasks: columns.u32("killed_tasks", row),
            task_median_s: times.median(),
            task_longest_s: times.succeeded.last().copied(),
            tasks_s: times.total_s,
            cpu_s: seconds("cpu_ns"),
            gc_s: seconds("gc_ns"),
            fetch_wait_s: seconds("fetch_wait_ns"),
            spill_disk_bytes: columns.u64("spill_disk_bytes", row).unwrap_or(0),
        };
        found.push((from, to, recorded));
    })?;
    let start = Ns(about.start_unix_ns);
    let end = about.end_unix_ns.map_or(last, Ns).max(last).max(start);
    let mut covered = Ns::ZERO;
    let mut reached = start;
    let mut stages = Vec::new();
    found.sort_by_key(|(from, to, _)| (*from, *to));
    for (from, to, mut recorded) in found {
        let (from, to) = (from.clamp(start, end), to.min(end));
        covered += to.saturating_sub(from.max(reached));
        reached = reached.max(to);
        recorded.named = recorded.named.between(from - start, to.saturating_sub(start));
        stages.push(recorded);
    }
    Ok(RecordedStages {
        application: about.application,
        spark: about.spark,
        start_unix_ns: about.start_unix_ns,
        span_s: (end - start).as_secs(),
        outside_s: (end - start).saturating_sub(covered).as_secs(),
        stages,
        not_started,
    })
}

/// The columns of a batch of rows.
struct Rows<'a> {
    path: &'a Path,
    batch: RecordBatch,
}

impl Rows<'_> {
    fn u64(&self, name: &str, row: usize) -> Option<u64> {
        let column = self.column(name).as_primitive::<UInt64Type>();
        column.is_valid(row).then(|| column.value(row))
    }

    fn u32(&self, name: &str, row: usize) -> u32 {
        self.column(name).as_primitive::<UInt32Type>().value(row)
    }

    fn text(&self, name: &str, row: usize) -> &str {
        self.column(name).as_string::<i32>().value(row)
    }

    fn column(&self, name: &str) -> &dyn Array {
        let missing = || panic!("{} has no column {name}", self.path.display());
        self.batch.column_by_name(name).unwrap_or_else(missing)
    }
}

/// Calls `each` with every row of a table that has these columns, and returns what it is about.
fn rows(
    path: &Path,
    names: &[&str],
    mut each: impl FnMut(&Rows<'_>, usize),
) -> Result<About, TraceError> {
    let failed = |source| TraceError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => TraceError::damaged(path, "it is not there"),
        _ => failed(error),
    })?;
    let damaged = |error: &dyn std::fmt::Display| TraceError::damaged(path, error.to_string());
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(&e))?;
    let metadata = builder.metadata().file_metadata().key_value_metadata();
    let about = metadata.into_iter().flatten().find(|pair| pair.key == ABOUT);
    let about = about.and_then(|pair| pair.value.as_deref()).unwrap_or_default();
    let about = serde_json::from_str(about)
        .map_err(|error| damaged(&format!("its metadata do not describe it: {error}")))?;
    if let Some(name) = names.iter().find(|name| builder.schema().index_of(name).is_err()) {
        return Err(damaged(&format!("it has no column {name}")));
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    let reader = builder.with_projection(mask).build().map_err(|e| damaged(&e))?;
    for batch in reader {
        let batch = batch.map_err(|e| damaged(&e))?;
        let rows = Rows { path, batch };
        (0..rows.batch.num_rows()).for_each(|row| each(&rows, row));
    }
    Ok(about)
}
