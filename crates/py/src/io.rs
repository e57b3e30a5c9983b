//! Storage: description of a real target, timed requests to it, bandwidth of real or simulated
//! storage, and the time of a trace on storage that was measured.

use crate::error::raise;
use crate::watch::watch;
use gordon_cluster::space::measured::MeasuredStorage;
use gordon_cluster::trace::measured_times as timed;
use gordon_config::from_json;
use gordon_probe::{Access, Probe, ProbeOp, Progress, Target, probe};
use gordon_replay::characterise as simulated;
use gordon_replay::config::{HostConfig, TraceLoad};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Describes the file or block device at `path`, as JSON.
#[pyfunction]
pub fn io_target(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let target = py.detach(|| Target::open(&path, Access::ReadOnly)).map_err(raise)?;
    serde_json::to_string(target.description()).map_err(raise)
}

/// Issues requests to the file or block device at `path`, one at a time: reads (0), writes (1) and
/// flushes (3); writes and flushes require `write`. Each request is issued `think_ns` after the
/// previous one completed. Returns the time of issue and of completion of each, in nanoseconds from
/// the start.
#[pyfunction]
#[pyo3(signature = (path, ops, offsets, lengths, think_ns, write=false, tick=None))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub fn io_probe(
    py: Python<'_>,
    path: PathBuf,
    ops: &[u8],
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    think_ns: Vec<u64>,
    write: bool,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<(u64, u64)>> {
    if [offsets.len(), lengths.len(), think_ns.len()] != [ops.len(); 3] {
        return Err(raise("probes: four lists of different lengths"));
    }
    let probes = ops.iter().zip(&offsets).zip(lengths.iter().zip(&think_ns));
    let probes: Vec<Probe> = probes
        .map(|((&op, &offset), (&len, &think_ns))| {
            let op = match op {
                0 => Some(ProbeOp::Read),
                1 => Some(ProbeOp::Write),
                3 => None,
                other => return Err(raise(format!("probes: no operation {other}"))),
            };
            Ok(Probe { op, offset, len, think_ns })
        })
        .collect::<PyResult<_>>()?;
    let access = if write { Access::ReadWrite } else { Access::ReadOnly };
    let work = |watch: &Progress| probe(&Target::open(&path, access)?, &probes, watch);
    let timed = watch(py, tick, work)?.map_err(raise)?;
    Ok(timed.into_iter().map(|timed| (timed.issued_ns, timed.completed_ns)).collect())
}

/// Measures the real storage that `config` (JSON) names; `tick(done, total)` receives points
/// measured.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn io_characterise(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let survey: gordon_probe::CharacteriseConfig = from_json(config, "storage").map_err(raise)?;
    let work = |watch: &Progress| gordon_probe::characterise(&survey, watch);
    serde_json::to_string(&watch(py, tick, work)?.map_err(raise)?).map_err(raise)
}

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
