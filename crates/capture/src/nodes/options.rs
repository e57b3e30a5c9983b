//! Options of a capture of nodes.

use crate::error::CaptureError;
use crate::record::MIN_INTERVAL;
use gordon_trace::Profile;
use gordon_units::Ns;
use serde::Deserialize;
use std::path::PathBuf;

/// A capture of nodes of this machine, or of the machine itself, until it is stopped.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodesOptions {
    /// What to capture, each into a trace of its own.
    pub scopes: Vec<ScopeOptions>,
    /// Time between samples in nanoseconds, at least 100 ms.
    pub interval_ns: u64,
    /// Samples are taken when the wall clock differs from this time, in nanoseconds since 1970, by
    /// a multiple of the interval.
    #[serde(default)]
    pub phase_unix_ns: u64,
    /// The command that the run is of, for the manifest.
    #[serde(default)]
    pub command: Vec<String>,
    /// Rates that replace counters which a node lacks.
    #[serde(skip)]
    pub profile: Profile,
}

/// A trace to capture.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ScopeOptions {
    /// Of the machine.
    Machine(MachineOptions),
    /// Of a part of it.
    Node(NodeOptions),
}

/// A trace of the machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineOptions {
    /// Name of the machine in warnings and results.
    pub name: String,
    /// Path of the trace, a folder that must not exist.
    pub out: PathBuf,
}

/// A trace of a node. Without processes, network and devices of its own, it has no column.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeOptions {
    /// Name of the node.
    pub name: String,
    /// Path of the trace, a folder that must not exist.
    pub out: PathBuf,
    /// The control group of its processes, from the root of the hierarchies, as `/run/node-1`.
    #[serde(default)]
    pub cgroup: Option<String>,
    /// Processes whose descendants are the node's, if it has no control group.
    #[serde(default)]
    pub processes: Vec<u32>,
    /// Name of the network namespace of the node (`ip netns`), if it has one of its own.
    #[serde(default)]
    pub netns: Option<String>,
    /// A process in the network namespace of the node, if the namespace has no name.
    #[serde(default)]
    pub network_process: Option<u32>,
    /// Names of its block devices, such as `loop3`; not of partitions.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Number of cores that it may use, by its quota; `None` without a quota.
    #[serde(default)]
    pub cores: Option<f64>,
}

impl ScopeOptions {
    /// Name of the node or machine.
    pub fn name(&self) -> &str {
        match self {
            Self::Machine(machine) => &machine.name,
            Self::Node(node) => &node.name,
        }
    }

    /// Path of the trace.
    pub fn out(&self) -> &PathBuf {
        match self {
            Self::Machine(machine) => &machine.out,
            Self::Node(node) => &node.out,
        }
    }
}

impl NodesOptions {
    pub(super) fn check(&self) -> Result<(), CaptureError> {
        let bad = |option, why: String| Err(CaptureError::Option { option, why });
        if Ns(self.interval_ns) < MIN_INTERVAL {
            let why =
                format!("{} is too short\n  try: {MIN_INTERVAL} or more", Ns(self.interval_ns));
            return bad("interval", why);
        }
        if self.scopes.is_empty() {
            return bad("scopes", "there is none\n  try: at least one node or machine".to_owned());
        }
        for (at, scope) in self.scopes.iter().enumerate() {
            let name = scope.name();
            if name.is_empty() {
                return bad("scopes", format!("scope {at} has no name\n  try: a name for each"));
            }
            if self.scopes[..at].iter().any(|other| other.name() == name) {
                let why = format!("two scopes have the name {name}\n  try: another name for each");
                return bad("scopes", why);
            }
            let ScopeOptions::Node(node) = scope else { continue };
            if node.cgroup.is_some() != node.processes.is_empty() {
                let why = format!(
                    "{name} needs either a control group or processes\n  \
                     try: \"cgroup\": \"/PATH\", or \"processes\": [PID]"
                );
                return bad("scopes", why);
            }
            if let Some(cores) = node.cores.filter(|cores| !(cores.is_finite() && *cores > 0.0)) {
                let why = format!("{name} has {cores} cores\n  try: a number above 0");
                return bad("cores", why);
            }
        }
        Ok(())
    }
}
