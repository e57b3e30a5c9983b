//! Commands of a host to a device that holds data.

/// A command of a host. Offsets and lengths are in bytes. The length of a read or write is that of
/// its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read into the buffer.
    Read {
        /// Start of the range.
        offset: u64,
    },
    /// Write the buffer.
    Write {
        /// Start of the range.
        offset: u64,
        /// Complete only when the data are durable.
        fua: bool,
    },
    /// Make durable what completed before the flush was submitted.
    Flush,
    /// Discard the data of the range: the host no longer needs them.
    Trim {
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        length: u64,
        /// Complete only when the trim is durable.
        fua: bool,
    },
    /// Make the range read as zeros.
    WriteZeroes {
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        length: u64,
        /// Complete only when the zeros are durable.
        fua: bool,
        /// Keep the range allocated, so that later writes to it do not fail for lack of space.
        no_hole: bool,
        /// Fail and change nothing if this is not faster than a write.
        fast: bool,
    },
}

impl Command {
    /// Whether its completion must wait for a sync.
    #[must_use]
    pub const fn wants_durable(&self) -> bool {
        match *self {
            Self::Read { .. } => false,
            Self::Flush => true,
            Self::Write { fua, .. } | Self::Trim { fua, .. } | Self::WriteZeroes { fua, .. } => fua,
        }
    }
}
