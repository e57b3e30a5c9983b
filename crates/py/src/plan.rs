//! Plans of jobs on a virtualised array.

use crate::error::raise;
use gordon_config::from_json;
use gordon_plan::Plan;
use pyo3::prelude::*;

/// Simulates the plan that `config` (JSON) describes, and returns its report (JSON).
#[pyfunction]
pub fn plan(py: Python<'_>, config: &str) -> PyResult<String> {
    let plan: Plan = from_json(config, "plan").map_err(raise)?;
    let report = py.detach(|| gordon_plan::run(&plan)).map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
