//! Traces: record one, say what is in one, convert one.

use crate::error::raise;
use gordon_trace::formats::{Format, Options, convert};
use gordon_trace::{CaptureOptions, Profile, Quiet, Trace, record};
use gordon_units::{Bytes, Ns};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the interpreter looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(100);

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

/// Name, what it is, what its reader is tested on, whether it is supported and whether it is written
/// too, of each format of block traces.
#[pyfunction]
pub fn trace_formats() -> Vec<(&'static str, &'static str, &'static str, &'static str, bool)> {
    let all = Format::ALL.into_iter();
    all.map(|f| (f.name(), f.about(), f.tested_on(), f.support(), f.is_written())).collect()
}

/// Converts the block trace `source` and says what is in it (JSON).
#[pyfunction]
#[pyo3(signature = (source, target, to, from_=None, *, skip_bad=false, device=None, order="strict", time_unit_ns=None, event=None))]
#[allow(clippy::too_many_arguments)]
pub fn trace_convert(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    to: &str,
    from_: Option<&str>,
    skip_bad: bool,
    device: Option<u32>,
    order: &str,
    time_unit_ns: Option<u64>,
    event: Option<&str>,
) -> PyResult<String> {
    let options = Options {
        skip_bad,
        device,
        order: order.parse().map_err(raise)?,
        time_unit: time_unit_ns.map(Ns),
        event: event.map(str::parse).transpose().map_err(raise)?,
    };
    let to: Format = to.parse().map_err(raise)?;
    let from: Option<Format> = from_.map(str::parse).transpose().map_err(raise)?;
    let stop = AtomicBool::new(false);
    let waiting = thread::current();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = convert(&source, &target, from, to, &options, &stop);
            waiting.unpark();
            result
        });
        let mut watched = Ok(());
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(TICK));
            if let Err(interrupt) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                watched = Err(interrupt);
                break;
            }
        }
        let result = py.detach(|| worker.join());
        watched?;
        match result {
            Ok(Ok(done)) => {
                // The end of a pipe may come of the Ctrl-C that ended who wrote to it.
                py.check_signals()?;
                json(&py.detach(|| done.publish()).map_err(raise)?)
            }
            Ok(Err(error)) => Err(raise(error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raise)
}
