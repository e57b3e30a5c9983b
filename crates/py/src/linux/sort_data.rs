//! Files of the sort benchmark: generation and validation.

use crate::error::raise;
use crate::watch::watch;
use gordon_sort::{Generate, Progress, SortError, Validated};
use gordon_units::Bytes;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Generates records, numbered from `start`, in one file or striped over several in units of
/// `stripe` bytes; returns a summary as JSON. `tick(done, total)` receives bytes.
#[pyfunction]
#[pyo3(signature = (outputs, records, start=0, ascii=false, skewed=false, stripe=None, tick=None))]
#[allow(clippy::too_many_arguments)] // each by its name
pub fn sort_generate(
    py: Python<'_>,
    outputs: Vec<PathBuf>,
    records: u64,
    start: u128,
    ascii: bool,
    skewed: bool,
    stripe: Option<u64>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let what = Generate { outputs, stripe: stripe.map(Bytes), records, start, ascii, skewed };
    let made = watch(py, tick, |watch| gordon_sort::generate(&what, watch))?.map_err(raise)?;
    serde_json::to_string(&made).map_err(raise)
}

/// Validates files that together form one output; returns a summary of each and of the whole, as
/// JSON. With `summaries`, `paths` are summary files, as valsort's -o and `summary` write them.
/// `tick(done, total)` receives bytes.
#[pyfunction]
#[pyo3(signature = (paths, records=None, summaries=false, summary=None, tick=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn sort_validate(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    records: Option<u64>,
    summaries: bool,
    summary: Option<PathBuf>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let work = |watch: &Progress| {
        let parts = if summaries {
            let read = paths.iter().map(|path| gordon_sort::read_summaries(path));
            read.collect::<Result<Vec<_>, _>>()?.concat()
        } else {
            gordon_sort::validate(&paths, records, watch)?
        };
        let whole = Validated::whole(&parts);
        if let (Some(whole), Some(summary)) = (&whole, &summary) {
            gordon_sort::write_summary(whole, summary, watch)?;
        }
        Ok::<_, SortError>((parts, whole))
    };
    serde_json::to_string(&watch(py, tick, work)?.map_err(raise)?).map_err(raise)
}
