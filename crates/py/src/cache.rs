//! Caches: replay a trace, which policies there are.

use crate::error::raise;
use crate::watch::watch;
use gordon_cachesim::flashcache::{self, FlashCacheConfig};
use gordon_cachesim::tiered::{self, TieredConfig};
use gordon_cachesim::{CacheRunConfig, CurveConfig, curve, policies, run, sweep};
use gordon_config::from_json;
use gordon_replay::results::listed::{self, Listed};
use gordon_units::Progress;
use pyo3::prelude::*;
use std::path::PathBuf;

/// What a cache that `config` (JSON) describes finds in it, as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn cache_run(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: CacheRunConfig = from_json(config, "cache").map_err(raise)?;
    let work = |progress: &Progress| run(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// What caches that `configs` (JSON, a list) describe find in the one trace of theirs, as JSON: a
/// list.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn cache_sweep(
    py: Python<'_>,
    configs: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let configs: Vec<CacheRunConfig> = from_json(configs, "cache").map_err(raise)?;
    let work = |progress: &Progress| sweep(&configs, progress);
    let reports = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&reports).map_err(raise)
}

/// What LRU caches of many sizes miss, as `config` (JSON) asks, as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn cache_curve(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: CurveConfig = from_json(config, "cache").map_err(raise)?;
    let work = |progress: &Progress| curve(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// What a FlashCache that `config` (JSON) describes made of a trace, as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn flashcache_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: FlashCacheConfig = from_json(config, "flashcache").map_err(raise)?;
    let work = |progress: &Progress| flashcache::run(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// What FlashCaches that `configs` (JSON, a list) describe made of the one trace of theirs, as
/// JSON: a list.
#[pyfunction]
#[pyo3(signature = (configs, tick=None))]
pub fn flashcache_sweep(
    py: Python<'_>,
    configs: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let configs: Vec<FlashCacheConfig> = from_json(configs, "flashcache").map_err(raise)?;
    let work = |progress: &Progress| flashcache::sweep(&configs, progress);
    let reports = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&reports).map_err(raise)
}

/// What a cache of objects in DRAM and flash that `config` (JSON) describes made of a trace, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn tiered_run(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: TieredConfig = from_json(config, "cache").map_err(raise)?;
    let report = watch(py, tick, |progress| tiered::run(&config, progress))?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// Writes tables (JSON: names with their columns, these names with a value for each row) into
/// `folder`, as `NAME.parquet`.
#[pyfunction]
pub fn tables_write(py: Python<'_>, tables: &str, folder: PathBuf) -> PyResult<()> {
    let tables: Listed = from_json(tables, "tables").map_err(raise)?;
    py.detach(|| listed::write(&tables, &folder)).map_err(raise)
}

/// Name, what goes next, and what it follows, of each policy.
#[pyfunction]
pub fn cache_policies() -> Vec<(&'static str, &'static str, &'static str)> {
    policies()
}
