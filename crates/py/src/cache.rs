//! Cache simulations of a trace, and the list of policies.

use crate::error::raise;
use crate::own::{Failure, is_number, watch_own, wrong_type};
use crate::watch::watch;
use gordon_cachesim::flashcache::{self, FlashCacheConfig};
use gordon_cachesim::tiered::{self, TieredConfig};
use gordon_cachesim::{CacheRunConfig, Chooser, CurveConfig, curve, policies, run, run_own, sweep};
use gordon_config::from_json;
use gordon_units::Progress;
use pyo3::prelude::*;
use std::sync::Arc;

/// Simulates the cache that `config` (JSON) describes on its trace; returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn cache_run(py: Python<'_>, config: &str, tick: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let config: CacheRunConfig = from_json(config, "cache").map_err(raise)?;
    let work = |progress: &Progress| run(&config, progress);
    let report = watch(py, tick, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

/// As [`cache_run`], with the policy `chooser`, an object with the methods `hit(key)`,
/// `insert(key, size)` and `evict()`, which returns a key. Raises what these raise.
#[pyfunction]
#[pyo3(signature = (config, chooser, tick=None))]
pub fn cache_run_own(
    py: Python<'_>,
    config: &str,
    chooser: Py<PyAny>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: CacheRunConfig = from_json(config, "cache").map_err(raise)?;
    let failure = Arc::new(Failure::default());
    let chooser = PyChooser { chooser, failure: Arc::clone(&failure) };
    // Attached once, since each call would otherwise make a thread state of the interpreter.
    let work = |progress: &Progress| Python::attach(|_| run_own(&config, chooser, progress));
    let report = watch_own(py, tick, &failure, work)?.map_err(raise)?;
    serde_json::to_string(&report).map_err(raise)
}

fn not_cached(key: impl std::fmt::Display) -> PyErr {
    raise(format!("evict() returned {key}, which is not in the cache"))
}

/// A policy in Python.
struct PyChooser {
    chooser: Py<PyAny>,
    failure: Arc<Failure>,
}

impl PyChooser {
    fn call(&self, method: &str, key: u64, size: Option<u64>) {
        Python::attach(|py| {
            let chooser = self.chooser.bind(py);
            let called = match size {
                Some(size) => chooser.call_method1(method, (key, size)),
                None => chooser.call_method1(method, (key,)),
            };
            called.map_or_else(|error| self.failure.fail(error), drop);
        });
    }
}

impl Chooser for PyChooser {
    fn hit(&mut self, key: u64) {
        self.call("hit", key, None);
    }

    fn insert(&mut self, key: u64, size: u64) {
        self.call("insert", key, Some(size));
    }

    fn victim(&mut self) -> Option<u64> {
        if self.failure.has_failed() {
            return None;
        }
        let key = Python::attach(|py| {
            let found = self.chooser.bind(py).call_method0("evict")?;
            match found.extract() {
                Ok(key) => Ok(key),
                Err(_) if is_number(&found) => Err(not_cached(&found)),
                Err(_) => Err(wrong_type("evict()", &found, "the key of an object")),
            }
        });
        key.map_err(|error| self.failure.fail(error)).ok()
    }

    fn refused(&mut self, key: u64) {
        self.failure.fail(not_cached(key));
    }
}

/// Simulates the caches that `configs` (JSON list) describe on their common trace; returns a JSON
/// list of reports.
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

/// The miss ratio of LRU caches of many sizes, as `config` (JSON) requests; returns the curve as
/// JSON.
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

/// Simulates the FlashCache that `config` (JSON) describes on its trace; returns the report as
/// JSON.
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

/// Simulates the FlashCaches that `configs` (JSON list) describe on their common trace; returns a
/// JSON list of reports.
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

/// Simulates the cache of objects in DRAM and flash that `config` (JSON) describes on its trace;
/// returns the report as JSON.
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

/// Name, eviction rule and publication of each policy.
#[pyfunction]
pub fn cache_policies() -> Vec<(&'static str, &'static str, &'static str)> {
    policies()
}
