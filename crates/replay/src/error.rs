use gordon_config::ConfigError;
use gordon_ssd::SsdError;
use gordon_trace::formats::FormatError;
use gordon_units::{Bytes, Ns, Stopped};
use std::path::PathBuf;

/// Why a run ends without a result. The text has the hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The config is not one.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A value that cannot be, or that contradicts another.
    #[error("{what}: {why}\n  try: {hint}")]
    Impossible {
        /// Which value.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to try.
        hint: String,
    },
    /// The flash device cannot exist.
    #[error("{0}\n  try: `gordon flash show NAME` prints a preset; --set KEY=VALUE mends it")]
    Ssd(#[from] SsdError),
    /// The disk cannot exist.
    #[error(transparent)]
    Disk(#[from] gordon_hdd::DiskConfigError),
    /// Disks cannot be one.
    #[error(transparent)]
    Stripe(#[from] gordon_sim::stripe::StripeError),
    /// A disk's description cannot be read.
    #[error("{0}\n  try: the files of DiskSim 4.0's validation set show what belongs there")]
    Diskspecs(#[from] gordon_hdd::diskspecs::SpecError),
    /// The translation layer cannot exist.
    #[error("flash translation layer: {0}\n  try: fewer logical pages, or more blocks")]
    Ftl(#[from] gordon_ftl::FtlConfigError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] FormatError),
    /// A request reaches past the end of the device.
    #[error(
        "request {number} (from 1) ends at byte {end}, the device at {capacity}\n  \
         try: a larger device, or --fit wrap, which takes addresses modulo the capacity",
        capacity = capacity.human()
    )]
    Past {
        /// Its number in the load.
        number: u64,
        /// Where it ends, in bytes.
        end: u64,
        /// What the device exports.
        capacity: Bytes,
    },
    /// A request of a trace reaches past the end of the device.
    #[error(
        "{path}: request {number} (from 1) ends at byte {end}, the device at {capacity}; the trace \
         reaches to {reach}\n  \
         try: --set capacity={room}, or --fit wrap, which takes addresses modulo the capacity",
        path = path.display(), end = end.0, capacity = capacity.human(), reach = reach.human(),
        room = room(*reach)
    )]
    TracePast {
        /// The trace.
        path: PathBuf,
        /// Its number in it.
        number: u64,
        /// Where it ends.
        end: Bytes,
        /// What the device exports.
        capacity: Bytes,
        /// Where the last byte lies that the trace asks for.
        reach: Bytes,
    },
    /// A request is larger than the device.
    #[error(
        "request {number} (from 1) of {len} is larger than the device of {capacity}\n  \
         try: a larger device",
        len = len.human(), capacity = capacity.human()
    )]
    Larger {
        /// Its number in the load.
        number: u64,
        /// Its length.
        len: Bytes,
        /// What the device exports.
        capacity: Bytes,
    },
    /// A request comes before its predecessor.
    #[error(
        "request {number} (from 1) comes at {at}, its predecessor at {before}\n  \
         try: sort the trace by time, or --closed-loop, which takes no times from it"
    )]
    Backwards {
        /// Its number in the load.
        number: u64,
        /// When it comes.
        at: Ns,
        /// When the one before it does.
        before: Ns,
    },
    /// A run of more than 146 years.
    #[error(
        "request {number} (from 1) comes more than 146 years after the first\n  \
         try: --time-unit, if its times are in another, or --closed-loop, which takes no times from it"
    )]
    Late {
        /// Its number in the load.
        number: u64,
    },
    /// The device's map cannot be prepared.
    #[error("preconditioning: {0}")]
    Precondition(String),
    /// A result cannot be written.
    #[error("cannot write {path}: {why}", path = path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for ReplayError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

/// A capacity with room for a trace that reaches so far: whole MiB, or whole GiB where these are
/// more than a thousand.
fn room(reach: Bytes) -> Bytes {
    let grain = if reach.0 < 1000 << 30 { 1 << 20 } else { 1 << 30 };
    Bytes(reach.0.next_multiple_of(grain))
}

impl ReplayError {
    /// A value that cannot be.
    pub fn impossible(what: &str, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.into(), why: why.to_string(), hint: hint.into() }
    }
}
