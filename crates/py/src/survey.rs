//! A survey, with progress and Ctrl-C.

use crate::error::raise;
use crate::watch::watched;
use gordon_cluster::node::NodePower;
use gordon_cluster::survey::{Progress, run};
use gordon_cluster::{config, parse};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;

/// Runs the survey that `config` (JSON) describes and returns its report (JSON). `tick(done,
/// total)` is called a few times a second, between looks for Ctrl-C, never by the workers.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn survey(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let survey: config::Survey = parse::from_json(config, "survey").map_err(raise)?;
    let progress = Progress::default();
    let tell = |tick: &Option<Bound<'_, PyAny>>| -> PyResult<()> {
        if let Some(tick) = tick {
            let [done, total] =
                [&progress.done, &progress.total].map(|n| n.load(Ordering::Relaxed));
            tick.call1((done, total))?;
        }
        Ok(())
    };
    let stop = || progress.stop.store(true, Ordering::Relaxed);
    let report = watched(py, || run(&survey, &progress), || tell(&tick), stop)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Idle and greatest watts of a node, without overhead. `config` (JSON) has `design`, `node` and
/// `parts` as a survey has them.
#[pyfunction]
pub fn node_power(config: &str) -> PyResult<(f64, f64)> {
    let alone: config::NodeAlone = parse::from_json(config, "node").map_err(raise)?;
    let power = NodePower::new(&alone.design, &alone.node, 1.0, &alone.parts).map_err(raise)?;
    Ok((power.idle().0, power.max().0))
}
