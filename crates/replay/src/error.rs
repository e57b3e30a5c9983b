use gordon_config::ConfigError;
use gordon_ssd::SsdError;
use gordon_trace::formats::FormatError;
use gordon_units::{Bytes, Ns, Stopped};
use std::path::PathBuf;

/// Reason why a run has no result. The message ends with a hint on its own line.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The config cannot be parsed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A value is invalid or contradicts another.
    #[error("{what}: {why}\n  try: {hint}")]
    Impossible {
        /// The key or file.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to try.
        hint: String,
    },
    /// The flash device is invalid.
    #[error(
        "{0}\n  try: `gordon flash show NAME` prints a preset; --set KEY=VALUE changes a value"
    )]
    Ssd(#[from] SsdError),
    /// The disk is invalid.
    #[error(transparent)]
    Disk(#[from] gordon_hdd::DiskConfigError),
    /// The devices cannot be striped.
    #[error(transparent)]
    Stripe(#[from] gordon_sim::stripe::StripeError),
    /// The description of a disk cannot be read.
    #[error("{0}\n  try: the files of DiskSim 4.0's validation set show what belongs there")]
    Diskspecs(#[from] gordon_hdd::diskspecs::SpecError),
    /// The translation layer is configured inconsistently.
    #[error("flash translation layer: {0}\n  try: fewer logical pages, or more blocks")]
    Ftl(#[from] gordon_ftl::FtlConfigError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] FormatError),
    /// A request ends beyond the capacity.
    #[error(
        "request {number} (from 1) ends at byte {end}, the device at {capacity}\n  \
         try: a larger device, or --fit wrap, which takes addresses modulo the capacity",
        capacity = capacity.human()
    )]
    Past {
        /// Number of the request in the load, from 1.
        number: u64,
        /// End of the request in bytes.
        end: u64,
        /// Exported capacity.
        capacity: Bytes,
    },
    /// A request of a trace ends beyond the capacity.
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
        /// Number of the request in the trace, from 1.
        number: u64,
        /// End of the request.
        end: Bytes,
        /// Exported capacity.
        capacity: Bytes,
        /// End of the highest address in the trace.
        reach: Bytes,
    },
    /// A request is larger than the device.
    #[error(
        "request {number} (from 1) of {len} is larger than the device of {capacity}\n  \
         try: a larger device",
        len = len.human(), capacity = capacity.human()
    )]
    Larger {
        /// Number of the request in the load, from 1.
        number: u64,
        /// Length of the request.
        len: Bytes,
        /// Exported capacity.
        capacity: Bytes,
    },
    /// A request is earlier than its predecessor.
    #[error(
        "request {number} (from 1) comes at {at}, its predecessor at {before}\n  \
         try: sort the trace by time, or --closed-loop, which takes no times from it"
    )]
    Backwards {
        /// Number of the request in the load, from 1.
        number: u64,
        /// Time of the request.
        at: Ns,
        /// Time of its predecessor.
        before: Ns,
    },
    /// The run would take more than 146 years.
    #[error(
        "request {number} (from 1) comes more than 146 years after the first\n  \
         try: --time-unit, if its times are in another, or --closed-loop, which takes no times \
         from it"
    )]
    Late {
        /// Number of the request in the load, from 1.
        number: u64,
    },
    /// The map of the device cannot be prepared.
    #[error("preconditioning: {0}")]
    Precondition(String),
    /// An output file cannot be written.
    #[error("cannot write {path}: {why}", path = path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl From<Stopped> for ReplayError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

/// A capacity that includes `reach`: in whole MiB, or in whole GiB above a thousand GiB.
fn room(reach: Bytes) -> Bytes {
    let grain = if reach.0 < 1000 << 30 { 1 << 20 } else { 1 << 30 };
    Bytes(reach.0.next_multiple_of(grain))
}

/// The option of a command that sets the last part of a key of a config: `--queue-depth` for
/// `host.queue_depth`.
pub fn option_name(key: &str) -> String {
    let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
    // An element of a list is part of the option's value.
    let name = name.split('[').next().unwrap_or(name);
    format!("--{}", name.replace('_', "-"))
}

impl ReplayError {
    /// Creates an error about the value of a command's option, which has the name of the config's
    /// `key`.
    pub(crate) fn option(key: &str, why: impl ToString, hint: &str) -> Self {
        Self::impossible(&option_name(key), why, hint)
    }

    /// Creates an error about an invalid value.
    pub fn impossible(what: &str, why: impl ToString, hint: &str) -> Self {
        Self::Impossible { what: what.into(), why: why.to_string(), hint: hint.into() }
    }
}
