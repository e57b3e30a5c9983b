//! Cluster surveys, with progress and Ctrl-C.

use crate::error::raise;
use crate::watch::watch;
use gordon_cluster::config;
use gordon_cluster::machine_survey::{self, MachineSurvey};
use gordon_cluster::node::NodePower;
use gordon_cluster::survey::run;
use gordon_config::from_json;
use pyo3::prelude::*;

/// Runs the survey that `config` (JSON) describes and returns its report (JSON). `tick(done,
/// total)` is called a few times a second, between checks for Ctrl-C, and never from a worker
/// thread.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn survey(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let survey: config::SurveyConfig = from_json(config, "survey").map_err(raise)?;
    let report = watch(py, tick, |watch| run(&survey, watch))?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Runs the survey of machines that `config` (JSON) describes and returns its report (JSON). `tick`
/// is called as in [`survey`].
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn survey_machines(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let survey: MachineSurvey = from_json(config, "survey").map_err(raise)?;
    let report = watch(py, tick, |watch| machine_survey::run(&survey, watch))?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Idle and maximum power of a node in watts, without overhead. `config` (JSON) has `design`,
/// `node` and `parts` as in a survey.
#[pyfunction]
pub fn node_power(config: &str) -> PyResult<(f64, f64)> {
    let alone: config::NodeAlone = from_json(config, "node").map_err(raise)?;
    let power = NodePower::new(&alone.design, &alone.node, 1.0, &alone.parts).map_err(raise)?;
    Ok((power.idle().0, power.max().0))
}
