//! The notes of a report: what its traces lack, and what the models assume in its place.

use super::MachineSurvey;
use super::load::TraceReference;
use super::measured::{files, substitutes};
use crate::alignment::{self, Lags};
use crate::config::Model;
use crate::job_stream::JobStream;
use crate::machine::StorageTable;
use crate::replay::DEFAULT_DEPTH;
use crate::report::Assumption;
use crate::stages::{stage_of_samples, unused};
use gordon_units::Bytes;

/// Length of samples above which phases of a job are averaged, so that a survey gives a warning.
const LONG_SAMPLE_S: f64 = 5.0;
/// Share of busy cores above which a machine of one or two cores says little about more cores.
const MOSTLY_BUSY: f64 = 0.8;

pub(super) fn warnings(
    survey: &MachineSurvey,
    streams: &[JobStream],
    references: &[TraceReference<'_>],
    peak: Bytes,
) -> Vec<String> {
    let mut list = Vec::new();
    if survey.reference_speed.is_none()
        && references.iter().any(|reference| reference.name.is_none())
    {
        list.push(
            "the speed of the traced machine is unknown: core_speed 1.0 is assumed, and CPU times \
             are in proportion to it. Give the traced machine with --reference"
                .into(),
        );
    }
    for (stream, reference) in streams.iter().zip(references) {
        let path = stream.stream.path.display();
        if survey.reference.is_some()
            && let Some(machine) = reference.machine.map(|index| &survey.machines[index])
            && *machine.cores != stream.cores()
        {
            list.push(format!(
                "{path}: recorded on {} cores, and the reference machine {} has {}: its time is \
                 predicted, not measured. Give the traced machine with --reference",
                stream.cores(),
                machine.id,
                *machine.cores
            ));
        }
        list.extend(stream_notes(survey, stream).into_iter().map(|note| format!("{path}: {note}")));
    }
    if survey.model != Model::Job {
        let streams = || streams.iter().map(|stream| &stream.stream);
        let lags = Lags::new(&survey.lags);
        list.extend(alignment::warnings(streams(), &lags));
        if let Some(stages) = &survey.stages {
            list.extend(unused(stages, &stage_of_samples(stages, &lags.longest(streams()))));
        }
    }
    let machines = survey.machines.iter();
    let small: Vec<&str> = machines.filter(|m| *m.memory < peak).map(|m| m.id.as_str()).collect();
    if let Some(first) = small.first() {
        let others = match small.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        list.push(format!(
            "{first}{others}: less memory than the {} that the trace used at most; the effect on \
             time is not modelled",
            peak.human()
        ));
    }
    list
}

fn storages(survey: &MachineSurvey) -> impl Iterator<Item = &StorageTable> {
    survey.machines.iter().flat_map(|machine| machine.storage.iter()).map(|storage| &storage.0)
}

fn stream_notes(survey: &MachineSurvey, stream: &JobStream) -> Vec<String> {
    let mut notes = Vec::new();
    let has_parts = storages(survey).any(|storage| storage.part.is_some());
    if !stream.has_io() {
        notes.push("no block I/O in it; storage never limits".into());
    } else if !stream.stream.logged && has_parts {
        notes.push(
            "no block log; storage times of simulated devices come from each sample's counts, as \
             if its requests were of equal size and sequential: a lower bound for disks"
                .into(),
        );
    }
    notes.extend(stream.stream.read_amplification_note());
    let lost = stream.stream.trace.manifest().lost();
    notes.extend(lost.map(|lost| format!("no {}: {}", lost.what, lost.why)));
    if survey.model != Model::Job {
        return notes;
    }
    if !stream.has_iowait && !stream.has_stalled() && stream.has_io() {
        notes
            .push("no iowait in it; one thread is assumed to wait while the device is busy".into());
    }
    let interval = stream.span() / stream.samples.len() as f64;
    if interval > LONG_SAMPLE_S {
        notes.push(format!(
            "samples of {interval:.1} s hide phases of the job; record one a second"
        ));
    }
    if stream.cores() <= 2 && stream.busy_share() >= MOSTLY_BUSY {
        notes.push(format!(
            "{:.0} % of {} cores were busy: the trace says little about machines with more cores, \
             which may be slower than predicted",
            stream.busy_share() * 100.0,
            f64::from(stream.cores()) * stream.core_share,
        ));
    }
    notes
}

pub(super) fn assumptions(survey: &MachineSurvey, streams: &[JobStream]) -> Vec<Assumption> {
    let mut list = Vec::new();
    let mut add = |key: &str, value: String, why: &str| {
        list.push(Assumption { key: key.into(), value, why: why.into() });
    };
    if survey.model == Model::Job {
        add(
            "width",
            "geometric".into(),
            "cores that the job could use at any moment; of the distributions with the measured \
             mean, the one of greatest entropy",
        );
    }
    let has_measured = !files(survey).is_empty();
    let has_limits = storages(survey).any(|storage| storage.bandwidth.is_some());
    let are_logged = streams.iter().all(|stream| stream.stream.logged);
    if (has_limits || has_measured) && !are_logged && survey.reference.is_none() {
        add(
            "storage.depth",
            format!("{DEFAULT_DEPTH}"),
            "outstanding requests: the trace has no latencies, and the traced volume is unknown",
        );
    }
    if has_measured && !are_logged {
        add(
            "storage.measured",
            "sequential".into(),
            "order of requests on measured storage: the trace has no block log",
        );
    }
    for (file, missing, used) in substitutes(survey, streams) {
        add(&format!("storage.measured {file}"), missing, used);
    }
    list
}
