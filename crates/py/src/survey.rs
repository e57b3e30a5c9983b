//! Cluster surveys, with progress and Ctrl-C, and the replays that they need.

use crate::error::raise;
use crate::watch::watch;
use gordon_cluster::model::bill::{BillInputs, BillReport};
use gordon_cluster::model::doubt::BillDraws;
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::mean::JobMean;
use gordon_cluster::model::paper::PaperSurvey;
use gordon_cluster::model::paper::mean::PaperMean;
use gordon_cluster::model::service::ServiceSurvey;
use gordon_cluster::model::tasks::TasksSurvey;
use gordon_cluster::space::config::NodeAlone;
use gordon_cluster::space::node::NodePower;
use gordon_cluster::space::operation::Operation;
use gordon_cluster::survey::{RunningFront, Survey, missing_replays, run_with};
use gordon_cluster::trace::replays::{ReplayJob, ReplayStore, run_job};
use gordon_config::from_json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Runs the survey by `model`, which `config` (JSON) describes, and returns its report (JSON).
/// `tick(done, total)` is called a few times a second, between checks for Ctrl-C, and never from a
/// worker thread. Replays are kept in the folder `cache`, if given.
#[pyfunction]
#[pyo3(signature = (model, config, tick=None, cache=None))]
pub fn survey(
    py: Python<'_>,
    model: &str,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    cache: Option<&str>,
) -> PyResult<String> {
    match model {
        PAPER => simulated::<PaperSurvey>(py, config, tick, cache),
        JOB => simulated::<JobSurvey>(py, config, tick, cache),
        TASKS => simulated::<TasksSurvey>(py, config, tick, cache),
        SERVICE => simulated::<ServiceSurvey>(py, config, tick, cache),
        _ => Err(unknown(model)),
    }
}

/// Indices of the points that no other beats. All points have as many numbers as the first one;
/// the least of each is best. They are in the order of the first number, then of the next ones.
#[pyfunction]
pub fn pareto_front(points: Vec<Vec<f64>>) -> PyResult<Vec<u64>> {
    let count = points.first().map_or(0, Vec::len);
    let mut front = RunningFront::new(count);
    for (number, point) in (0..).zip(&points) {
        if point.len() != count {
            return Err(PyValueError::new_err("points have different numbers of objectives"));
        }
        front.add(number, point);
    }
    Ok(front.finish().0)
}

/// The mean of surveys of several jobs by `model`, which `config` (JSON) describes: its designs,
/// their front and the named ones (JSON).
#[pyfunction]
pub fn survey_mean(model: &str, config: &str) -> PyResult<String> {
    let text = match model {
        PAPER => {
            let mean: PaperMean = from_json(config, "mean").map_err(raise)?;
            mean.report().map(|report| serde_json::to_string(&report))
        }
        JOB => {
            let mean: JobMean = from_json(config, "mean").map_err(raise)?;
            mean.report().map(|report| serde_json::to_string(&report))
        }
        _ => return Err(PyValueError::new_err(format!("no mean of surveys by `{model}`"))),
    };
    text.ok_or_else(|| PyValueError::new_err("no job"))?.map_err(raise)
}

/// What runs cost (JSON): a bill for each of `cases` (JSON), which have `inputs` and `operation`.
#[pyfunction]
pub fn bills(cases: &str) -> PyResult<String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        inputs: BillInputs,
        operation: Operation,
    }
    let cases: Vec<Case> = from_json(cases, "bills").map_err(raise)?;
    let bill = |case: &Case| -> PyResult<BillReport> {
        case.operation.check().map_err(raise)?;
        Ok(case.inputs.report(&case.operation))
    };
    let found = cases.iter().map(bill).collect::<PyResult<Vec<BillReport>>>()?;
    json(&found)
}

/// What moves a figure of a bill (JSON), by the `draws` (JSON) of its inputs.
#[pyfunction]
pub fn bill_doubts(draws: &str) -> PyResult<String> {
    json(&drawn(draws)?.doubts())
}

/// How often each design is the best one (JSON), by the `draws` (JSON) of the inputs of all.
#[pyfunction]
pub fn bill_ranking(draws: &str) -> PyResult<String> {
    json(&drawn(draws)?.ranking())
}

fn drawn(draws: &str) -> PyResult<BillDraws> {
    let draws: BillDraws = from_json(draws, "draws").map_err(raise)?;
    draws.operation.check().map_err(raise)?;
    Ok(draws)
}

fn json(report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The replays that a survey needs and the folder `cache` does not have (JSON): `jobs` for
/// [`replay_one`], the number `found`, and `warnings`.
#[pyfunction]
pub fn survey_missing(py: Python<'_>, model: &str, config: &str, cache: &str) -> PyResult<String> {
    match model {
        PAPER => missing::<PaperSurvey>(py, config, cache),
        JOB => missing::<JobSurvey>(py, config, cache),
        TASKS => missing::<TasksSurvey>(py, config, cache),
        SERVICE => missing::<ServiceSurvey>(py, config, cache),
        _ => Err(unknown(model)),
    }
}

/// The models, as callers name them.
const PAPER: &str = "paper";
const JOB: &str = "job";
const TASKS: &str = "tasks";
const SERVICE: &str = "service";

fn unknown(model: &str) -> PyErr {
    PyValueError::new_err(format!(
        "no model `{model}`; there are `{PAPER}`, `{JOB}`, `{TASKS}` and `{SERVICE}`"
    ))
}

fn simulated<S: Survey + DeserializeOwned>(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    cache: Option<&str>,
) -> PyResult<String> {
    let survey: S = from_json(config, "survey").map_err(raise)?;
    let store = cache.map(|path| ReplayStore::at(Path::new(path))).transpose().map_err(raise)?;
    let report = watch(py, tick, |watch| run_with(&survey, store.as_ref(), watch))?;
    serde_json::to_string(&report.map_err(raise)?).map_err(raise)
}

fn missing<S: Survey + DeserializeOwned>(
    py: Python<'_>,
    config: &str,
    cache: &str,
) -> PyResult<String> {
    let survey: S = from_json(config, "survey").map_err(raise)?;
    let store = ReplayStore::at(Path::new(cache)).map_err(raise)?;
    let missing =
        watch(py, None, |progress| missing_replays(&survey, &store, progress))?.map_err(raise)?;
    serde_json::to_string(&missing).map_err(raise)
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
    let alone: NodeAlone = from_json(config, "node").map_err(raise)?;
    let power = NodePower::new(&alone.design, &alone.node, 1.0, &alone.parts).map_err(raise)?;
    Ok((power.idle().0, power.max().0))
}
