//! Storage: bandwidth of simulated storage, and the time of a trace on storage that was measured.

use crate::error::raise;
use crate::watch::watch;
use gordon_cluster::space::measured::MeasuredStorage;
use gordon_cluster::trace::measured_times as timed;
use gordon_config::from_json;
use gordon_replay::characterise as simulated;
use gordon_replay::config::{HostConfig, TraceLoad};
use gordon_units::Progress;
use pyo3::prelude::*;

/// Measures the simulated storage that `config` (JSON) describes; `tick` receives requests.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn device_characterise(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let survey: simulated::CharacteriseConfig = from_json(config, "storage").map_err(raise)?;
    let work = |progress: &Progress| simulated::characterise(&survey, progress);
    serde_json::to_string(&watch(py, tick, work)?.map_err(raise)?).map_err(raise)
}

/// The time of the trace `load` (JSON), issued by `host` (JSON), on the measured `storage` (JSON),
/// which is in `file`; `tick` receives requests.
#[pyfunction]
#[pyo3(signature = (storage, file, host, load, tick=None))]
pub fn measured_times(
    py: Python<'_>,
    storage: &str,
    file: &str,
    host: &str,
    load: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let storage: MeasuredStorage = from_json(storage, "storage").map_err(raise)?;
    let host: HostConfig = from_json(host, "host").map_err(raise)?;
    let load: TraceLoad = from_json(load, "trace").map_err(raise)?;
    let work = |progress: &Progress| timed::measured_times(&storage, file, &host, &load, progress);
    serde_json::to_string(&watch(py, tick, work)?.map_err(raise)?).map_err(raise)
}
