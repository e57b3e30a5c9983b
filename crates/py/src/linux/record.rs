//! A recorded command.

use crate::error::raise;
use gordon_capture::{CaptureError, CaptureOptions, NoObserver, record};
use gordon_trace::Profile;
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
    let outcome = py.detach(|| record(&options, &mut NoObserver)).map_err(raise_capture)?;
    // The command also received a Ctrl-C, and its exit status shows that. The interpreter must not
    // raise it again, so the signal is cleared here.
    let _ = py.check_signals();
    serde_json::to_string(&outcome).map_err(raise)
}

/// An error of a capture. One of the trace that it writes has its own kind.
pub fn raise_capture(error: CaptureError) -> PyErr {
    match error {
        CaptureError::Trace(error) => raise(error),
        other => raise(other),
    }
}
