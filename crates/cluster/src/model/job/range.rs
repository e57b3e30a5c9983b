//! The time of a sample as a function of the core speed, and the range of what a trace leaves open.
//!
//! Model: docs/design/cluster.md, "Range". A source of doubt is varied alone, from one end of its
//! 80 % range to the other. The logarithms of what it does to the time are independent, so that
//! their squares add up.

use super::demand::{CoreDemand, Stretch, StretchTable, demand_ratio};
use super::numbers::NodeNumbers;
use crate::model::line::Line;
use crate::trace::sample::{JobSample, SampleSplit};
use schemars::JsonSchema;
use serde::Serialize;

/// What makes a predicted time uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RangeSource {
    /// How many cores the job could use.
    Cores,
    /// How much faster a thread is while other cores are idle.
    Threads,
    /// How much of the storage's time the job waits for, and the order of its requests.
    Storage,
    /// What the job waited for in its idle time, and whether it would wait again.
    Waiting,
    /// How fast the job is on another processor, relative to the benchmark.
    Speed,
    /// What is read again, because the page cache is smaller, or written, because files live
    /// longer.
    Memory,
    /// Differences between runs on the same machine.
    Runs,
}

/// The sources, in the order of [`JobRange::by`].
pub const RANGE_SOURCES: [RangeSource; 7] = [
    RangeSource::Cores,
    RangeSource::Threads,
    RangeSource::Storage,
    RangeSource::Waiting,
    RangeSource::Speed,
    RangeSource::Memory,
    RangeSource::Runs,
];
/// Number of the first sources, which differ by sample.
pub(crate) const SAMPLE_SOURCES: usize = 4;
/// Place of the speed among the sources.
pub(crate) const SPEED: usize = 4;
const MEMORY: usize = 5;
const RUNS: usize = 6;

/// Half of the 80 % range of runs on the same machine, as a logarithm. On EC2, four of five times
/// on r5 and m5, which have the same processor, are within it.
const RUN_NOISE: f64 = 0.02;
/// Error of the stretch, as a share of its logarithm. Assumed; see `WIDTH_COVER`.
const STRETCH_ERROR: f64 = 0.15;

/// Time on a target with its 80 % range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobTime {
    /// Best estimate.
    pub time: f64,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
}

/// Device time of a sample's I/O relative to the traced device's; all 1 for the same device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorageRatio {
    /// Best estimate.
    pub best: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl StorageRatio {
    /// A ratio without doubt.
    pub fn known(ratio: f64) -> Self {
        Self { best: ratio, low: ratio, high: ratio }
    }
}

/// What a storage and a network need for a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaceCost {
    /// Device time relative to the traced device's.
    pub storage: StorageRatio,
    /// Seconds that the network needs for the sample's bytes.
    pub network: f64,
    /// Time that the network needs relative to the traced network; 1 if either is unknown.
    pub network_ratio: f64,
}

impl PlaceCost {
    /// The traced storage, and no traffic.
    pub const UNCHANGED: Self = Self {
        storage: StorageRatio { best: 1.0, low: 1.0, high: 1.0 },
        network: 0.0,
        network_ratio: 1.0,
    };

    /// The cost of a share of the sample.
    pub(crate) fn scaled(&self, share: f64) -> Self {
        Self { network: self.network * share, ..*self }
    }

    /// The cost for a node that moves this part of the bytes.
    pub(crate) fn of_part(&self, part: f64) -> Self {
        let StorageRatio { best, low, high } = self.storage;
        Self {
            storage: StorageRatio { best: best * part, low: low * part, high: high * part },
            network: self.network * part,
            network_ratio: self.network_ratio * part,
        }
    }
}

/// One way to read a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub split: SampleSplit,
    demand: CoreDemand,
    /// Share of the demand for cores that was served.
    served: f64,
}

impl Reading {
    /// Reads `sample` with this blocked time; `unserved` core-seconds were wanted and not given.
    fn of(sample: &JobSample, blocked: f64, unserved: f64) -> Self {
        let wanted = JobSample { cpu: sample.cpu + unserved, ..*sample };
        let split = wanted.split(blocked);
        let mut demand = CoreDemand::default();
        if split.computing > 0.0 {
            let steady = sample.steady;
            let over = sample.over(split.computing);
            let ratio = if steady { 0.0 } else { demand_ratio(split.width, sample.cores) };
            demand = CoreDemand { width: split.width, ratio, steady, over };
        }
        let served = if wanted.cpu > 0.0 { sample.cpu / wanted.cpu } else { 1.0 };
        Self { split, demand, served }
    }

    /// Core-seconds of a core whose demand was served.
    fn work(&self) -> f64 {
        self.split.computing * self.served
    }

    /// The job's own time, with a stretch and a time of waiting for storage.
    fn own(&self, stretch: f64, blocked: f64) -> Line {
        Line { intercept: self.split.idle + blocked, slope: self.work() * stretch }
    }

    fn stretch(&self, table: &StretchTable) -> Option<Stretch> {
        (self.split.computing > 0.0).then(|| table.of(&self.demand))
    }

    fn best_stretch(&self, table: &StretchTable) -> f64 {
        self.stretch(table).map_or(0.0, |stretch| stretch.best)
    }
}

/// A sample, read in all ways that do not depend on the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreparedSample {
    pub sample: JobSample,
    best: Reading,
    /// The job also waited for write-back; `None` if that changes nothing.
    write_back: Option<Reading>,
    /// The demand for cores that was not served is idle time; `None` if all was served.
    only_served: Option<Reading>,
}

/// The stretches of the readings of a sample on some cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleStretches {
    /// `None` if the sample computes nothing.
    best: Option<Stretch>,
    write_back: f64,
    only_served: f64,
    /// Number of the cores.
    to: f64,
}

/// The time of a sample over the reciprocal of the core speed, if a source of doubt is at an end of
/// its range: the larger of a constant and of the least, or of the greatest, of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariedTime {
    /// For the least, and for the greatest.
    pub floors: [f64; 2],
    pub lines: [Line; VARIED_LINES],
}

/// Number of lines: the estimate, and what differs from it.
const VARIED_LINES: usize = 6;

/// The times of a sample on a target: the estimate, and by source the ends of its range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    pub floor: f64,
    /// Time of the job itself: computing, idle, and blocked.
    pub own: Line,
    /// The idle time in `own`.
    pub idle: f64,
    /// The computing time in `own`, per unit of the variable.
    pub computing: f64,
    /// By source; `None` if the source leaves no doubt.
    pub varied: [Option<VariedTime>; SAMPLE_SOURCES],
}

impl PreparedSample {
    pub fn new(sample: &JobSample) -> Self {
        let (blocked, more) = (sample.blocked_time(), sample.blocked_time_high());
        let unserved = sample.unserved.min(sample.span * sample.cores_f() - sample.cpu).max(0.0);
        let best = Reading::of(sample, blocked, unserved);
        Self {
            sample: *sample,
            best,
            write_back: (more > blocked).then(|| Reading::of(sample, more, unserved)),
            only_served: (unserved > 0.0).then(|| Reading::of(sample, blocked, 0.0)),
        }
    }

    /// A share of the sample: all of its times are this share of the sample's, on any design.
    pub fn scaled(&self, share: f64) -> Self {
        Self::new(&self.sample.scaled(share))
    }

    pub fn stretches(&self, table: &StretchTable) -> SampleStretches {
        let of = |reading: &Option<Reading>| {
            reading.as_ref().map_or(0.0, |reading| reading.best_stretch(table))
        };
        SampleStretches {
            best: self.best.stretch(table),
            write_back: of(&self.write_back),
            only_served: of(&self.only_served),
            to: f64::from(table.to()),
        }
    }

    /// Core-seconds of work, and the computing time that they take on cores of the traced speed.
    pub fn work(&self, stretches: &SampleStretches) -> (f64, f64) {
        let work = self.best.work();
        (work, work * stretches.best())
    }

    /// Seconds that the device and the network need at least.
    fn floor(&self, cost: &PlaceCost, storage_ratio: f64) -> f64 {
        (self.sample.busy * storage_ratio).max(cost.network)
    }

    pub fn times(
        &self,
        cost: &PlaceCost,
        stretches: &SampleStretches,
        nodes: NodeNumbers,
    ) -> SampleTimes {
        let best = &self.best;
        let blocked = best.split.blocked * cost.storage.best;
        let mut times = SampleTimes {
            floor: self.floor(cost, cost.storage.best),
            own: best.own(stretches.best(), blocked),
            idle: best.split.idle,
            computing: self.work(stretches).1,
            varied: [None; SAMPLE_SOURCES],
        };
        if let Some(stretch) = &stretches.best {
            self.vary_cores(&mut times, stretch, blocked, stretches.to, nodes);
            let as_all_busy = best.own(stretch.as_all_busy, blocked);
            let with_gain = best.own(stretch.with_gain, blocked);
            times.vary(RangeSource::Threads, [as_all_busy, with_gain], [times.floor; 2]);
        }
        self.vary_storage(&mut times, cost, stretches);
        self.vary_waiting(&mut times, cost, stretches, blocked);
        times
    }

    fn vary_cores(
        &self,
        times: &mut SampleTimes,
        stretch: &Stretch,
        blocked: f64,
        to: f64,
        nodes: NodeNumbers,
    ) {
        let (best, sample) = (&self.best, &self.sample);
        let stretched = |factor: f64| {
            times.own + Line { slope: times.computing * (factor - 1.0), intercept: 0.0 }
        };
        let mut waves = None;
        if !sample.steady && best.split.link <= 0.0 && sample.waiting.is_none() {
            // All cores or none: the idle time of less than one busy core may be that of all cores.
            let wanted = best.split.computing * best.split.width;
            let idle = sample.span - best.split.blocked - wanted / sample.cores_f();
            let all = Line { intercept: idle + blocked, slope: wanted * best.served / to };
            waves = Some(times.own * (1.0 - stretch.cover) + all * stretch.cover);
        }
        let waiting = best.split.idle + blocked;
        // The work of a node may stay on a node.
        let pinned = (nodes.traced > 1).then(|| Line {
            intercept: waiting,
            slope: sample.busiest * f64::from(nodes.target) / to,
        });
        // The program may start as many workers as there are cores.
        let spread = nodes.differ().then(|| Line {
            intercept: best.split.idle,
            slope: (sample.span - best.split.idle) * best.served * sample.cores_f() / to,
        });
        let lines = [stretched(stretch.least), stretched(stretch.greatest)];
        times.vary(
            RangeSource::Cores,
            lines.into_iter().chain(waves).chain(pinned).chain(spread),
            [times.floor; 2],
        );
    }

    fn vary_storage(&self, times: &mut SampleTimes, cost: &PlaceCost, stretches: &SampleStretches) {
        let StorageRatio { low, high, .. } = cost.storage;
        let sample = &self.sample;
        // The additional read time of a slower device is hidden by read-ahead (low) or waited for
        // (high); the gain of a faster device is all on the job's critical path (low) or not at all
        // (high).
        let waits = |blocked: f64| {
            let least = match low >= 1.0 {
                true => blocked,
                false => (blocked + (low - 1.0) * sample.busy).max(0.0),
            };
            let more = (high - 1.0) * sample.busy * sample.read_share();
            [least, (blocked + more).max(blocked * high).max(blocked)]
        };
        let of = |reading: &Reading, stretch: f64| {
            waits(reading.split.blocked).map(|blocked| reading.own(stretch, blocked))
        };
        let write_back = self.write_back.as_ref();
        let with_write_back = write_back.map(|reading| of(reading, stretches.write_back));
        let lines = of(&self.best, stretches.best()).into_iter();
        times.vary(
            RangeSource::Storage,
            lines.chain(with_write_back.into_iter().flatten()),
            [low, high].map(|ratio| self.floor(cost, ratio)),
        );
    }

    fn vary_waiting(
        &self,
        times: &mut SampleTimes,
        cost: &PlaceCost,
        stretches: &SampleStretches,
        blocked: f64,
    ) {
        let split = &self.best.split;
        let computing = Line { intercept: blocked, slope: times.computing };
        // A link whose speed is unknown may have been what the idle time waited for.
        let not_link = (split.idle - self.sample.link_doubt).max(0.0);
        let only_link = computing + Line::constant(not_link);
        // Transfers of a saturated link overlap the computing in the estimate.
        let (again, stretch) = match &self.only_served {
            Some(reading) => (reading, stretches.only_served),
            None => (&self.best, stretches.best()),
        };
        let link = Line::constant(split.link * cost.network_ratio);
        let apart = again.own(stretch, blocked) + link;
        times.vary(RangeSource::Waiting, [only_link, apart], [times.floor; 2]);
    }
}

impl SampleStretches {
    fn best(&self) -> f64 {
        self.best.map_or(0.0, |stretch| stretch.best)
    }
}

impl SampleTimes {
    /// Sets what a source of doubt does: at the ends of its range, the job's own time is the least
    /// or the greatest of its estimate and of `lines`, and device and network need `floors`.
    fn vary(
        &mut self,
        source: RangeSource,
        lines: impl IntoIterator<Item = Line>,
        floors: [f64; 2],
    ) {
        let (mut all, mut lines) = ([self.own; VARIED_LINES], lines.into_iter());
        for (place, line) in all[1..].iter_mut().zip(lines.by_ref()) {
            *place = line;
        }
        debug_assert!(lines.next().is_none(), "{source:?} has more lines than there are places");
        let has_doubt = all != [self.own; VARIED_LINES] || floors != [self.floor; 2];
        self.varied[source as usize] = has_doubt.then_some(VariedTime { floors, lines: all });
    }

    /// The estimate.
    pub fn time(&self, y: f64) -> f64 {
        larger(self.own.at(y), self.floor)
    }
}

impl VariedTime {
    /// The lower end of the range.
    pub fn least(&self, y: f64) -> f64 {
        let own = self.lines.iter().map(|line| line.at(y));
        larger(own.fold(f64::INFINITY, smaller), self.floors[0])
    }

    /// The upper end of the range.
    pub fn greatest(&self, y: f64) -> f64 {
        let own = self.lines.iter().map(|line| line.at(y));
        own.fold(self.floors[1], larger)
    }
}

/// As `f64::max` and `f64::min`, in one instruction each: no time is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A predicted time, its range, and what makes it uncertain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobRange {
    /// The estimate and its range.
    pub job: JobTime,
    /// By source, in the order of [`RANGE_SOURCES`]: the time if this source alone is at the lower
    /// and at the upper end of its range.
    pub by: [[f64; 2]; RANGE_SOURCES.len()],
}

/// The times if one source is at an end of its range: each of those that differ by sample, and the
/// speed.
pub(crate) type SourceEnds = [f64; SAMPLE_SOURCES + 1];

/// An end of the range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Lower,
    Upper,
}

impl End {
    /// The sign of errors at this end, as logarithms.
    pub fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

/// The upper end of the 80 % range; `uncached` is the time of reads and writes that the page cache
/// of the traced machine saved.
pub(crate) fn upper_end(time: f64, highs: &SourceEnds, uncached: f64) -> f64 {
    combined(time, &all_ends(time, highs, uncached, End::Upper), End::Upper)
}

/// The range of a time; see [`upper_end`].
pub(crate) fn range(time: f64, lows: &SourceEnds, highs: &SourceEnds, uncached: f64) -> JobRange {
    let lows = all_ends(time, lows, uncached, End::Lower);
    let highs = all_ends(time, highs, uncached, End::Upper);
    let (low, high) = (combined(time, &lows, End::Lower), combined(time, &highs, End::Upper));
    let mut by = [[time; 2]; RANGE_SOURCES.len()];
    for (at, pair) in by.iter_mut().enumerate() {
        *pair = [lows[at], highs[at]];
    }
    JobRange { job: JobTime { time, low, high }, by }
}

/// The time with each source at an end of its range.
fn all_ends(time: f64, of: &SourceEnds, uncached: f64, end: End) -> [f64; RANGE_SOURCES.len()] {
    let mut ends = [time; RANGE_SOURCES.len()];
    ends[..of.len()].copy_from_slice(of);
    if end == End::Upper {
        ends[MEMORY] = time + uncached;
    }
    ends[RUNS] = time * (end.sign() * RUN_NOISE).exp();
    ends
}

/// Adds up the squares of the logarithms.
pub(crate) fn combined(time: f64, ends: &[f64], end: End) -> f64 {
    if time <= 0.0 {
        return ends.iter().copied().fold(0.0, f64::max);
    }
    let sign = end.sign();
    let away = ends.iter().map(|of_source| ((of_source / time).ln() * sign).max(0.0));
    let squares: f64 = away.map(|distance| distance * distance).sum();
    time * (sign * squares.sqrt()).exp()
}

/// Error of a node's time that is in proportion to its computing, as a logarithm: of the
/// processor's speed, and of the stretch.
pub(crate) fn computing_error(speed_error: f64, stretch: f64) -> f64 {
    let of_stretch = if stretch > 0.0 { STRETCH_ERROR * stretch.ln().abs() } else { 0.0 };
    speed_error.hypot(of_stretch)
}
