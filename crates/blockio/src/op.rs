//! Operations of block requests.

use serde::{Deserialize, Serialize};

/// Operation of a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoOp {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// Discard (trim) the range: its content may be lost.
    Discard,
    /// Make all writes acknowledged before it durable. A flush has no range.
    Flush,
}

impl IoOp {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Discard, Self::Flush];

    /// Name of the operation in trace files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }
}
