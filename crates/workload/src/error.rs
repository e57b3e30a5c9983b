//! Why a workload is not generated: what, where, and what to try.

use gordon_trace::TraceError;

/// An error of this crate. The text has the hint on its own line.
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
