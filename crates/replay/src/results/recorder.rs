//! Watches a run.

use super::latency::{Latencies, Latency};
use super::log::RequestLog;
use super::series::{Run, Series, Target};
use crate::ReplayError;
use crate::host::{Done, Observer};
use gordon_device::Op;
use gordon_units::Ns;

/// Everything about a run that is kept: bounded in memory, whatever the number of requests.
#[derive(Debug)]
pub struct Recorder {
    /// By operation and cause.
    pub latencies: Latencies,
    /// By queue, where there are several.
    pub queues: Vec<Latency>,
    /// Bytes by operation.
    pub bytes: [u64; 4],
    /// Requests that failed, by operation; they count nowhere else.
    pub failed: [u64; 4],
    /// When the first write failed, and how many bytes had been written.
    pub worn_out: Option<(Ns, u64)>,
    series: Series,
    log: Option<RequestLog>,
}

impl Recorder {
    /// A recorder of a run of so many `queues` on `device`, which starts now. Each request is
    /// written to `log`, if given.
    pub fn new(device: &impl Target, queues: usize, log: Option<RequestLog>) -> Self {
        Self {
            latencies: Latencies::default(),
            queues: if queues > 1 { vec![Latency::default(); queues] } else { Vec::new() },
            bytes: [0; 4],
            failed: [0; 4],
            worn_out: None,
            series: Series::new(device.sample()),
            log,
        }
    }

    /// The run is over: its intervals, and the rest.
    ///
    /// # Errors
    /// Where the log cannot be finished.
    pub fn finish(self, device: &impl Target) -> Result<(Run, Recorded), ReplayError> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        let Self { latencies, queues, bytes, failed, worn_out, .. } = self;
        let recorded = Recorded { latencies, queues, bytes, failed, worn_out };
        Ok((self.series.finish(device), recorded))
    }

    #[cold]
    fn fail(&mut self, device: &impl Target, done: &Done) -> Result<(), ReplayError> {
        self.failed[done.op as usize] += 1;
        if done.op == Op::Write {
            self.worn_out.get_or_insert((done.completed, self.bytes[Op::Write as usize]));
        }
        self.series.failed(done.completed, device);
        match &mut self.log {
            Some(log) => log.add(done),
            None => Ok(()),
        }
    }
}

/// What was recorded beside the series.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// By operation and cause.
    pub latencies: Latencies,
    /// By queue, where there are several.
    pub queues: Vec<Latency>,
    /// Bytes by operation.
    pub bytes: [u64; 4],
    /// Requests that failed, by operation; they count nowhere else.
    pub failed: [u64; 4],
    /// When the first write failed, and how many bytes had been written.
    pub worn_out: Option<(Ns, u64)>,
}

impl<D: Target> Observer<D> for Recorder {
    #[inline]
    fn arrived(&mut self, device: &D, at: Ns) {
        self.series.arrived(at, device);
    }

    #[inline]
    fn completed(&mut self, device: &D, done: &Done) -> Result<(), ReplayError> {
        if done.failed {
            return self.fail(device, done);
        }
        let latency = done.completed - done.arrived;
        self.latencies.record(done.op, done.cause, latency);
        self.bytes[done.op as usize] += done.len;
        self.series.completed(done.completed, done.op, done.len, latency, device);
        if !self.queues.is_empty() {
            let queue = done.queue as usize % self.queues.len();
            self.queues[queue].record(latency);
        }
        match &mut self.log {
            Some(log) => log.add(done),
            None => Ok(()),
        }
    }
}
