//! Threads of a scope, and the first error of any of them.

use crate::Progress;
use crate::SortError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

/// Starts a thread of `scope`, if the system permits it.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> Result<(), SortError> {
    let started = thread::Builder::new().spawn_scoped(scope, work);
    started.map(drop).map_err(|error| {
        let why = format!("the system refuses more: {error}");
        SortError::impossible("threads", why, "fewer (--threads), or a higher limit (ulimit -u)")
    })
}

/// The first error of several threads.
#[derive(Default)]
pub struct FirstError {
    first: Mutex<Option<SortError>>,
    any: AtomicBool,
}

impl FirstError {
    /// Keeps an error if it is the first.
    pub fn note(&self, result: Result<(), SortError>) {
        if let Err(error) = result {
            self.any.store(true, Ordering::Relaxed);
            self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Returns an error if a thread has failed or a stop was requested.
    pub fn check(&self, progress: &Progress) -> Result<(), SortError> {
        if self.any.load(Ordering::Relaxed) {
            Err(SortError::Interrupted)
        } else {
            Ok(progress.check()?)
        }
    }

    pub fn result(self) -> Result<(), SortError> {
        self.first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
