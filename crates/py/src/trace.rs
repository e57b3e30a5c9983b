//! Traces: record, summarise and convert.

use crate::error::raise;
use crate::watch::{watch, watched};
use gordon_config::from_json;
use gordon_replay::config::TraceLoad;
use gordon_trace::activity::{self, ActivityError, ActivityFormat, ActivityOptions};
use gordon_trace::formats::{Format, Order, convert};
use gordon_trace::spark::{EventLog, NodeExecutors, estimate_network, event_logs, recorded_stages};
use gordon_trace::{Trace, anonymise};
use gordon_units::{Hertz, Ns, Progress};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Summarises the recorded trace in the folder `path`, as JSON.
#[pyfunction]
pub fn trace_summary(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let summary = py.detach(|| Trace::open(&path)?.summary()).map_err(raise)?;
    json(&summary)
}

/// All trace formats as JSON: name, description, documentation, the data that its reader is tested
/// on, whether it can be read, whether it can be written, and what its records are.
#[pyfunction]
pub fn trace_formats() -> PyResult<String> {
    let activity = ActivityFormat::ALL.into_iter().map(FormatRow::from);
    let formats: Vec<_> = Format::all().map(FormatRow::from).chain(activity).collect();
    json(&formats)
}

/// A trace format.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FormatRow {
    /// Name of the format.
    name: &'static str,
    /// `blocks`, `objects` or `activity`.
    of: &'static str,
    /// A description.
    about: &'static str,
    /// The documentation of the format.
    source: &'static str,
    /// The data on which the reader is tested.
    tested_on: &'static str,
    /// Whether it is read, and what is not.
    supported: &'static str,
    /// Whether it can be written.
    written: bool,
    /// Whether its records are requests of objects.
    objects: bool,
    /// The columns of a format that has some.
    columns: Option<String>,
}

impl From<Format> for FormatRow {
    fn from(format: Format) -> Self {
        Self {
            name: format.name(),
            of: if format.is_objects() { "objects" } else { "blocks" },
            about: format.about(),
            source: format.source(),
            tested_on: format.tested_on(),
            supported: format.support(),
            written: format.is_written(),
            objects: format.is_objects(),
            columns: format.columns(),
        }
    }
}

impl From<ActivityFormat> for FormatRow {
    fn from(format: ActivityFormat) -> Self {
        Self {
            name: format.name(),
            of: "activity",
            about: format.about(),
            source: format.source(),
            tested_on: format.tested_on(),
            supported: "yes",
            written: false,
            objects: false,
            columns: None,
        }
    }
}

/// The name of the format of activity traces called `name` or, without a name, of that of the file
/// `path`. `None` if it is another format.
#[pyfunction]
#[pyo3(signature = (path, name=None))]
pub fn trace_activity_format(path: PathBuf, name: Option<&str>) -> Option<&'static str> {
    let found = match name {
        Some(name) => ActivityFormat::named(name),
        None => activity::detect(&path),
    };
    found.map(ActivityFormat::name)
}

/// Converts the activity traces `inputs`, read as one, and returns a summary of them (JSON).
/// `tick(done, total)` receives the bytes read, before decompression.
#[pyfunction]
#[pyo3(signature = (inputs, target, name, cores=None, clock=None, skip_bad=false, tick=None))]
#[allow(clippy::too_many_arguments)] // the options of a command
pub fn trace_convert_activity(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    target: PathBuf,
    name: &str,
    cores: Option<u32>,
    clock: Option<&str>,
    skip_bad: bool,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Some(format) = ActivityFormat::named(name) else {
        return Err(raise(format!("unknown format of activity traces `{name}`")));
    };
    let clock: Option<Hertz> = clock
        .map(|text| text.parse().map_err(|error| raise(format!("--clock {text}: {error}"))))
        .transpose()?;
    let options = ActivityOptions { cores, clock, skip_bad };
    let work =
        |progress: &Progress| activity::convert(&inputs, &target, format, &options, progress);
    let pending = watch(py, tick, work)?.map_err(raise_activity)?;
    // If Ctrl-C ended the process that writes to the pipe, the end of the pipe is not the end of
    // the trace.
    py.check_signals()?;
    json(&py.detach(|| pending.publish()).map_err(raise_activity)?)
}

fn raise_activity(error: ActivityError) -> PyErr {
    match error {
        ActivityError::Format(error) => raise(error),
        ActivityError::Trace(error) => raise(error),
        ActivityError::EventLog(error) => raise(error),
        other => raise(other),
    }
}

/// Describes the event log of Spark at `path` (JSON). The stages are in seconds after
/// `start_unix_ns` or, without it, after the start of the application; the totals leave out tasks
/// that ended before. With `tables`, writes
/// `stages.parquet` and `tasks.parquet` into that folder.
#[pyfunction]
#[pyo3(signature = (path, tables=None, start_unix_ns=None, skip_bad=false))]
pub fn spark_event_log(
    py: Python<'_>,
    path: PathBuf,
    tables: Option<PathBuf>,
    start_unix_ns: Option<u64>,
    skip_bad: bool,
) -> PyResult<String> {
    let log = watch(py, None, |progress| EventLog::read(&path, skip_bad, progress))?;
    let log = log.map_err(raise)?;
    if let Some(folder) = tables {
        py.detach(|| log.write_tables(&folder)).map_err(raise)?;
    }
    json(&log.summary(start_unix_ns.map(Ns)))
}

/// The event logs of Spark that `path` stands for: itself, or those in the folder.
#[pyfunction]
pub fn spark_event_logs(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| event_logs(&path)).map_err(raise)
}

/// The stages that the tables in the folder `path` have (JSON); `None` if it has no tables.
#[pyfunction]
pub fn spark_recorded_stages(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let found = py.detach(|| recorded_stages(&path)).map_err(raise)?;
    found.map(|stages| json(&stages)).transpose()
}

/// Adds network columns, estimated from the event log of Spark at `log`, to traces of nodes without
/// a network of their own: pairs of the folder of a trace and the identifiers of its executors.
/// Returns what each node received and sent (JSON).
#[pyfunction]
pub fn trace_estimate_network(
    py: Python<'_>,
    log: PathBuf,
    nodes: Vec<(PathBuf, Vec<String>)>,
) -> PyResult<String> {
    let log = watch(py, None, |progress| EventLog::read(&log, false, progress))?.map_err(raise)?;
    let nodes: Vec<NodeExecutors> =
        nodes.into_iter().map(|(trace, executors)| NodeExecutors { trace, executors }).collect();
    json(&py.detach(|| estimate_network(&log, &nodes)).map_err(raise)?)
}

/// Copies the trace or run `source` to `target` with pseudonyms, and returns what was replaced
/// (JSON).
#[pyfunction]
pub fn trace_anonymise(py: Python<'_>, source: PathBuf, target: PathBuf) -> PyResult<String> {
    json(&py.detach(|| anonymise(&source, &target)).map_err(raise)?)
}

/// How the trace that `load` (JSON) names will be interpreted, as JSON. `None` for a pipe, which
/// can be read only once. With `objects`, a trace of both blocks and objects counts as one of
/// objects.
#[pyfunction]
pub fn trace_input(py: Python<'_>, load: &str, objects: bool) -> PyResult<Option<String>> {
    let load: TraceLoad = from_json(load, "trace").map_err(raise)?;
    if load.is_stream() {
        return Ok(None);
    }
    let note = py.detach(|| load.note(objects)).map_err(raise)?;
    Ok(Some(json(&note)?))
}

/// Whether `load` (JSON) names standard input or a pipe.
#[pyfunction]
pub fn trace_is_stream(load: &str) -> PyResult<bool> {
    Ok(from_json::<TraceLoad>(load, "trace").map_err(raise)?.is_stream())
}

/// Converts the trace that `load` (JSON) names and returns a summary of it (JSON).
#[pyfunction]
#[pyo3(signature = (load, target, to=None))]
pub fn trace_convert(
    py: Python<'_>,
    load: &str,
    target: PathBuf,
    to: Option<&str>,
) -> PyResult<String> {
    let load: TraceLoad = from_json(load, "trace").map_err(raise)?;
    let options = load.options(Order::Strict).map_err(raise)?;
    let to: Option<Format> = to.map(str::parse).transpose().map_err(raise)?;
    let stop = AtomicBool::new(false);
    let work = || convert(&load.path, &target, load.format, to, &options, &stop);
    let stopping = || stop.store(true, Ordering::Relaxed);
    let done = watched(py, work, || Ok(()), stopping)?.map_err(raise)?;
    // If Ctrl-C ended the process that writes to the pipe, the end of the pipe is not the end of
    // the trace.
    py.check_signals()?;
    json(&py.detach(|| done.publish()).map_err(raise)?)
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raise)
}
