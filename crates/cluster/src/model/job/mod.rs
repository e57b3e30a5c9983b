//! The `job` model: how long one job of fixed work takes on other machines.
//!
//! For each sample of a trace, the model separates the time in which the job was blocked on storage,
//! the time in which it was idle, and the time in which it computed, with the mean number of cores
//! that were busy while it computed ([`crate::trace::sample`]). What limited a sample is kept if the
//! target does not change it. docs/design/cluster.md derives the equations.
//!
//! Each distinct storage part is replayed once for each stream. The time of a volume that is
//! described by its limits, or of a measured storage, comes from the counts of each sample.
//!
//! This module checks a survey of machines and prepares it. `place` computes the times of the samples
//! of a trace on a storage and a network, `load` and `group` answer the designs by `demand` and
//! `range`, `evaluate` reports them, `rows` tabulates them, `measured` checks measured storages,
//! `notes` lists warnings and assumptions.

pub mod demand;
mod evaluate;
pub mod group;
pub mod load;
mod measured;
mod notes;
mod place;
pub mod range;
pub mod report;
mod rows;
#[cfg(test)]
mod tests;

use crate::error::ClusterError;
use crate::model::job::load::JobLoad;
use crate::model::job::report::{ReferenceReport, Verdict, VerdictBy};
use crate::space::config::Parts;
use crate::space::machine::{Machine, StorageTable, check};
use crate::space::machines::{MachineDesign, MachineSpace, Place};
use crate::space::measured::{MeasuredStorage, MeasuredStorages};
use crate::space::node::StoragePower;
use crate::space::part_times::part_times;
use crate::space::storage::Storage;
use crate::survey::report::MachineSurveyReport;
use crate::survey::select::{Chunk, Front, choose, reported};
use crate::survey::table::write_table;
use crate::trace::alignment::{Lags, check_apart};
use crate::trace::charge::Charge;
use crate::trace::job_stream::JobStream;
use crate::trace::replays::{MissingReplays, ReplayStore, missing, replay_all};
use crate::trace::stages::{self, Stage};
use crate::trace::stream::{Replayed, Stream, storage_report};
use crate::trace::timeline::timeline;
use evaluate::{BY_ENERGY, BY_PRICE, Evaluator, FASTEST, REPORTED, SLACK, Traced};
use gordon_replay::threads::on_all_cores;
use gordon_units::{Bytes, Progress};
use notes::{assumptions, warnings};
use place::{TraceLoad, TraceReference, TraceStorage, same_processor};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A survey of machines to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Number of nodes: that of the traces.
    pub nodes: u32,
    /// Processor time that is simulated. Default: that of the command if the trace has it.
    #[serde(default)]
    pub charge: Charge,
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
    /// Stages whose limits are reported, with the series of the traced nodes.
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
pub fn run(survey: &JobSurvey, progress: &Progress) -> Result<MachineSurveyReport, ClusterError> {
    run_with(survey, None, progress)
}

/// As [`run`]; replays in `store` are not repeated, and the others are added to it.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    survey: &JobSurvey,
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
    survey: &JobSurvey,
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

fn open(survey: &JobSurvey) -> Result<Vec<JobStream>, ClusterError> {
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
    survey: &JobSurvey,
) -> Result<Vec<Option<StoragePower>>, ClusterError> {
    let power = |storage: &StorageTable| {
        let part = part_of(storage);
        part.map(|(name, count)| StoragePower::new(name, count, &survey.parts)).transpose()
    };
    space.places.iter().map(|place| power(place.storage)).collect()
}

fn surveyed(
    survey: &JobSurvey,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    check_survey(survey)?;
    let space = MachineSpace::new(survey);
    let parts = storage_parts(&space);
    let storages = powers(&space, survey)?;
    let streams = open(survey)?;
    let of_streams: Vec<&Stream> = streams.iter().map(|s| &s.stream).collect();
    let part_times = times_of_parts(survey, &streams, &parts)?;
    let replayed = replay_all(&of_streams, &parts, &survey.parts, store, progress)?;
    let references: Vec<TraceReference<'_>> =
        streams.iter().map(|stream| reference_of(survey, stream)).collect();
    let traces = Traces {
        survey,
        streams: &streams,
        references: &references,
        parts: &parts,
        replays: &replayed.by_storage(),
        part_times: &part_times,
    };
    let loads = traces.loads(&space, &storages);
    let traced = Traced { streams: &streams, references: &references };
    let evaluator = Evaluator::new(survey, &space, loads, traced, |place| {
        traces.part_times_of(space.places[place].storage)
    });
    let chosen = Chosen::new(&evaluator, progress)?;
    if let Some(path) = &survey.table {
        let config = serde_json::to_string(survey).expect("a survey was read from JSON");
        let mut front = chosen.front.clone();
        front.sort_unstable();
        write_table(path, config, &chosen.chunks, progress, |chunk| evaluator.rows(chunk, &front))?;
    }
    let is_reference = |design: &MachineDesign<'_>| {
        design.is_first() && references.iter().any(|r| r.machine == Some(design.index))
    };
    let traced_on = || {
        let traced = (0..).zip(&space.designs).filter(|(_, design)| is_reference(design));
        traced.map(|(number, _)| number)
    };
    let shown = chosen.shown().chain(traced_on()).collect();
    let numbers = reported(shown, survey.rows, 0..space.designs.len() as u64);
    let numbers: Vec<usize> =
        numbers.into_iter().filter_map(|number| usize::try_from(number).ok()).collect();
    let mut in_stages = Vec::new();
    for number in chosen.notable().chain(traced_on()).filter_map(|n| usize::try_from(n).ok()) {
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
    }
    let storages =
        parts.iter().zip(traces.replays).map(|(part, replays)| storage_report(*part, replays));
    Ok(MachineSurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: survey.nodes,
        charge: Charge::common(streams.iter().map(|s| s.stream.charge)),
        reference: reference_report(&references),
        peak_memory_bytes: streams.iter().filter_map(|s| s.memory.used).max().map(|peak| peak.0),
        peak_cache_bytes: streams.iter().map(|s| s.memory.cache).max().unwrap_or_default().0,
        traces: streams.iter().map(|s| s.stream.report()).collect(),
        storages: storages.collect(),
        warnings: [warnings(survey, &traced), replayed.warnings.clone()].concat(),
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
        floor_s: chosen.floor_s,
        timeline,
    })
}

/// The traces of a survey, and their replays.
struct Traces<'a> {
    survey: &'a JobSurvey,
    streams: &'a [JobStream],
    /// By stream.
    references: &'a [TraceReference<'a>],
    parts: &'a [(&'a str, u32)],
    /// By part, then by stream.
    replays: &'a [&'a [Replayed]],
    /// By part; empty if no trace needs them.
    part_times: &'a [MeasuredStorage],
}

/// Times of requests to each part, if a trace needs them: it has no block log, or the page cache
/// saved reads or writes.
fn times_of_parts(
    survey: &JobSurvey,
    streams: &[JobStream],
    parts: &[(&str, u32)],
) -> Result<Vec<MeasuredStorage>, ClusterError> {
    let lacks_cache = |stream: &JobStream| {
        let mut machines = survey.machines.iter();
        stream.memory.unwritten > Bytes(0)
            || machines.any(|machine| stream.memory.read_again(*machine.memory) > Bytes(0))
    };
    let is_needed =
        |stream: &JobStream| (stream.has_io() && !stream.stream.logged) || lacks_cache(stream);
    if !streams.iter().any(is_needed) {
        return Ok(Vec::new());
    }
    parts.par_iter().map(|part| part_times(&Storage::of(*part, &survey.parts)?)).collect()
}

impl<'a> Traces<'a> {
    fn replay_of(&self, storage: &StorageTable, stream: usize) -> Option<&'a Replayed> {
        let at = self.parts.binary_search(&part_of(storage)?).ok()?;
        Some(&self.replays[at][stream])
    }

    fn part_times_of(&self, storage: &StorageTable) -> Option<&'a MeasuredStorage> {
        self.part_times.get(self.parts.binary_search(&part_of(storage)?).ok()?)
    }

    fn storage(&self, table: &'a StorageTable, at: usize) -> TraceStorage<'a> {
        let (replayed, part_times) = (self.replay_of(table, at), self.part_times_of(table));
        TraceStorage { table, replayed, part_times }
    }

    fn load(&self, place: Place<'a>, at: usize) -> TraceLoad<'a> {
        let reference = self.references[at];
        TraceLoad {
            stream: &self.streams[at],
            measured: &self.survey.measured,
            place,
            storage: self.storage(place.storage, at),
            reference,
            traced: reference.machine.map(|traced| {
                let machine = &self.survey.machines[traced];
                (self.storage(&machine.storage[0].0, at), machine.network[0].0)
            }),
        }
    }

    /// The traces at all places; `storages` holds the power of the storage of each place.
    fn loads(&self, space: &MachineSpace<'a>, storages: &[Option<StoragePower>]) -> Vec<JobLoad> {
        let load = |place: Place<'a>, storage, other| {
            let nodes = (0..self.streams.len()).map(|stream| self.load(place, stream).job());
            JobLoad::new(nodes.collect(), storage, other)
        };
        let first = load(space.places[0], storages[0], None);
        let places = space.places.par_iter().zip(storages);
        places.map(|(place, storage)| load(*place, *storage, Some(&first))).collect()
    }
}

/// What the report says of a space, in numbers of designs.
struct Chosen {
    /// All designs.
    chunks: Vec<Chunk>,
    front: Vec<u64>,
    named: Vec<(&'static str, Option<u64>)>,
    fastest: Option<u64>,
    /// The recommended design, if there is one.
    recommended: Option<u64>,
    verdict: Option<Verdict>,
    floor_s: f64,
}

/// Share of the time of the fastest design from which its floor is the answer.
const MOSTLY_FLOOR: f64 = 0.5;

impl Chosen {
    fn new(evaluator: &Evaluator<'_>, progress: &Progress) -> Result<Self, ClusterError> {
        let chunks = evaluator.chunks();
        let objectives = evaluator.objectives();
        let choice =
            choose(&chunks, &objectives, progress, |chunk, all| evaluator.compare(chunk, all))?;
        let (fronts, best) = choice.finish();
        let fastest = best[FASTEST].map(|(_, number)| number);
        let named = Evaluator::named(best.map(|best| best.map(|(_, number)| number)));
        let front = fronts[REPORTED].numbers.clone();
        let mut chosen =
            Self { chunks, front, named, fastest, recommended: None, verdict: None, floor_s: 0.0 };
        if let Some(([time, ..], fastest)) = best[FASTEST] {
            let floor = evaluator.floor(fastest);
            chosen.floor_s = floor.secs;
            if floor.share < MOSTLY_FLOOR {
                let (verdict, number) = recommend(evaluator, &fronts, fastest, time);
                chosen.verdict = Some(verdict);
                chosen.recommended = Some(number);
            }
        }
        Ok(chosen)
    }

    /// The designs that are always in the report.
    fn shown(&self) -> impl Iterator<Item = u64> {
        self.front.iter().copied().chain(self.notable())
    }

    /// The recommended design, those with a name, and the fastest.
    fn notable(&self) -> impl Iterator<Item = u64> {
        let named = self.named.iter().filter_map(|(_, number)| *number);
        self.recommended.into_iter().chain(named).chain(self.fastest)
    }
}

/// The recommended design and its number; see [`Verdict`]. `time` is that of the fastest.
fn recommend(
    evaluator: &Evaluator<'_>,
    fronts: &[Front],
    fastest: u64,
    time: f64,
) -> (Verdict, u64) {
    let near = |front: usize| least_within(&fronts[front], time * (1.0 + SLACK));
    let (by, number) = match (near(BY_PRICE), near(BY_ENERGY)) {
        (Some(cheapest), _) => (VerdictBy::Price, cheapest),
        (None, Some(least)) => (VerdictBy::Energy, least),
        (None, None) => (VerdictBy::Time, fastest),
    };
    let machine = evaluator.id(number);
    let verdict = Verdict { machine, fastest: evaluator.id(fastest), slack: SLACK, by };
    (verdict, number)
}

/// The design of a front of time and cost with the least cost of those that take at most `time`: the
/// front is in the order of the times, so the first of the last with another cost.
fn least_within(front: &Front, time: f64) -> Option<u64> {
    let within = front.objectives[0].partition_point(|secs| *secs <= time);
    let last = within.checked_sub(1)?;
    let costs = &front.objectives[1];
    let first = costs[..within].iter().position(|cost| *cost == costs[last])?;
    Some(front.numbers[first])
}

fn check_survey(survey: &JobSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if survey.machines.is_empty() {
        return impossible("machines", "the space has none".into());
    }
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed".into());
    }
    if survey.traces.len() != survey.nodes as usize {
        let why = format!(
            "the job model needs a trace of each node, and there are {} for {}",
            survey.traces.len(),
            survey.nodes
        );
        return impossible("nodes", why);
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
fn check_reference(survey: &JobSurvey) -> Result<(), ClusterError> {
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
fn reference_of<'a>(survey: &'a JobSurvey, stream: &JobStream) -> TraceReference<'a> {
    if let Some(name) = &survey.reference {
        return match survey.machines.iter().position(|m| m.id == *name) {
            Some(at) => {
                let machine = Some(at);
                TraceReference { machine, ..TraceReference::of(&survey.machines[at]) }
            }
            None => {
                TraceReference { name: Some(name), is_assumed: false, ..TraceReference::UNKNOWN }
            }
        };
    }
    if let Some(machine) = &survey.reference_machine {
        return TraceReference::of(machine);
    }
    if let Some(speed) = survey.reference_speed {
        return TraceReference { speed, is_assumed: false, ..TraceReference::UNKNOWN };
    }
    let traced = &stream.stream.trace.manifest().machine;
    let machine = same_processor(&survey.machines, traced, stream.cores());
    machine.map_or(TraceReference::UNKNOWN, TraceReference::of)
}

fn reference_report(references: &[TraceReference<'_>]) -> ReferenceReport {
    let first = references[0];
    ReferenceReport {
        machine: first.name.map(str::to_owned),
        core_speed: first.speed,
        is_assumed: references.iter().any(|reference| reference.is_assumed),
    }
}
