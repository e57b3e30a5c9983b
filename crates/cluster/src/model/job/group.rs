//! Groups of designs by the `job` model: time with its range, energy, price and limits.
//!
//! Model: the variable is `y`, the reciprocal of the core speed relative to the traced machine's.
//! The stretch of a sample depends on its width and on the target's cores, so a group has one
//! number of cores, with one gain of a lone thread. The best estimate of a sample is the larger of
//! the time of device and network and of a line in y. For each source of doubt that differs by
//! sample, an end of the range is the least or the greatest of such lines; the other sources are
//! multiples of y or of the time. A group reads its samples once, and evaluates the lines of each
//! for a block of designs, because most groups are small.
//!
//! With disks that are put in standby, the gaps between requests follow from the times of the
//! samples on each design, and add the time of wake-ups (`space::standby`).
//!
//! Left out: what `job` does not model.

use super::load::{JobLoad, JobStretches};
use crate::model::bill::{Drives, Run, Wear};
use crate::model::job::range::{
    End, JobRange, PreparedSample, RangeSource, SAMPLE_SOURCES, SPEED, SampleTimes, SourceEnds,
    computing_error, range, upper_end,
};
use crate::model::job::report::SpinDownReport;
use crate::space::cores::Cores;
use crate::space::node::StorageWork;
use crate::space::resources::Rate;
use crate::space::standby::Asleep;
use crate::space::whole::WholePower;
use gordon_units::Joules;

/// Number of designs for which a sample is evaluated at once; their times stay in the first cache.
const BLOCK: usize = 512;

/// What takes the time of a sample; the order of the limits of [`JobColumns`].
pub const JOB_LIMITS: [&str; 4] = ["cpu", "storage", "network", "idle"];

const CPU: usize = 0;
const STORAGE: usize = 1;
const NETWORK: usize = 2;
const JOB_IDLE: usize = 3;

/// A design of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobDesign {
    /// Speed of a core while all are busy, in the unit of
    /// [`JobNode::reference_speed`](super::load::JobNode).
    pub speed: f64,
    /// Error of the speed relative to the traced machine's, as a logarithm.
    pub speed_error: f64,
    /// Seconds for reads and writes that the page cache of the traced machine saved.
    pub uncached: f64,
    /// Power of the machine without simulated storage; `None` if it is unknown.
    pub power: Option<WholePower>,
    /// What the machine costs; `None` if it is unknown.
    pub rate: Option<Rate>,
}

/// Designs with the same load and the same cores but for their speed.
#[derive(Clone, Debug)]
pub struct JobGroup<'a> {
    load: &'a JobLoad,
    /// Cores of all nodes.
    cores: Cores,
    samples: Vec<SampleTimes>,
    /// Mean stretch of the computing time.
    stretch: f64,
}

impl<'a> JobGroup<'a> {
    /// Prepares the designs with the cores of `stretches`, which are those of `load` or of a load
    /// of the same traces.
    pub fn new(load: &'a JobLoad, stretches: &JobStretches) -> Self {
        let stretches = stretches.of(load);
        let samples = load.samples.iter().zip(&load.costs).zip(&stretches.samples);
        let times =
            |((sample, cost), own): ((&PreparedSample, _), _)| sample.times(cost, own, load.nodes);
        Self {
            load,
            cores: stretches.cores,
            samples: samples.map(times).collect(),
            stretch: stretches.mean,
        }
    }

    fn y(&self, design: &JobDesign) -> f64 {
        self.load.reference_speed / design.speed
    }

    /// Time of the job on each design, best estimate.
    pub fn times(&self, designs: &[JobDesign]) -> Vec<f64> {
        let times =
            self.sums(designs, |design| self.y(design), |ys, sums| self.add_times(ys, sums));
        self.with_waiting(designs, times)
    }

    /// The times with those in which the job waits for disks to wake up.
    fn with_waiting(&self, designs: &[JobDesign], mut times: Vec<f64>) -> Vec<f64> {
        if self.load.spins_down {
            for (time, design) in times.iter_mut().zip(designs) {
                *time += self.asleep(design).waiting;
            }
        }
        times
    }

    /// How a disk of a node sleeps on a design, by the best estimate of the time; not at all, if
    /// the survey does not put disks in standby.
    fn asleep(&self, design: &JobDesign) -> Asleep {
        let slept = self.would_sleep(design).filter(|_| self.load.spins_down);
        slept.unwrap_or_default()
    }

    /// How a disk of a node would sleep on a design; `None` if its standby state is unknown.
    fn would_sleep(&self, design: &JobDesign) -> Option<Asleep> {
        let standby = self.load.standby?;
        let y = self.y(design);
        let (mut asleep, mut gap) = (Asleep::default(), 0.0);
        for (times, prepared) in self.samples.iter().zip(&*self.load.samples) {
            if prepared.sample.has_io() {
                standby.add_gap(gap, false, &mut asleep);
                gap = 0.0;
            } else {
                gap += times.time(y);
            }
        }
        standby.add_gap(gap, true, &mut asleep);
        Some(asleep)
    }

    /// What standby saves or costs on a design whose job takes `secs` seconds; `None` if the
    /// standby state of its disks is unknown.
    pub fn spin_down(&self, design: &JobDesign, secs: f64) -> Option<SpinDownReport> {
        let (standby, asleep) = (self.load.standby?, self.would_sleep(design)?);
        let awake_secs = if self.load.spins_down { secs - asleep.waiting } else { secs };
        let awake = self.energy_with(design, awake_secs, Asleep::default());
        let slept = self.energy_with(design, awake_secs + asleep.waiting, asleep);
        Some(SpinDownReport {
            is_used: self.load.spins_down,
            after_s: standby.after,
            starts: asleep.starts,
            rated_starts: standby.rated_starts,
            asleep_s: asleep.secs,
            waiting_s: asleep.waiting,
            saved_j: awake.zip(slept).map(|(awake, slept)| awake - slept),
        })
    }

    /// Share of the rated endurance of the most written drive that a run uses, or of the rated
    /// starts of a disk.
    fn wear(&self, design: &JobDesign, drives: &Drives) -> Option<Wear> {
        let asleep = self.asleep(design);
        if asleep.starts == 0 {
            return self.load.wear.map(|wear| drives.simulated(wear));
        }
        let rated = self.load.standby?.rated_starts?;
        #[allow(clippy::cast_precision_loss)]
        Some(Wear::exactly(f64::from(asleep.starts) / rated as f64))
    }

    /// The upper end of the range of the time of each design.
    pub fn upper_ends(&self, designs: &[JobDesign]) -> Vec<f64> {
        let found = designs.iter().zip(self.times(designs)).zip(self.ends(designs, End::Upper));
        found.map(|((design, time), highs)| upper_end(time, &highs, design.uncached)).collect()
    }

    /// Time of the job on each design, with its range.
    pub fn ranges(&self, designs: &[JobDesign]) -> Vec<JobRange> {
        let ends = self.ends(designs, End::Lower).into_iter().zip(self.ends(designs, End::Upper));
        let found = designs.iter().zip(self.times(designs)).zip(ends);
        let of = |((design, time), (lows, highs)): ((&JobDesign, _), (_, _))| {
            range(time, &lows, &highs, design.uncached)
        };
        found.map(of).collect()
    }

    /// The times of each design with one source at an end of its range.
    fn ends(&self, designs: &[JobDesign], end: End) -> Vec<SourceEnds> {
        let mut ends = vec![SourceEnds::default(); designs.len()];
        let mut set = |source: usize, times: Vec<f64>| {
            for (ends, time) in ends.iter_mut().zip(times) {
                ends[source] = time;
            }
        };
        for source in 0..SAMPLE_SOURCES {
            let add_ends = |ys: &[f64], sums: &mut [f64]| self.add_ends(source, end, ys, sums);
            let times = self.sums(designs, |design| self.y(design), add_ends);
            // A write that wakes a disk may wait in the page cache, and not the job.
            let may_not_wait = source == RangeSource::Storage as usize && end == End::Lower;
            let times = if may_not_wait { times } else { self.with_waiting(designs, times) };
            set(source, times);
        }
        let with_error = |design: &JobDesign| {
            let error = computing_error(design.speed_error, self.stretch);
            self.y(design) * (end.sign() * error).exp()
        };
        let times = self.sums(designs, with_error, |ys, sums| self.add_times(ys, sums));
        set(SPEED, self.with_waiting(designs, times));
        if self.is_of_traced_cores() {
            for ((ends, design), time) in ends.iter_mut().zip(designs).zip(self.times(designs)) {
                if design.speed_error <= 0.0 {
                    ends[RangeSource::Cores as usize] = time;
                }
            }
        }
        ends
    }

    /// Whether the designs are as many nodes, with as many cores, as were traced, so that what each
    /// node did on its cores is known.
    fn is_of_traced_cores(&self) -> bool {
        let nodes = self.load.nodes;
        nodes.traced > 1 && !nodes.differ() && self.cores.count == self.load.cores.count
    }

    /// Time of each design. `y` is its variable, and `add` adds the times of the samples to sums.
    fn sums(
        &self,
        designs: &[JobDesign],
        y: impl Fn(&JobDesign) -> f64,
        add: impl Fn(&[f64], &mut [f64]),
    ) -> Vec<f64> {
        let mut sums = vec![0.0; designs.len()];
        for (designs, sums) in designs.chunks(BLOCK).zip(sums.chunks_mut(BLOCK)) {
            let ys: Vec<f64> = designs.iter().map(&y).collect();
            add(&ys, sums);
        }
        sums
    }

    /// Joules of all nodes, which are on for `secs` seconds; `None` if the power is unknown.
    pub fn energy(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        self.energy_with(design, secs, self.asleep(design))
    }

    fn energy_with(&self, design: &JobDesign, secs: f64, asleep: Asleep) -> Option<f64> {
        let power = design.power?;
        let load = self.load;
        let storage = load.storage.map(|power| StorageWork {
            power,
            usage: load.usage,
            slept: load.standby.map(|standby| (standby, asleep)),
        });
        let machine = self.machine_energy(design, &power, secs);
        Some(f64::from(load.nodes.target) * power.total(secs, machine, storage).0)
    }

    /// Energy of a node without its simulated storage. With a power curve, each sample counts with
    /// the power at its own load, and the node is idle for what `secs` has more than the samples.
    fn machine_energy(&self, design: &JobDesign, power: &WholePower, secs: f64) -> Joules {
        let cores = f64::from(self.cores.count);
        if power.is_linear() {
            return power.even(secs, self.load.cpu / design.speed / cores);
        }
        let y = self.y(design);
        let idle = power.ends.idle;
        let above_idle = self.samples.iter().zip(&*self.load.samples).map(|(times, prepared)| {
            let time = times.time(y);
            let share = prepared.sample.cpu * y / cores / time;
            if time > 0.0 { Joules::of(power.at(share) - idle, time) } else { Joules::default() }
        });
        above_idle.fold(Joules::of(idle, secs), |sum, joules| sum + joules)
    }

    /// Price of all nodes for `secs` seconds; `None` if it is unknown.
    pub fn price(&self, design: &JobDesign, secs: f64) -> Option<f64> {
        design.rate.map(|rate| rate.price(self.load.nodes.target, secs))
    }

    /// A run of `secs` seconds on nodes with these drives.
    pub(in crate::model) fn run(&self, design: &JobDesign, drives: &Drives, secs: f64) -> Run {
        Run {
            nodes: self.load.nodes.target,
            time: secs,
            energy: self.energy(design, secs),
            rate: design.rate,
            wear: self.wear(design, drives),
        }
    }

    /// Shares of the time by [`JOB_LIMITS`].
    pub fn limits(&self, design: &JobDesign) -> [f64; JOB_LIMITS.len()] {
        let mut parts = self.parts(self.y(design));
        parts[STORAGE] += self.asleep(design).waiting;
        let secs: f64 = parts.iter().sum();
        if secs > 0.0 { parts.map(|part| part / secs) } else { parts }
    }

    /// Idle seconds that remain however fast the cores are.
    pub fn floor(&self) -> f64 {
        self.parts(0.0)[JOB_IDLE]
    }

    /// The results of `designs`.
    pub fn columns(&self, designs: &[JobDesign]) -> JobColumns {
        let mut columns = JobColumns::default();
        for (design, found) in designs.iter().zip(self.ranges(designs)) {
            let job = found.job;
            columns.time.push(job.time);
            columns.low.push(job.low);
            columns.high.push(job.high);
            columns.energy.push(self.energy(design, job.time).unwrap_or(f64::NAN));
            columns.price.push(self.price(design, job.time).unwrap_or(f64::NAN));
            for (column, share) in columns.limits.iter_mut().zip(self.limits(design)) {
                column.push(share);
            }
        }
        columns
    }

    /// Adds the estimate at each of `ys` to `sums`.
    fn add_times(&self, ys: &[f64], sums: &mut [f64]) {
        for sample in &self.samples {
            add(ys, sums, |y| sample.time(y));
        }
    }

    /// Adds the time with a source at an end of its range, at each of `ys`, to `sums`.
    fn add_ends(&self, source: usize, end: End, ys: &[f64], sums: &mut [f64]) {
        for sample in &self.samples {
            match (&sample.varied[source], end) {
                (None, _) => add(ys, sums, |y| sample.time(y)),
                (Some(varied), End::Lower) => add(ys, sums, |y| varied.least(y)),
                (Some(varied), End::Upper) => add(ys, sums, |y| varied.greatest(y)),
            }
        }
    }

    /// The estimate by [`JOB_LIMITS`]; the sum is the time.
    fn parts(&self, y: f64) -> [f64; JOB_LIMITS.len()] {
        let (load, mut parts) = (self.load, [0.0; JOB_LIMITS.len()]);
        for ((times, prepared), cost) in self.samples.iter().zip(&*load.samples).zip(&load.costs) {
            if times.own.at(y) < times.floor {
                let storage = prepared.sample.busy * cost.storage.best;
                parts[if storage >= cost.network { STORAGE } else { NETWORK }] += times.floor;
                continue;
            }
            parts[CPU] += times.computing * y;
            parts[JOB_IDLE] += times.idle;
            parts[STORAGE] += times.own.intercept - times.idle;
        }
        parts
    }
}

/// Adds `time` at each of `ys` to `sums`.
fn add(ys: &[f64], sums: &mut [f64], time: impl Fn(f64) -> f64) {
    for (sum, y) in sums.iter_mut().zip(ys) {
        *sum += time(*y);
    }
}

/// Results of designs, in their order. NaN is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobColumns {
    /// Seconds, best estimate.
    pub time: Vec<f64>,
    /// Seconds, lower end of the range.
    pub low: Vec<f64>,
    /// Seconds, upper end of the range.
    pub high: Vec<f64>,
    /// Joules of all nodes.
    pub energy: Vec<f64>,
    /// Price of all nodes, in the currency of the designs.
    pub price: Vec<f64>,
    /// Shares of the time by [`JOB_LIMITS`].
    pub limits: [Vec<f64>; JOB_LIMITS.len()],
}

impl JobColumns {
    /// Appends the results of more designs.
    pub fn append(&mut self, more: &Self) {
        self.time.extend_from_slice(&more.time);
        self.low.extend_from_slice(&more.low);
        self.high.extend_from_slice(&more.high);
        self.energy.extend_from_slice(&more.energy);
        self.price.extend_from_slice(&more.price);
        for (column, more) in self.limits.iter_mut().zip(&more.limits) {
            column.extend_from_slice(more);
        }
    }
}
