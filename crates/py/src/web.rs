//! Block logs of simulated web servers.

use crate::error::raise;
use crate::watch::watch;
use gordon_config::from_json;
use gordon_units::Progress;
use gordon_workload::{WebConfig, WorkloadError, generate};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;

/// Generates the log that `config` (JSON) describes and returns a summary as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn web_generate(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: WebConfig = from_json(config, "web").map_err(raise)?;
    let work = |progress: &Progress| {
        progress.begin(config.requests);
        generate(&config, |done| {
            progress.done.store(done, Ordering::Relaxed);
            !progress.stopped()
        })
    };
    let report = watch(py, tick, work)?.map_err(|error| match error {
        WorkloadError::Trace(error) => raise(error),
        other => raise(other),
    })?;
    serde_json::to_string(&report).map_err(raise)
}
