//! The traced nodes over time, and what limits each stage of a job.
//!
//! Model: docs/design/cluster.md, "What limits a stage". Samples with the same number on all nodes
//! are of the same second, as for `stages`. A stage counts each sample by the share that it covers,
//! so that stages may overlap, and one that is shorter than a sample has the limits of that sample.
//!
//! Left out: the network on the traced nodes, because a trace does not have the speed of its link.

use crate::trace::alignment::Lags;
use crate::trace::job_stream::{TracedCores, is_measured, recorded_samples};
use crate::trace::report::{NodeSeries, RecordedStage, StageOnDesign, StageReport, Timeline};
use crate::trace::sample::SampleSplit;
use crate::trace::stages::{Stage, StageWindow};
use crate::trace::stream::Stream;
use gordon_trace::{ColumnKind, Sample};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest number of points of a series. A plot of a page is about as many pixels wide.
pub const POINTS: usize = 600;

/// The timeline of `stages`; `None` without stages. `on_designs` computes a stage on the designs
/// that are reported.
pub(crate) fn timeline(
    stages: &[Stage],
    streams: &[&Stream],
    lags: &Lags<'_>,
    on_designs: impl Fn(&StageWindow) -> Vec<StageOnDesign>,
) -> Option<Timeline> {
    if stages.is_empty() {
        return None;
    }
    let samples = lags.longest(streams.iter().copied());
    let names = names(streams);
    let numbered = streams.iter().enumerate();
    let nodes: Vec<TracedNode> =
        numbered.map(|(at, stream)| TracedNode::of(stream, lags.of(at))).collect();
    let samples_per_point = samples.len().div_ceil(POINTS).max(1);
    let points = samples.len().div_ceil(samples_per_point);
    let series = |(node, name): (&TracedNode, String)| node.series(name, samples_per_point, points);
    let report = |stage: &Stage| {
        let window = StageWindow::of(stage, &samples);
        let is_covered = window.samples() > 0.0;
        StageReport {
            name: stage.name.clone(),
            start_s: stage.start_s,
            end_s: stage.end_s,
            samples: window.samples(),
            recorded: is_covered.then(|| recorded(&nodes, &window)),
            designs: if is_covered { on_designs(&window) } else { Vec::new() },
        }
    };
    Some(Timeline {
        samples_per_point,
        start_s: samples.iter().step_by(samples_per_point).map(|(at, _)| at.as_secs()).collect(),
        end_s: samples.last().map_or(0.0, |(at, span)| (*at + *span).as_secs()),
        nodes: nodes.iter().zip(names).map(series).collect(),
        stages: stages.iter().map(report).collect(),
    })
}

/// The names of the nodes. A trace of a machine has that of its folder, or its path if another
/// trace has the same name.
fn names(streams: &[&Stream]) -> Vec<String> {
    let short = |stream: &&Stream| match stream.trace.manifest().scope.node() {
        Some(node) => node.name.clone(),
        None => file_name(&stream.path),
    };
    let shorts: Vec<String> = streams.iter().map(short).collect();
    let is_unique = |name: &String| shorts.iter().filter(|other| *other == name).count() == 1;
    let named = |(name, stream): (&String, &&Stream)| match is_unique(name) {
        true => name.clone(),
        false => stream.path.display().to_string(),
    };
    shorts.iter().zip(streams).map(named).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Work of a sample, or of several.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    secs: f64,
    cpu: f64,
    disk: f64,
    network: f64,
}

impl Work {
    #[allow(clippy::cast_precision_loss)]
    fn of(sample: &Sample, stream: &Stream) -> Self {
        let real = sample.disks.iter().filter(|disk| !stream.trace.is_virtual(disk.device));
        Self {
            secs: sample.span.as_secs(),
            cpu: sample.cpu().as_secs(),
            disk: real.map(|disk| (disk.read_bytes + disk.write_bytes).0 as f64).sum(),
            network: (sample.rx_bytes + sample.tx_bytes).0 as f64,
        }
    }

    fn add(&mut self, more: &Self, share: f64) {
        self.secs += more.secs * share;
        self.cpu += more.cpu * share;
        self.disk += more.disk * share;
        self.network += more.network * share;
    }
}

/// A trace, as series and stages need it.
struct TracedNode<'a> {
    stream: &'a Stream,
    /// Number of samples before its first one.
    lag: usize,
    cores: Option<TracedCores>,
    has_disk: bool,
    has_network: bool,
    /// Whether the waits for storage were counted.
    has_waits: bool,
    works: Vec<Work>,
    /// Where the time of each sample went; `None` if that is unknown.
    parts: Option<Vec<SampleSplit>>,
}

impl<'a> TracedNode<'a> {
    fn of(stream: &'a Stream, lag: usize) -> Self {
        let kinds = stream.trace.kinds();
        let of_disks = stream.trace.disk_kinds();
        let is_known =
            |kind: Option<&ColumnKind>| kind.is_some_and(|kind| *kind != ColumnKind::Missing);
        let disk = ["read_bytes", "write_bytes"];
        let network = ["rx_bytes", "tx_bytes"];
        let cores = TracedCores::of(stream).filter(|_| is_known(kinds.get("cpu_ns")));
        let can_split = of_disks.get("busy_ns") == Some(&ColumnKind::Measured);
        Self {
            cores,
            has_disk: disk.iter().all(|column| is_known(of_disks.get(*column))),
            has_network: network.iter().all(|column| is_known(kinds.get(*column))),
            has_waits: is_measured(stream, "iowait_ns") || is_measured(stream, "psi_io_full_ns"),
            works: stream.samples.iter().map(|sample| Work::of(sample, stream)).collect(),
            parts: cores.filter(|_| can_split).map(|cores| traced_parts(stream, cores)),
            stream,
            lag,
        }
    }

    fn series(&self, name: String, samples_per_point: usize, points: usize) -> NodeSeries {
        let mut sums = vec![Work::default(); points];
        for (at, work) in self.works.iter().enumerate() {
            sums[(self.lag + at) / samples_per_point].add(work, 1.0);
        }
        let mean = |of: fn(&Work) -> f64, scale: f64, step: f64| -> Vec<Option<f64>> {
            let point = |sum: &Work| {
                (sum.secs > 0.0).then(|| (of(sum) * scale / sum.secs * step).round() / step)
            };
            sums.iter().map(point).collect()
        };
        NodeSeries {
            name,
            trace: self.stream.path.display().to_string(),
            cores: self.cores.map(TracedCores::whole),
            cpu_share: self.cores.map(|cores| mean(|work| work.cpu, 1.0 / cores.whole(), 1e4)),
            disk_bytes_per_s: self.has_disk.then(|| mean(|work| work.disk, 1.0, 1.0)),
            network_bytes_per_s: self.has_network.then(|| mean(|work| work.network, 1.0, 1.0)),
        }
    }
}

/// Where the time of the samples went.
fn traced_parts(stream: &Stream, cores: TracedCores) -> Vec<SampleSplit> {
    let samples = recorded_samples(stream, cores);
    samples.iter().map(|sample| sample.split(sample.blocked_time())).collect()
}

/// What the nodes did in a stage.
fn recorded(nodes: &[TracedNode<'_>], window: &StageWindow) -> RecordedStage {
    let mut all = Work::default();
    let mut core_secs = 0.0;
    let mut limits: BTreeMap<&str, f64> = BTreeMap::new();
    for node in nodes {
        let mut own = Work::default();
        for (work, share) in window.of_items(&node.works, node.lag) {
            own.add(work, share);
        }
        core_secs += own.secs * node.cores.map_or(0.0, TracedCores::whole);
        all.add(&own, 1.0);
        for (parts, share) in window.of_items(node.parts.as_deref().unwrap_or_default(), node.lag) {
            for (name, secs) in
                [("cpu", parts.computing), ("storage", parts.blocked), ("idle", parts.idle)]
            {
                *limits.entry(name).or_default() += secs * share;
            }
        }
    }
    let total: f64 = limits.values().sum();
    let shares = limits.into_iter().filter(|(_, secs)| *secs > 0.0);
    let shares = shares.map(|(name, secs)| (name.to_owned(), secs / total)).collect();
    let every = |has: fn(&TracedNode<'_>) -> bool| nodes.iter().all(has);
    let a_second = |sum: f64, secs: f64| (secs > 0.0).then(|| sum / secs);
    RecordedStage {
        cpu_share: a_second(all.cpu, core_secs).filter(|_| every(|node| node.cores.is_some())),
        disk_bytes_per_s: a_second(all.disk, all.secs).filter(|_| every(|node| node.has_disk)),
        network_bytes_per_s: a_second(all.network, all.secs)
            .filter(|_| every(|node| node.has_network)),
        limits: (total > 0.0 && every(|node| node.parts.is_some())).then_some(shares),
        is_estimated: !every(|node| node.has_waits),
    }
}
