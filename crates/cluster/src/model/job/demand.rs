//! How many cores a job could use while it computes, and how long the same work takes on other
//! cores.
//!
//! Model: docs/design/cluster.md, "Width" and "Threads and cores". A *stretch* is the length of a
//! second of computing on the target, if all of its cores were as fast as the traced ones while all
//! are busy.

use crate::space::cores::{Cores, KnownCores};

/// Exponent of the prior of demands that the trace cannot show: of the time in which all `n` traced
/// cores were busy, the job could use at least `k` cores in `(n / k)^TAIL` of it. Assumed: 0 would
/// be unlimited parallelism, and infinity none. On EC2, 0.5 and 0 have the same median error.
pub const TAIL: f64 = 0.5;

/// Share of the distance from the estimate to the least or greatest stretch of any demand with the
/// measured mean that the 80 % range covers. Chosen so that the range holds about 80 % of the
/// times on EC2 (docs/validation/ec2.md).
const WIDTH_COVER: f64 = 0.35;
/// Share of busy cores from which a sample counts as saturated, in proportion up to 1. What a
/// saturated machine could use is unknown, and the range covers all of the distance.
const SATURATED: f64 = 0.9;

/// Share of the gain of a benchmark on idle cores that a varying number of threads may have, as a
/// share of its logarithm. On EC2, jobs have a quarter of it.
const GAIN_COVER: f64 = 0.5;

/// The demand of a sample for cores while it computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CoreDemand {
    /// Mean number of busy cores, from 1 to all.
    pub width: f64,
    /// See [`demand_ratio`].
    pub ratio: f64,
    /// Whether a fixed number of threads computes.
    pub steady: bool,
    /// Share of the computing time in which more threads were runnable than there are cores, if
    /// the trace has it.
    pub over: Option<f64>,
}

/// Stretches of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// Best estimate: a thread that runs alone, and a fixed number of threads, have the speed that
    /// this number of busy threads has.
    pub best: f64,
    /// Every thread has the speed of a processor while all are busy.
    pub as_all_busy: f64,
    /// Fewer threads than processors are faster, by a part of what the benchmark gains.
    pub with_gain: f64,
    /// Factors of the least and of the greatest stretch in the range.
    pub least: f64,
    pub greatest: f64,
    /// Share of the distance to the bounds that the range covers.
    pub cover: f64,
}

/// The ratio r for which a demand D >= 1 of cores with P(D >= k) = r^(k-1) keeps `width` of `cores`
/// busy in the mean: 1 + r + ... + r^(cores-1) = width. 0: one thread; 1: saturated.
pub fn demand_ratio(width: f64, cores: u32) -> f64 {
    if cores <= 1 {
        return 1.0;
    }
    if width <= 1.0 {
        return 0.0;
    }
    if width >= f64::from(cores) {
        return 1.0;
    }
    let mut low = 0.0;
    let mut high = 1.0;
    for _ in 0..53 {
        let ratio = f64::midpoint(low, high);
        let total = (0..cores).fold(0.0, |total, _| total * ratio + 1.0);
        if total < width {
            low = ratio;
        } else {
            high = ratio;
        }
    }
    f64::midpoint(low, high)
}

/// The stretches from the traced cores to those of a target.
#[derive(Clone, Debug)]
pub(crate) struct StretchTable {
    from: u32,
    to: u32,
    /// `(from / k)^TAIL` for k = from, from + 1, ...
    tail: Vec<f64>,
    /// By number of threads, from 1: time on the target of a second of as many busy threads.
    weights: Vec<[f64; 3]>,
    /// As `weights`, with the measured speeds of this number of busy threads on both machines.
    measured: Vec<f64>,
    /// The stretches of a saturated machine.
    saturated: [f64; 3],
}

const BEST: usize = 0;
const AS_ALL_BUSY: usize = 1;
const WITH_GAIN: usize = 2;

impl StretchTable {
    /// Number of cores of the target.
    pub fn to(&self) -> u32 {
        self.to
    }

    pub fn new(from: &Cores, to: &Cores) -> Self {
        let top = from.count.max(to.count);
        // Without one of the gains of a lone thread, the other says nothing.
        let gains = from.single.zip(to.single);
        let known = |cores: &Cores, single: f64| KnownCores {
            count: cores.count,
            threads: cores.threads.max(1),
            single,
        };
        let from = known(from, gains.map_or(1.0, |gains| gains.0));
        let to = known(to, gains.map_or(1.0, |gains| gains.1));
        let measured = |k: u32| from.throughput(k) / to.throughput(k);
        let weight = |k: u32| {
            let cores = |of: KnownCores| f64::from(k.min(of.count));
            let as_all_busy = cores(from) / cores(to);
            let lone = from.lone_throughput(k, true) / to.lone_throughput(k, false);
            // The numbers of threads vary, and other threads share their cores.
            let gain = if k == 1 { 1.0 } else { GAIN_COVER };
            [lone, as_all_busy, as_all_busy * (measured(k) / as_all_busy).powf(gain)]
        };
        let tail = |k: u32| (f64::from(from.count) / f64::from(k)).powf(TAIL);
        let mut table = Self {
            from: from.count,
            to: to.count,
            tail: (from.count..=top + 1).map(tail).collect(),
            weights: (1..=top).map(weight).collect(),
            measured: (1..=top).map(measured).collect(),
            saturated: [0.0; 3],
        };
        table.saturated = table.sums(1.0, None);
        table
    }

    /// The means of the weights over the demand.
    fn sums(&self, ratio: f64, over: Option<f64>) -> [f64; 3] {
        let mut sums = [0.0; 3];
        let mut add = |k: usize, share: f64| {
            for (sum, weight) in sums.iter_mut().zip(self.weights[k - 1]) {
                *sum += share * weight;
            }
        };
        let (from, top) = (self.from as usize, self.weights.len());
        // P(D >= k); beyond the traced cores its last factor is kept apart.
        let mut left = 1.0;
        let mut k = 1;
        while k < from && left > 0.0 {
            let next = left * ratio;
            add(k, left - next);
            left = next;
            k += 1;
        }
        if k < from {
            return sums;
        }
        let (mut base, mut first) = (left, from);
        if let Some(over) = over
            && top > from
        {
            // D equals the traced cores in the time that `over` leaves.
            base = over.min(left);
            first = from + 1;
            add(from, left - base);
            left = base;
            k = first;
        }
        let mut power = 1.0;
        while k < top && left > 1e-17 {
            power *= ratio;
            let prior = self.tail[k + 1 - from] / self.tail[first - from];
            let next = base * power.min(prior);
            add(k, left - next);
            left = next;
            k += 1;
        }
        add(k.min(top), left);
        sums
    }

    /// The stretches of a demand.
    pub fn of(&self, demand: &CoreDemand) -> Stretch {
        let (width, to) = (demand.width, f64::from(self.to));
        if demand.steady {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let threads = (width.round_ties_even() as usize).clamp(1, self.weights.len());
            #[allow(clippy::cast_precision_loss)]
            let more = if self.to as usize <= threads { width / threads as f64 } else { 1.0 };
            let measured = self.measured[threads - 1] * more;
            return Stretch {
                best: measured,
                as_all_busy: self.weights[threads - 1][AS_ALL_BUSY] * more,
                with_gain: measured,
                least: 1.0,
                greatest: 1.0,
                cover: 0.0,
            };
        }
        let is_saturated = demand.ratio >= 1.0 && demand.over.is_none();
        let sums = if is_saturated { self.saturated } else { self.sums(demand.ratio, demand.over) };
        let (low, high) = stretch_bounds(width, self.from, self.to, demand.over);
        let busy = width / f64::from(self.from);
        let saturated = ((busy - SATURATED) / (1.0 - SATURATED)).clamp(0.0, 1.0);
        let unknown =
            if demand.over.is_none() && to > f64::from(self.from) { saturated } else { 0.0 };
        let cover = WIDTH_COVER + (1.0 - WIDTH_COVER) * unknown;
        // A single core does not show whether its thread is alone, and then runs as such.
        let alone = if self.from == 1 { self.measured[0] / sums[BEST] } else { 0.0 };
        Stretch {
            best: sums[BEST],
            as_all_busy: sums[AS_ALL_BUSY],
            with_gain: sums[WITH_GAIN],
            least: 1.0 - cover * (1.0 - low / sums[AS_ALL_BUSY]).max(0.0),
            greatest: (1.0 + cover * (high / sums[AS_ALL_BUSY] - 1.0).max(0.0)).max(alone),
            cover,
        }
    }
}

/// The least and the greatest stretch over all demands with this mean, on cores of one speed:
/// steady at `width`, or one core and all cores in turn (and then as many as there are).
fn stretch_bounds(width: f64, cores: u32, target: u32, over: Option<f64>) -> (f64, f64) {
    let flat = (width / f64::from(target)).max(1.0);
    let mut all = if cores > 1 { (width - 1.0) / (f64::from(cores) - 1.0) } else { 1.0 };
    if target > cores
        && let Some(over) = over
    {
        all = all.min(over);
    }
    let two = (1.0 - all) + all * f64::from(cores) / f64::from(target);
    (flat.min(two), flat.max(two))
}
