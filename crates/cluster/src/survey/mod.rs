//! A survey: a space of designs times a model, in four steps that are the same for all models.
//!
//! | step | what it does |
//! |---|---|
//! | candidates | lists the designs, checks all values, opens and replays the traces |
//! | evaluate | prepares the model and computes all designs, in chunks on all cores |
//! | select | keeps the Pareto fronts and the best design of each name |
//! | report | reports the chosen designs and the stages on them, and writes the table |
//!
//! A model is a [`Survey`] and a [`Model`]. Each distinct storage is replayed once for each trace.
//! Memory use depends on the traces and the reported designs, but not on the number of designs.

mod batches;
mod front;
pub(crate) mod mean;
mod model;
pub mod report;
mod select;
mod table;

pub use batches::in_batches;
pub use front::{RunningFront, front};
pub use model::{Conclusion, Model, Settings, Survey};
pub use select::{Choice, Chosen, Chunk, Front, Key};
pub(crate) use select::{ChosenIds, choose_among, chunks, in_order};
pub use table::{NamedColumn, TABLE_KEY};

use crate::error::ClusterError;
use crate::survey::report::SurveyReport;
use crate::survey::select::{choose, reported};
use crate::survey::table::write_table;
use crate::trace::alignment::{Lags, check_apart};
use crate::trace::charge::Charge;
use crate::trace::replays::{MissingReplays, ReplayStore, Replays, missing, replay_all};
use crate::trace::stream::{Stream, storage_report};
use crate::trace::timeline::timeline;
use gordon_replay::threads::on_all_cores;
use gordon_units::Progress;
use rayon::prelude::*;

/// The report of a survey.
pub type ReportOf<S> = SurveyReport<<S as Survey>::Design, <S as Survey>::Extras>;

/// Runs `survey`. Each replay is a step of `progress`, and then each design.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// the table cannot be written, or a stop is requested.
pub fn run<S: Survey>(survey: &S, progress: &Progress) -> Result<ReportOf<S>, ClusterError> {
    run_with(survey, None, progress)
}

/// As [`run`]; replays in `store` are not repeated, and the others are added to it.
///
/// # Errors
/// As [`run`].
pub fn run_with<S: Survey>(
    survey: &S,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<ReportOf<S>, ClusterError> {
    on_all_cores(|| {
        let space = survey.candidates(progress)?;
        let traces = open(survey, &space)?;
        let streams: Vec<&Stream> = traces.iter().map(AsRef::as_ref).collect();
        let parts = survey.settings().parts;
        let replays = replay_all(&streams, S::storages(&space), parts, store, progress)?;
        let model = survey.prepare(&space, &traces, &replays)?;
        evaluated(survey, &streams, &replays, &model, progress)
    })
}

/// The replays of `survey` that are not in `store`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// or a stop is requested.
pub fn missing_replays<S: Survey>(
    survey: &S,
    store: &ReplayStore,
    progress: &Progress,
) -> Result<MissingReplays, ClusterError> {
    let space = survey.candidates(progress)?;
    on_all_cores(|| {
        let traces = open(survey, &space)?;
        let streams: Vec<&Stream> = traces.iter().map(AsRef::as_ref).collect();
        missing(&streams, &S::storages(&space), survey.settings().parts, store)
    })
}

fn open<S: Survey>(survey: &S, space: &S::Space<'_>) -> Result<Vec<S::Trace>, ClusterError> {
    let paths = survey.settings().traces;
    let traces: Vec<S::Trace> =
        paths.par_iter().map(|path| survey.open(path)).collect::<Result<_, _>>()?;
    check_apart(traces.iter().map(AsRef::as_ref))?;
    survey.check_traces(space, &traces)?;
    Ok(traces)
}

/// The steps from the prepared model to the report.
fn evaluated<S: Survey>(
    survey: &S,
    streams: &[&Stream],
    replays: &Replays<'_>,
    model: &S::Model<'_>,
    progress: &Progress,
) -> Result<ReportOf<S>, ClusterError> {
    let settings = survey.settings();
    let chunks = model.chunks();
    let (objectives, names) = (model.objectives(), model.names());
    let chosen = choose(&chunks, &objectives, names.len(), progress, |chunk, choice| {
        model.compare(chunk, choice);
    })?;
    let front = chosen.front();
    if let Some(path) = settings.table {
        let config = serde_json::to_string(survey).expect("a survey was read from JSON");
        let mut sorted = front.to_vec();
        sorted.sort_unstable();
        write_table(path, config, &chunks, progress, |chunk| model.rows(chunk, &sorted))?;
    }
    let Conclusion { extras, shown, in_stages } = model.conclude(&chosen);
    let shown = front.iter().copied().chain(chosen.named()).chain(shown).collect();
    let designs = model.reports(&reported(shown, settings.rows, model.candidates()));
    let in_stages = distinct(in_stages);
    let lags = Lags::new(settings.lags);
    let timeline = timeline(settings.report_stages, streams, &lags, |window| {
        model.in_stage(&in_stages, window)
    });
    let ChosenIds { front, named } = chosen.ids(names, |number| model.id(number));
    Ok(SurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: settings.nodes,
        charge: Charge::common(streams.iter().map(|stream| stream.charge)),
        traces: streams.iter().map(|stream| stream.report()).collect(),
        storages: replays.iter().map(|(storage, of)| storage_report(storage, of)).collect(),
        designs_total: model.designs_total(),
        designs,
        front,
        named,
        extras,
        timeline,
        warnings: [model.warnings(), replays.warnings.clone()].concat(),
        assumptions: model.assumptions(),
    })
}

/// The first of each number, in their order.
fn distinct(numbers: Vec<u64>) -> Vec<u64> {
    let mut found = Vec::new();
    for number in numbers {
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}
