//! The notes of a report: what the record lacks, and what the model assumes in its place.

use super::evaluate::ServiceModel;
use super::load::{HIDDEN, ServiceLoad, ServiceSample};
use super::sample::{FULL, GAP};
use crate::space::reference::TraceReference;
use crate::space::storage::DEFAULT_DEPTH;
use crate::survey::report::Assumption;
use crate::trace::job_stream::JobStream;
use std::fmt::Write;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
/// Share of a day from which a record has its peaks.
const NEARLY: f64 = 0.95;
/// Length of samples from which peaks within them are worth a warning.
const LONG_SAMPLE: f64 = 60.0;
/// Share of the demand for cores that was not served from which a survey gives a warning.
const MUCH_UNSERVED: f64 = 0.01;

pub(super) fn warnings(model: &ServiceModel<'_>) -> Vec<String> {
    let traces = &model.traces;
    let load = &traces.load;
    let mut list = Vec::new();
    if traces.is_assumed() {
        list.push(
            "the speed of the recorded machine is unknown: core_speed 1.0 is assumed, and it may \
             be half to twice as fast: a design keeps up for certain if it does with twice the \
             load. Give the recorded machine with --reference"
                .into(),
        );
    }
    for stream in traces.streams {
        let path = stream.stream.path.display();
        list.extend(stream_notes(stream).into_iter().map(|note| format!("{path}: {note}")));
    }
    let span = load.secs();
    // Nodes that start some seconds apart have a little less than a day in common.
    if span < NEARLY * DAY {
        list.push(format!(
            "the record covers {}: it has none of the peaks of a day or a week. Record a day, or \
             better a week",
            length(span)
        ));
    }
    list.extend(gap_note(load));
    let of_one = load.nodes == 1;
    if load.left_out > 0 && !of_one {
        list.push(format!(
            "{} samples of {} are left out, because not all nodes have a record of them; {} \
             samples of {} are used",
            load.left_out,
            length(load.left_out_secs),
            load.samples.len(),
            length(span)
        ));
    }
    if !traces.alone.is_empty() {
        list.push(
            "time is missing within the record of a node, so that nothing says which samples of \
             the nodes are of the same time: the ranges reach to peaks that coincide"
                .into(),
        );
    }
    let interval = load.interval();
    if interval > LONG_SAMPLE {
        list.push(format!(
            "samples of {}: shorter peaks are averaged, and the headroom has to cover them",
            length(interval)
        ));
    }
    list.extend(hidden_notes(model));
    list.extend(busy_disk_note(model));
    list.extend(memory_note(model));
    list.extend(unlike_note(model));
    let memory = match traces.memory() {
        Some(_) => "only machines with as much as the recorded one are judged",
        None => {
            "no design is known to keep up. Give the recorded machine, as one of the surveyed \
             space, with --reference, so that machines with as much memory as it has are judged"
        }
    };
    let missing = [
        (load.recorded.memory, "memory", memory, "-r ALL, or node_memory_.*"),
        (load.recorded.disk, "disks", "storage is not judged", "-d, or node_disk_.*"),
        (
            load.recorded.network,
            "network",
            "the network is not judged",
            "-n DEV, or node_network_.*",
        ),
    ];
    for (_, name, result, how) in missing.into_iter().filter(|(is_there, ..)| !is_there) {
        let how = format!("To record it: `sadf` with {how} of Prometheus");
        list.push(format!("the record has no {name}: {result}. {how}"));
    }
    let mut machines = model.survey.catalogue.machines.iter();
    let has_volumes = machines.any(|machine| machine.volume_price_per_gib_month.is_some());
    if !traces.are_logged() && has_volumes {
        list.push(
            "prices are without block storage: the record does not have the size of the data. A \
             space has its price as volume_price_per_gib_month"
                .into(),
        );
    }
    list
}

/// What the record of a node lacks.
fn stream_notes(stream: &JobStream) -> Vec<String> {
    let mut notes = Vec::new();
    let lost: Vec<String> = stream
        .stream
        .trace
        .manifest()
        .lost()
        .filter(|lost| lost.what != "memory" && lost.what != "network")
        .map(|lost| format!("{} ({})", lost.what, lost.why))
        .collect();
    if !lost.is_empty() {
        notes.push(format!(
            "{} samples of {} are used; the record lacks {}",
            stream.samples.len(),
            length(stream.span()),
            lost.join(", ")
        ));
    }
    let unserved = stream.unserved_share();
    if unserved >= MUCH_UNSERVED {
        notes.push(format!(
            "{:.0} % of the demand for cores was not served (steal, quota, other programs); it \
             counts as demand",
            unserved * 100.0
        ));
    }
    notes
}

/// Samples that span a gap of the record.
fn gap_note(load: &ServiceLoad) -> Option<String> {
    let gaps: usize = load.of_nodes.iter().map(|node| node.gaps).sum();
    if gaps == 0 {
        return None;
    }
    let secs: f64 = load.of_nodes.iter().map(|node| node.gap_secs).sum();
    let busy = load.of_nodes.iter().map(|node| node.gap_busy).fold(0.0, f64::max);
    let most = load.series(|sample| sample.most.busy).p99();
    let samples = if gaps == 1 { "sample is" } else { "samples are" };
    let mut note = format!(
        "{gaps} {samples} left out of the load, {} in all: the record has a gap there, more than \
         {GAP:.0} times as long as the samples around it",
        length(secs)
    );
    if busy > most {
        write!(
            note,
            "; a mean of {busy:.2} cores was busy in one, more than the {most:.2} of a node in \
             99 % of the time: peaks of the load are missing"
        )
        .expect("a string takes any text");
    }
    Some(note)
}

/// Resources whose limit hides demand.
fn hidden_notes(model: &ServiceModel<'_>) -> Vec<String> {
    let load = &model.traces.load;
    let names = ["all cores were busy", "a disk was always busy", "the link was at its rate"];
    let of = |((name, share), hides): ((&str, f64), bool)| {
        let result = match hides {
            true => "no upper end of the use is known, and no design is known to keep up",
            false => "the peak is a lower bound",
        };
        (share > 0.0).then(|| {
            format!(
                "{name} in {:.2} % of the time: the demand may have been higher then; {result}",
                share * 100.0
            )
        })
    };
    names.into_iter().zip(load.full()).zip(load.hides()).filter_map(of).collect()
}

/// A disk that was always busy by its own busy time, and not by that of the storage of the recorded
/// machine of the space.
fn busy_disk_note(model: &ServiceModel<'_>) -> Option<String> {
    let traces = &model.traces;
    let of_node = |(stream, reference): (&JobStream, &TraceReference<'_>)| {
        let name = reference.name.filter(|_| reference.machine.is_some())?.to_owned();
        let samples = || stream.samples.iter().zip(&stream.io);
        let busy: f64 = samples()
            .filter(|(sample, io)| sample.span > 0.0 && io.busy >= FULL * sample.span)
            .map(|(sample, _)| sample.span)
            .sum();
        Some((name, busy / stream.span()))
    };
    let nodes = traces.streams.iter().zip(&traces.references).filter_map(of_node);
    let (name, share) = nodes.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share > HIDDEN && traces.load.full()[1] < share).then(|| {
        format!(
            "a disk had requests without a pause in {:.2} % of the time, which the storage of \
             {name} serves with time to spare: if the recorded machine has another storage, the \
             demand may have been higher then",
            share * 100.0
        )
    })
}

/// Memory that was nearly full: what a machine would have used beyond it is not recorded.
#[allow(clippy::cast_precision_loss)]
fn memory_note(model: &ServiceModel<'_>) -> Option<String> {
    let load = &model.traces.load;
    let streams = model.traces.streams.iter();
    let sizes = streams.map(|stream| stream.stream.trace.manifest().machine.memory);
    let size = sizes.min().filter(|size| load.recorded.memory && size.0 > 0)?.0 as f64;
    let is_full = |sample: &&ServiceSample| sample.most.memory[1] >= FULL * size;
    let secs: f64 = load.samples.iter().filter(is_full).map(|sample| sample.secs).sum();
    let share = secs / load.secs();
    (share > 0.0).then(|| {
        format!(
            "memory was at least {:.0} % used in {:.2} % of the time: the demand may have been \
             higher then, because swapped memory is not in the record",
            FULL * 100.0,
            share * 100.0
        )
    })
}

/// Recorded nodes that do not look like those of one service.
fn unlike_note(model: &ServiceModel<'_>) -> Option<String> {
    let cores = || model.traces.streams.iter().map(JobStream::cores);
    let (least, most) = (cores().min()?, cores().max()?);
    (least < most).then(|| {
        format!(
            "the recorded nodes have {least} to {most} cores, and are taken as one service whose \
             load divides evenly over its nodes: give the records of each service on its own"
        )
    })
}

/// A time in the largest unit that it fills twice.
fn length(secs: f64) -> String {
    match secs {
        _ if secs >= 2.0 * DAY => format!("{:.1} days", secs / DAY),
        _ if secs >= 2.0 * HOUR => format!("{:.1} hours", secs / HOUR),
        _ if secs >= 120.0 => format!("{:.0} minutes", secs / 60.0),
        _ => format!("{secs:.0} s"),
    }
}

pub(super) fn assumptions(model: &ServiceModel<'_>) -> Vec<Assumption> {
    let load = &model.traces.load;
    let mut list = Vec::new();
    let mut add = |key: &str, value: String, why: &str| {
        list.push(Assumption { key: key.into(), value, why: why.into() });
    };
    add(
        "division",
        "even".into(),
        "requests over the nodes of a design: a service without state, or one whose data are \
         divided",
    );
    add(
        "memory.nodes",
        "as recorded".into(),
        "memory of each of more nodes: that of the recorded node with most; fewer nodes share the \
         sum",
    );
    if load.recorded.disk {
        add(
            "storage.depth",
            format!("{DEFAULT_DEPTH}"),
            "outstanding requests of a storage that is used to its capacity",
        );
        if !model.traces.are_logged() {
            add(
                "storage.order",
                "between random and sequential".into(),
                "requests below 64 KiB: the record has no addresses; the range has both",
            );
        }
    }
    add(
        "cache",
        "five minutes".into(),
        "time in which a page cache that no longer fits is read again, once, at the upper end of \
         the use of storage (Gray and Putzolu, SIGMOD 1987)",
    );
    list
}
