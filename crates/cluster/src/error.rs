use gordon_replay::ReplayError;
use gordon_trace::TraceError;
use gordon_trace::spark::EventLogError;
use gordon_units::{Bytes, Stopped};
use std::path::PathBuf;

/// Why a survey cannot be run. The hint is on a line of its own in the text.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A design names a part that is not in the catalogue.
    #[error(
        "no {kind} part `{name}`; known: {known}\n  \
         try: `gordon parts` lists the catalogue; a space file can define parts"
    )]
    UnknownPart {
        /// The kind of part.
        kind: &'static str,
        /// The name in the design.
        name: String,
        /// The names in the catalogue.
        known: String,
    },
    /// A part or a design has an invalid value.
    #[error("{what}: {why}\n  try: {}", hint(what))]
    Impossible {
        /// The part or design, and its value.
        what: String,
        /// Why the value is invalid.
        why: String,
    },
    /// The parameters of a storage part are invalid; the text has its own hint.
    #[error("storage `{name}`: {why}")]
    Storage {
        /// The name of the part.
        name: String,
        /// Why its parameters are invalid.
        why: String,
    },
    /// The trace accesses more space than the simulated storage has.
    #[error(
        "the trace {path} touches {touched}, more than the {capacity} of {storage}\n  \
         try: a larger storage part, or the trace of a smaller job",
        path = path.display()
    )]
    TooSmall {
        /// Path of the trace.
        path: PathBuf,
        /// Bytes that it accesses, in whole extents.
        touched: Bytes,
        /// Capacity of the storage.
        capacity: Bytes,
        /// Name of the storage.
        storage: String,
    },
    /// A measured storage has no times of an operation that a trace has.
    #[error(
        "measured storage `{file}`: it has no {op}, and the trace {path} has some\n  \
         try: measure them too: {}",
        how_to_measure(op),
        path = trace.display()
    )]
    NotMeasured {
        /// File of the measured storage.
        file: String,
        /// Path of the trace.
        trace: PathBuf,
        /// `reads` or `writes`.
        op: &'static str,
    },
    /// The folder that keeps replays cannot be used.
    #[error(
        "cannot keep replays in {path}: {why}\n  \
         try: another folder for --cache, on a file system with free space; replays that are done \
         are kept",
        path = path.display()
    )]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Two traces cover the same part of a machine at the same time.
    #[error(
        "{one} and {other} both cover {common}, at the same time: it would count twice\n  \
         try: one of them, or traces of nodes that share nothing",
        one = one.display(),
        other = other.display()
    )]
    OverlappingScopes {
        /// Path of one trace.
        one: PathBuf,
        /// Path of the other trace.
        other: PathBuf,
        /// What both cover.
        common: String,
    },
    /// A process that computes a replay cannot read the trace that is surveyed.
    #[error(
        "a worker cannot read the trace {path}: {why}\n  \
         try: keep the traces in a folder that all machines of the cluster share, at the same path",
        path = path.display()
    )]
    NotShared {
        /// Path of the trace.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another version of Gordon asked for a replay.
    #[error(
        "a worker has Gordon {here}, but the survey needs results of {there}\n  \
         try: install the same version on all machines of the cluster"
    )]
    OtherVersion {
        /// The version that runs here.
        here: String,
        /// The version that made the job.
        there: String,
    },
    /// The table of designs cannot be written.
    #[error(
        "cannot write {path}: {why}\n  try: free some space, or name another folder",
        path = path.display()
    )]
    Table {
        /// Path of the table.
        path: PathBuf,
        /// Why it cannot be written.
        why: std::io::Error,
    },
    /// The space has no design.
    #[error(
        "the space has no design\n  \
         try: give processors at least one clock and count, and storage at least one count"
    )]
    NoDesigns,
    /// Two designs of the space have the same name.
    #[error(
        "the space has two designs `{id}`\n  \
         try: give each storage its own label, and list each choice once"
    )]
    SameName {
        /// Name of the designs.
        id: String,
    },
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An event log cannot be read.
    #[error(transparent)]
    EventLog(EventLogError),
    /// A block trace cannot be read.
    #[error(transparent)]
    Requests(ReplayError),
    /// The user stopped the survey.
    #[error("interrupted")]
    Interrupted,
}

/// What to try for an invalid value.
fn hint(what: &str) -> &'static str {
    match what {
        trace if trace.starts_with("trace ") => "record or convert the trace again, or another one",
        stages if stages.starts_with("stages") => "correct the stages of the job",
        log if log.starts_with("event log ") => "the log of an application whose tasks succeeded",
        traces if traces.starts_with("traces of ") => {
            "records of the same hours, all with times in UTC (sadf -j without -t and -T)"
        }
        "nodes" => "--nodes 2..8",
        "partitions" => "--partitions 200",
        "headroom" => "--headroom 30%",
        "executor" => {
            "--set executor.memory=4GiB, --set executor.cores=2, or a space with larger machines"
        }
        goal if goal.starts_with("goals.") => {
            "correct --deadline, --max-power, --max-price, --min-life or --objective"
        }
        _ => "correct it in the space, the part or --set",
    }
}

/// How to measure an operation.
fn how_to_measure(op: &str) -> &'static str {
    match op {
        "writes" => {
            "`gordon storage characterise FOLDER --json FILE`, or --write to overwrite the data of \
             a file or device"
        }
        _ => "`gordon storage characterise --patterns sequential-read,random-read --json FILE`",
    }
}

impl From<Stopped> for ClusterError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

impl From<ReplayError> for ClusterError {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Interrupted => Self::Interrupted,
            other => Self::Requests(other),
        }
    }
}

impl From<EventLogError> for ClusterError {
    fn from(error: EventLogError) -> Self {
        match error {
            EventLogError::Stopped => Self::Interrupted,
            other => Self::EventLog(other),
        }
    }
}
