//! Hard disks: a run.

use crate::error::raise;
use crate::run::{RunResult, watch_runs};
use gordon_replay::disk::{DiskRunConfig, run};
use gordon_replay::parse::from_json;
use pyo3::prelude::*;

/// Runs what `config` (JSON) describes. `tick(done, total)` hears of requests a few times a
/// second.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn disk_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let config: DiskRunConfig = from_json(config, "run").map_err(raise)?;
    let result = watch_runs(py, tick, |progress| run(&config, progress))?.map_err(raise)?;
    RunResult::new(result)
}
