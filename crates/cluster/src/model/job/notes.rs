//! The notes of a report: what its traces lack, and what the models assume in its place.

use super::JobSurvey;
use super::measured::substitutes;
use super::traces::JobTraces;
use crate::model::job::demand::TAIL;
use crate::space::machine::StorageTable;
use crate::space::machines::{MachineDesign, MachineSpace};
use crate::space::reference::is_arm_core;
use crate::space::storage::DEFAULT_DEPTH;
use crate::survey::report::Assumption;
use crate::trace::job_stream::{JobStream, MemoryFit, TracedMemory};
use gordon_units::Bytes;

/// Length of samples above which phases of a job are averaged, so that a survey gives a warning.
const LONG_SAMPLE_S: f64 = 5.0;
/// Share of the time with all cores busy from which a survey gives a warning.
const MUCH_SATURATED: f64 = 0.1;
/// Share of the demand for cores that was not served from which a survey gives a warning.
const MUCH_UNSERVED: f64 = 0.05;

pub(super) fn warnings(traces: &JobTraces<'_>, space: &MachineSpace<'_>) -> Vec<String> {
    let JobTraces { survey, streams, references, .. } = traces;
    let mut list = Vec::new();
    list.extend(nodes_note(traces, space));
    if traces.starts.is_none() {
        list.push(
            "the traces were not recorded at the same time: they are taken as if they had started \
             together"
                .into(),
        );
    }
    let has_gaps = |stream: &JobStream| stream.stream.trace.manifest().has_gaps();
    if streams.len() > 1
        && let Some(stream) = streams.iter().find(|stream| has_gaps(stream))
    {
        list.push(format!(
            "{}: time is missing within the record of a node, so that nothing says which samples \
             of the nodes are of the same time from there on: how many nodes worked together is \
             unknown, and is not in the ranges",
            stream.stream.path.display()
        ));
    }
    let mut assumed = streams.iter().zip(references).filter(|(_, of)| of.is_assumed);
    if let Some((stream, _)) = assumed.next() {
        let model = &stream.stream.trace.manifest().machine.cpu_model;
        let why = match is_arm_core(model) {
            true => format!(" (machines of different clocks have its cores, {model})"),
            false => String::new(),
        };
        list.push(format!(
            "the speed of the traced machine is unknown{why}: core_speed 1.0 is assumed, and the \
             ranges go from half to twice as fast. Give the traced machine with --reference"
        ));
    }
    if let Some(stream) = streams.iter().find(|stream| stream.looks_like_service()) {
        list.push(format!(
            "{}: this looks like the record of a service, not of a job: no command, and a steady \
             load. `gordon survey --service` finds the machines that keep up with it",
            stream.stream.path.display()
        ));
    }
    for (stream, reference) in streams.iter().zip(references) {
        let path = stream.stream.path.display();
        if survey.catalogue.reference.is_some()
            && let Some(machine) = reference.machine.map(|index| &survey.catalogue.machines[index])
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
    list.extend(memory_notes(traces, space));
    list
}

/// A warning if another number of nodes than was traced is compared.
fn nodes_note(traces: &JobTraces<'_>, space: &MachineSpace<'_>) -> Option<String> {
    let traced = traces.streams.len();
    let differs = space.places.iter().any(|place| traces.nodes(place.nodes).differ());
    differs.then(|| {
        format!(
            "traces do not show how the work of {traced} nodes divides among another number: the \
             estimate keeps the number of cores that were busy at a time, and the range reaches to \
             work that divides among any number"
        )
    })
}

/// Warnings about designs with less memory than the job used.
fn memory_notes(traces: &JobTraces<'_>, space: &MachineSpace<'_>) -> Vec<String> {
    let all = || space.designs.iter().filter(|design| design.is_first());
    let of = |fits: &[MemoryFit]| -> Vec<String> {
        let designs = all().filter(|design| fits.contains(&traces.fit(design)));
        designs.map(|design| space.machine_id(design)).collect()
    };
    let named = |ids: &[String]| match ids {
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => String::new(),
    };
    let peak = |of: fn(&TracedMemory) -> Option<Bytes>| {
        let sizes = traces.streams.iter().filter_map(|stream| of(&stream.memory));
        sizes.max().unwrap_or_default().human().to_string()
    };
    let mut notes = Vec::new();
    let too_small = of(&[MemoryFit::TooSmall]);
    if !too_small.is_empty() {
        notes.push(format!(
            "{}: less memory than the {} that the job could not give back; no candidates",
            named(&too_small),
            peak(|memory| memory.least)
        ));
    }
    let maybe = of(&[MemoryFit::MaybeTooSmall]);
    if !maybe.is_empty() {
        notes.push(format!(
            "{}: less memory than the {} that the trace used; no candidates, because the trace \
             does not show what the kernel could drop",
            named(&maybe),
            peak(|memory| memory.used)
        ));
    }
    let is_short = |design: &&MachineDesign<'_>| {
        traces.fit(design).is_candidate() && traces.read_again(design) > 0.0
    };
    let short: Vec<String> =
        all().filter(is_short).map(|design| space.machine_id(design)).collect();
    if !short.is_empty() {
        notes.push(format!(
            "{}: less memory than the job and its page cache of {} used; the ranges include that \
             the cached data are read again",
            named(&short),
            peak(|memory| Some(memory.cache))
        ));
    }
    notes
}

fn storages(survey: &JobSurvey) -> impl Iterator<Item = &StorageTable> {
    survey
        .catalogue
        .machines
        .iter()
        .flat_map(|machine| machine.storage.iter())
        .map(|storage| &storage.0)
}

fn stream_notes(survey: &JobSurvey, stream: &JobStream) -> Vec<String> {
    let mut notes = Vec::new();
    let has_parts = storages(survey).any(|storage| storage.part.is_some());
    if !stream.has_io() {
        notes.push("no block I/O in it; storage never limits".into());
    } else if !stream.stream.logged && has_parts {
        notes.push(
            "no block log; storage times of simulated devices come from each sample's counts, as \
             if its requests were of equal size and sequential. Requests below 64 KiB may be \
             random: the estimate lies between, and the range has both"
                .into(),
        );
    }
    notes.extend(stream.stream.others_note());
    notes.extend(stream.stream.accelerators_note());
    notes.extend(stream.stream.read_amplification_note());
    let lost = stream.stream.trace.manifest().lost();
    notes.extend(lost.map(|lost| format!("no {}: {}", lost.what, lost.why)));
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
    notes.extend(more_cores_note(survey, stream));
    let unserved = stream.unserved_share();
    if unserved >= MUCH_UNSERVED {
        notes.push(format!(
            "the machine was saturated by others: {:.0} % of what the job wanted of the cores was \
             not served (steal, quota, other programs). The estimate counts it as demand that \
             another machine serves; the range reaches to the same waits",
            unserved * 100.0
        ));
    }
    notes
}

/// A warning if all traced cores were busy, and a machine has more.
fn more_cores_note(survey: &JobSurvey, stream: &JobStream) -> Option<String> {
    let most = survey.catalogue.machines.iter().map(|machine| *machine.cores).max()?;
    let share = stream.saturated_share();
    if most <= stream.cores() || share < MUCH_SATURATED {
        return None;
    }
    let cores = f64::from(stream.cores()) * stream.core_share;
    let plural = if cores == 1.0 { "core" } else { "cores" };
    Some(format!(
        "all of the {cores} {plural} were busy in {:.0} % of the computing time: the trace does \
         not show how many more the job could use, so that the ranges of machines with more are \
         wide",
        share * 100.0
    ))
}

pub(super) fn assumptions(survey: &JobSurvey, streams: &[JobStream]) -> Vec<Assumption> {
    let mut list = Vec::new();
    let mut add = |key: &str, value: String, why: &str| {
        list.push(Assumption { key: key.into(), value, why: why.into() });
    };
    add(
        "width",
        "geometric".into(),
        "cores that the job could use at any moment; of the distributions with the measured mean, \
         the one of greatest entropy",
    );
    add(
        "width.tail",
        format!("(n / k)^{TAIL}"),
        "probability that the job could use k cores while all n traced cores were busy, which the \
         trace cannot show",
    );
    let has_measured = !survey.catalogue.files().is_empty();
    let has_limits = storages(survey).any(|storage| storage.bandwidth.is_some());
    let are_logged = streams.iter().all(|stream| stream.stream.logged);
    if (has_limits || has_measured) && !are_logged && survey.catalogue.reference.is_none() {
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
            "order of requests of 64 KiB or more on measured storage: the trace has no block log; \
             smaller ones may be random",
        );
    }
    for (file, missing, used) in substitutes(survey, streams) {
        add(&format!("storage.measured {file}"), missing, used);
    }
    list
}
