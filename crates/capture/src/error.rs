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
    #[error(
        "cannot run {command}: {source}\n  try: {hint}",
        hint = hint(source, "check that it is a program you may run")
    )]
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
    /// A node has a control group that does not exist, or that counts no CPU time.
    #[error(
        "{node}: no control group {group} that counts CPU time\n  \
         try: a path from the root of a hierarchy in which `cpuacct` (version 1) or cpu.stat \
         (version 2) exists"
    )]
    UnknownControlGroup {
        /// Name of the node.
        node: String,
        /// Path of the group.
        group: String,
    },
    /// A node has a process that does not exist.
    #[error("{node}: there is no process {pid}\n  try: start the node before its capture")]
    UnknownProcess {
        /// Name of the node.
        node: String,
        /// Number of the process.
        pid: u32,
    },
    /// A node has a network namespace that does not exist.
    #[error("{node}: there is no network namespace {namespace}\n  try: ip netns list")]
    UnknownNamespace {
        /// Name of the node.
        node: String,
        /// Name of the namespace.
        namespace: String,
    },
    /// A node has a device that does not exist, or that is a partition.
    #[error(
        "{node}: there is no block device {device}\n  \
         try: a name in /sys/block; a partition has no counters of its requests, name its disk"
    )]
    UnknownDevice {
        /// Name of the node.
        node: String,
        /// Name of the device.
        device: String,
    },
    /// Two nodes have something in common, which would count twice.
    #[error(
        "{one} and {other} both have {common}\n  try: nodes that share no {what}",
        what = "processes, devices or network namespaces"
    )]
    OverlappingScopes {
        /// Name of one node.
        one: String,
        /// Name of the other.
        other: String,
        /// What they have in common.
        common: String,
    },
    /// The system refuses something that capture needs.
    #[error(
        "capture: {what}: {source}\n  try: {hint}",
        hint = hint(source, "check that /proc is mounted")
    )]
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
