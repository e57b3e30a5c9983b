//! Input data of cluster jobs.

use crate::error::raise;
use crate::watch::watch;
use gordon_config::from_json;
use gordon_workload::{CorpusConfig, generate_corpus};
use pyo3::prelude::*;

/// Generates the corpus that `config` (JSON) describes and returns its manifest as JSON.
/// `tick(done, total)` receives bytes.
#[pyfunction]
#[pyo3(signature = (config, tick=None))]
pub fn corpus_generate(
    py: Python<'_>,
    config: &str,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: CorpusConfig = from_json(config, "corpus").map_err(raise)?;
    let made = watch(py, tick, |progress| generate_corpus(&config, progress))?.map_err(raise)?;
    serde_json::to_string(&made).map_err(raise)
}
