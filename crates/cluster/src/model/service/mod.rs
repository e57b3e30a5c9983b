//! The `service` model: which machines, and how many of them, keep up with a recorded load.
//!
//! The record of a machine that serves has no end and no job: its samples are demands that a design
//! has to meet, each in its time. For each resource, the use of a design is the demand of a sample
//! relative to the capacity. A design keeps up if each use leaves the headroom free in 99 % of the
//! time and never exceeds the capacity. docs/design/cluster.md, "Services", has the equations.
//!
//! | file | content |
//! |---|---|
//! | this one | the settings of a survey, and their checks |
//! | `traces`, `sample`, `load` | the recorded nodes, their samples, and the sum over nodes |
//! | `series` | percentiles |
//! | `cores`, `resource`, `disk` | busy cores and work; uses and their range |
//! | `evaluate`, `survey` | the designs of a space, and how the driver asks for them |
//! | `verdict`, `report`, `rows`, `notes` | the recommended design; what is reported; warnings |

mod cores;
mod disk;
mod evaluate;
mod load;
mod notes;
pub mod report;
pub mod resource;
mod rows;
mod sample;
mod series;
mod survey;
mod traces;
mod verdict;

use crate::error::ClusterError;
use crate::model::cost::{Goals, Objective};
use crate::model::job::measured;
use crate::space::catalogue::MachineCatalogue;
use crate::space::machines::MachineSpace;
use crate::space::storage::Storage;
use crate::survey::{Settings, Survey};
use crate::trace::charge::Charge;
use crate::trace::job_stream::JobStream;
use crate::trace::replays::Replays;
use evaluate::ServiceModel;
use gordon_units::Progress;
use report::{ServiceExtras, ServiceReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A survey of machines and numbers of nodes for a recorded load.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSurvey {
    /// Folders that contain the traces: one for each recorded node of the service.
    pub traces: Vec<String>,
    /// Numbers of nodes to compare.
    pub nodes: Vec<u32>,
    /// Share of each resource that the load leaves free in 99 % of the time, from 0 to below 1.
    pub headroom: f64,
    /// Processor time that counts. Default: that of the command if the trace has it.
    #[serde(default)]
    pub charge: Charge,
    /// The machines to compare, and the recorded one.
    pub catalogue: MachineCatalogue,
    /// What the choices go by; a service has no time, so that neither the objective `time` nor a
    /// deadline is possible. Default: the price, else the power, else the number of cores.
    #[serde(default)]
    pub goals: Goals,
    /// Number of designs in the report, unless more are notable.
    pub rows: usize,
    /// Parquet file to write, with a row for each design. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

/// The most nodes of a design.
const MOST_NODES: u32 = 100_000;

impl Survey for ServiceSurvey {
    type Space<'a> = MachineSpace<'a>;
    type Trace = JobStream;
    type Model<'a> = ServiceModel<'a>;
    type Design = ServiceReport;
    type Extras = ServiceExtras;

    fn settings(&self) -> Settings<'_> {
        Settings {
            traces: &self.traces,
            nodes: u32::try_from(self.traces.len()).unwrap_or(u32::MAX),
            parts: &self.catalogue.parts,
            rows: self.rows,
            report_stages: &[],
            lags: &[],
            table: self.table.as_deref(),
        }
    }

    fn candidates(&self, _progress: &Progress) -> Result<MachineSpace<'_>, ClusterError> {
        check_survey(self)?;
        let space = MachineSpace::new(&self.catalogue.machines, 1);
        for part in space.storage_parts() {
            Storage::of(part, &self.catalogue.parts)?;
        }
        Ok(space)
    }

    /// Traces are not replayed: uses come from the requests of each sample.
    fn storages<'s>(_space: &'s MachineSpace<'_>) -> Vec<(&'s str, u32)> {
        Vec::new()
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
        _replays: &'s Replays<'_>,
    ) -> Result<ServiceModel<'s>, ClusterError> {
        ServiceModel::new(self, space, traces)
    }
}

/// Checks all values that need no trace.
fn check_survey(survey: &ServiceSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed".into());
    }
    if survey.nodes.is_empty() {
        return impossible("nodes", "at least one number is needed".into());
    }
    if let Some(bad) = survey.nodes.iter().find(|nodes| !(1..=MOST_NODES).contains(nodes)) {
        return impossible("nodes", format!("{bad} is not 1 to {MOST_NODES}"));
    }
    if !(0.0..1.0).contains(&survey.headroom) {
        let why = format!("{} is not from 0 to below 1", survey.headroom);
        return impossible("headroom", why);
    }
    if survey.goals.objectives.contains(&Objective::Time) {
        return impossible("goals.objectives", "a service has no time".into());
    }
    if survey.goals.deadline_s.is_some() {
        return impossible("goals.deadline_s", "a service has no end".into());
    }
    survey.goals.check()?;
    survey.catalogue.check()
}
