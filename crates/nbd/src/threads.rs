//! Threads whose errors name a remedy.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread with this name. The error says what to try.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    with_hint(Builder::new().name(name.to_owned()).spawn(work))
}

/// Starts one of many threads, with a stack of `stack` bytes.
pub fn spawn_small(
    name: &str,
    stack: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    with_hint(Builder::new().name(name.to_owned()).stack_size(stack).spawn(work))
}

fn with_hint<T>(started: io::Result<T>) -> io::Result<T> {
    started.map_err(|error| {
        let try_this = "a higher limit of processes (ulimit -u), or fewer programs at once";
        io::Error::new(
            error.kind(),
            format!("the system refuses a thread: {error}\n  try: {try_this}"),
        )
    })
}
