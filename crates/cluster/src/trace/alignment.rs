//! Whether traces can be added: their scopes must not overlap, and samples with the same number
//! should be of the same second, as the barriers of `sync` and `stages` take them to be.

use crate::error::ClusterError;
use crate::trace::stream::Stream;
use gordon_units::Ns;

/// Returns an error for two traces that cover the same part of a machine at the same time: it would
/// count twice.
pub(crate) fn check_apart<'a>(
    streams: impl Iterator<Item = &'a Stream> + Clone,
) -> Result<(), ClusterError> {
    let mut others = streams.clone();
    for one in streams {
        others.next();
        for other in others.clone() {
            let scope = |stream: &'a Stream| &stream.trace.manifest().scope;
            if let Some(common) = scope(one).overlap(scope(other))
                && are_simultaneous(one, other)
            {
                let (one, other) = (one.path.clone(), other.path.clone());
                return Err(ClusterError::OverlappingScopes { one, other, common });
            }
        }
    }
    Ok(())
}

/// Samples by which the traces of a run start after its first trace, so that samples with the same
/// number are simultaneous.
pub(crate) struct Lags<'a>(&'a [usize]);

impl<'a> Lags<'a> {
    /// By trace; missing ones are 0.
    pub(crate) fn new(by_trace: &'a [usize]) -> Self {
        Self(by_trace)
    }

    /// Of a trace.
    pub(crate) fn of(&self, trace: usize) -> usize {
        self.0.get(trace).copied().unwrap_or(0)
    }

    /// Number of samples of each trace, with those before its start.
    pub(crate) fn lengths<'b>(&self, streams: impl IntoIterator<Item = &'b Stream>) -> Vec<usize> {
        let lengths = streams.into_iter().enumerate();
        lengths.map(|(trace, stream)| self.of(trace) + stream.samples.len()).collect()
    }

    /// The samples of a trace after those before its start, in which its node does nothing and
    /// takes no time.
    pub(crate) fn delayed<T: Clone + Default>(&self, trace: usize, samples: Vec<T>) -> Vec<T> {
        let mut all = vec![T::default(); self.of(trace)];
        all.extend(samples);
        all
    }

    /// Start and length of each sample of the trace that has the most.
    pub(crate) fn longest<'b>(
        &self,
        streams: impl IntoIterator<Item = &'b Stream>,
    ) -> Vec<(Ns, Ns)> {
        let streams = streams.into_iter().enumerate();
        let longest = streams.max_by_key(|(trace, stream)| self.of(*trace) + stream.samples.len());
        let Some((trace, stream)) = longest else { return Vec::new() };
        let interval = stream.trace.manifest().interval;
        let lag = self.of(trace);
        let before = (0..lag as u64).map(|number| (interval * number, interval));
        let own = stream.samples.iter().map(|s| (s.start + interval * lag as u64, s.span));
        before.chain(own).collect()
    }
}

/// Warnings about traces whose samples are not simultaneous; none for a single trace.
/// Traces of a run are, because their agents take samples at the same times.
pub(crate) fn warnings<'a>(
    streams: impl IntoIterator<Item = &'a Stream>,
    lags: &Lags<'_>,
) -> Vec<String> {
    if !lags.0.is_empty() {
        return Vec::new();
    }
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
    let by = distance(start(one), start(other));
    let sample = one.trace.manifest().interval.min(other.trace.manifest().interval);
    (are_simultaneous(one, other) && by > sample).then_some(by)
}

/// Start of a trace since 1970.
pub(crate) fn start(stream: &Stream) -> Ns {
    Ns(stream.trace.manifest().start_unix_ns)
}

/// Whether two traces were recorded at the same time, for a part of it.
pub(crate) fn are_simultaneous(one: &Stream, other: &Stream) -> bool {
    let end = |stream: &Stream| start(stream) + stream.trace.manifest().duration;
    start(one) < end(other) && start(other) < end(one)
}

fn distance(a: Ns, b: Ns) -> Ns {
    a.max(b).saturating_sub(a.min(b))
}
