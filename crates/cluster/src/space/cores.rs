//! The cores of a machine: their speed by the number of busy ones, and its error.

/// Errors of the speed of another processor, as logarithms: of each, and as a share of the
/// logarithm of the ratio of both. The first is that of c5 against m5 on EC2; the second is
/// assumed.
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

/// The cores of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cores {
    /// Number of logical processors; at least 1.
    pub count: u32,
    /// Logical processors that share a physical core; at least 1.
    pub threads: u32,
    /// Speed of a thread that runs alone, relative to that of a logical processor while all are
    /// busy; `None` if it is unknown.
    pub single: Option<f64>,
}

impl Cores {
    /// These cores, with a lone thread that is this much faster.
    pub(crate) fn known(&self, single: f64) -> KnownCores {
        KnownCores { count: self.count, threads: self.threads, single }
    }

    /// Cores whose speed does not depend on how many are busy.
    pub fn uniform(count: u32) -> Self {
        Self { count, threads: 1, single: None }
    }
}

/// Cores whose lone thread is this much faster.
#[derive(Clone, Copy)]
pub(crate) struct KnownCores {
    pub count: u32,
    pub threads: u32,
    pub single: f64,
}

impl KnownCores {
    /// Work of `busy` threads per second, in units of a logical processor while all are busy. While
    /// each thread has a physical core of its own, all have the speed of a lone thread; from there
    /// on the throughput is linear to that of all processors. Without shared cores the speed falls
    /// linearly, as clocks do.
    pub fn throughput(&self, busy: u32) -> f64 {
        let (count, busy) = (f64::from(self.count), f64::from(busy.min(self.count)));
        let whole = (count / f64::from(self.threads)).max(1.0);
        if self.count == 1 {
            return self.single;
        }
        if self.threads == 1 {
            return busy * (self.single - (self.single - 1.0) * (busy - 1.0) / (count - 1.0));
        }
        // A core with all its threads does at least as much as with one.
        let alone = self.single.min(f64::from(self.threads));
        if busy <= whole {
            busy * alone
        } else {
            whole * alone + (busy - whole) / (count - whole) * (count - whole * alone)
        }
    }

    /// As [`throughput`](Self::throughput), but only a thread that runs alone is faster. A traced
    /// machine of one core is as fast as while all are busy.
    pub fn lone_throughput(&self, busy: u32, is_traced: bool) -> f64 {
        match (busy, self.count) {
            (1, 1) if is_traced => 1.0,
            (1, _) => self.single,
            _ => f64::from(busy.min(self.count)),
        }
    }
}
