//! The observer that records a run.

use super::latency::Latencies;
use super::log::RequestLog;
use super::responses::Responses;
use super::series::{RunSeries, SampledDevice, Series};
use crate::ReplayError;
use crate::host::{CompletedRequest, Observer};
use gordon_blockio::IoOp;
use gordon_blockio::LatencyHistogram;
use gordon_units::Ns;

/// The record of a run; its memory is bounded for any number of requests.
#[derive(Debug)]
pub struct Recorder {
    /// Latencies by operation and cause.
    pub latencies: Latencies,
    /// Records by queue; empty if there is only one queue.
    pub queues: Vec<QueueRecord>,
    /// Failed requests by operation; they are included in no other counter.
    pub failed: [u64; 4],
    /// Time of the first failed write, and the bytes written before it.
    pub worn_out: Option<(Ns, u64)>,
    series: Series,
    log: Option<RequestLog>,
    responses: Option<Responses>,
    /// Whether requests are recorded by queue, in a log, or as response times.
    records_more: bool,
}

impl Recorder {
    /// Creates a recorder for a run on `device` that starts now, with this many `queues`. Each
    /// request is written to `log`, if given.
    pub fn new(device: &impl SampledDevice, queues: usize, log: Option<RequestLog>) -> Self {
        Self {
            latencies: Latencies::default(),
            queues: if queues > 1 {
                (0..queues).map(|_| QueueRecord::default()).collect()
            } else {
                Vec::new()
            },
            failed: [0; 4],
            worn_out: None,
            series: Series::new(device.sample()),
            records_more: queues > 1 || log.is_some(),
            log,
            responses: None,
        }
    }

    /// Also records the response time of each request, if `responses` is given.
    #[must_use]
    pub fn with_responses(mut self, responses: Option<Responses>) -> Self {
        self.records_more |= responses.is_some();
        self.responses = responses;
        self
    }

    /// Ends the recording. Returns the time series and the totals.
    ///
    /// # Errors
    /// Returns an error if an output file cannot be completed.
    pub fn finish(self, device: &impl SampledDevice) -> Result<(RunSeries, Recorded), ReplayError> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        if let Some(responses) = self.responses {
            responses.finish()?;
        }
        let Self { latencies, queues, failed, worn_out, series, .. } = self;
        let bytes = series.bytes();
        let run = series.finish(device, &latencies);
        let recorded = Recorded { latencies, queues, bytes, failed, worn_out };
        Ok((run, recorded))
    }

    #[cold]
    fn record_failure(&mut self, done: CompletedRequest) -> Result<(), ReplayError> {
        self.failed[done.op as usize] += 1;
        if done.op == IoOp::Write {
            let bytes = || self.series.bytes()[IoOp::Write as usize];
            self.worn_out.get_or_insert_with(|| (done.completed, bytes()));
        }
        self.series.failed();
        match &mut self.log {
            Some(log) => log.add(&done),
            None => Ok(()),
        }
    }

    /// Records a request by queue, in the log and in the response times, if these are wanted.
    #[inline(never)]
    fn record_extra(&mut self, done: CompletedRequest) -> Result<(), ReplayError> {
        if let Some(responses) = &mut self.responses {
            responses.add(&done);
        }
        if !self.queues.is_empty() {
            let queue = done.queue as usize % self.queues.len();
            self.queues[queue].record(&done);
        }
        match &mut self.log {
            Some(log) => log.add(&done),
            None => Ok(()),
        }
    }
}

/// Requests of one queue that did not fail.
#[derive(Clone, Debug, Default)]
pub struct QueueRecord {
    /// Latencies from arrival to completion.
    pub latency: LatencyHistogram,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time when the last request completed.
    pub finished: Ns,
}

impl QueueRecord {
    fn record(&mut self, done: &CompletedRequest) {
        self.latency.record(done.completed - done.arrived);
        if matches!(done.op, IoOp::Read | IoOp::Write) {
            self.bytes += done.len;
        }
        self.finished = self.finished.max(done.completed);
    }
}

/// Totals of a run.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Latencies by operation and cause.
    pub latencies: Latencies,
    /// Records by queue; empty if there is only one queue.
    pub queues: Vec<QueueRecord>,
    /// Bytes by operation.
    pub bytes: [u64; 4],
    /// Failed requests by operation; they are included in no other counter.
    pub failed: [u64; 4],
    /// Time of the first failed write, and the bytes written before it.
    pub worn_out: Option<(Ns, u64)>,
}

impl<D: SampledDevice> Observer<D> for Recorder {
    #[inline(always)]
    fn arrived(&mut self, device: &D, at: Ns) {
        self.series.advance(at, device, &self.latencies);
        self.series.arrived();
    }

    #[inline(always)]
    fn completed(&mut self, device: &D, done: &CompletedRequest) -> Result<(), ReplayError> {
        self.series.advance(done.completed, device, &self.latencies);
        if done.failed {
            return self.record_failure(*done);
        }
        let latency = done.completed - done.arrived;
        self.latencies.record(done.op, done.cause, latency);
        self.series.completed(done.op, done.len, latency);
        if self.records_more { self.record_extra(*done) } else { Ok(()) }
    }
}
