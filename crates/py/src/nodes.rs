//! Captures of nodes, which run until they are stopped.

use crate::error::{parts, raise};
use crate::trace::raise_capture;
use gordon_capture::CaptureError;
use gordon_capture::nodes::{self, NodesOptions, NodesOutcome, Running, ScopeOutcome};
use gordon_config::from_json;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A capture of nodes that is running. One that is not stopped leaves no traces.
#[pyclass(module = "gordon._core")]
pub struct NodeCapture {
    running: Option<Running>,
}

#[pymethods]
impl NodeCapture {
    /// Starts the capture with `options` (JSON).
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<Self> {
        let options: NodesOptions = from_json(options, "capture").map_err(raise)?;
        let running = py.detach(|| nodes::start(&options)).map_err(raise_capture)?;
        Ok(Self { running: Some(running) })
    }

    /// What is not available.
    fn warnings(&self) -> Vec<String> {
        self.running.as_ref().map(|running| running.warnings().to_vec()).unwrap_or_default()
    }

    /// Completes the traces and describes them as JSON.
    fn stop(&mut self, py: Python<'_>) -> PyResult<String> {
        let running = self.running.take().ok_or_else(|| raise("the capture has been stopped"))?;
        let outcome = py.detach(|| running.stop());
        serde_json::to_string(&report(&outcome)).map_err(raise)
    }
}

fn report(outcome: &NodesOutcome) -> Value {
    let machine = &outcome.machine;
    json!({
        "traces": outcome.traces.iter().map(trace).collect::<Vec<_>>(),
        "machine": {
            "span_ns": machine.span.0,
            "cores": machine.cores,
            "cpu_ns": machine.cpu.0,
            "steal_ns": machine.steal.0,
            "full_ns": machine.full.0,
            "throttled_ns": machine.throttled.map(|time| time.0),
            "psi_cpu_some_ns": machine.cpu_pressure.map(|time| time.0),
            "psi_io_full_ns": machine.io_pressure.map(|time| time.0),
            "psi_memory_some_ns": machine.memory_pressure.map(|time| time.0),
            "memory_bytes": machine.memory.0,
            "memory_peak_bytes": machine.memory_peak.0,
            "read_bytes": machine.read_bytes.0,
            "write_bytes": machine.write_bytes.0,
            "rx_bytes": machine.rx_bytes.0,
            "tx_bytes": machine.tx_bytes.0,
        },
        "capture_cpu_ns": outcome.capture_cpu.0,
    })
}

fn trace(trace: &ScopeOutcome) -> Value {
    let (manifest, error) = match &trace.result {
        Ok(manifest) => (Some(manifest), None),
        Err(error) => {
            let (message, hint, kind) = match error {
                CaptureError::Trace(error) => parts(error),
                other => parts(other),
            };
            (None, Some(json!({ "message": message, "hint": hint, "kind": kind })))
        }
    };
    json!({
        "name": trace.name,
        "folder": trace.folder,
        "scope": manifest.map(|manifest| &manifest.scope),
        "parts": manifest.map(|manifest| &manifest.parts),
        "duration_ns": manifest.map(|manifest| manifest.duration.0),
        "start_unix_ns": manifest.map(|manifest| manifest.start_unix_ns),
        "error": error,
        "warnings": trace.warnings,
    })
}
