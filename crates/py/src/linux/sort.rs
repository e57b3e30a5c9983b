//! The external sort.

use crate::error::raise;
use crate::watch::watch;
use gordon_config::from_json;
use gordon_sort::Job;
use pyo3::prelude::*;

/// The reason why the system does not let us use io_uring; `None` if it does.
#[pyfunction]
pub fn io_uring_error() -> Option<String> {
    gordon_sort::io_uring_error()
}

/// Runs the sort that `config` (JSON) describes; `tick(done, total)` receives bytes read and
/// written.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn sort_run(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let job: Job = from_json(config, "sort").map_err(raise)?;
    let report = watch(py, tick, |watch| job.run(watch))?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
