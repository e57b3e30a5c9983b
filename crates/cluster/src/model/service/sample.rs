//! What a recorded node did in a sample, as rates that can be added over nodes.

use crate::space::cores::KnownCores;
use crate::space::reference::TraceReference;
use crate::trace::charge::Charge;
use crate::trace::job_stream::{JobStream, KERNEL_SHARE, is_measured};
use gordon_trace::{ColumnKind, Sample};
use gordon_units::Bytes;

use super::cores::Throughput;

/// Share of its capacity from which a recorded resource counts as full, so that the record may hide
/// demand. Assumed.
pub const FULL: f64 = 0.95;
/// Lengths of the samples around it from which a sample spans a gap: its values are means of a time
/// of which the record has none.
pub const GAP: f64 = 3.0;
/// Samples before and after one whose lengths are the usual ones at that time. A record may have
/// other intervals by night than by day.
const AROUND: usize = 2;

/// Values of a sample; all but the memory are means a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Core-seconds in the unit of the space: all threads as fast as while all are busy, and with
    /// the gain of threads that have a core of their own.
    pub work: [f64; 2],
    /// Busy cores.
    pub busy: f64,
    /// Reads and writes.
    pub requests: [f64; 2],
    /// Their bytes.
    pub bytes: [f64; 2],
    /// Those of the requests that are sequential.
    pub sequential: [f64; 2],
    /// Bytes received and sent.
    pub network: [f64; 2],
    /// Bytes of memory: those that could not be dropped at least, those in use without the page
    /// cache, and those with it.
    pub memory: [f64; 3],
    /// Share of the time in which cores, disk and network were full.
    pub full: [f64; 3],
}

impl Rates {
    fn combine(&self, other: &Self, of: impl Fn(f64, f64) -> f64 + Copy) -> Self {
        fn each<const N: usize>(
            a: [f64; N],
            b: [f64; N],
            of: impl Fn(f64, f64) -> f64,
        ) -> [f64; N] {
            std::array::from_fn(|at| of(a[at], b[at]))
        }
        Self {
            work: each(self.work, other.work, of),
            busy: of(self.busy, other.busy),
            requests: each(self.requests, other.requests, of),
            bytes: each(self.bytes, other.bytes, of),
            sequential: each(self.sequential, other.sequential, of),
            network: each(self.network, other.network, of),
            memory: each(self.memory, other.memory, of),
            full: each(self.full, other.full, of),
        }
    }

    /// The sums.
    pub fn plus(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a + b)
    }

    /// The sums with a multiple of the other.
    pub fn plus_share(&self, other: &Self, share: f64) -> Self {
        self.combine(other, |a, b| a + b * share)
    }

    /// The greater ones.
    pub fn most(&self, other: &Self) -> Self {
        self.combine(other, f64::max)
    }
}

/// A sample of a recorded node.
#[derive(Clone, Copy, Debug)]
pub struct NodeSample {
    /// Seconds since the start of the node's record.
    pub start: f64,
    pub secs: f64,
    pub rates: Rates,
}

/// What a recorded node has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub memory: bool,
    pub disk: bool,
    pub network: bool,
}

impl Recorded {
    /// What a record has.
    pub fn of(stream: &JobStream) -> Self {
        let trace = &stream.stream.trace;
        let is_there = |kind: Option<&ColumnKind>| kind.is_some_and(|k| *k != ColumnKind::Missing);
        let of_activity = trace.kinds();
        Self {
            memory: Gauges::of(stream).is_some(),
            disk: is_there(trace.disk_kinds().get("read_bytes")),
            network: is_there(of_activity.get("rx_bytes")),
        }
    }
}

/// Reads an amount of memory.
type Gauge = fn(&Sample) -> Bytes;

/// How the memory of a sample is read; see `TracedMemory`, whose peaks these are.
#[derive(Clone, Copy)]
struct Gauges {
    /// What could not be dropped, and its part that counts.
    least: Option<(Gauge, f64)>,
    used: Gauge,
}

impl Gauges {
    /// `None` if the record has no memory.
    fn of(stream: &JobStream) -> Option<Self> {
        let known = |of: Gauge| {
            stream.stream.samples.iter().any(|sample| of(sample) > Bytes(0)).then_some(of)
        };
        let of_command = known(|sample| sample.command.anonymous)
            .filter(|_| stream.stream.charge == Charge::Command);
        let (column, anonymous) = match of_command {
            Some(of) => ("command_anonymous_bytes", Some(of)),
            None => ("anonymous_bytes", known(|sample| sample.anonymous)),
        };
        let memory = known(|sample| sample.memory);
        let is_machine = stream.stream.trace.manifest().scope.node().is_none();
        let outside_of_cache =
            memory.filter(|_| is_machine && is_measured(&stream.stream, "memory_bytes"));
        let exact = anonymous.filter(|_| is_measured(&stream.stream, column));
        Some(Self {
            least: anonymous
                .map(|of| (of, 1.0))
                .or(outside_of_cache.map(|of| (of, 1.0 - KERNEL_SHARE))),
            used: exact.or(memory).or(anonymous)?,
        })
    }

    #[allow(clippy::cast_precision_loss)]
    fn read(&self, sample: &Sample) -> [f64; 3] {
        let used = (self.used)(sample).0 as f64;
        let least = self.least.map_or(0.0, |(of, share)| of(sample).0 as f64 * share);
        [least.min(used), used, used + sample.cache.0 as f64]
    }
}

/// The samples of a recorded node that are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOutSamples {
    /// Their number: those without a length, and those that span a gap.
    pub count: usize,
    /// Those that span a gap.
    pub gaps: usize,
    /// Seconds of the gaps.
    pub gap_secs: f64,
    /// The highest mean number of busy cores of a gap.
    pub gap_busy: f64,
}

/// Which of samples of these lengths span a gap.
fn spans_gap(secs: &[f64]) -> Vec<bool> {
    let is_gap = |(at, own): (usize, &f64)| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(secs.len());
        *own > GAP * middle(secs[around].to_vec())
    };
    secs.iter().enumerate().map(is_gap).collect()
}

/// The upper median; 0 for an empty list.
pub fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The samples of a recorded node, and those that are left out.
///
/// `disk_use` is the use of the recorded storage in a sample, by its number, if it is known;
/// `link` are the bytes a second of the recorded network, if they are known.
pub fn node_samples(
    stream: &JobStream,
    reference: &TraceReference<'_>,
    disk_use: impl Fn(usize) -> Option<f64>,
    link: Option<f64>,
) -> (Vec<NodeSample>, LeftOutSamples) {
    let count = stream.cores();
    let threads = reference.threads.unwrap_or(1);
    let cores = |single| {
        let cores = KnownCores { count, threads, single };
        Throughput::new(&cores, reference.speed * stream.core_share)
    };
    let cores = [cores(1.0), cores(reference.single.unwrap_or(1.0))];
    let gauges = Gauges::of(stream);
    let of_sample = |(at, sample): (usize, &Sample)| {
        let job = &stream.samples[at];
        let io = &stream.io[at];
        let secs = job.span;
        let busy = (job.cpu + job.unserved) / secs;
        let [reads, writes] = io.sequential;
        #[allow(clippy::cast_precision_loss)]
        let network = [sample.rx_bytes, sample.tx_bytes].map(|bytes| bytes.0 as f64 / secs);
        let disk = disk_use(at).unwrap_or(io.busy / secs);
        let link = link.map_or(0.0, |link| network[0].max(network[1]) / link);
        let is_full = |share: f64| if share >= FULL { 1.0 } else { 0.0 };
        let rates = Rates {
            work: [cores[0].work(busy), cores[1].work(busy)],
            busy: busy * stream.core_share,
            requests: [io.reads / secs, io.writes / secs],
            bytes: [io.read / secs, io.write / secs],
            sequential: [io.reads * reads / secs, io.writes * writes / secs],
            network,
            memory: gauges.map_or([0.0; 3], |gauges| gauges.read(sample)),
            full: [is_full(busy / f64::from(count)), is_full(disk), is_full(link)],
        };
        NodeSample { start: sample.start.as_secs(), secs, rates }
    };
    let samples = stream.stream.samples.iter().enumerate();
    let samples: Vec<_> =
        samples.filter(|(at, _)| stream.samples[*at].span > 0.0).map(of_sample).collect();
    let mut left_out =
        LeftOutSamples { count: stream.samples.len() - samples.len(), ..LeftOutSamples::default() };
    let lengths: Vec<f64> = samples.iter().map(|sample| sample.secs).collect();
    let mut kept = Vec::with_capacity(samples.len());
    for (sample, is_gap) in samples.into_iter().zip(spans_gap(&lengths)) {
        if is_gap {
            left_out.count += 1;
            left_out.gaps += 1;
            left_out.gap_secs += sample.secs;
            left_out.gap_busy = left_out.gap_busy.max(sample.rates.busy);
        } else {
            kept.push(sample);
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::spans_gap;

    #[test]
    fn a_sample_is_a_gap_if_it_is_much_longer_than_those_around_it() {
        let gaps = |secs: &[f64]| -> Vec<usize> {
            let found = spans_gap(secs);
            (0..secs.len()).filter(|at| found[*at]).collect()
        };
        assert_eq!(gaps(&[15.0, 15.0, 600.0, 15.0, 15.0]), [2]);
        assert_eq!(gaps(&[15.0, 15.0, 600.0, 700.0, 15.0, 15.0]), [2, 3]);
        assert_eq!(gaps(&[600.0, 15.0, 15.0, 15.0, 600.0]), [0, 4]);
        // A missed scrape.
        assert_eq!(gaps(&[15.0, 15.0, 30.0, 15.0, 45.0, 15.0]), [0; 0]);
        // Another interval by night.
        assert_eq!(gaps(&[60.0, 60.0, 60.0, 600.0, 600.0, 600.0, 60.0, 60.0, 60.0]), [0; 0]);
        assert_eq!(gaps(&[600.0, 15.0]), [0; 0]);
    }
}
