//! Whether samples with the same number on several traces are of the same second, as the barriers of
//! `sync` and `stages` take them to be.

use crate::stream::Stream;
use gordon_units::Ns;

/// Warnings about traces whose samples are not simultaneous; none for a single trace.
pub(crate) fn warnings<'a>(streams: impl IntoIterator<Item = &'a Stream>) -> Vec<String> {
    let mut streams = streams.into_iter();
    let Some(first) = streams.next() else { return Vec::new() };
    let others: Vec<&Stream> = streams.collect();
    let note = |what: &str, other: &Stream, more: usize| {
        let others = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{} and {}{others}: {what}; barriers take samples with the same number as simultaneous",
            first.path.display(),
            other.path.display()
        )
    };
    let apart: Vec<(&Stream, usize)> =
        others.iter().filter_map(|other| Some((*other, first_apart(first, other)?))).collect();
    let late: Vec<(&Stream, Ns)> =
        others.iter().filter_map(|other| Some((*other, start_apart(first, other)?))).collect();
    let mut list = Vec::new();
    if let [(other, number), ..] = apart.as_slice() {
        let what = format!(
            "intervals differ: sample {} starts at {:.1} s and at {:.1} s",
            number + 1,
            first.starts[*number].as_secs(),
            other.starts[*number].as_secs()
        );
        list.push(note(&what, other, apart.len() - 1));
    }
    if let [(other, by), ..] = late.as_slice() {
        let what = format!("the traces start {:.1} s apart", by.as_secs());
        list.push(note(&what, other, late.len() - 1));
    }
    list
}

/// Index of the first sample that starts more than its length from the sample with the same index.
fn first_apart(one: &Stream, other: &Stream) -> Option<usize> {
    let pairs = one.samples.iter().zip(&other.samples);
    pairs.into_iter().position(|(a, b)| distance(a.start, b.start) > a.span.min(b.span))
}

/// Time between the starts of two traces that were recorded at the same time, if it is longer than
/// a sample.
fn start_apart(one: &Stream, other: &Stream) -> Option<Ns> {
    let start = |stream: &Stream| Ns(stream.trace.manifest().start_unix_ns);
    let end = |stream: &Stream| start(stream) + stream.trace.manifest().duration;
    let overlap = start(one) < end(other) && start(other) < end(one);
    let by = distance(start(one), start(other));
    let sample = one.trace.manifest().interval.min(other.trace.manifest().interval);
    (overlap && by > sample).then_some(by)
}

fn distance(a: Ns, b: Ns) -> Ns {
    a.max(b).saturating_sub(a.min(b))
}
