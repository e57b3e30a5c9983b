//! Surveys of machines, by the `job` model ([`crate::job`]) or by the paper's model.
//!
//! Each distinct storage part is replayed once for each stream, as in [`crate::survey`]. The time
//! of a volume that is described by its limits comes from the counts of each sample.
//!
//! This module checks the survey and runs it. `job_stream` reads a trace, `load` computes the times
//! of its samples on a machine, `outcome` adds them up, `notes` lists warnings and assumptions.

mod job_stream;
mod load;
mod notes;
mod outcome;

use crate::config::{Charge, Model, Parts};
use crate::error::ClusterError;
use crate::machine::{Machine, check};
use crate::node::StoragePower;
use crate::report::{MachineReport, MachineSurveyReport, ReferenceReport};
use crate::simulate::spread;
use crate::stream::{Replayed, storage_id, storage_report};
use gordon_replay::threads::on_all_cores;
use gordon_units::{Progress, Sourced};
use job_stream::JobStream;
use load::{MachineLoad, TraceReference, same_processor};
use notes::{assumptions, warnings};
pub use outcome::limits;
use outcome::{job_outcome, paper_outcome};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

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
    /// Name of the machine whose `core_speed` is 1.
    #[serde(default)]
    pub unit: Option<String>,
    /// Catalogue of the storage parts.
    pub parts: Parts,
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
    on_all_cores(|| surveyed(survey, progress))
}

fn surveyed(
    survey: &MachineSurvey,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    check_survey(survey)?;
    let mut parts: Vec<(&str, u32)> = survey
        .machines
        .iter()
        .filter_map(|m| Some((m.storage().part.as_deref()?, m.devices())))
        .collect();
    parts.sort_unstable();
    parts.dedup();
    for (name, count) in &parts {
        StoragePower::new(name, *count, &survey.parts)?;
    }
    let streams = survey
        .traces
        .par_iter()
        .map(|path| JobStream::open(path, survey.charge))
        .collect::<Result<Vec<_>, _>>()?;
    let pairs: Vec<_> = (0..parts.len())
        .flat_map(|part| (0..streams.len()).map(move |stream| (part, stream)))
        .collect();
    progress.total.store(pairs.len() as u64, Ordering::Relaxed);
    let replays = pairs
        .par_iter()
        .map(|&(part, stream)| {
            let (name, count) = parts[part];
            let replayed = streams[stream].stream.replay(name, count, &survey.parts, progress);
            progress.step(1);
            replayed
        })
        .collect::<Result<Vec<_>, _>>()?;
    // Indexed as replays[part][stream].
    let replays: Vec<&[Replayed]> = replays.chunks(streams.len()).collect();
    let replay_of = |machine: &Machine, stream: usize| {
        let part = machine.storage().part.as_deref()?;
        let at = parts.binary_search(&(part, machine.devices())).ok()?;
        Some(&replays[at][stream])
    };
    let references: Vec<TraceReference<'_>> =
        streams.iter().map(|stream| reference_of(survey, stream)).collect();
    let lengths: Vec<usize> = streams.iter().map(|s| s.samples.len()).collect();
    let nodes = spread(&lengths, survey.nodes as usize, *survey.shift);
    let peak = streams.iter().map(JobStream::peak_memory).max().unwrap_or_default();
    let machines: Vec<MachineReport> = survey
        .machines
        .par_iter()
        .enumerate()
        .map(|(index, machine)| {
            let loads: Vec<MachineLoad<'_>> = streams
                .iter()
                .zip(&references)
                .enumerate()
                .map(|(at, (stream, reference))| MachineLoad {
                    stream,
                    machine,
                    replayed: replay_of(machine, at),
                    reference: *reference,
                    traced: reference.machine.map(|traced| {
                        let traced = &survey.machines[traced];
                        (traced.storage(), replay_of(traced, at))
                    }),
                })
                .collect();
            let mut report = machine_report(machine);
            report.is_reference = references.iter().any(|r| r.machine == Some(index));
            report.memory_below_peak = *machine.memory < peak;
            match survey.model {
                Model::Job => job_outcome(survey, machine, &loads, &mut report)?,
                Model::Paper => paper_outcome(survey, machine, &loads, &nodes, &mut report)?,
            }
            Ok(report)
        })
        .collect::<Result<_, ClusterError>>()?;
    let storages =
        parts.iter().zip(&replays).map(|(part, replayed)| storage_report(*part, replayed));
    Ok(MachineSurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        model: survey.model,
        nodes: survey.nodes,
        charge: survey.charge,
        reference: reference_report(survey, &references),
        peak_memory_bytes: peak.0,
        traces: streams.iter().map(|s| s.stream.report()).collect(),
        storages: storages.collect(),
        warnings: warnings(survey, &streams, &references, &machines, peak),
        assumptions: assumptions(survey, &streams),
        machines,
    })
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
    check(&survey.machines)?;
    if let Some(name) = &survey.reference
        && survey.unit.as_ref() != Some(name)
        && survey.machines.iter().all(|m| m.id != *name)
    {
        return impossible("reference", format!("no machine of the space is `{name}`"));
    }
    Ok(())
}

/// The machine that was given; otherwise one whose processor the manifest names; otherwise an
/// unknown machine of speed 1.
fn reference_of<'a>(survey: &'a MachineSurvey, stream: &JobStream) -> TraceReference<'a> {
    if let Some(name) = &survey.reference {
        let machine = survey.machines.iter().position(|m| m.id == *name);
        let speed = machine.map_or(1.0, |at| *survey.machines[at].core_speed);
        return TraceReference { name: Some(name), speed, machine };
    }
    let traced = &stream.stream.trace.manifest().machine;
    match same_processor(&survey.machines, traced, stream.cores()) {
        Some(machine) => {
            TraceReference { name: Some(&machine.id), speed: *machine.core_speed, machine: None }
        }
        None => TraceReference { name: None, speed: 1.0, machine: None },
    }
}

fn machine_report(machine: &Machine) -> MachineReport {
    let storage = machine.storage();
    let part = storage.part.as_ref().map(|part| storage_id(part, machine.devices()));
    let volume = storage.bandwidth.as_ref().map(|bandwidth| format!("{}/s", **bandwidth));
    MachineReport {
        id: machine.id.clone(),
        summary: machine.summary.clone(),
        cores: *machine.cores,
        core_speed: *machine.core_speed,
        memory_bytes: machine.memory.0,
        storage: part.into_iter().chain(volume).collect::<Vec<_>>().join(", at most "),
        storage_part: storage.part.clone(),
        network_bytes_per_s: machine.network.0,
        price_per_hour: machine.price_per_hour.as_ref().map(|price| **price),
        is_reference: false,
        memory_below_peak: false,
        job: None,
        sync: None,
        nosync: None,
        limits: BTreeMap::new(),
    }
}

fn reference_report(survey: &MachineSurvey, references: &[TraceReference<'_>]) -> ReferenceReport {
    let first = references[0];
    ReferenceReport {
        machine: first.name.map(str::to_owned),
        core_speed: first.speed,
        is_assumed: survey.reference.is_none() && references.iter().any(|r| r.name.is_none()),
    }
}
