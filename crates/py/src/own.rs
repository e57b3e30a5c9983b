//! Policies that are classes of Python: their errors, and the runs that ask them.

use crate::error::raise;
use crate::watch::watched;
use gordon_ssd::VictimChooser;
use gordon_units::{BlockId, Progress};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first error of a policy, after which it is not called again.
#[derive(Debug, Default)]
pub struct Failure {
    has_failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Keeps the error if it is the first one.
    pub fn fail(&self, error: PyErr) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }

    /// Whether a call of the policy failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Raises the error, once.
    fn raise(&self) -> PyResult<()> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }
}

/// As [`watch`](crate::watch::watch), for work that calls a policy: its error stops the work, and
/// is raised.
pub fn watch_own<T: Send>(
    py: Python<'_>,
    tick: Option<Bound<'_, PyAny>>,
    failure: &Failure,
    work: impl FnOnce(&Progress) -> T + Send,
) -> PyResult<T> {
    let watch = Progress::default();
    let tell = || {
        failure.raise()?;
        tick.as_ref().map_or(Ok(()), |tick| tick.call1(watch.progress()).map(|_| ()))
    };
    watched(py, || work(&watch), tell, || watch.stop.store(true, Ordering::Relaxed))
}

/// Whether a method of a policy returned a whole number.
pub fn is_number(found: &Bound<'_, PyAny>) -> bool {
    found.is_instance_of::<PyInt>()
}

/// The error of a method of a policy that returned something else than what was `expected`.
pub fn wrong_type(method: &str, found: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let repr = found.repr().map_or_else(|_| "something".into(), |repr| repr.to_string());
    raise(format!("{method} returned {repr}, not {expected}"))
}

/// A victim policy in Python.
#[derive(Debug)]
pub struct PyVictims {
    /// Makes the policy, from the number of blocks and that of pages in each.
    make: Py<PyAny>,
    policy: OnceLock<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl PyVictims {
    /// A policy that `make(blocks, pages)` makes when the run begins.
    pub fn new(make: Py<PyAny>, failure: Arc<Failure>) -> Self {
        Self { make, policy: OnceLock::new(), failure }
    }

    /// Calls a method of the policy, unless it failed before.
    fn call<T>(&self, method: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.failure.has_failed() {
            return None;
        }
        Python::attach(|py| {
            let policy = self.policy.get()?.bind(py);
            method(policy).map_err(|error| self.failure.fail(error)).ok()
        })
    }

    fn not_a_candidate(found: impl std::fmt::Display) -> PyErr {
        raise(format!("choose() returned {found}, which is not a block that may be collected"))
    }

    fn block(found: &Bound<'_, PyAny>) -> PyResult<BlockId> {
        match found.extract() {
            Ok(number) => Ok(BlockId(number)),
            Err(_) if is_number(found) => Err(Self::not_a_candidate(found)),
            Err(_) => Err(wrong_type("choose()", found, "the number of a block")),
        }
    }
}

impl VictimChooser for PyVictims {
    fn begin(&self, blocks: u32, pages: u32) {
        Python::attach(|py| match self.make.call1(py, (blocks, pages)) {
            Ok(made) => drop(self.policy.set(made)),
            Err(error) => self.failure.fail(error),
        });
    }

    fn update(&self, block: BlockId, valid: u32) {
        self.call(|policy| policy.call_method1("update", (block.0, valid)).map(drop));
    }

    fn collect(&self, block: BlockId) {
        self.call(|policy| policy.call_method1("collect", (block.0,)).map(drop));
    }

    fn choose(&self) -> Option<BlockId> {
        self.call(|policy| Self::block(&policy.call_method0("choose")?))
    }

    fn refuse(&self, block: BlockId) {
        self.failure.fail(Self::not_a_candidate(block.0));
    }
}
