//! Long operations on a separate thread, with progress and Ctrl-C.

use crate::error::raise;
use gordon_units::Progress;
use pyo3::prelude::*;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Interval at which the interpreter checks for Ctrl-C and reports progress.
const TICK: Duration = Duration::from_millis(100);

/// Runs `work` with the interpreter released. `tell` is called a few times a second, between checks
/// for Ctrl-C, and once at the end. If `tell` or Ctrl-C raises, `stop` is called, and the error is
/// raised when the work has ended.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    mut tell: impl FnMut() -> PyResult<()>,
    stop: impl FnOnce(),
) -> PyResult<T> {
    let waiting = thread::current();
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let result = work();
            waiting.unpark();
            result
        });
        let worker = worker.map_err(no_thread)?;
        let mut watched = Ok(());
        while !worker.is_finished() {
            py.detach(|| thread::park_timeout(TICK));
            if let Err(error) = py.check_signals().and_then(|()| tell()) {
                stop();
                watched = Err(error);
                break;
            }
        }
        let result = py.detach(|| worker.join());
        watched.and_then(|()| tell())?;
        Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The error if the system refuses to start a thread.
fn no_thread(error: io::Error) -> PyErr {
    raise(format!(
        "the system refuses a thread: {error}\n  \
         try: a higher limit of processes (ulimit -u), or fewer programs at once"
    ))
}

/// Runs work that reports its progress; `tick(done, total)` receives it a few times a second.
pub fn watch<T: Send>(
    py: Python<'_>,
    tick: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send,
) -> PyResult<T> {
    let watch = Progress::default();
    let tell = || tick.as_ref().map_or(Ok(()), |tick| tick.call1(watch.progress()).map(|_| ()));
    watched(py, || work(&watch), tell, || watch.stop.store(true, Ordering::Relaxed))
}
