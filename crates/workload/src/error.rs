//! Errors of a generator. Each says what is wrong, where, and what to try.

use gordon_trace::TraceError;

/// An error of a generator. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The file cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An option has a value that is not accepted.
    #[error("{option}: {why}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// What is wrong with its value, and what to try.
        why: String,
    },
    /// The caller stopped the generation.
    #[error("stopped")]
    Stopped,
}
