//! Runs on simulated devices: their results and their progress.

use crate::error::{GordonError, raise, raise_of};
use crate::own::{Failure, watch_own};
use crate::watch::watch;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use gordon_config::{ConfigError, from_json};
use gordon_replay::config::TraceLoad;
use gordon_replay::results::json_tables::{self, JsonColumns};
use gordon_replay::results::output::{columns, from_bytes, to_bytes, write_parquet};
use gordon_replay::results::requests;
use gordon_replay::run::{self, RunOutcome};
use gordon_replay::{ReplayError, option_name};
use gordon_units::Progress;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The result of a run.
#[pyclass(frozen, module = "gordon._core")]
pub struct RunResult {
    json: String,
    tables: Vec<(&'static str, RecordBatch)>,
    unkept: Option<String>,
}

impl RunResult {
    fn new<D: Serialize>(result: run::RunResult<D>) -> PyResult<Self> {
        let json = serde_json::to_string(&result.report).map_err(raise)?;
        let unkept = result.checkpoint_error.map(|error| error.to_string());
        Ok(Self { json, tables: result.tables, unkept })
    }
}

#[pymethods]
impl RunResult {
    /// The report as JSON.
    fn json(&self) -> &str {
        &self.json
    }

    /// Raises an error if the device was to be saved in a checkpoint, and could not be.
    fn kept(&self) -> PyResult<()> {
        self.unkept.as_ref().map_or(Ok(()), |error| Err(raise(error)))
    }

    /// The tables, by name.
    fn tables(&self) -> Vec<(&'static str, Table)> {
        self.tables.iter().map(|(name, batch)| (*name, Table(vec![batch.clone()]))).collect()
    }
}

/// A table; its columns are passed through Arrow's PyCapsule interface without a copy. There is at
/// least one batch.
#[pyclass(frozen, module = "gordon._core")]
pub struct Table(Vec<RecordBatch>);

#[pymethods]
impl Table {
    /// The table with these columns (JSON): pairs of a name and a list of values.
    #[staticmethod]
    fn of(columns: &str) -> PyResult<Self> {
        let columns: JsonColumns = from_json(columns, "table").map_err(raise)?;
        Ok(Self(vec![json_tables::table(&columns).map_err(raise)?]))
    }

    /// The requests of the trace that `load` (JSON) names.
    #[staticmethod]
    #[pyo3(signature = (load, tick=None))]
    fn requests(py: Python<'_>, load: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let load: TraceLoad = from_json(load, "trace").map_err(raise)?;
        let work = |progress: &Progress| requests::requests(&load, progress);
        Ok(Self(watch(py, tick, work)?.map_err(raise)?))
    }

    /// The table that `__reduce__` has written.
    #[staticmethod]
    fn restored(parquet: Vec<u8>) -> PyResult<Self> {
        Ok(Self(from_bytes(parquet).map_err(|error| raise(error.to_string()))?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = to_bytes(&self.0).map_err(|error| raise(error.to_string()))?;
        let restored = py.get_type::<Self>().getattr("restored")?;
        Ok((restored, (PyBytes::new(py, &bytes),)))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer to ignore the requested types if it cannot cast.
        drop(requested_schema);
        let batches = self.0.clone().into_iter().map(Ok);
        let batches = RecordBatchIterator::new(batches, self.0[0].schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns as lists, by name, as JSON.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&columns(&self.0)).map_err(raise)
    }

    /// The names of the columns.
    fn names(&self) -> Vec<String> {
        self.0[0].schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Writes the table as a Parquet file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| write_parquet(&self.0, &path)).map_err(raise)
    }

    fn __len__(&self) -> usize {
        self.0.iter().map(RecordBatch::num_rows).sum()
    }

    /// The first rows, at most `count`.
    fn head(&self, count: usize) -> Self {
        let mut left = count;
        let mut first = Vec::new();
        for batch in &self.0 {
            first.push(batch.slice(0, left.min(batch.num_rows())));
            left -= left.min(batch.num_rows());
            if left == 0 {
                break;
            }
        }
        Self(first)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let views = py.import("gordon.columns")?;
        views.call_method1("said", (self.__len__(), self.names()))?.extract()
    }

    /// The first rows, for notebooks.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("gordon.columns")?.call_method1("html", (slf,))?.extract()
    }
}

/// Raises an error of a config. The keys of the load and the host were given as options, so the
/// message names the option. `name` is that of the run, if there are several.
pub fn raise_option(error: &ConfigError, name: Option<&str>) -> PyErr {
    let given = error.what.split_once(": ").filter(|(key, _)| {
        ["load.bench.", "load.trace.", "host."].iter().any(|table| key.starts_with(table))
    });
    let Some((key, why)) = given else { return raise(error) };
    let (why, hint) = match why.split_once("; use ") {
        Some((why, hint)) => (why, hint),
        None => (why, error.hint.as_str()),
    };
    let name = name.map_or(String::new(), |name| format!("{name}: "));
    let what = format!("{name}{}: {why}", option_name(key));
    GordonError::new_err((what, hint.to_owned(), "config-error".to_owned()))
}

/// Performs the run that `config` (JSON) describes. `tick(done, total)` is called a few times a
/// second. It counts requests, and before them the pages laid out during preconditioning, 16 as one
/// (for a checkpoint, its share by time). `failure` is that of a policy that the run calls.
pub fn one<C: DeserializeOwned + Sync, D: Serialize + Send>(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    failure: &Failure,
    run: impl FnOnce(&C, &Progress) -> RunOutcome<D> + Send,
) -> PyResult<RunResult> {
    let config = from_json(config, "run").map_err(|error| raise_option(&error, None))?;
    let ran = watch_own(py, tick, failure, |progress| run(&config, progress))?;
    RunResult::new(ran.map_err(raise)?)
}

/// Performs several runs at once, one device on each core. Each run has a name. All are prepared
/// with `ready` before the first one runs. Results are in the order of `configs`. An error names
/// its run, unless the error is in the common trace.
pub fn several<C: DeserializeOwned + Sync, R: Send, D: Serialize + Send>(
    py: Python<'_>,
    configs: &[(String, String)],
    tick: Option<Bound<'_, PyAny>>,
    failure: &Failure,
    ready: impl Fn(&C, &Progress) -> Result<R, ReplayError> + Sync,
    run: fn(R, &Progress) -> RunOutcome<D>,
) -> PyResult<Vec<RunResult>> {
    let parsed = configs.iter().map(|(name, config)| {
        from_json(config, name).map_err(|error| raise_option(&error, Some(name)))
    });
    let parsed = parsed.collect::<Result<Vec<C>, _>>()?;
    match watch_own(py, tick, failure, |progress| run::all(&parsed, &ready, run, progress))? {
        Ok(results) => results.into_iter().map(RunResult::new).collect(),
        Err((_, error @ (ReplayError::Trace(_) | ReplayError::Interrupted))) => Err(raise(error)),
        Err((at, error)) => Err(raise_of(&configs[at].0, error)),
    }
}
