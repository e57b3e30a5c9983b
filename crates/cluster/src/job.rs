//! The `job` model: how long one job of fixed work takes on another machine.
//!
//! For each sample, the model separates the time in which the job was blocked on storage, the time
//! in which it was idle, and the time in which it computed, with the mean number of cores that were
//! busy while it computed. What limited a sample is kept if the target does not change it.
//! docs/design/cluster.md derives the equations.
//!
//! All times are in seconds, all CPU times in core-seconds, all sizes in bytes.

use std::collections::BTreeMap;

/// Successive samples at a whole number of busy cores that make a fixed number of threads.
const STEADY_SAMPLES: usize = 3;
/// Distance from a whole number of busy cores within which a sample counts as that number. A
/// demand that varies passes by chance with a probability of 0.1, and three times with 0.001.
const STEADY_TOLERANCE: f64 = 0.05;

/// What a traced machine did in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobSample {
    /// Length of the sample; above zero.
    pub span: f64,
    /// Core-seconds spent computing: user, nice, system and interrupts.
    pub cpu: f64,
    /// Core-seconds idle while a thread of that core waited for storage.
    pub iowait: f64,
    /// Number of cores of the traced machine; at least 1.
    pub cores: u32,
    /// Seconds in which the storage had a request in flight.
    pub busy: f64,
    /// Bytes read from storage.
    pub read: f64,
    /// Bytes written to storage.
    pub write: f64,
    /// Seconds in which all tasks waited for storage (`full` of PSI `io`), a lower bound of the
    /// blocked time; `None` if unknown.
    pub stalled: Option<f64>,
    /// Seconds in which a runnable thread had no core (`some` of PSI `cpu`); `None` if unknown.
    pub waiting: Option<f64>,
    /// Whether a fixed number of threads computes; [`mark_steady`] sets it.
    pub steady: bool,
}

/// What a target machine does with a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobTarget {
    /// Number of cores; at least 1.
    pub cores: u32,
    /// Speed of a core relative to the traced machine's.
    pub speed: f64,
    /// Device time of the sample's I/O relative to the traced device's; 1 for the same device.
    pub storage_ratio: f64,
    /// Seconds that the network needs for the sample's bytes.
    pub network: f64,
}

/// Where the time of a sample went on the traced machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSplit {
    /// Seconds in which the job waited for storage and computed nothing.
    pub blocked: f64,
    /// Seconds in which it neither computed nor waited for storage.
    pub idle: f64,
    /// The rest of the sample.
    pub computing: f64,
    /// Mean number of cores busy while it computed, from 1 to all; 0 if it computed nothing.
    pub width: f64,
}

/// Time on the target, with the bounds of what the trace leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobTime {
    /// Best estimate.
    pub time: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// What the best estimate of a sample's time consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeParts {
    /// Seconds of device time, which overlaps everything else.
    pub storage: f64,
    /// Seconds of network time, which overlaps everything else.
    pub network: f64,
    /// Seconds idle.
    pub idle: f64,
    /// Seconds computing.
    pub computing: f64,
    /// Seconds blocked on storage.
    pub blocked: f64,
}

impl TimeParts {
    /// Time of the sample: the longest of the device, the network, and the job's own time.
    pub fn time(&self) -> f64 {
        self.storage.max(self.network).max(self.own())
    }

    /// Time of the job itself, if devices and links were infinitely fast while it computes.
    pub fn own(&self) -> f64 {
        self.idle + self.computing + self.blocked
    }
}

impl JobSample {
    pub(crate) fn cores_f(&self) -> f64 {
        f64::from(self.cores)
    }

    /// A share of the sample: all times and sizes are this share of the sample's.
    pub fn scaled(&self, share: f64) -> Self {
        Self {
            span: self.span * share,
            cpu: self.cpu * share,
            iowait: self.iowait * share,
            cores: self.cores,
            busy: self.busy * share,
            read: self.read * share,
            write: self.write * share,
            stalled: self.stalled.map(|secs| secs * share),
            waiting: self.waiting.map(|secs| secs * share),
            steady: self.steady,
        }
    }

    /// Share of reads in the bytes moved.
    pub(crate) fn read_share(&self) -> f64 {
        let total = self.read + self.write;
        if total > 0.0 { self.read / total } else { 0.0 }
    }

    /// The longest blocked time after which all cores can still do the CPU time of the sample.
    fn most_blocked(&self) -> f64 {
        (self.span - self.cpu / self.cores_f()).max(0.0)
    }

    /// Seconds in which the job waited for storage instead of computing (best estimate).
    ///
    /// Reads: a thread that reads and computes in turn waits W of its W + C seconds, whatever the
    /// number of such threads. Writes are written back by the kernel, whose flusher threads cause
    /// iowait next to a job that computes: they count only in time in which no core computed. No
    /// wait lasts longer than the device was busy. Stalls that the kernel counted are a lower bound.
    pub fn blocked_time(&self) -> f64 {
        let reads = self.iowait * self.read_share();
        let mut blocked = 0.0;
        if reads > 0.0 {
            blocked = (self.span * reads / (reads + self.cpu)).min(self.busy);
        }
        let rest =
            (self.span - blocked - self.cpu).min(self.iowait - reads).min(self.busy - blocked);
        let stalled = self.stalled.unwrap_or(0.0);
        (blocked + rest.max(0.0)).max(stalled).min(self.most_blocked())
    }

    /// The largest blocked time that the sample allows: the job also waited for write-back.
    pub fn blocked_time_high(&self) -> f64 {
        if self.iowait <= 0.0 {
            return self.blocked_time();
        }
        let high = (self.span * self.iowait / (self.iowait + self.cpu)).min(self.busy);
        self.blocked_time().max(high.min(self.most_blocked()))
    }

    /// Splits the sample, given its blocked time. While a job is not blocked it keeps at least one
    /// core busy; what is left of less than one busy core is idle time (timers, other machines).
    pub fn split(&self, blocked: f64) -> SampleSplit {
        let free = self.span - blocked;
        if self.cpu <= 0.0 || free <= 0.0 {
            return SampleSplit { blocked, idle: free.max(0.0), computing: 0.0, width: 0.0 };
        }
        let computing = free.min(self.cpu);
        let width = (self.cpu / computing).min(self.cores_f());
        SampleSplit { blocked, idle: free - computing, computing, width }
    }

    /// The share of the computing time in which more threads were runnable than there are cores,
    /// if the trace has it.
    pub(crate) fn over(&self, computing: f64) -> Option<f64> {
        self.waiting.map(|waiting| (waiting / computing).min(1.0))
    }

    /// The parts of the sample's time on the target.
    pub fn parts_on(&self, target: &JobTarget) -> TimeParts {
        let split = self.split(self.blocked_time());
        let mut computing = 0.0;
        if split.computing > 0.0 {
            let over = self.over(split.computing);
            let stretch = stretch(split.width, self.cores, target.cores, self.steady, over);
            computing = split.computing * stretch / target.speed;
        }
        TimeParts {
            storage: self.busy * target.storage_ratio,
            network: target.network,
            idle: split.idle,
            computing,
            blocked: split.blocked * target.storage_ratio,
        }
    }

    /// The sample's time on the target.
    pub fn time_on(&self, target: &JobTarget) -> JobTime {
        let parts = self.parts_on(target);
        let time = parts.time();
        let floor = parts.storage.max(parts.network);
        // Width: any demand with the measured mean. Storage: the additional read time of a slower
        // device is hidden by read-ahead (low) or waited for (high); the gain of a faster device is
        // all on the job's critical path (low) or not at all (high).
        let mut low = time;
        let mut high = time;
        let ratio = target.storage_ratio;
        let extra = (ratio - 1.0) * self.busy * self.read_share();
        let cores = f64::from(target.cores);
        for blocked in [self.blocked_time(), self.blocked_time_high()] {
            let split = self.split(blocked);
            let mut near = 0.0;
            let mut far = 0.0;
            let mut over = None;
            if split.computing > 0.0 {
                over = self.over(split.computing);
                let bounds =
                    stretch_bounds(split.width, self.cores, target.cores, self.steady, over);
                near = split.computing * bounds.0 / target.speed;
                far = split.computing * bounds.1 / target.speed;
            }
            near += split.idle;
            far += split.idle;
            // All cores or none: the idle time of less than one busy core may be that of all cores.
            let waves = (self.span - blocked) - self.cpu / self.cores_f()
                + self.cpu / (target.speed * cores);
            if !self.steady && over.is_none() {
                near = near.min(waves);
                far = far.max(waves);
            }
            let (wait_low, wait_high) = if ratio >= 1.0 {
                (blocked, (blocked + extra).max(blocked * ratio))
            } else {
                ((blocked + (ratio - 1.0) * self.busy).max(0.0), blocked)
            };
            low = low.min(floor.max(near + wait_low));
            high = high.max(floor.max(far + wait_high));
        }
        JobTime { time, low, high }
    }
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

/// Length of a second of computing on `target` cores of the same speed: the mean over the demand D
/// of min(D, cores) / min(D, target).
///
/// `over` is the share of the time in which D exceeds `cores`, if it is known. Otherwise the tail
/// of the geometric distribution gives it.
pub fn stretch(width: f64, cores: u32, target: u32, steady: bool, over: Option<f64>) -> f64 {
    if steady {
        return (width / f64::from(target)).max(1.0);
    }
    stretch_of_demand(demand_ratio(width, cores), cores, target, over)
}

/// [`stretch`] of a demand that varies, given its [`demand_ratio`].
pub(crate) fn stretch_of_demand(ratio: f64, cores: u32, target: u32, over: Option<f64>) -> f64 {
    let top = cores.max(target);
    // P(D >= k)
    let mut left = 1.0;
    let mut sum = 0.0;
    for k in 1..top {
        if k == cores
            && let Some(over) = over
        {
            // D equals `cores` in the time that `over` leaves; D > cores keeps the tail's shape.
            let tail = over.min(left);
            sum += (left - tail) * f64::from(cores) / f64::from(cores.min(target));
            left = tail;
            continue;
        }
        let exactly = left * (1.0 - ratio);
        sum += exactly * f64::from(k.min(cores)) / f64::from(k.min(target));
        left *= ratio;
        if left < 1e-17 {
            return sum;
        }
    }
    sum + left * f64::from(cores) / f64::from(target)
}

/// The least and the greatest stretch over all demands with this mean: steady at `width`, or one
/// core and all cores in turn (and then as many as there are).
pub fn stretch_bounds(
    width: f64,
    cores: u32,
    target: u32,
    steady: bool,
    over: Option<f64>,
) -> (f64, f64) {
    let flat = (width / f64::from(target)).max(1.0);
    if steady {
        return (flat, flat);
    }
    let mut all = if cores > 1 { (width - 1.0) / (f64::from(cores) - 1.0) } else { 1.0 };
    if target > cores
        && let Some(over) = over
    {
        all = all.min(over);
    }
    let two = (1.0 - all) + all * f64::from(cores) / f64::from(target);
    (flat.min(two), flat.max(two))
}

/// Marks samples in which a fixed number k of threads computes, 1 < k < cores: runs of at least
/// three samples with the same whole number of busy cores, within 0.05.
pub fn mark_steady(samples: &mut [JobSample]) {
    let level = |sample: &JobSample| {
        let busy = sample.cpu / sample.span;
        let whole = busy.round_ties_even();
        let fixed =
            whole > 1.0 && whole < sample.cores_f() && (busy - whole).abs() <= STEADY_TOLERANCE;
        if fixed { whole } else { 0.0 }
    };
    for run in samples.chunk_by_mut(|a, b| level(a).total_cmp(&level(b)).is_eq()) {
        let steady = run.len() >= STEADY_SAMPLES && level(&run[0]) > 0.0;
        run.iter_mut().for_each(|sample| sample.steady = steady);
    }
}

/// Time of a node: the sum of its samples' times.
pub fn node_time(times: impl IntoIterator<Item = JobTime>) -> JobTime {
    times.into_iter().fold(JobTime::default(), |sum, more| JobTime {
        time: sum.time + more.time,
        low: sum.low + more.low,
        high: sum.high + more.high,
    })
}

/// Time of a job of several nodes: its longest node, because there are no barriers.
pub fn job_time(nodes: impl IntoIterator<Item = JobTime>) -> JobTime {
    nodes.into_iter().fold(JobTime::default(), |most, node| JobTime {
        time: most.time.max(node.time),
        low: most.low.max(node.low),
        high: most.high.max(node.high),
    })
}

/// Shares of the time by what takes it: `cpu`, `storage`, `network`, or `idle` for the time that no
/// part of the machine shortens.
pub fn limits(samples: impl Iterator<Item = TimeParts>) -> BTreeMap<String, f64> {
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut total = 0.0;
    for parts in samples {
        let time = parts.time();
        total += time;
        let mut add = |name: &str, secs: f64| *shares.entry(name.into()).or_default() += secs;
        if parts.own() >= time {
            add("cpu", parts.computing);
            add("storage", parts.blocked);
            add("idle", parts.idle);
        } else if parts.storage >= parts.network {
            add("storage", time);
        } else {
            add("network", time);
        }
    }
    if total > 0.0 {
        shares.values_mut().for_each(|share| *share /= total);
    }
    shares.retain(|_, share| *share > 0.0);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1e6;

    fn sample(cpu: f64) -> JobSample {
        JobSample { span: 1.0, cpu, cores: 4, ..JobSample::default() }
    }

    fn target(cores: u32, speed: f64, storage_ratio: f64) -> JobTarget {
        JobTarget { cores, speed, storage_ratio, network: 0.0 }
    }

    fn time(sample: &JobSample, cores: u32, speed: f64, ratio: f64) -> f64 {
        sample.time_on(&target(cores, speed, ratio)).time
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn the_traced_machine_itself_takes_the_length_of_the_trace() {
        for cpu in [0.0, 0.3, 1.0, 1.7, 2.4, 3.9, 4.0] {
            for iowait in [0.0, 0.2, 0.6] {
                for read in [0.0, MIB] {
                    let iowait = f64::min(iowait, 4.0 - cpu);
                    let x = JobSample { iowait, busy: 0.5, read, write: MIB, ..sample(cpu) };
                    let there = x.time_on(&target(4, 1.0, 1.0));
                    near(there.time, 1.0);
                    near(there.low, 1.0);
                    near(there.high, 1.0);
                }
            }
        }
    }

    #[test]
    fn one_thread_gains_from_speed_and_not_from_cores() {
        for cores in [1, 2, 8] {
            near(time(&sample(1.0), cores, 2.0, 1.0), 0.5);
        }
    }

    #[test]
    fn a_thread_that_reads_half_of_the_time_gains_half_from_the_device() {
        let x = JobSample { iowait: 0.5, busy: 0.5, read: MIB, ..sample(0.5) };
        near(time(&x, 8, 1.0, 0.1), 0.55);
        near(time(&x, 8, 1.0, 3.0), 2.0);
    }

    #[test]
    fn waiting_threads_do_not_hide_the_width() {
        let x = JobSample { iowait: 2.0, busy: 1.0, read: MIB, ..sample(2.0) };
        near(x.split(x.blocked_time()).width, 4.0);
        near(time(&x, 4, 1.0, 0.1), 0.55);
    }

    #[test]
    fn a_saturated_machine_divides_its_work_by_the_cores() {
        near(time(&sample(4.0), 8, 1.0, 1.0), 0.5);
        near(time(&sample(4.0), 2, 1.0, 1.0), 2.0);
        near(time(&sample(2.5), 1, 1.0, 1.0), 2.5);
    }

    #[test]
    fn write_back_next_to_a_thread_that_computes_blocks_nothing() {
        let x = JobSample { iowait: 1.0, busy: 1.0, write: 1e8, ..sample(1.0) };
        near(x.blocked_time(), 0.0);
    }

    #[test]
    fn measured_stalls_are_a_lower_bound_of_the_blocked_time() {
        let x = JobSample { stalled: Some(0.25), iowait: 3.0, busy: 1.0, ..sample(1.0) };
        near(x.blocked_time(), 0.25);
        let full = JobSample { stalled: Some(0.9), ..sample(2.0) };
        near(full.blocked_time(), 0.5);
    }

    /// A core of a constructed second: the time in which it ran and in which all of its threads
    /// waited for storage.
    fn of_cores(cores: &[(f64, f64)]) -> JobSample {
        let nonidle: f64 = cores.iter().map(|(ran, waited)| ran + waited).sum();
        // The kernel's mean over its cores, weighted by the time in which each had a thread
        // (kernel/sched/psi.c, collect_percpu_times).
        let full: f64 = cores.iter().map(|(ran, waited)| waited * (ran + waited)).sum();
        JobSample {
            cpu: cores.iter().map(|core| core.0).sum(),
            iowait: cores.iter().map(|core| core.1).sum(),
            busy: 1.0,
            read: MIB,
            stalled: Some(full / nonidle),
            ..sample(0.0)
        }
    }

    #[test]
    fn stalls_and_iowait_give_the_same_blocked_time_of_threads_that_never_sleep() {
        for cores in [
            &[(0.5, 0.5), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)][..],
            &[(0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (0.0, 0.0)],
            &[(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)],
            &[(0.2, 0.8), (0.7, 0.3), (1.0, 0.0), (0.4, 0.6)],
        ] {
            let with = of_cores(cores);
            let without = JobSample { stalled: None, ..with };
            near(with.blocked_time(), without.blocked_time());
        }
    }

    #[test]
    fn stalls_add_nothing_where_iowait_says_more() {
        // One thread on all cores in turn, which waits half of its time: the kernel's mean over
        // the cores is a quarter of that.
        let migrates = of_cores(&[(0.125, 0.125); 4]);
        near(migrates.stalled.unwrap(), 0.125);
        near(migrates.blocked_time(), 0.5);
        // One thread that also sleeps: the device is busy only while the thread waits.
        let sleeps = of_cores(&[(0.2, 0.2), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        near(JobSample { busy: 0.2, ..sleeps }.blocked_time(), 0.2);
    }

    #[test]
    fn bounds_hold_with_pressure_and_are_equal_on_the_traced_machine() {
        for stalled in [None, Some(0.0), Some(0.3), Some(1.0)] {
            for waiting in [None, Some(0.0), Some(0.4), Some(1.0)] {
                for (cpu, iowait) in [(0.0, 0.0), (0.4, 0.0), (1.7, 1.1), (3.6, 0.4), (4.0, 0.0)] {
                    for read in [0.0, MIB] {
                        let busy = 0.5;
                        let (write, steady) = (MIB, false);
                        let x = JobSample {
                            iowait,
                            busy,
                            read,
                            write,
                            stalled,
                            waiting,
                            steady,
                            ..sample(cpu)
                        };
                        let here = x.time_on(&target(4, 1.0, 1.0));
                        near(here.time, 1.0);
                        near(here.low, 1.0);
                        near(here.high, 1.0);
                        assert!(x.blocked_time() <= x.blocked_time_high());
                        for to in [1, 2, 4, 8, 64] {
                            for ratio in [0.1, 1.0, 7.0] {
                                let found = x.time_on(&target(to, 1.5, ratio));
                                let inside = found.low <= found.time && found.time <= found.high;
                                assert!(inside, "{x:?} on {to}, {ratio}: {found:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_share_of_waiting_keeps_the_stretch_within_its_bounds() {
        for over in [0.0, 0.2, 0.7, 1.0].map(Some) {
            for i in 0..=20 {
                let width = 1.0 + 3.0 * f64::from(i) / 20.0;
                for to in [1, 2, 4, 8, 16] {
                    let (low, high) = stretch_bounds(width, 4, to, false, over);
                    let found = stretch(width, 4, to, false, over);
                    let inside = low - 1e-9 <= found && found <= high + 1e-9;
                    assert!(inside, "{width} on {to}, {over:?}: {low} {found} {high}");
                }
            }
        }
    }

    #[test]
    fn two_cores_determine_the_demand_by_its_mean() {
        let expected = 0.3 + 0.7 * (2.0 * (0.3 / 2.0 + 0.7 * 0.3 / 3.0) + 0.49 * 2.0 / 4.0);
        near(stretch(1.7, 2, 4, false, None), expected);
    }

    #[test]
    fn four_steady_threads_need_four_cores() {
        let mut samples = [JobSample { cores: 8, ..sample(4.02) }; 3];
        mark_steady(&mut samples);
        let node = |cores| node_time(samples.map(|x| x.time_on(&target(cores, 1.0, 1.0)))).time;
        near(node(4), 3.0 * 4.02 / 4.0);
        near(node(2), 3.0 * 2.01);
    }

    #[test]
    fn two_samples_at_a_whole_number_may_be_chance() {
        let mut samples = [sample(2.0), sample(2.0), sample(2.4)];
        mark_steady(&mut samples);
        assert!(samples.iter().all(|x| !x.steady));
    }

    #[test]
    fn saturated_cores_without_waiting_threads_gain_nothing_from_more_cores() {
        let x = |waiting| JobSample { waiting: Some(waiting), ..sample(4.0) };
        near(time(&x(0.0), 8, 1.0, 1.0), 1.0);
        near(time(&x(1.0), 8, 1.0, 1.0), 0.5);
    }

    #[test]
    fn the_stretch_is_within_its_bounds() {
        for cores in [1, 2, 4, 8] {
            for i in 0..=40 {
                let width = 1.0 + f64::from(cores - 1) * f64::from(i) / 40.0;
                for to in [1, 2, 4, 8, 16] {
                    let (low, high) = stretch_bounds(width, cores, to, false, None);
                    let found = stretch(width, cores, to, false, None);
                    let inside = low - 1e-9 <= found && found <= high + 1e-9;
                    assert!(inside, "{width} of {cores} on {to}: {low} {found} {high}");
                }
            }
        }
    }

    #[test]
    fn the_stretch_to_one_core_is_the_width_and_to_the_same_cores_one() {
        for i in 0..=10 {
            let width = 1.0 + 0.3 * f64::from(i);
            near(stretch(width, 4, 1, false, None), width);
            near(stretch(width, 4, 4, false, None), 1.0);
        }
    }

    #[test]
    fn many_cores_cost_no_precision() {
        near(stretch(64.0, 64, 1024, false, None), 64.0 / 1024.0);
        let found = stretch(3.0, 64, 1024, false, None);
        assert!((0.9..=1.0).contains(&found), "{found}");
    }

    #[test]
    fn the_longest_node_gives_the_time_of_the_job() {
        let node = |time, high| JobTime { time, low: time, high };
        let job = job_time([node(3.0, 3.5), node(2.0, 4.0)]);
        assert_eq!(job, JobTime { time: 3.0, low: 3.0, high: 4.0 });
    }
}
