//! The notes of a report: what its traces lack, and what the model assumes.

use super::PaperSurvey;
use super::simulate::{LIMITING, Node};
use crate::space::grid::Grid;
use crate::space::machine::storage_id;
use crate::survey::report::Assumption;
use crate::trace::charge::Reference;
use crate::trace::replays::Replays;
use crate::trace::stream::Stream;
use gordon_sim::stripe::CHUNK;
use gordon_units::Source;

/// How streams were spread over more nodes than there are streams.
pub(super) fn spread_note(
    streams: &[Stream],
    nodes: &[Node],
    survey: &PaperSurvey,
) -> Option<String> {
    (nodes.len() > streams.len()).then(|| {
        let most = nodes.iter().map(|node| node.shift).max().unwrap_or(0);
        let shifted = match most {
            0 if *survey.shift > 0.0 => {
                "too few samples to shift the nodes: sync and nosync are equal".into()
            }
            0 => "sync and nosync are equal".into(),
            most => format!("at most {most} samples"),
        };
        let (count, s, stand) = match streams.len() {
            1 => (1, "", "stands"),
            more => (more, "s", "stand"),
        };
        format!(
            "{count} traced machine{s} {stand} for {} nodes: each node runs a whole copy of a \
             trace, the copies of one shifted over {}% of its length ({shifted}); storage times \
             travel with their samples",
            nodes.len(),
            *survey.shift * 100.0,
        )
    })
}

/// Notes of the streams, and of storages on which the traced addresses were moved together.
pub(super) fn warnings(streams: &[Stream], replays: &Replays<'_>) -> Vec<String> {
    // Each text with the first trace to which it applies, and the number of such traces.
    let mut notes: Vec<(String, &Stream, usize)> = Vec::new();
    for stream in streams {
        for text in stream.notes() {
            match notes.iter_mut().find(|(known, ..)| *known == text) {
                Some((.., count)) => *count += 1,
                None => notes.push((text, stream, 1)),
            }
        }
    }
    let mut warnings: Vec<String> = notes
        .into_iter()
        .map(|(text, first, count)| match count {
            1 => format!("{}: {text}", first.path.display()),
            more => format!("{} and {} more: {text}", first.path.display(), more - 1),
        })
        .collect();
    for ((name, count), replayed) in replays.iter() {
        if replayed.iter().any(|r| r.compacted) {
            warnings.push(format!(
                "{}: the traced addresses do not fit one device of its size; the 1 MiB extents \
                 touched were moved together, in order",
                storage_id(name, count)
            ));
        }
    }
    warnings
}

pub(super) fn assumptions(
    survey: &PaperSurvey,
    grid: &Grid,
    ratio: f64,
    streams: &[Stream],
) -> Vec<Assumption> {
    let assumption = |key: &str, value: String, why: &str| Assumption {
        key: key.into(),
        value,
        why: why.into(),
    };
    let mut list = vec![
        assumption(
            "overhead.ratio",
            format!("{ratio:.4}"),
            "node power over the power of its parts; section 5.2 names the ratio and does not \
             print it",
        ),
        assumption(
            "cpu.idle",
            "the same at every clock".into(),
            "section 5.2 scales voltage with frequency and does not say what of; what activity \
             adds to idle power scales with f v^2 here, which alone agrees with Table 6 (four Core \
             2 at 1.8 GHz draw 0.87 of their power at 2.4 GHz)",
        ),
        assumption(
            "storage.replay",
            "no think time; as many outstanding as in the trace; drained, read-ahead included, at \
             each sample's end"
                .into(),
            "the paper takes storage times from replayed block traces and does not say how they \
             were paced",
        ),
        assumption(
            "limits",
            format!("{:.0} % of a sample's time and more", LIMITING * 100.0),
            "from when on a component counts as fully used (Figure 7's classes)",
        ),
        assumption(
            "storage.preload",
            "what the trace reads is there; the rest of the device is fresh".into(),
            "a job finds its input in place; garbage collection of a full device is not charged",
        ),
    ];
    for (key, value, source) in [
        (
            "node.memory_per",
            format!("{:?}", *survey.node.memory_per),
            &survey.node.memory_per.source,
        ),
        ("shift", format!("{}", *survey.shift), &survey.shift.source),
    ] {
        if let Source::Assumed(why) = source {
            list.push(assumption(key, value.to_lowercase(), why));
        }
    }
    let mut references: Vec<&Reference> = Vec::new();
    for reference in streams.iter().filter_map(|stream| stream.reference.as_ref()) {
        if references.iter().all(|known| known.name != reference.name) {
            references.push(reference);
        }
    }
    for Reference { name, ipc, .. } in references {
        list.push(assumption(
            "reference.ipc",
            format!("{} of {name}", **ipc),
            "instructions a cycle of the traced processor: instructions are estimated from CPU \
             time",
        ));
    }
    if grid.storages.iter().any(|storage| storage.count > 1) {
        list.push(assumption(
            "storage.stripe",
            format!("RAID-0 in chunks of {CHUNK}"),
            "the paper does not say how a node's disks share the data",
        ));
    }
    list
}
