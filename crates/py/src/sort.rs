//! The external sort.

use crate::error::raise;
use crate::watch::watched;
use gordon_replay::parse::from_json;
use gordon_sort::{Job, Watch};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;

/// Sorts what `config` (JSON) names; `tick(done, total)` hears of bytes read and written.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn sort_run(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let job: Job = from_json(config, "sort").map_err(raise)?;
    let report = watch_sort(py, tick, |watch| job.run(watch))?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Carries out work on files; `tick(done, total)` hears of its bytes a few times a second.
pub fn watch_sort<T: Send>(
    py: Python<'_>,
    tick: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let tell = || -> PyResult<()> {
        if let Some(tick) = &tick {
            let [done, total] = [&watch.done, &watch.total].map(|n| n.load(Ordering::Relaxed));
            tick.call1((done, total))?;
        }
        Ok(())
    };
    watched(py, || work(&watch), tell, || watch.stop.store(true, Ordering::Relaxed))
}
