//! Threads, and what to do if the system refuses one.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread with that name. The error says what to try.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    of(Builder::new().name(name.to_owned()).spawn(work))
}

/// As [`spawn`], for one of many: with a small stack.
pub(crate) fn spawn_small(
    name: &str,
    stack: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    of(Builder::new().name(name.to_owned()).stack_size(stack).spawn(work))
}

fn of<T>(started: io::Result<T>) -> io::Result<T> {
    started.map_err(|error| {
        let try_this = "a higher limit of processes (ulimit -u), or fewer programs at once";
        io::Error::new(
            error.kind(),
            format!("the system refuses a thread: {error}\n  try: {try_this}"),
        )
    })
}
