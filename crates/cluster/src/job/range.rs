//! The time of a sample as a function of the core speed, and the range of what a trace leaves open.
//!
//! Model: docs/design/cluster.md, "Range". A source of doubt is varied alone, from one end of its 80 %
//! range to the other. The logarithms of what it does to the time are independent, so that their
//! squares add up.

use super::demand::{CoreDemand, Stretch, StretchTable, demand_ratio};
use super::{JobSample, JobTime, SampleSplit};
use crate::line::Line;
use serde::Serialize;

/// What makes a predicted time uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// What is read again, because the page cache is smaller.
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
const SPEED: usize = 4;
const MEMORY: usize = 5;
const RUNS: usize = 6;

/// Half of the 80 % range of runs on the same machine, as a logarithm. On EC2, four of five times on
/// r5 and m5, which have the same processor, are within it.
const RUN_NOISE: f64 = 0.02;
/// Error of the stretch, as a share of its logarithm. Assumed; see `WIDTH_COVER`.
const STRETCH_ERROR: f64 = 0.15;
/// Errors of the speed of another processor, as logarithms: of each, and as a share of the
/// logarithm of the ratio of both. The first is that of c5 against m5 on EC2; the second is assumed.
const SPEED_ERROR: f64 = 0.05;
const SPEED_ERROR_SHARE: f64 = 0.1;
/// Speeds that differ by less than this share are taken as those of the same processor.
const SAME_SPEED: f64 = 0.01;
/// Error of an assumed speed, as a logarithm: half to twice as fast.
pub const UNKNOWN_SPEED: f64 = std::f64::consts::LN_2;

/// Error of the ratio of two core speeds, as a logarithm.
pub fn speed_error(ratio: f64) -> f64 {
    let distance = ratio.ln().abs();
    if distance < SAME_SPEED { 0.0 } else { SPEED_ERROR + SPEED_ERROR_SHARE * distance }
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

/// A sample on a storage and a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobCost {
    /// What the traced machine did.
    pub sample: JobSample,
    /// Device time relative to the traced device's.
    pub storage: StorageRatio,
    /// Seconds that the network needs for the sample's bytes.
    pub network: f64,
    /// Time that the network needs relative to the traced network; 1 if either is unknown.
    pub network_ratio: f64,
}

impl JobCost {
    /// Seconds that the device and the network need at least.
    pub(crate) fn floor(&self) -> f64 {
        self.floor_at(self.storage.best)
    }

    fn floor_at(&self, storage_ratio: f64) -> f64 {
        (self.sample.busy * storage_ratio).max(self.network)
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

    fn stretch(&self, table: &StretchTable) -> Option<Stretch> {
        (self.split.computing > 0.0).then(|| table.of(&self.demand))
    }
}

/// A sample, read in all ways that do not depend on the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreparedSample {
    pub cost: JobCost,
    pub best: Reading,
    /// The job also waited for write-back; `None` if that changes nothing.
    write_back: Option<Reading>,
    /// The demand for cores that was not served is idle time; `None` if all was served.
    only_served: Option<Reading>,
    /// Whether idle time may be that of waiting for other nodes.
    has_peers: bool,
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
const VARIED_LINES: usize = 5;

/// The times of a sample on a target: the estimate, and by source the ends of its range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    pub floor: f64,
    /// Time of the job itself: computing, idle, and blocked.
    pub own: Line,
    /// The idle time in `own`.
    pub idle: Line,
    /// The computing time in `own`, per unit of the variable, and the work that it does.
    pub computing: f64,
    pub work: f64,
    /// By source; `None` if the source leaves no doubt.
    pub varied: [Option<VariedTime>; SAMPLE_SOURCES],
}

impl PreparedSample {
    pub fn new(cost: &JobCost, has_peers: bool) -> Self {
        let sample = &cost.sample;
        let (blocked, more) = (sample.blocked_time(), sample.blocked_time_high());
        let unserved = sample.unserved.min(sample.span * sample.cores_f() - sample.cpu).max(0.0);
        let best = Reading::of(sample, blocked, unserved);
        Self {
            cost: *cost,
            best,
            write_back: (more > blocked).then(|| Reading::of(sample, more, unserved)),
            only_served: (unserved > 0.0).then(|| Reading::of(sample, blocked, 0.0)),
            has_peers,
        }
    }

    /// A share of the sample: all of its times are this share of the sample's, on any design.
    pub fn scaled(&self, share: f64) -> Self {
        let cost = JobCost {
            sample: self.cost.sample.scaled(share),
            network: self.cost.network * share,
            ..self.cost
        };
        Self::new(&cost, self.has_peers)
    }

    /// The idle time of a reading. Of several nodes, half of it is waiting for the others, whose
    /// time is in proportion to the variable.
    fn idle(&self, reading: &Reading) -> Line {
        let idle = reading.split.idle;
        match self.has_peers {
            true => Line { intercept: idle / 2.0, slope: idle / 2.0 },
            false => Line::constant(idle),
        }
    }

    /// The job's own time by a reading, with a stretch and a time of waiting for storage.
    fn own(&self, reading: &Reading, stretch: f64, blocked: f64) -> Line {
        let slope = reading.work() * stretch;
        self.idle(reading) + Line { intercept: blocked, slope }
    }

    pub fn times(&self, table: &StretchTable) -> SampleTimes {
        let (best, cost) = (&self.best, &self.cost);
        let stretch = best.stretch(table);
        let blocked = best.split.blocked * cost.storage.best;
        let own = self.own(best, stretch.map_or(0.0, |stretch| stretch.best), blocked);
        let mut times = SampleTimes {
            floor: cost.floor(),
            own,
            idle: self.idle(best),
            computing: stretch.map_or(0.0, |stretch| best.work() * stretch.best),
            work: best.work(),
            varied: [None; SAMPLE_SOURCES],
        };
        if let Some(stretch) = stretch {
            self.vary_cores(&mut times, &stretch, table);
            let as_all_busy = self.own(best, stretch.as_all_busy, blocked);
            let with_gain = self.own(best, stretch.with_gain, blocked);
            times.vary(RangeSource::Threads, &[as_all_busy, with_gain], [times.floor; 2]);
        }
        self.vary_storage(&mut times, table);
        self.vary_waiting(&mut times, table, blocked);
        times
    }

    fn vary_cores(&self, times: &mut SampleTimes, stretch: &Stretch, table: &StretchTable) {
        let (best, sample) = (&self.best, &self.cost.sample);
        let stretched = |factor: f64| {
            times.own + Line { slope: times.computing * (factor - 1.0), intercept: 0.0 }
        };
        let mut lines = vec![stretched(stretch.least), stretched(stretch.greatest)];
        if !sample.steady && best.split.link <= 0.0 && sample.waiting.is_none() {
            // All cores or none: the idle time of less than one busy core may be that of all cores.
            let wanted = best.split.computing * best.split.width;
            let idle = sample.span - best.split.blocked - wanted / sample.cores_f();
            let blocked = best.split.blocked * self.cost.storage.best;
            let slope = wanted * best.served / f64::from(table.to());
            let waves = Line { intercept: idle + blocked, slope };
            lines.push(times.own * (1.0 - stretch.cover) + waves * stretch.cover);
        }
        times.vary(RangeSource::Cores, &lines, [times.floor; 2]);
    }

    fn vary_storage(&self, times: &mut SampleTimes, table: &StretchTable) {
        let StorageRatio { low, high, .. } = self.cost.storage;
        let sample = &self.cost.sample;
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
        let own = |reading: &Reading, blocked: f64| {
            let stretch = reading.stretch(table).map_or(0.0, |stretch| stretch.best);
            self.own(reading, stretch, blocked)
        };
        let mut lines = Vec::new();
        for reading in [Some(&self.best), self.write_back.as_ref()].into_iter().flatten() {
            lines.extend(waits(reading.split.blocked).map(|blocked| own(reading, blocked)));
        }
        times.vary(
            RangeSource::Storage,
            &lines,
            [low, high].map(|ratio| self.cost.floor_at(ratio)),
        );
    }

    fn vary_waiting(&self, times: &mut SampleTimes, table: &StretchTable, blocked: f64) {
        let (best, cost) = (&self.best, &self.cost);
        let split = &best.split;
        let computing = Line { intercept: blocked, slope: times.computing };
        // A link whose speed is unknown may have been what the idle time waited for.
        let not_link = (split.idle - cost.sample.link_doubt).max(0.0);
        let mut lines = vec![computing + Line::constant(not_link)];
        if self.has_peers {
            lines[0] = computing + Line { intercept: 0.0, slope: not_link };
            lines.push(computing + Line::constant(split.idle));
            lines.push(computing + Line { intercept: 0.0, slope: split.idle });
        }
        // Transfers of a saturated link overlap the computing in the estimate.
        let link = split.link * cost.network_ratio;
        let again = self.only_served.as_ref().unwrap_or(best);
        let stretch = again.stretch(table).map_or(0.0, |stretch| stretch.best);
        lines.push(self.own(again, stretch, blocked) + Line::constant(link));
        times.vary(RangeSource::Waiting, &lines, [times.floor; 2]);
    }
}

impl SampleTimes {
    /// Sets what a source of doubt does: at the ends of its range, the job's own time is the least or
    /// the greatest of its estimate and of `lines`, and device and network need `floors`.
    fn vary(&mut self, source: RangeSource, lines: &[Line], floors: [f64; 2]) {
        let has_doubt =
            lines.iter().any(|line| *line != self.own) || floors.iter().any(|f| *f != self.floor);
        if !has_doubt {
            return;
        }
        let mut all = [self.own; VARIED_LINES];
        all[1..=lines.len()].copy_from_slice(lines);
        self.varied[source as usize] = Some(VariedTime { floors, lines: all });
    }
}

impl VariedTime {
    /// The lower end of the range (0), or the upper (1).
    pub fn end(&self, end: usize, y: f64) -> f64 {
        let lines = self.lines.iter().map(|line| line.at(y));
        let own = match end {
            0 => lines.fold(f64::INFINITY, f64::min),
            _ => lines.fold(0.0, f64::max),
        };
        own.max(self.floors[end])
    }
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

/// What bounds of a time are computed from: functions of the reciprocal of the core speed.
pub(crate) trait TimeOfSpeed {
    /// The estimate, if each node's variable is multiplied by the exponential of `error` times its
    /// errors of speed and stretch.
    fn best(&self, error: f64) -> f64;
    /// The time if a source that differs by sample is at its lower (0) or upper (1) end.
    fn varied(&self, source: usize, end: usize) -> f64;
}

/// The upper end of the 80 % range; `reread` seconds more are needed for what the page cache lacks.
pub(crate) fn upper_end(of: &impl TimeOfSpeed, reread: f64) -> f64 {
    let time = of.best(0.0);
    let by = ends(of, 1, reread, time);
    combined(time, &by, 1)
}

/// The range of a time; see [`upper_end`].
pub(crate) fn range(of: &impl TimeOfSpeed, reread: f64) -> JobRange {
    let time = of.best(0.0);
    let [lows, highs] = [0, 1].map(|end| ends(of, end, reread, time));
    let (low, high) = (combined(time, &lows, 0), combined(time, &highs, 1));
    let mut by = [[time; 2]; RANGE_SOURCES.len()];
    for (at, pair) in by.iter_mut().enumerate() {
        *pair = [lows[at], highs[at]];
    }
    JobRange { job: JobTime { time, low, high }, by }
}

/// The time with each source at an end of its range.
fn ends(of: &impl TimeOfSpeed, end: usize, reread: f64, time: f64) -> [f64; RANGE_SOURCES.len()] {
    let sign = if end == 0 { -1.0 } else { 1.0 };
    let mut ends = [time; RANGE_SOURCES.len()];
    for (source, of_source) in ends.iter_mut().take(SAMPLE_SOURCES).enumerate() {
        *of_source = of.varied(source, end);
    }
    ends[SPEED] = of.best(sign);
    if end == 1 {
        ends[MEMORY] = time + reread;
    }
    ends[RUNS] = time * (sign * RUN_NOISE).exp();
    ends
}

/// Adds up the squares of the logarithms.
fn combined(time: f64, ends: &[f64], end: usize) -> f64 {
    if time <= 0.0 {
        return ends.iter().copied().fold(0.0, f64::max);
    }
    let sign = if end == 0 { -1.0 } else { 1.0 };
    let away = ends.iter().map(|of_source| ((of_source / time).ln() * sign).max(0.0));
    let squares: f64 = away.map(|distance| distance * distance).sum();
    time * (sign * squares.sqrt()).exp()
}

/// Error of a node's time that is in proportion to its computing, as a logarithm: of the processor's
/// speed, and of the stretch.
pub(crate) fn computing_error(speed_error: f64, stretch: f64) -> f64 {
    let of_stretch = if stretch > 0.0 { STRETCH_ERROR * stretch.ln().abs() } else { 0.0 };
    speed_error.hypot(of_stretch)
}
