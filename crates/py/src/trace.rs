//! Traces: record one, say what is in one.

use crate::error::raise;
use gordon_trace::{CaptureOptions, Profile, Quiet, Trace, record};
use gordon_units::{Bytes, Ns};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs `command` and records it into the folder `out`.
#[pyfunction]
#[pyo3(signature = (out, interval_ns, command, memory_bytes=None))]
pub fn trace_record(
    py: Python<'_>,
    out: PathBuf,
    interval_ns: u64,
    command: Vec<OsString>,
    memory_bytes: Option<u64>,
) -> PyResult<String> {
    let options = CaptureOptions {
        out,
        interval: Ns(interval_ns),
        command,
        memory: memory_bytes.map(Bytes),
        profile: Profile::default(),
    };
    let outcome = py.detach(|| record(&options, &mut Quiet)).map_err(raise)?;
    // A Ctrl-C meanwhile was for the command, whose status tells of it; the interpreter must not
    // raise it once more.
    let _ = py.check_signals();
    json(&outcome)
}

/// What the trace in the folder `path` holds.
#[pyfunction]
pub fn trace_summary(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let summary = py.detach(|| Trace::open(&path)?.summary()).map_err(raise)?;
    json(&summary)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raise)
}
