//! Flash devices: a run, several at once, write amplification.

use crate::error::raise;
use crate::watch::watched;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use gordon_replay::config::RunConfig;
use gordon_replay::flash::{RunResult, run, run_all};
use gordon_replay::parse::from_json;
use gordon_replay::results::output::{columns, write_parquet};
use gordon_replay::run::Progress;
use gordon_replay::wa::{WaConfig, write_amplification};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What a run comes to.
#[pyclass(frozen, module = "gordon._core")]
pub struct FlashResult {
    json: String,
    tables: Vec<(&'static str, RecordBatch)>,
}

impl FlashResult {
    fn new(result: RunResult) -> PyResult<Self> {
        let json = serde_json::to_string(&result.report).map_err(raise)?;
        Ok(Self { json, tables: result.tables })
    }
}

#[pymethods]
impl FlashResult {
    /// The summary.
    fn json(&self) -> &str {
        &self.json
    }

    /// The names of the tables.
    fn tables(&self) -> Vec<&'static str> {
        self.tables.iter().map(|(name, _)| *name).collect()
    }

    /// A table, for anything that takes Arrow's PyCapsule interface.
    fn table(&self, name: &str) -> PyResult<FlashTable> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        let known = || format!("no table `{name}`\n  try: one of {}", self.tables().join(", "));
        found.map(|(_, batch)| FlashTable(batch.clone())).ok_or_else(|| raise(known()))
    }

    /// Writes each table into `folder`, as `NAME.parquet`.
    fn write_parquet(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| write_parquet(&self.tables, &folder)).map_err(raise)
    }
}

/// Columns, handed over without a copy by Arrow's PyCapsule interface.
#[pyclass(frozen, module = "gordon._core")]
pub struct FlashTable(RecordBatch);

#[pymethods]
impl FlashTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer hand out its own types where it cannot cast.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns as lists, by name, as JSON.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&columns(&self.0)).map_err(raise)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

fn watch_runs<T: Send>(
    py: Python<'_>,
    tick: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let tell = || -> PyResult<()> {
        if let Some(tick) = &tick {
            let [done, total] =
                [&progress.done, &progress.total].map(|n| n.load(Ordering::Relaxed));
            tick.call1((done, total))?;
        }
        Ok(())
    };
    watched(py, || work(&progress), tell, || progress.stop.store(true, Ordering::Relaxed))
}

/// Runs what `config` (JSON) describes. `tick(done, total)` hears of requests a few times a
/// second.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<FlashResult> {
    let config: RunConfig = from_json(config, "run").map_err(raise)?;
    let result = watch_runs(py, tick, |progress| run(&config, progress))?.map_err(raise)?;
    FlashResult::new(result)
}

/// Runs several configs at once, one device a core; results in their order.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn flash_run_all(
    py: Python<'_>,
    configs: Vec<String>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<FlashResult>> {
    let parsed = configs.iter().map(|config| from_json(config, "run"));
    let configs = parsed.collect::<Result<Vec<RunConfig>, _>>().map_err(raise)?;
    let results = watch_runs(py, tick, |progress| run_all(&configs, progress))?;
    results.into_iter().map(|result| FlashResult::new(result.map_err(raise)?)).collect()
}

/// The write amplification of the layer that `config` (JSON) describes, as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_wa(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: WaConfig = from_json(config, "wa").map_err(raise)?;
    let work = |progress: &Progress| write_amplification(&config, progress);
    let report = watch_runs(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
