//! Errors of a capture, after which there is no trace. Each says what is wrong, where, and what to
//! try.

use gordon_trace::TraceError;
use std::io;

/// An error of a capture. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The command to trace does not exist.
    #[error("command not found: {0}\n  try: check the name, or give its path")]
    CommandNotFound(String),
    /// The command to trace cannot be started.
    #[error("cannot run {command}: {source}\n  try: {hint}", hint = hint(source, "check that it is a program you may run"))]
    CannotRun {
        /// The program, without its arguments.
        command: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// An option has a value that is not accepted.
    #[error("{option}: {why}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// What is wrong with its value, and what to try.
        why: String,
    },
    /// The system refuses something that capture needs.
    #[error("capture: {what}: {source}\n  try: {hint}", hint = hint(source, "check that /proc is mounted"))]
    System {
        /// What capture needs.
        what: String,
        /// The error of the system call.
        source: io::Error,
    },
}

/// What to try after an error of the system: `usual`, unless a limit of processes was reached.
fn hint<'a>(error: &io::Error, usual: &'a str) -> &'a str {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            "a higher limit of processes (ulimit -u), or fewer programs at once"
        }
        _ => usual,
    }
}
