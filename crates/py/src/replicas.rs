//! Replicas on flash and on sleeping disks.

use crate::error::raise;
use crate::run::raise_option;
use crate::watch::watch;
use gordon_config::from_json;
use gordon_replay::replicas::{ReplicasConfig, run};
use gordon_units::Progress;
use pyo3::prelude::*;

/// Simulates the replicas that `config` (JSON) describes; returns the report (JSON).
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn replicas(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: ReplicasConfig =
        from_json(config, "replicas").map_err(|error| raise_option(&error, None))?;
    let work = |progress: &Progress| run(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
