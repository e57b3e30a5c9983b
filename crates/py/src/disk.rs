//! Hard disk runs, one or several at once.

use crate::own::Failure;
use crate::run::{RunResult, one, several};
use gordon_replay::disk::{PreparedRun, run};
use pyo3::prelude::*;

/// Runs the simulation that `config` (JSON) describes.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn disk_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    one(py, config, tick, &Failure::default(), run)
}

/// Runs several simulations at once.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn disk_run_all(
    py: Python<'_>,
    configs: Vec<(String, String)>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<RunResult>> {
    several(py, &configs, tick, &Failure::default(), PreparedRun::new, PreparedRun::run)
}
