//! What a model implements to be surveyed: a [`Survey`], its settings and how it prepares, and a
//! [`Model`], which answers the designs of a space. The steps of [`run_with`](super::run_with) are
//! the same for all of them.

use crate::error::ClusterError;
use crate::space::config::Parts;
use crate::survey::report::Assumption;
use crate::survey::select::{Choice, Chosen, Chunk};
use crate::survey::table::NamedColumn;
use crate::trace::replays::Replays;
use crate::trace::report::StageOnDesign;
use crate::trace::stages::{Stage, StageWindow};
use crate::trace::stream::Stream;
use gordon_units::Progress;
use serde::Serialize;
use std::path::Path;

/// The settings that all surveys have.
pub struct Settings<'a> {
    /// Folders that contain the traces.
    pub traces: &'a [String],
    /// Number of nodes.
    pub nodes: u32,
    /// Catalogue of the storage parts.
    pub parts: &'a Parts,
    /// Number of designs in the report, unless more are notable.
    pub rows: usize,
    /// Stages whose limits are reported.
    pub report_stages: &'a [Stage],
    /// Number of samples by which each trace starts after the first one of its run.
    pub lags: &'a [usize],
    /// Parquet file to write, with a row for each design.
    pub table: Option<&'a Path>,
}

/// A survey to run: a space and a model, as read from JSON. `Serialize` gives the text that the
/// table keeps.
pub trait Survey: Serialize + Sync {
    /// The candidates.
    type Space<'a>: Sync
    where
        Self: 'a;
    /// A trace, as the model reads it.
    type Trace: AsRef<Stream> + Send + Sync;
    /// The model, prepared for the traces.
    type Model<'a>: Model<Design = Self::Design, Extras = Self::Extras>
    where
        Self: 'a;
    /// The report of a design.
    type Design: Serialize + Send;
    /// The keys of the report that only this model has.
    type Extras: Serialize + Send;

    /// The settings that all surveys have.
    fn settings(&self) -> Settings<'_>;

    /// The designs of the space, after all checks that need no trace.
    ///
    /// # Errors
    /// Returns an error if a value is invalid, if a part is not in the catalogue, or if a stop is
    /// requested.
    fn candidates(&self, progress: &Progress) -> Result<Self::Space<'_>, ClusterError>;

    /// The storage parts to replay the traces on, with their numbers of devices: sorted and
    /// distinct.
    fn storages<'s>(space: &'s Self::Space<'_>) -> Vec<(&'s str, u32)>;

    /// Reads a trace.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be read, or lacks what the model needs.
    fn open(&self, path: &str) -> Result<Self::Trace, ClusterError>;

    /// Checks the traces together with the space, before they are replayed.
    ///
    /// # Errors
    /// Returns an error if the space cannot answer them.
    fn check_traces(
        &self,
        _space: &Self::Space<'_>,
        _traces: &[Self::Trace],
    ) -> Result<(), ClusterError> {
        Ok(())
    }

    /// Prepares the model.
    ///
    /// # Errors
    /// Returns an error if a storage part is invalid.
    fn prepare<'s, 'a: 's>(
        &'a self,
        space: &'s Self::Space<'a>,
        traces: &'s [Self::Trace],
        replays: &'s Replays<'_>,
    ) -> Result<Self::Model<'s>, ClusterError>;
}

/// The designs of a space under a model. They have numbers from 0, in the order of the space, and
/// are not stored.
pub trait Model: Sync {
    /// The report of a design.
    type Design: Serialize + Send;
    /// The keys of the report that only this model has.
    type Extras: Serialize + Send;

    /// Number of candidates.
    fn designs_total(&self) -> u64;

    /// Numbers of the candidates, ascending.
    fn candidates(&self) -> impl Iterator<Item = u64>;

    /// The candidates in groups that share their preparation.
    fn chunks(&self) -> Vec<Chunk>;

    /// Names, each for the design that is best by a key.
    fn names(&self) -> &'static [&'static str];

    /// The number of objectives of each front. The first front is reported.
    fn objectives(&self) -> Vec<usize>;

    /// Compares the designs of a chunk with the fronts, and proposes them for names.
    fn compare(&self, chunk: &Chunk, choice: &mut Choice);

    /// What the model concludes from the choice.
    fn conclude(&self, chosen: &Chosen) -> Conclusion<Self::Extras>;

    /// Name of a design.
    fn id(&self, number: u64) -> String;

    /// Reports designs, in their order.
    fn reports(&self, numbers: &[u64]) -> Vec<Self::Design>;

    /// A stage on designs, in their order.
    fn in_stage(&self, numbers: &[u64], window: &StageWindow) -> Vec<StageOnDesign>;

    /// The rows of the table for a chunk. `front` holds the numbers of the reported front,
    /// ascending.
    fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn>;

    /// Warnings for the reader.
    fn warnings(&self) -> Vec<String>;

    /// The assumptions of the model.
    fn assumptions(&self) -> Vec<Assumption>;
}

/// What a model concludes from the choice.
pub struct Conclusion<Extras> {
    /// The keys of the report that only this model has.
    pub extras: Extras,
    /// Designs that are always reported, besides the front and those with a name.
    pub shown: Vec<u64>,
    /// Designs on which the stages are reported; one that is listed again is ignored.
    pub in_stages: Vec<u64>,
}
