//! Flash devices: a run, several at once, write amplification.

use crate::error::raise;
use crate::run::{RunResult, watch_runs};
use gordon_replay::config::RunConfig;
use gordon_replay::flash::{run, run_all};
use gordon_replay::parse::from_json;
use gordon_replay::run::Progress;
use gordon_replay::wa::{WaConfig, write_amplification};
use pyo3::prelude::*;

/// Runs what `config` (JSON) describes. `tick(done, total)` hears of requests a few times a
/// second.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let config: RunConfig = from_json(config, "run").map_err(raise)?;
    let result = watch_runs(py, tick, |progress| run(&config, progress))?.map_err(raise)?;
    RunResult::new(result)
}

/// Runs several configs at once, one device a core; results in their order.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn flash_run_all(
    py: Python<'_>,
    configs: Vec<String>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<RunResult>> {
    let parsed = configs.iter().map(|config| from_json(config, "run"));
    let configs = parsed.collect::<Result<Vec<RunConfig>, _>>().map_err(raise)?;
    let results = watch_runs(py, tick, |progress| run_all(&configs, progress))?;
    results.into_iter().map(|result| RunResult::new(result.map_err(raise)?)).collect()
}

/// The write amplification of the layer that `config` (JSON) describes, as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_wa(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: WaConfig = from_json(config, "wa").map_err(raise)?;
    let work = |progress: &Progress| write_amplification(&config, progress);
    let report = watch_runs(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
