//! Time series of a run in a bounded number of intervals of equal length: at [`MOST`] intervals,
//! pairs of them are merged and the length doubles.
//!
//! A request counts in the interval in which it completes. The device is sampled at the first host
//! event after the end of an interval, and its activity counts there. An operation in progress
//! counts in the interval in which it started; its time is spread over the following ones
//! ([`super::tables`]).

use super::latency::Latencies;
use gordon_blockio::{Device, IoOp, Usage};
use gordon_ssd::Ssd;
use gordon_units::Ns;

/// Maximum number of intervals.
pub const MOST: usize = 1000;

/// Initial length of an interval.
pub const FIRST: Ns = Ns(1_000_000);

/// Activity of a device since its creation; inexpensive to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Active time of its parts.
    pub usage: Usage,
    /// Busy time of its buses, summed over groups.
    pub bus: Ns,
    /// Time during which blocks were collected.
    pub collecting: Ns,
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages programmed, for any cause.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

gordon_units::fieldwise!(Sample { usage, bus, collecting, host_programs, programs, erases });

/// A device whose runs can be recorded.
pub trait SampledDevice: Device {
    /// Activity so far.
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

/// One interval of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Requests completed, by operation.
    pub requests: [u64; 4],
    /// Requests that failed.
    pub failed: u64,
    /// Bytes of the completed requests, by operation.
    pub bytes: [u64; 4],
    /// Sum of the latencies, in nanoseconds.
    pub latency: u128,
    /// Maximum latency.
    pub slowest: Ns,
    /// Integral of the number of outstanding requests over time, in nanoseconds.
    pub outstanding: u128,
    /// Activity of the device.
    pub device: Sample,
}

impl Interval {
    fn add(&mut self, other: &Self) {
        for op in 0..4 {
            self.requests[op] += other.requests[op];
            self.bytes[op] += other.bytes[op];
        }
        self.failed += other.failed;
        self.latency += other.latency;
        self.slowest = self.slowest.max(other.slowest);
        self.outstanding += other.outstanding;
        self.device += other.device;
    }
}

/// Maximum number of outstanding requests that the histogram of depths distinguishes.
const DEEPEST: usize = 4096;

/// Builder of the time series, and of the histogram of queue depths.
#[derive(Clone, Debug)]
pub struct Series {
    intervals: Vec<Interval>,
    current: Interval,
    width: Ns,
    /// End of the current interval.
    end: Ns,
    /// Time up to which everything has been counted.
    now: Ns,
    outstanding: usize,
    deepest: usize,
    sampled: Sample,
    /// Sum of the latencies at the last sample.
    latency: u128,
    /// Nanoseconds at each depth; the last entry includes all greater depths.
    depths: Vec<u64>,
}

impl Series {
    /// Starts at time zero; `start` is the device's activity before the run.
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

    /// Counts an arrival at the current time; `advance` must have been called.
    #[inline(always)]
    pub fn arrived(&mut self) {
        self.outstanding += 1;
        if self.outstanding > self.deepest {
            self.deepest = self.outstanding;
        }
    }

    /// Counts a completion at the current time. Its latency is taken from the argument of
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

    /// Bytes of all completed requests, by operation.
    pub fn bytes(&self) -> [u64; 4] {
        let all = || self.intervals.iter().chain([&self.current]);
        [0, 1, 2, 3].map(|op| all().map(|interval| interval.bytes[op]).sum())
    }

    /// Counts a failure at the current time.
    pub fn failed(&mut self) {
        self.outstanding -= 1;
        self.current.failed += 1;
    }

    /// Advances the time to `to`; `latencies` contains the completions so far.
    #[inline(always)]
    pub fn advance(&mut self, to: Ns, device: &impl SampledDevice, latencies: &Latencies) {
        if to >= self.end {
            self.close_intervals(to, device, latencies);
        }
        self.pass_time(to);
    }

    /// Advances the time within the current interval.
    #[inline(always)]
    fn pass_time(&mut self, to: Ns) {
        let passed = (to - self.now).0;
        if passed == 0 {
            return;
        }
        self.now = to;
        // The product is less than 2^64 requests times 2^64 ns, so the sum does not overflow.
        let outstanding = self.outstanding as u128 * u128::from(passed);
        self.current.outstanding = self.current.outstanding.wrapping_add(outstanding);
        match self.depths.get_mut(self.outstanding) {
            Some(depth) => *depth += passed,
            None => self.depths[DEEPEST] += passed,
        }
    }

    /// Closes the intervals that end at or before `to`.
    #[cold]
    fn close_intervals(&mut self, to: Ns, device: &impl SampledDevice, latencies: &Latencies) {
        self.sample(device, latencies);
        while to >= self.end {
            self.pass_time(self.end);
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

    /// Adds the device's activity and the latencies since the last sample.
    fn sample(&mut self, device: &impl SampledDevice, latencies: &Latencies) {
        let (sample, latency) = (device.sample(), latencies.sum());
        // Busy times include future reservations, so they never decrease.
        self.current.device = sample - self.sampled;
        self.current.latency = latency - self.latency;
        (self.sampled, self.latency) = (sample, latency);
    }

    /// Ends the run at the current time.
    pub fn finish(mut self, device: &impl SampledDevice, latencies: &Latencies) -> RunSeries {
        self.sample(device, latencies);
        let started = self.width * self.intervals.len() as u64;
        if self.now > started || self.intervals.is_empty() {
            self.intervals.push(self.current);
        } else if let Some(last) = self.intervals.last_mut() {
            // The run ends with an interval; completions at that instant belong to it.
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

/// The time series of a run.
#[derive(Clone, Debug)]
pub struct RunSeries {
    /// The intervals; the last one may be shorter.
    pub intervals: Vec<Interval>,
    /// Length of an interval.
    pub width: Ns,
    /// Length of the run.
    pub length: Ns,
    /// Maximum number of outstanding requests.
    pub deepest: u64,
    /// Nanoseconds at each number of outstanding requests.
    pub depths: Vec<u64>,
}

impl RunSeries {
    /// Start and length of each interval.
    pub fn spans(&self) -> impl Iterator<Item = (Ns, Ns)> {
        (0..self.intervals.len() as u64).map(|i| {
            let start = self.width * i;
            (start, self.width.min(self.length.saturating_sub(start)))
        })
    }
}
