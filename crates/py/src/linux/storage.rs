//! Real storage: description of a target, timed requests to it, and its bandwidth.

use crate::error::raise;
use crate::watch::watch;
use gordon_config::from_json;
use gordon_probe::{Access, Probe, ProbeOp, Progress, Target, probe};
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
