//! Cluster surveys, with progress and Ctrl-C, and the replays that they need.

use crate::error::raise;
use crate::watch::watch;
use gordon_cluster::ClusterError;
use gordon_cluster::model::job::{self, JobSurvey};
use gordon_cluster::model::paper::{self, PaperSurvey};
use gordon_cluster::space::config;
use gordon_cluster::space::node::NodePower;
use gordon_cluster::trace::replays::{MissingReplays, ReplayJob, ReplayStore, run_job};
use gordon_config::from_json;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;

/// Runs the survey that `config` (JSON) describes and returns its report (JSON). `tick(done,
/// total)` is called a few times a second, between checks for Ctrl-C, and never from a worker
/// thread. Replays are kept in the folder `cache`, if given.
#[pyfunction]
#[pyo3(signature = (config, tick=None, cache=None))]
pub fn survey(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    cache: Option<&str>,
) -> PyResult<String> {
    let survey: PaperSurvey = from_json(config, "survey").map_err(raise)?;
    let store = store(cache)?;
    let report = watch(py, tick, |watch| paper::run_with(&survey, store.as_ref(), watch))?;
    serde_json::to_string(&report.map_err(raise)?).map_err(raise)
}

/// Runs the survey of machines that `config` (JSON) describes and returns its report (JSON). `tick`
/// and `cache` are used as in [`survey`].
#[pyfunction]
#[pyo3(signature = (config, tick=None, cache=None))]
pub fn survey_machines(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    cache: Option<&str>,
) -> PyResult<String> {
    let survey: JobSurvey = from_json(config, "survey").map_err(raise)?;
    let store = store(cache)?;
    let report = watch(py, tick, |watch| job::run_with(&survey, store.as_ref(), watch))?;
    serde_json::to_string(&report.map_err(raise)?).map_err(raise)
}

/// The replays that a survey needs and the folder `cache` does not have (JSON): `jobs` for
/// [`replay_one`], the number `found`, and `warnings`.
#[pyfunction]
pub fn survey_missing(py: Python<'_>, config: &str, cache: &str) -> PyResult<String> {
    let survey: PaperSurvey = from_json(config, "survey").map_err(raise)?;
    missing(py, cache, |store| paper::missing_replays(&survey, store))
}

/// As [`survey_missing`], for a survey of machines.
#[pyfunction]
pub fn survey_machines_missing(py: Python<'_>, config: &str, cache: &str) -> PyResult<String> {
    let survey: JobSurvey = from_json(config, "survey").map_err(raise)?;
    missing(py, cache, |store| job::missing_replays(&survey, store))
}

fn missing(
    py: Python<'_>,
    cache: &str,
    list: impl FnOnce(&ReplayStore) -> Result<MissingReplays, ClusterError> + Send,
) -> PyResult<String> {
    let store = ReplayStore::at(Path::new(cache)).map_err(raise)?;
    let missing = watch(py, None, |_| list(&store))?.map_err(raise)?;
    serde_json::to_string(&missing).map_err(raise)
}

fn store(cache: Option<&str>) -> PyResult<Option<ReplayStore>> {
    cache.map(|path| ReplayStore::at(Path::new(path))).transpose().map_err(raise)
}

/// Computes the entry of a job of [`survey_missing`]. It depends on the job alone, so any process
/// that can read the trace may do it.
#[pyfunction]
pub fn replay_one<'py>(py: Python<'py>, job: &str) -> PyResult<Bound<'py, PyBytes>> {
    let job: ReplayJob = from_json(job, "replay").map_err(raise)?;
    let entry = watch(py, None, |watch| run_job(&job, watch))?.map_err(raise)?;
    Ok(PyBytes::new(py, &entry))
}

/// Adds an entry that [`replay_one`] computed to the folder `cache`.
#[pyfunction]
pub fn replay_keep(cache: &str, job: &str, entry: &[u8]) -> PyResult<()> {
    let job: ReplayJob = from_json(job, "replay").map_err(raise)?;
    let store = ReplayStore::at(Path::new(cache)).map_err(raise)?;
    store.add(&job, entry).map_err(raise)
}

/// Idle and maximum power of a node in watts, without overhead. `config` (JSON) has `design`,
/// `node` and `parts` as in a survey.
#[pyfunction]
pub fn node_power(config: &str) -> PyResult<(f64, f64)> {
    let alone: config::NodeAlone = from_json(config, "node").map_err(raise)?;
    let power = NodePower::new(&alone.design, &alone.node, 1.0, &alone.parts).map_err(raise)?;
    Ok((power.idle().0, power.max().0))
}
