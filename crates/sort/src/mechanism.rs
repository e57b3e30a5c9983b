//! The mechanism that carries out the transfers of a queue: threads, with one positioned call each,
//! or one thread through io_uring.

use crate::SortError;
use crate::queue::IoQueue;
use crate::threads::start;
use crate::uring::Uring;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::thread::Scope;

/// Mechanism that carries out transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// `uring` if the system permits it, otherwise `threads`.
    #[default]
    Auto,
    /// io_uring, the asynchronous I/O interface of Linux.
    Uring,
    /// A pool of threads. Each thread waits for one transfer at a time.
    Threads,
}

/// The reason why the system does not let us use io_uring; `None` if it does.
pub fn io_uring_error() -> Option<String> {
    Uring::new(1).err().map(|error| error.to_string())
}

/// Starts to carry out requests, at most `depth` at a time; returns the mechanism in use.
pub fn serve<'scope, 'env>(
    queue: &'env IoQueue,
    scope: &'scope Scope<'scope, 'env>,
    io: Io,
    depth: u32,
) -> Result<Io, SortError> {
    let uring = if io == Io::Threads { None } else { Some(Uring::new(depth)) };
    match uring {
        Some(Ok(uring)) => {
            start(scope, || uring.serve(queue))?;
            Ok(Io::Uring)
        }
        Some(Err(error)) if io == Io::Uring => {
            let why = format!("the system does not let us use io_uring: {error}");
            Err(SortError::impossible("--io uring", why, "--io auto, or threads"))
        }
        _ => {
            for _ in 0..depth {
                start(scope, || queue.serve())?;
            }
            Ok(Io::Threads)
        }
    }
}
