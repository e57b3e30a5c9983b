//! The `job` model: how long one job of fixed work takes on other machines.
//!
//! For each sample of a trace, the model separates the time in which the job was blocked on
//! storage, the time in which it was idle, and the time in which it computed, with the mean number
//! of cores that were busy while it computed ([`crate::trace::sample`]). What limited a sample is
//! kept if the target does not change it. docs/design/cluster.md derives the equations.
//!
//! Each distinct storage part is replayed once for each stream. The time of a volume that is
//! described by its limits, or of a measured storage, comes from the counts of each sample.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | settings of a survey of machines, and their checks |
//! | `traces`, `place` | the traced machines; the times of samples on a storage and a network |
//! | `pool`, `numbers` | several nodes as one machine; on another number of nodes |
//! | `demand`, `range`, `load`, `group` | the equations, for many designs at once |
//! | `evaluate`, `survey` | the designs of a space, and how the driver asks for them |
//! | `verdict`, `rows`, `notes` | the recommended machine; the table; warnings |
//! | `mean` | the mean of surveys of several jobs |
//! | `measured` | checks of measured storages |

pub mod demand;
mod evaluate;
pub mod group;
pub mod load;
pub mod mean;
pub(crate) mod measured;
mod notes;
pub mod numbers;
mod place;
pub mod pool;
pub mod range;
pub mod report;
mod rows;
mod survey;
#[cfg(test)]
mod tests;
mod traces;
mod verdict;

use crate::error::ClusterError;
use crate::model::cost::Goals;
use crate::space::catalogue::MachineCatalogue;
use crate::space::machines::{MOST_NODES, MachineSpace};
use crate::space::node::storage_power;
use crate::space::standby::SpinDown;
use crate::survey::{Settings, Survey};
use crate::trace::charge::Charge;
use crate::trace::job_stream::JobStream;
use crate::trace::replays::Replays;
use crate::trace::stages::{self, Stage};
use evaluate::JobModel;
use gordon_units::Progress;
use report::{JobExtras, MachineReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A survey of machines to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Numbers of nodes to compare. Default: as many as there are traces.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// Processor time that is simulated. Default: that of the command if the trace has it.
    #[serde(default)]
    pub charge: Charge,
    /// The machines to compare, and the recorded one.
    pub catalogue: MachineCatalogue,
    /// Bytes a second to which the storage of each traced node was limited, of reads and of writes.
    /// Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_rate: Option<f64>,
    /// When disks are put in standby inside the job. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_down: Option<SpinDown>,
    /// What the choices go by.
    #[serde(default)]
    pub goals: Goals,
    /// Number of designs in the report. The Pareto front, the designs with a name, the recommended
    /// one and the traced machine are always in it.
    pub rows: usize,
    /// Stages whose limits are reported, with the series of the traced nodes.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_stages: Vec<Stage>,
    /// Number of samples by which each trace starts after the first one of its run; missing ones
    /// are 0. Samples are then simultaneous by number. Default: none.
    #[serde(default)]
    pub lags: Vec<usize>,
    /// Parquet file to write, with a row for each design. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

impl JobSurvey {
    /// Number of traced nodes.
    #[allow(clippy::cast_possible_truncation)]
    fn traced(&self) -> u32 {
        self.traces.len() as u32
    }

    /// Numbers of nodes to compare, ascending.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers = self.nodes.clone();
        if numbers.is_empty() {
            numbers.push(self.traced());
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

impl Survey for JobSurvey {
    type Space<'a> = MachineSpace<'a>;
    type Trace = JobStream;
    type Model<'a> = JobModel<'a>;
    type Design = MachineReport;
    type Extras = JobExtras;

    fn settings(&self) -> Settings<'_> {
        Settings {
            traces: &self.traces,
            nodes: self.traced(),
            parts: &self.catalogue.parts,
            rows: self.rows,
            report_stages: &self.report_stages,
            lags: &self.lags,
            table: self.table.as_deref(),
        }
    }

    fn candidates(&self, _progress: &Progress) -> Result<MachineSpace<'_>, ClusterError> {
        check_survey(self)?;
        let space = match &self.numbers()[..] {
            [nodes] if *nodes == self.traced() => {
                MachineSpace::new(&self.catalogue.machines, *nodes)
            }
            numbers => MachineSpace::clusters(&self.catalogue.machines, numbers),
        };
        let mut has_standby = false;
        for place in &space.places {
            let power = storage_power(place.storage, &self.catalogue.parts)?;
            has_standby |= power.is_some_and(|power| power.standby().is_some());
        }
        if self.spin_down.is_some() && !has_standby {
            return Err(ClusterError::Impossible {
                what: "spin_down".into(),
                why: "no machine has a disk whose standby state is known".into(),
            });
        }
        Ok(space)
    }

    fn storages<'s>(space: &'s MachineSpace<'_>) -> Vec<(&'s str, u32)> {
        space.storage_parts()
    }

    fn open(&self, path: &str) -> Result<JobStream, ClusterError> {
        JobStream::open(path, self.charge)
    }

    fn check_traces(
        &self,
        _space: &MachineSpace<'_>,
        traces: &[JobStream],
    ) -> Result<(), ClusterError> {
        measured::check_ops(&self.catalogue, traces)
    }

    fn prepare<'s, 'a: 's>(
        &'a self,
        space: &'s MachineSpace<'a>,
        traces: &'s [JobStream],
        replays: &'s Replays<'_>,
    ) -> Result<JobModel<'s>, ClusterError> {
        JobModel::new(self, space, traces, replays)
    }
}

/// Checks all values that need no trace.
fn check_survey(survey: &JobSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed".into());
    }
    let numbers = survey.numbers();
    if let Some(bad) = numbers.iter().find(|nodes| !(1..=MOST_NODES).contains(*nodes)) {
        return impossible("nodes", format!("{bad} is not 1 to {MOST_NODES}"));
    }
    if let ([_], Some(more)) = (&survey.traces[..], numbers.iter().find(|nodes| **nodes != 1)) {
        let why = format!(
            "the trace of one machine does not show whether the job can run on {more}; the traces \
             of all nodes of a cluster do"
        );
        return impossible("nodes", why);
    }
    if let Some(bad) = survey.storage_rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return impossible("storage_rate", format!("{bad} is not above zero"));
    }
    let after = survey.spin_down.and_then(|spin_down| spin_down.after_s);
    if let Some(bad) = after.filter(|secs| !(secs.is_finite() && *secs > 0.0)) {
        return impossible("spin_down", format!("{bad} s is not above zero"));
    }
    survey.goals.check()?;
    stages::check_times(&survey.report_stages)?;
    survey.catalogue.check()
}
