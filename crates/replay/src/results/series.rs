//! What happened over time, in intervals of one length, bounded in number: when there are
//! [`MOST`], pairs of them become one and the length doubles.
//!
//! A request counts in the interval in which it completes. What the device did is sampled at the
//! first thing that the host sees after an interval's end and counts there; an operation under way
//! counts where it was started, its time where there is room for it ([`super::tables`]).

use super::latency::Latencies;
use gordon_blockio::{Device, IoOp, Usage};
use gordon_ssd::Ssd;
use gordon_units::Ns;

/// Intervals at most.
pub const MOST: usize = 1000;

/// The length that intervals start with.
pub const FIRST: Ns = Ns(1_000_000);

/// What a device has done since it was made, cheap to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// How long its parts were at work.
    pub usage: Usage,
    /// How long its buses carried something, summed over groups that work as one.
    pub bus: Ns,
    /// How long garbage was being collected.
    pub collecting: Ns,
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages programmed, for any cause.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl Sample {
    fn since(self, then: Self) -> Self {
        Self {
            usage: Usage {
                read: self.usage.read - then.usage.read,
                write: self.usage.write - then.usage.write,
                controller: self.usage.controller - then.usage.controller,
            },
            // Reservations to come are counted: the sums only grow.
            bus: self.bus - then.bus,
            collecting: self.collecting - then.collecting,
            host_programs: self.host_programs - then.host_programs,
            programs: self.programs - then.programs,
            erases: self.erases - then.erases,
        }
    }

    fn add(&mut self, more: &Self) {
        self.usage.read += more.usage.read;
        self.usage.write += more.usage.write;
        self.usage.controller += more.usage.controller;
        self.bus += more.bus;
        self.collecting += more.collecting;
        self.host_programs += more.host_programs;
        self.programs += more.programs;
        self.erases += more.erases;
    }
}

/// A device that a run can be recorded on.
pub trait SampledDevice: Device {
    /// What it has done so far.
    fn sample(&self) -> Sample {
        Sample { usage: self.usage(), ..Sample::default() }
    }
}

impl SampledDevice for Ssd {
    fn sample(&self) -> Sample {
        let stats = self.ftl().stats();
        Sample {
            usage: self.usage(),
            bus: self.bus_busy().sum(),
            collecting: self.collecting(),
            host_programs: stats.host_programs,
            programs: stats.programs(),
            erases: stats.erases,
        }
    }
}

/// One interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Requests completed, by operation.
    pub requests: [u64; 4],
    /// Requests that failed.
    pub failed: u64,
    /// Bytes of them.
    pub bytes: [u64; 4],
    /// Sum of their latencies, in nanoseconds.
    pub latency: u128,
    /// The greatest of them.
    pub slowest: Ns,
    /// Outstanding requests times nanoseconds.
    pub outstanding: u128,
    /// What the device did.
    pub device: Sample,
}

impl Interval {
    fn add(&mut self, more: &Self) {
        for op in 0..4 {
            self.requests[op] += more.requests[op];
            self.bytes[op] += more.bytes[op];
        }
        self.failed += more.failed;
        self.latency += more.latency;
        self.slowest = self.slowest.max(more.slowest);
        self.outstanding += more.outstanding;
        self.device.add(&more.device);
    }
}

/// The most outstanding requests that the histogram of depths tells apart.
const DEEPEST: usize = 4096;

/// The intervals of a run, and how many requests were outstanding for how long.
#[derive(Clone, Debug)]
pub struct Series {
    intervals: Vec<Interval>,
    current: Interval,
    width: Ns,
    /// End of the current interval.
    end: Ns,
    /// Up to when everything is counted.
    now: Ns,
    outstanding: usize,
    deepest: usize,
    sampled: Sample,
    /// Sum of the latencies then.
    latency: u128,
    /// Nanoseconds at each depth; the last stands for all from it on.
    depths: Vec<u64>,
}

impl Series {
    /// From time zero on; `start` is what the device did before.
    pub fn new(start: Sample) -> Self {
        Self {
            intervals: Vec::with_capacity(MOST),
            current: Interval::default(),
            width: FIRST,
            end: FIRST,
            now: Ns::ZERO,
            outstanding: 0,
            deepest: 0,
            sampled: start,
            latency: 0,
            depths: vec![0; DEEPEST + 1],
        }
    }

    /// A request came now: time went by, up to now.
    #[inline(always)]
    pub fn arrived(&mut self) {
        self.outstanding += 1;
        if self.outstanding > self.deepest {
            self.deepest = self.outstanding;
        }
    }

    /// A request completed now; its latency counts once it is among those of
    /// [`advance`](Self::advance).
    #[inline(always)]
    pub fn completed(&mut self, op: IoOp, len: u64, latency: Ns) {
        self.outstanding -= 1;
        let current = &mut self.current;
        let requests = &mut current.requests[op as usize];
        *requests = requests.wrapping_add(1);
        current.bytes[op as usize] += len;
        if latency > current.slowest {
            current.slowest = latency;
        }
    }

    /// Bytes of all requests completed, by operation.
    pub fn bytes(&self) -> [u64; 4] {
        let all = || self.intervals.iter().chain([&self.current]);
        [0, 1, 2, 3].map(|op| all().map(|interval| interval.bytes[op]).sum())
    }

    /// A request failed now: it is outstanding no longer, and that is all.
    pub fn failed(&mut self) {
        self.outstanding -= 1;
        self.current.failed += 1;
    }

    /// Time goes by; `latencies` has what completed so far.
    #[inline(always)]
    pub fn advance(&mut self, to: Ns, device: &impl SampledDevice, latencies: &Latencies) {
        if to >= self.end {
            self.roll(to, device, latencies);
        }
        self.pass(to);
    }

    /// Time goes by within the current interval.
    #[inline(always)]
    fn pass(&mut self, to: Ns) {
        let passed = (to - self.now).0;
        if passed == 0 {
            return;
        }
        self.now = to;
        // Less than 2^64 of them for 2^64 ns: it does not wrap.
        let outstanding = self.outstanding as u128 * u128::from(passed);
        self.current.outstanding = self.current.outstanding.wrapping_add(outstanding);
        match self.depths.get_mut(self.outstanding) {
            Some(depth) => *depth += passed,
            None => self.depths[DEEPEST] += passed,
        }
    }

    /// Closes the intervals that end at `to` or before.
    #[cold]
    fn roll(&mut self, to: Ns, device: &impl SampledDevice, latencies: &Latencies) {
        self.sample(device, latencies);
        while to >= self.end {
            self.pass(self.end);
            self.intervals.push(std::mem::take(&mut self.current));
            if self.intervals.len() == MOST {
                let pairs = self.intervals.chunks_exact(2).map(|pair| {
                    let mut sum = pair[0];
                    sum.add(&pair[1]);
                    sum
                });
                self.intervals = pairs.collect();
                self.intervals.reserve(MOST);
                self.width = self.width * 2;
            }
            self.end = self.width * (self.intervals.len() as u64 + 1);
        }
    }

    /// What the device did, and the latencies, since this was last asked.
    fn sample(&mut self, device: &impl SampledDevice, latencies: &Latencies) {
        let (sample, latency) = (device.sample(), latencies.sum());
        self.current.device = sample.since(self.sampled);
        self.current.latency = latency - self.latency;
        (self.sampled, self.latency) = (sample, latency);
    }

    /// The run ends now.
    pub fn finish(mut self, device: &impl SampledDevice, latencies: &Latencies) -> RunSeries {
        self.sample(device, latencies);
        let started = self.width * self.intervals.len() as u64;
        if self.now > started || self.intervals.is_empty() {
            self.intervals.push(self.current);
        } else if let Some(last) = self.intervals.last_mut() {
            // It ends with an interval: what came at that very instant belongs to it.
            last.add(&self.current);
        }
        RunSeries {
            intervals: self.intervals,
            width: self.width,
            length: self.now,
            deepest: self.deepest as u64,
            depths: self.depths,
        }
    }
}

/// A run, over.
#[derive(Clone, Debug)]
pub struct RunSeries {
    /// The intervals; the last may be shorter.
    pub intervals: Vec<Interval>,
    /// Length of an interval.
    pub width: Ns,
    /// Length of the run.
    pub length: Ns,
    /// The most requests outstanding at once.
    pub deepest: u64,
    /// Nanoseconds at each number of outstanding requests.
    pub depths: Vec<u64>,
}

impl RunSeries {
    /// When an interval starts, and how long it is.
    pub fn spans(&self) -> impl Iterator<Item = (Ns, Ns)> {
        (0..self.intervals.len() as u64).map(|i| {
            let start = self.width * i;
            (start, self.width.min(self.length.saturating_sub(start)))
        })
    }
}
