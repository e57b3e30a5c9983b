use gordon_trace::TraceError;
use gordon_units::{Bytes, Stopped};
use std::path::PathBuf;

/// Why a survey cannot be run. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A design names a part that the catalogue lacks.
    #[error(
        "no {kind} part `{name}`; known: {known}\n  \
         try: `gordon parts` lists the catalogue; a space file can define parts"
    )]
    UnknownPart {
        /// The kind of part.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A part or a design holds a value that cannot be.
    #[error("{what}: {why}\n  try: mend it in the space, the part or --set")]
    Impossible {
        /// Which part or design, and which of its values.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A storage cannot be made as its part says; the text has its own hint.
    #[error("storage `{name}`: {why}")]
    Storage {
        /// The part.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The trace has data on more space than the simulated storage has.
    #[error(
        "the trace {path} touches {touched}, more than the {capacity} of {storage}\n  \
         try: a larger storage part, or the trace of a smaller job",
        path = path.display()
    )]
    TooSmall {
        /// The trace.
        path: PathBuf,
        /// Bytes it touches, in whole extents.
        touched: Bytes,
        /// Bytes the storage exports.
        capacity: Bytes,
        /// The storage.
        storage: String,
    },
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for ClusterError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}
