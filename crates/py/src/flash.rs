//! Flash device runs, one or several at once, and write amplification.

use crate::error::raise;
use crate::run::{RunResult, one, several};
use crate::watch::watch;
use gordon_config::from_json;
use gordon_replay::flash::{PreparedRun, run};
use gordon_replay::wa::{WaConfig, write_amplification};
use gordon_ssd::SsdConfig;
use gordon_units::{Bytes, Progress};
use pyo3::prelude::*;

/// Runs the simulation that `config` (JSON) describes.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    one(py, config, tick, run)
}

/// Runs several simulations at once.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn flash_run_all(
    py: Python<'_>,
    configs: Vec<(String, String)>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<RunResult>> {
    several(py, &configs, tick, PreparedRun::new, PreparedRun::run)
}

/// The device `changed` (JSON) with the over-provisioning of `base`, as JSON. With a `capacity`,
/// its planes get the number of blocks which that requires; without one, its capacity follows from
/// its geometry. With `check`, a device too small to exist is an error.
#[pyfunction]
#[pyo3(signature = (base, changed, capacity=None, check=true))]
pub fn flash_provision(
    base: &str,
    changed: &str,
    capacity: Option<&str>,
    check: bool,
) -> PyResult<String> {
    let base: SsdConfig = from_json(base, "device").map_err(raise)?;
    let changed: SsdConfig = from_json(changed, "device").map_err(raise)?;
    let capacity = capacity.map(str::parse::<Bytes>).transpose();
    let capacity = capacity.map_err(|e| raise(format!("capacity: {e}")))?;
    let made = changed.provisioned_as(&base, capacity).map_err(raise)?;
    if check {
        made.check_room(&base).map_err(raise)?;
    }
    serde_json::to_string(&made).map_err(raise)
}

/// Measures the write amplification of the layer that `config` (JSON) describes; returns JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flash_wa(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: WaConfig = from_json(config, "wa").map_err(raise)?;
    let work = |progress: &Progress| write_amplification(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
