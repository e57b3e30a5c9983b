//! What a traced machine did in a sample, and where the time of the sample went: computing,
//! blocked on storage, idle. docs/design/cluster.md derives the equations.
//!
//! All times are in seconds, all CPU times in core-seconds, all sizes in bytes.

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
    /// Core-seconds in which the job could have computed and had no core: taken by the hypervisor,
    /// by a quota, or by other programs.
    pub unserved: f64,
    /// Whether the network moved bytes at the limit of its link, so that idle time is its.
    pub is_link_full: bool,
    /// Seconds of idle time that may be the network's, because the speed of the link is unknown.
    pub link_doubt: f64,
    /// Of several nodes that are read as one machine: core-seconds of the busiest node; 0 for one.
    pub busiest: f64,
}

/// Where the time of a sample went on the traced machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSplit {
    /// Seconds in which the job waited for storage and computed nothing.
    pub blocked: f64,
    /// Seconds in which it neither computed nor waited, while its link was at the limit.
    pub link: f64,
    /// Seconds in which it neither computed nor waited for storage or for a link at its limit.
    pub idle: f64,
    /// The rest of the sample.
    pub computing: f64,
    /// Mean number of cores busy while it computed, from 1 to all; 0 if it computed nothing.
    pub width: f64,
}

impl JobSample {
    /// Whether the storage has requests.
    pub(crate) fn has_io(&self) -> bool {
        self.read > 0.0 || self.write > 0.0 || self.busy > 0.0
    }

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
            unserved: self.unserved * share,
            is_link_full: self.is_link_full,
            link_doubt: self.link_doubt * share,
            busiest: self.busiest * share,
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
    /// wait lasts longer than the device was busy. Stalls that the kernel counted are a lower
    /// bound.
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
        let free = (self.span - blocked).max(0.0);
        let computing = if self.cpu > 0.0 { free.min(self.cpu) } else { 0.0 };
        let width = if computing > 0.0 { (self.cpu / computing).min(self.cores_f()) } else { 0.0 };
        let rest = free - computing;
        let (link, idle) = if self.is_link_full { (rest, 0.0) } else { (0.0, rest) };
        SampleSplit { blocked, link, idle, computing, width }
    }

    /// The share of the computing time in which more threads were runnable than there are cores,
    /// if the trace has it.
    pub(crate) fn over(&self, computing: f64) -> Option<f64> {
        self.waiting.map(|waiting| (waiting / computing).min(1.0))
    }
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
