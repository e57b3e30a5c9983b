//! Captures of nodes, which run until they are stopped.

use super::record::raise_capture;
use crate::error::{parts, raise};
use gordon_capture::CaptureError;
use gordon_capture::nodes::{
    self, MachineTotals, NodesOptions, NodesOutcome, Running, ScopeOutcome,
};
use gordon_config::from_json;
use gordon_trace::{Scope, TracePart};
use gordon_units::Ns;
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

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
        serde_json::to_string(&CaptureReport::from(outcome)).map_err(raise)
    }
}

/// A capture of nodes that has stopped.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CaptureReport {
    /// The trace of each node or machine, in the order of the options.
    traces: Vec<CapturedTrace>,
    /// Totals of the machine over the time of the capture.
    machine: MachineUse,
    /// CPU time of the capture.
    capture_cpu_ns: u64,
}

/// The trace of a node or machine. Without a trace, what describes it is `None`.
#[derive(Serialize, JsonSchema)]
struct CapturedTrace {
    /// Name of the node or machine.
    name: String,
    /// Folder of the trace.
    folder: PathBuf,
    /// What the trace covers.
    scope: Option<Scope>,
    /// The files of the trace.
    parts: Option<Vec<TracePart>>,
    /// Time from the start of the capture to its end.
    duration_ns: Option<u64>,
    /// Start of the trace, since 1970.
    start_unix_ns: Option<u64>,
    /// Why there is no trace.
    error: Option<CapturedError>,
    /// What was not available, and what happened during the capture.
    warnings: Vec<String>,
}

/// Why there is no trace.
#[derive(Serialize, JsonSchema)]
struct CapturedError {
    /// What is wrong.
    message: String,
    /// What to try; empty if unknown.
    hint: String,
    /// The kind of the error.
    kind: String,
}

/// Totals of a machine over the time of a capture. `None` is unknown.
#[derive(Serialize, JsonSchema)]
struct MachineUse {
    /// Length of the capture.
    span_ns: u64,
    /// Number of cores.
    cores: usize,
    /// CPU time of all cores.
    cpu_ns: u64,
    /// Time that the hypervisor gave to others, summed over the cores.
    steal_ns: u64,
    /// Time of the samples in which at least 95 % of the time of all cores was used or stolen.
    full_ns: u64,
    /// Time in which a CPU quota around the capture held it back.
    throttled_ns: Option<u64>,
    /// Time in which a task waited for a core.
    psi_cpu_some_ns: Option<u64>,
    /// Time in which all tasks waited for I/O.
    psi_io_full_ns: Option<u64>,
    /// Time in which a task waited for memory.
    psi_memory_some_ns: Option<u64>,
    /// Memory of the machine.
    memory_bytes: u64,
    /// The most memory in use in a sample, without page cache that can be dropped.
    memory_peak_bytes: u64,
    /// Bytes read from the disks that are made of no other devices.
    read_bytes: u64,
    /// Bytes written to these.
    write_bytes: u64,
    /// Bytes received from the network.
    rx_bytes: u64,
    /// Bytes sent.
    tx_bytes: u64,
}

impl From<NodesOutcome> for CaptureReport {
    fn from(outcome: NodesOutcome) -> Self {
        Self {
            traces: outcome.traces.into_iter().map(CapturedTrace::from).collect(),
            machine: outcome.machine.into(),
            capture_cpu_ns: outcome.capture_cpu.0,
        }
    }
}

impl From<MachineTotals> for MachineUse {
    fn from(machine: MachineTotals) -> Self {
        let ns = |time: Option<Ns>| time.map(|time| time.0);
        Self {
            span_ns: machine.span.0,
            cores: machine.cores,
            cpu_ns: machine.cpu.0,
            steal_ns: machine.steal.0,
            full_ns: machine.full.0,
            throttled_ns: ns(machine.throttled),
            psi_cpu_some_ns: ns(machine.cpu_pressure),
            psi_io_full_ns: ns(machine.io_pressure),
            psi_memory_some_ns: ns(machine.memory_pressure),
            memory_bytes: machine.memory.0,
            memory_peak_bytes: machine.memory_peak.0,
            read_bytes: machine.read_bytes.0,
            write_bytes: machine.write_bytes.0,
            rx_bytes: machine.rx_bytes.0,
            tx_bytes: machine.tx_bytes.0,
        }
    }
}

impl From<ScopeOutcome> for CapturedTrace {
    fn from(trace: ScopeOutcome) -> Self {
        let (manifest, error) = match trace.result {
            Ok(manifest) => (Some(manifest), None),
            Err(error) => {
                let (message, hint, kind) = match &error {
                    CaptureError::Trace(error) => parts(error),
                    other => parts(other),
                };
                (None, Some(CapturedError { message, hint, kind }))
            }
        };
        Self {
            name: trace.name,
            folder: trace.folder,
            duration_ns: manifest.as_ref().map(|manifest| manifest.duration.0),
            start_unix_ns: manifest.as_ref().map(|manifest| manifest.start_unix_ns),
            scope: manifest.as_ref().map(|manifest| manifest.scope.clone()),
            parts: manifest.map(|manifest| manifest.parts),
            error,
            warnings: trace.warnings,
        }
    }
}
