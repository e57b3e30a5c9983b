//! Surveys of machines, by the `job` model ([`crate::job`]) or by the paper's model.
//!
//! Each distinct storage part is replayed once for each stream, as in [`crate::survey`]. The time
//! of a volume that is described by its limits, or of a measured storage, comes from the counts of
//! each sample.
//!
//! This module checks the survey and runs it. `space` lists the designs, `load` computes the times
//! of the samples of a trace on a storage and a network, `evaluate` answers the designs, `rows`
//! tabulates them, `measured` checks measured storages, `notes` lists warnings and assumptions.

mod evaluate;
mod load;
mod measured;
mod notes;
mod rows;
mod space;

use crate::alignment::{Lags, check_apart};
use crate::config::{Charge, Model, Parts};
use crate::designs::{JobLoad, PaperLimits, PaperLoad};
use crate::error::ClusterError;
use crate::job_stream::JobStream;
use crate::machine::{Machine, StorageTable, check};
use crate::measured::MeasuredStorages;
use crate::node::StoragePower;
use crate::replays::{MissingReplays, ReplayStore, missing, replay_all};
use crate::report::{MachineSurveyReport, ReferenceReport, Verdict, VerdictBy};
use crate::select::{Chunk, choose, reported};
use crate::simulate::spread;
use crate::stages::{self, Stage, stage_of_samples};
use crate::stream::{Replayed, Stream, storage_report};
use crate::table::write_table;
use crate::timeline::timeline;
use evaluate::{CHEAPEST_NEAR, Evaluator, FASTEST, LEAST_ENERGY_NEAR, Loads, SLACK};
use gordon_replay::threads::on_all_cores;
use gordon_units::{Progress, Sourced};
use load::{TraceLoad, TraceReference, same_processor};
use notes::{assumptions, warnings};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use space::{MachineDesign, MachineSpace, Place};
use std::path::PathBuf;

/// A survey of machines to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Number of nodes; for the `job` model the number of traces.
    pub nodes: u32,
    /// For the `paper` model, as in a survey of designs.
    pub shift: Sourced<f64>,
    /// Processor time that is simulated. Default: `machine`.
    #[serde(default)]
    pub charge: Charge,
    /// The model that predicts times.
    pub model: Model,
    /// Machines to compare.
    pub machines: Vec<Machine>,
    /// Name of the machine on which the traces were recorded: one of `machines`, or `unit`.
    #[serde(default)]
    pub reference: Option<String>,
    /// The traced machine, if it is not one of `machines` and has the same unit of `core_speed`.
    /// Only its processor is used. Not together with `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_machine: Option<Box<Machine>>,
    /// The `core_speed` of the traced machine, if nothing else is known of it. Not together with
    /// `reference` or `reference_machine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_speed: Option<f64>,
    /// Name of the machine whose `core_speed` is 1.
    #[serde(default)]
    pub unit: Option<String>,
    /// Catalogue of the storage parts.
    pub parts: Parts,
    /// Measured storages, by their file; those of the machines at least.
    #[serde(default, skip_serializing_if = "MeasuredStorages::is_empty")]
    pub measured: MeasuredStorages,
    /// Number of designs in the report. The Pareto front, the designs with a name, the recommended
    /// one and the traced machine are always in it.
    pub rows: usize,
    /// Stages of the job, for the `stages` model. Default: none.
    #[serde(default)]
    pub stages: Option<Vec<Stage>>,
    /// Stages whose limits are reported, with the series of the traced nodes, by any model.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_stages: Vec<Stage>,
    /// Number of samples by which each trace starts after the first one of its run; missing ones are
    /// 0. Samples are then simultaneous by number. Default: none.
    #[serde(default)]
    pub lags: Vec<usize>,
    /// Parquet file to write, with a row for each design. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

/// Runs `survey`; each replay is a step of `progress`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// or a stop is requested.
pub fn run(
    survey: &MachineSurvey,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    run_with(survey, None, progress)
}

/// As [`run`]; replays in `store` are not repeated, and the others are added to it.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    survey: &MachineSurvey,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    on_all_cores(|| surveyed(survey, store, progress))
}

/// The replays of `survey` that are not in `store`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue or a value is
/// invalid.
pub fn missing_replays(
    survey: &MachineSurvey,
    store: &ReplayStore,
) -> Result<MissingReplays, ClusterError> {
    check_survey(survey)?;
    let space = MachineSpace::new(survey);
    powers(&space, survey)?;
    on_all_cores(|| {
        let streams = open(survey)?;
        let streams: Vec<&Stream> = streams.iter().map(|s| &s.stream).collect();
        missing(&streams, &storage_parts(&space), &survey.parts, store)
    })
}

fn open(survey: &MachineSurvey) -> Result<Vec<JobStream>, ClusterError> {
    let open = |path: &String| JobStream::open(path, survey.charge);
    let streams: Vec<JobStream> = survey.traces.par_iter().map(open).collect::<Result<_, _>>()?;
    check_apart(streams.iter().map(|s| &s.stream))?;
    measured::check_ops(survey, &streams)?;
    Ok(streams)
}

/// The storage part of a place and the number of devices; `None` if it is described by its limits.
fn part_of(storage: &StorageTable) -> Option<(&str, u32)> {
    Some((storage.part.as_deref()?, storage.devices()))
}

/// The distinct storage parts and their numbers, in order.
fn storage_parts<'a>(space: &MachineSpace<'a>) -> Vec<(&'a str, u32)> {
    let mut parts: Vec<_> =
        space.places.iter().filter_map(|place| part_of(place.storage)).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// The power of the storage of each place.
fn powers(
    space: &MachineSpace<'_>,
    survey: &MachineSurvey,
) -> Result<Vec<Option<StoragePower>>, ClusterError> {
    let power = |storage: &StorageTable| {
        let part = part_of(storage);
        part.map(|(name, count)| StoragePower::new(name, count, &survey.parts)).transpose()
    };
    space.places.iter().map(|place| power(place.storage)).collect()
}

fn surveyed(
    survey: &MachineSurvey,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    check_survey(survey)?;
    let space = MachineSpace::new(survey);
    let parts = storage_parts(&space);
    let storages = powers(&space, survey)?;
    let streams = open(survey)?;
    let of_streams: Vec<&Stream> = streams.iter().map(|s| &s.stream).collect();
    let replayed = replay_all(&of_streams, &parts, &survey.parts, store, progress)?;
    let references: Vec<TraceReference<'_>> =
        streams.iter().map(|stream| reference_of(survey, stream)).collect();
    let traces = Traces {
        survey,
        streams: &streams,
        references: &references,
        parts: &parts,
        replays: &replayed.by_storage(),
    };
    let loads = traces.loads(&space, &storages);
    let evaluator = Evaluator::new(survey, &space, loads, storages);
    let chosen = Chosen::new(&evaluator, progress)?;
    if let Some(path) = &survey.table {
        let config = serde_json::to_string(survey).expect("a survey was read from JSON");
        let mut front = chosen.front.clone();
        front.sort_unstable();
        write_table(path, config, &chosen.chunks, progress, |chunk| evaluator.rows(chunk, &front))?;
    }
    let peak = streams.iter().map(JobStream::peak_memory).max().unwrap_or_default();
    let is_reference = |design: &MachineDesign<'_>| {
        design.is_first() && references.iter().any(|r| r.machine == Some(design.index))
    };
    let traced = || {
        let traced = (0..).zip(&space.designs).filter(|(_, design)| is_reference(design));
        traced.map(|(number, _)| number)
    };
    let shown = chosen.shown().chain(traced()).collect();
    let numbers = reported(shown, survey.rows, 0..space.designs.len() as u64);
    let numbers: Vec<usize> =
        numbers.into_iter().filter_map(|number| usize::try_from(number).ok()).collect();
    let mut in_stages = Vec::new();
    for number in chosen.notable().chain(traced()).filter_map(|n| usize::try_from(n).ok()) {
        if !in_stages.contains(&number) {
            in_stages.push(number);
        }
    }
    let lags = Lags::new(&survey.lags);
    let timeline = timeline(&survey.report_stages, &of_streams, &lags, |window| {
        evaluator.in_stage(&in_stages, window)
    });
    let mut machines = evaluator.reports(&numbers);
    for (report, number) in machines.iter_mut().zip(&numbers) {
        let design = &space.designs[*number];
        report.is_reference = is_reference(design);
        report.memory_below_peak = *design.machine.memory < peak;
    }
    let storages =
        parts.iter().zip(traces.replays).map(|(part, replays)| storage_report(*part, replays));
    Ok(MachineSurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        model: survey.model,
        nodes: survey.nodes,
        charge: survey.charge,
        reference: reference_report(survey, &references),
        peak_memory_bytes: peak.0,
        traces: streams.iter().map(|s| s.stream.report()).collect(),
        storages: storages.collect(),
        warnings: [warnings(survey, &streams, &references, peak), replayed.warnings.clone()]
            .concat(),
        assumptions: assumptions(survey, &streams),
        designs_total: space.designs.len() as u64,
        machines,
        front: chosen.front.iter().map(|number| evaluator.id(*number)).collect(),
        named: chosen
            .named
            .iter()
            .map(|(name, number)| (*name, number.map(|number| evaluator.id(number))))
            .collect(),
        verdict: chosen.verdict,
        timeline,
    })
}

/// The traces of a survey, and their replays.
struct Traces<'a> {
    survey: &'a MachineSurvey,
    streams: &'a [JobStream],
    /// By stream.
    references: &'a [TraceReference<'a>],
    parts: &'a [(&'a str, u32)],
    /// By part, then by stream.
    replays: &'a [&'a [Replayed]],
}

impl<'a> Traces<'a> {
    fn replay_of(&self, storage: &StorageTable, stream: usize) -> Option<&'a Replayed> {
        let at = self.parts.binary_search(&part_of(storage)?).ok()?;
        Some(&self.replays[at][stream])
    }

    fn load(&self, place: Place<'a>, at: usize) -> TraceLoad<'a> {
        let reference = self.references[at];
        TraceLoad {
            stream: &self.streams[at],
            measured: &self.survey.measured,
            place,
            replayed: self.replay_of(place.storage, at),
            reference,
            traced: reference.machine.map(|traced| {
                let storage = &self.survey.machines[traced].storage[0].0;
                (storage, self.replay_of(storage, at))
            }),
        }
    }

    /// The traces at all places; `storages` holds the power of the storage of each place.
    fn loads(&self, space: &MachineSpace<'a>, storages: &[Option<StoragePower>]) -> Loads {
        let at =
            |place: Place<'a>| (0..self.streams.len()).map(move |stream| self.load(place, stream));
        let places = space.places.par_iter();
        match self.survey.model {
            Model::Job => {
                let of_place = |(place, storage): (&Place<'a>, &Option<StoragePower>)| {
                    let nodes: Vec<_> = at(*place).map(|load| load.job()).collect();
                    JobLoad::new(&nodes, *storage)
                };
                Loads::Job(places.zip(storages).map(of_place).collect())
            }
            Model::Paper | Model::Stages => {
                let lags = Lags::new(&self.survey.lags);
                let streams = || self.streams.iter().map(|s| &s.stream);
                let nodes = spread(
                    &lags.lengths(streams()),
                    self.survey.nodes as usize,
                    *self.survey.shift,
                );
                let stages = self.survey.stages.as_deref().map_or_else(Vec::new, |stages| {
                    stage_of_samples(stages, &lags.longest(streams()))
                });
                let of_place = |place: &Place<'a>| PaperLoad {
                    streams: (0..)
                        .zip(at(*place))
                        .map(|(stream, load)| lags.delayed(stream, load.paper()))
                        .collect(),
                    nodes: nodes.clone(),
                    stages: stages.clone(),
                };
                let loads: Vec<PaperLoad> = places.map(of_place).collect();
                let limits = loads.par_iter().map(PaperLimits::new).collect();
                Loads::Paper(loads, limits)
            }
        }
    }
}

/// What the report says of a space, in numbers of designs.
struct Chosen {
    /// All designs.
    chunks: Vec<Chunk>,
    front: Vec<u64>,
    named: Vec<(&'static str, Option<u64>)>,
    fastest: Option<u64>,
    verdict: Verdict,
    recommended: u64,
}

impl Chosen {
    fn new(evaluator: &Evaluator<'_>, progress: &Progress) -> Result<Self, ClusterError> {
        let chunks = evaluator.chunks();
        let objectives = evaluator.objectives();
        let choice =
            choose(&chunks, objectives, progress, |chunk, all| evaluator.compare(chunk, all))?;
        let (front, best) = choice.finish();
        let fastest = best[FASTEST];
        let (verdict, recommended) = recommend(evaluator, &chunks, fastest, progress)?;
        let named = evaluator.named(best);
        Ok(Self { chunks, front, named, fastest, verdict, recommended })
    }

    /// The designs that are always in the report.
    fn shown(&self) -> impl Iterator<Item = u64> {
        self.front.iter().copied().chain(self.notable())
    }

    /// The recommended design, those with a name, and the fastest.
    fn notable(&self) -> impl Iterator<Item = u64> {
        let named = self.named.iter().filter_map(|(_, number)| *number);
        [self.recommended].into_iter().chain(named).chain(self.fastest)
    }
}

/// The recommended design and its number; see [`Verdict`].
#[allow(clippy::cast_possible_truncation)]
fn recommend(
    evaluator: &Evaluator<'_>,
    chunks: &[Chunk],
    fastest: Option<u64>,
    progress: &Progress,
) -> Result<(Verdict, u64), ClusterError> {
    let fastest = fastest.expect("a survey has a machine");
    let time = evaluator.time(fastest as usize);
    let near = choose(chunks, 1, progress, |chunk, near| {
        evaluator.compare_near(chunk, time, near);
    })?;
    let (_, near) = near.finish();
    let (by, number) = match (near[CHEAPEST_NEAR], near[LEAST_ENERGY_NEAR]) {
        (Some(cheapest), _) => (VerdictBy::Price, cheapest),
        (None, Some(least)) => (VerdictBy::Energy, least),
        (None, None) => (VerdictBy::Time, fastest),
    };
    let machine = evaluator.id(number);
    let verdict = Verdict { machine, fastest: evaluator.id(fastest), slack: SLACK, by };
    Ok((verdict, number))
}

fn check_survey(survey: &MachineSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if survey.machines.is_empty() {
        return impossible("machines", "the space has none".into());
    }
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed".into());
    }
    if survey.traces.len() > survey.nodes as usize {
        return impossible("traces", "there are more of them than nodes to run them".into());
    }
    if survey.model == Model::Job && survey.traces.len() != survey.nodes as usize {
        let why = format!(
            "the job model needs a trace of each node, and there are {} for {}",
            survey.traces.len(),
            survey.nodes
        );
        return impossible("nodes", why);
    }
    if !(0.0..=1.0).contains(&*survey.shift) {
        return impossible("shift", "it is a share of the trace's length, 0 to 1".into());
    }
    match (survey.model, &survey.stages) {
        (Model::Stages, Some(list)) => stages::check(list)?,
        (Model::Stages, None) => stages::check(&[])?,
        (Model::Job | Model::Paper, _) => {}
    }
    stages::check_times(&survey.report_stages)?;
    check(&survey.machines)?;
    measured::check(survey)?;
    if let Some(name) = &survey.reference
        && survey.unit.as_ref() != Some(name)
        && survey.machines.iter().all(|m| m.id != *name)
    {
        return impossible("reference", format!("no machine of the space is `{name}`"));
    }
    check_reference(survey)
}

/// Checks a traced machine that is given by its description or by its speed.
fn check_reference(survey: &MachineSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    let given = [
        survey.reference.is_some(),
        survey.reference_machine.is_some(),
        survey.reference_speed.is_some(),
    ];
    if given.into_iter().filter(|is_given| *is_given).count() > 1 {
        return impossible("reference", "the traced machine is given twice".into());
    }
    if let Some(machine) = &survey.reference_machine {
        check(std::slice::from_ref(machine))?;
    }
    match survey.reference_speed {
        Some(speed) if !(speed.is_finite() && speed > 0.0) => {
            impossible("reference_speed", format!("{speed} is not above zero"))
        }
        _ => Ok(()),
    }
}

/// The machine that was given; otherwise one whose processor the manifest names; otherwise an
/// unknown machine of speed 1.
fn reference_of<'a>(survey: &'a MachineSurvey, stream: &JobStream) -> TraceReference<'a> {
    if let Some(name) = &survey.reference {
        let machine = survey.machines.iter().position(|m| m.id == *name);
        let speed = machine.map_or(1.0, |at| *survey.machines[at].core_speed);
        return TraceReference { name: Some(name), speed, machine };
    }
    if let Some(machine) = &survey.reference_machine {
        let speed = *machine.core_speed;
        return TraceReference { name: Some(&machine.id), speed, machine: None };
    }
    if let Some(speed) = survey.reference_speed {
        return TraceReference { name: None, speed, machine: None };
    }
    let traced = &stream.stream.trace.manifest().machine;
    match same_processor(&survey.machines, traced, stream.cores()) {
        Some(machine) => {
            TraceReference { name: Some(&machine.id), speed: *machine.core_speed, machine: None }
        }
        None => TraceReference { name: None, speed: 1.0, machine: None },
    }
}

fn reference_report(survey: &MachineSurvey, references: &[TraceReference<'_>]) -> ReferenceReport {
    let first = references[0];
    ReferenceReport {
        machine: first.name.map(str::to_owned),
        core_speed: first.speed,
        is_assumed: survey.reference_speed.is_none() && references.iter().any(|r| r.name.is_none()),
    }
}
