//! Surveys of a grid of designs, by the `paper` model. Each distinct storage is replayed once for
//! each stream; designs with the same storage share the replay. Replays and designs run on all
//! cores. Memory use depends on the number of samples, the map of accessed extents, the simulated
//! devices and the reported designs, but neither on the length of a block log nor on the size of
//! the grid.
//!
//! `evaluate` computes the figures of the designs, which [`crate::space`] numbers.

mod check;
mod curve;
mod evaluate;
pub mod group;
pub mod limits;
pub mod load;
pub mod mean;
mod notes;
pub mod report;
pub mod simulate;

use crate::error::ClusterError;
use crate::space::config::{Baseline, NodeCommon, Parts, SpaceProcessors, SpaceStorage};
use crate::space::find::part;
use crate::space::grid::Grid;
use crate::survey::{Settings, Survey};
use crate::trace::charge::{Charge, Reference};
use crate::trace::replays::Replays;
use crate::trace::stages::{self, Stage};
use crate::trace::stream::Stream;
use check::{check, overhead_ratio};
use evaluate::PaperModel;
use gordon_units::{Progress, Sourced, Watts};
use report::{DesignReport, PaperExtras};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A survey to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Survey")]
pub struct PaperSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Number of nodes in the cluster.
    pub nodes: u32,
    /// If there are fewer traces than nodes, the copies of a trace are shifted over this fraction
    /// of its length. With 0, all nodes run in step; with 1, all phases of the job run at any time.
    pub shift: Sourced<f64>,
    /// Processor time and cache misses that are simulated. Default: `machine`.
    #[serde(default)]
    pub charge: Charge,
    /// Speeds of traced processors, for traces without hardware counters. The first reference that
    /// applies to a trace is used. Default: none.
    #[serde(default)]
    pub references: Vec<Reference>,
    /// Processors to try.
    pub processors: Vec<SpaceProcessors>,
    /// Storage devices to try, each with all choices of processors.
    pub storage: Vec<SpaceStorage>,
    /// Maximum power of a node with all parts active. Designs above it are left out.
    pub budget: Watts,
    /// Design that is reported apart from the others, whatever its power.
    pub baseline: Baseline,
    /// Other overhead ratios, for which the designs above the budget are counted. Default: none.
    #[serde(default)]
    pub other_ratios: Vec<f64>,
    /// Settings that all designs share.
    pub node: NodeCommon,
    /// Catalogue of the parts of the designs.
    pub parts: Parts,
    /// Number of designs in the report. The Pareto front, the designs with a name and those of
    /// `keep` are always in it.
    pub rows: usize,
    /// Designs that are always in the report, if the grid has them. Default: none.
    #[serde(default)]
    pub keep: Vec<Baseline>,
    /// Stages of the job, whose times are computed in addition and decide the order of designs.
    /// Default: none.
    #[serde(default)]
    pub stages: Option<Vec<Stage>>,
    /// Stages whose limits are reported, with the series of the traced nodes, by any model.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_stages: Vec<Stage>,
    /// Number of samples by which each trace starts after the first one of its run; missing ones
    /// are 0. Samples are then simultaneous by number. Default: none.
    #[serde(default)]
    pub lags: Vec<usize>,
    /// Parquet file to write, with a row for each design within the budget. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

/// A grid whose parts were checked.
pub struct PaperSpace {
    grid: Grid,
    /// Power of a node over the power of its parts.
    overhead_ratio: f64,
    /// The distinct storages, in order.
    storages: Vec<(String, u32)>,
}

impl Survey for PaperSurvey {
    type Space<'a> = PaperSpace;
    type Trace = Stream;
    type Model<'a> = PaperModel<'a>;
    type Design = DesignReport;
    type Extras = PaperExtras;

    fn settings(&self) -> Settings<'_> {
        Settings {
            traces: &self.traces,
            nodes: self.nodes,
            parts: &self.parts,
            rows: self.rows,
            report_stages: &self.report_stages,
            lags: &self.lags,
            table: self.table.as_deref(),
        }
    }

    fn candidates(&self, _progress: &Progress) -> Result<PaperSpace, ClusterError> {
        check(self)?;
        if let Some(stages) = &self.stages {
            stages::check(stages)?;
        }
        stages::check_times(&self.report_stages)?;
        let grid = Grid::new(&self.processors, &self.storage, &self.baseline)?;
        let overhead = part("overhead", &self.parts.overhead, &self.node.overhead)?;
        let overhead_ratio = overhead_ratio(overhead)?;
        part("network", &self.parts.network, &self.node.network)?;
        evaluate::check(self, &grid, overhead_ratio)?;
        let of_grid = grid.storages.iter().map(|storage| (storage.part.clone(), storage.count));
        let mut storages: Vec<(String, u32)> = of_grid.collect();
        storages.sort_unstable();
        storages.dedup();
        Ok(PaperSpace { grid, overhead_ratio, storages })
    }

    fn storages(space: &PaperSpace) -> Vec<(&str, u32)> {
        space.storages.iter().map(|(part, count)| (part.as_str(), *count)).collect()
    }

    fn open(&self, path: &str) -> Result<Stream, ClusterError> {
        Stream::open(path.into(), self.charge, &self.references)
    }

    fn prepare<'s, 'a: 's>(
        &'a self,
        space: &'s PaperSpace,
        traces: &'s [Stream],
        replays: &'s Replays<'_>,
    ) -> Result<PaperModel<'s>, ClusterError> {
        PaperModel::new(self, space, traces, replays)
    }
}
