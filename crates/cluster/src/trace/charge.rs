//! Whose processor time a survey simulates, and the speed of a traced processor.

use gordon_units::Sourced;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processor time and cache misses that a survey simulates. Network and block I/O are always those
/// of the whole machine, because a trace does not record them by command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Charge {
    /// Those of the command if the trace has them, otherwise those of the machine.
    #[default]
    Auto,
    /// Those of the whole machine.
    Machine,
    /// Those of the traced command and all of its descendants.
    Command,
}

impl Charge {
    /// What several traces have in common: `Auto` if they differ.
    pub(crate) fn common(of_traces: impl IntoIterator<Item = Self>) -> Self {
        let mut all = of_traces.into_iter();
        let first = all.next().unwrap_or_default();
        if all.all(|other| other == first) { first } else { Self::Auto }
    }
}

/// Speed of the processor on which traces without hardware counters were recorded.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Name of the processor in the catalogue of parts.
    pub name: String,
    /// Instructions per cycle.
    pub ipc: Sourced<f64>,
    /// Parts of processor names: the reference applies to traces of processors whose name contains
    /// one of them. Default: the reference applies to all traces.
    #[serde(default)]
    pub models: Vec<String>,
}
