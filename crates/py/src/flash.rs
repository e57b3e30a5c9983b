//! Flash device runs, one or several at once, and write amplification.

use crate::error::raise;
use crate::own::{Failure, PyVictims, watch_own};
use crate::run::{RunResult, one, several};
use crate::watch::watch;
use gordon_config::from_json;
use gordon_replay::ReplayError;
use gordon_replay::config::RunConfig;
use gordon_replay::flash::{OwnVictims, PreparedRun};
use gordon_replay::wa::{WaConfig, write_amplification, write_amplification_own};
use gordon_ssd::SsdConfig;
use gordon_units::{Bytes, Progress};
use pyo3::prelude::*;
use std::sync::Arc;

/// A victim policy in Python: its name, and what makes it (see [`PyVictims`]).
type Own = (String, Py<PyAny>);

/// Prepares runs whose victims a policy in Python chooses, if there is one. Each run makes its own.
fn prepare<'a>(
    own: &'a Option<Own>,
    failure: &'a Arc<Failure>,
) -> impl Fn(&RunConfig, &Progress) -> Result<PreparedRun, ReplayError> + Sync + 'a {
    move |config, progress| {
        let run = PreparedRun::new(config, progress)?;
        let Some((name, make)) = own else { return Ok(run) };
        let make = Python::attach(|py| make.clone_ref(py));
        let chooser = Arc::new(PyVictims::new(make, Arc::clone(failure)));
        Ok(run.choose_victims_by(OwnVictims { name: name.clone(), chooser }))
    }
}

/// Runs the simulation that `config` (JSON) describes. `own` is the name of a victim policy, and
/// what makes it from the number of blocks and that of pages in each.
#[pyfunction]
#[pyo3(signature = (config, tick=None, own=None))]
pub fn flash_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    own: Option<Own>,
) -> PyResult<RunResult> {
    let failure = Arc::default();
    let run = |config: &RunConfig, progress: &Progress| {
        prepare(&own, &failure)(config, progress)?.run(progress)
    };
    one(py, config, tick, &failure, run)
}

/// Runs several simulations at once, all with the same policy.
#[pyfunction]
#[pyo3(signature = (configs, tick=None, own=None))]
pub fn flash_run_all(
    py: Python<'_>,
    configs: Vec<(String, String)>,
    tick: Option<Bound<'_, PyAny>>,
    own: Option<Own>,
) -> PyResult<Vec<RunResult>> {
    let failure = Arc::default();
    several(py, &configs, tick, &failure, prepare(&own, &failure), PreparedRun::run)
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
/// `own` makes a victim policy that takes the place of the configured one.
#[pyfunction]
#[pyo3(signature = (config, tick=None, own=None))]
pub fn flash_wa(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
    own: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: WaConfig = from_json(config, "wa").map_err(raise)?;
    let ran = match own {
        None => watch(py, tick, |progress| write_amplification(&config, progress))?,
        Some(make) => {
            let failure = Arc::<Failure>::default();
            let chooser = Arc::new(PyVictims::new(make, Arc::clone(&failure)));
            watch_own(py, tick, &failure, |progress| {
                write_amplification_own(&config, chooser, progress)
            })?
        }
    };
    let report = ran.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}
